"""The answers: a placement of the whole job, a refusal with its reason, or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from contracts.reasons import Reason

NEAREST_NAMED_MAX: Final = 3
"""How many of the nodes that came closest a message names."""


class Family(StrEnum):
    """A family of constraints: what is lifted as one to find out what stands in the way.

    If lifting either one would do, a refusal names them in this order. Capacity includes nodes that
    are not ready yet; closed nodes are cordoned or tainted.
    """

    CAPACITY = "capacity"
    CLOSED = "closed nodes"
    EXCLUSIVITY = "exclusivity"
    EXLOCATION = "exlocation and isolation"
    COLOCATION = "colocation"
    SIZE = "pool size"
    HOSTS = "named hosts"
    SELECTORS = "node selectors"
    TAGS = "tags"


@dataclass(frozen=True, slots=True)
class Nearest:
    """A node that nearly fits. Each phrase in `lacks` says what it lacks."""

    node: str
    lacks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.node} {' and '.join(self.lacks)}"


def closest_nodes(nearest: tuple[Nearest, ...]) -> str:
    """The nodes that came closest, as the end of a sentence."""
    return f"; closest: {'; '.join(map(str, nearest))}" if nearest else ""


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a pool in their order; "" where one is gone and none took its place."""

    pool: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Each PE has a node and each pool its members; checked again in whole numbers.

    `is_as_preferred` is False where colocation, exlocation or isolation was preferred, not
    required, and had to be given up.
    """

    assignment: Mapping[int, str]
    pools: tuple[Members, ...]
    is_as_preferred: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """It is proved that no placement exists. If only capacity is missing, the job `waits`.

    A placement needs all `families` lifted, if any; `nearest` are the closest nodes.
    """

    why: Reason
    message: str
    families: tuple[Family, ...] = ()
    nearest: tuple[Nearest, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the job is tried again until its submission time-out."""
        return self.families == (Family.CAPACITY,)


@dataclass(frozen=True, slots=True)
class Unknown:
    """The limit ended the search before it found a placement or a proof; it is tried again."""

    message: str
    why: Reason = Reason.PLACEMENT_UNKNOWN


Answer = Placed | Refused | Unknown
