"""Rights on Kafka's brokers, and the sentence for one that a login lacks.

Brokers with an authorizer refuse by a code that names neither the principal nor the operation. The
request knows the operation and the resource, and the connection knows the principal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    for_code,
)


class Kind(IntEnum):
    """What a right is about, as Kafka numbers it."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


class Operation(IntEnum):
    """What a right allows, as Kafka numbers it; READ and WRITE include DESCRIBE."""

    READ = 3
    WRITE = 4
    CREATE = 5
    ALTER = 7
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


_ERRORS = {
    TopicAuthorizationFailedError: Kind.TOPIC,
    GroupAuthorizationFailedError: Kind.GROUP,
    ClusterAuthorizationFailedError: Kind.CLUSTER,
}
LACKING = tuple(_ERRORS)
"""What aiokafka's clients raise for lack of a right."""
_KINDS = {error.errno: kind for error, kind in _ERRORS.items()}


@dataclass(frozen=True, slots=True)
class Right:
    """One operation on one resource; a cluster has no name."""

    operation: Operation
    kind: Kind
    name: str = ""

    def missing_to(self, principal: str) -> str:
        """The sentence for a principal that lacks it, with what to do."""
        resource = f"{self.kind.name.lower()} {self.name}".rstrip()
        lacks = f"{principal} has no right to {self.operation.name} the {resource}"
        return (
            f"{lacks}; `millrace topics apply --principal SERVICE=User:NAME` grants a service what "
            "it needs, and docs/installing.md lists what the login of that command needs"
        )


class RightMissing(Exception):
    """The brokers refused for lack of a right; `Brokers` adds the principal."""

    def __init__(self, right: Right) -> None:
        super().__init__(right)
        self.right = right


def failure_of(
    code: int, operation: Operation, names: Mapping[Kind, str], message: str = ""
) -> Exception:
    """The exception for an error code other than 0; the code tells which resource it is about."""
    kind = _KINDS.get(code)
    if kind is not None:
        return RightMissing(Right(operation, kind, names.get(kind, "")))
    error: Exception = for_code(code)(message)
    return error
