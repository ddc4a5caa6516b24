"""What a value of the Helm chart is, and the JSON schemas that many of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]

USER: Final = 65532
METRICS_PORT: Final = 8080
LOGS: Final = "/tmp/logs"  # noqa: S108 - in a container of its own
NAME: Final = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its JSON schema, its default and what it means."""

    schema: Json
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class Section:
    """Values below one key."""

    help: str
    values: Mapping[str, Value | Section] = field(default_factory=dict)


Tree = Mapping[str, Value | Section]

BOOLEAN: Final = {"type": "boolean"}
STRING: Final = {"type": "string"}
COUNT: Final = {"type": "integer", "minimum": 1}
PORT: Final = {"type": "integer", "minimum": 1, "maximum": 65535}
QUANTITY: Final = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?([KMGTPE]i?|m)?$"}
OBJECT: Final = {"type": "object"}
STRINGS: Final = {"type": "array", "items": {"type": "string"}}
TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
OBJECTS: Final = {"type": "array", "items": {"type": "object"}}
NAME_OR_NONE: Final = {"type": "string", "pattern": f"{NAME}|^$"}
REQUIREMENTS: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        word: {
            "type": "object",
            "additionalProperties": {"anyOf": [QUANTITY, {"type": "number"}]},
        }
        for word in ("requests", "limits")
    },
}
