"""Conditions as every status carries them: the model, and the one way to change a list of them.

Which conditions a resource has and what their reasons mean is in the resource's module and by
`contracts/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from contracts.showing import shown
from contracts.unreadable import part_of

from .fields import MESSAGE_CHARS_MAX, TIME_CHARS_MAX, Count, Fields

CONDITIONS_MAX: Final = 16
STALLED: Final = "Stalled"
"""That our own code crashes on the object, again and again; there only while it does."""
READABLE: Final = "Readable"
"""That the object cannot be read whole; there only while it is so, and False then."""

Time = Annotated[
    str, WithJsonSchema({"type": "string", "format": "date-time", "maxLength": TIME_CHARS_MAX})
]
"""A moment in UTC, RFC 3339, such as 2026-11-20T09:30:00Z."""


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(Fields):
    """One aspect of the object's state, with the reason and a sentence for people."""

    type: str = Field(
        min_length=1, max_length=316, description="Name of the condition in CamelCase."
    )
    status: ConditionStatus = Field(description="Whether the condition holds.")
    reason: str = Field(
        min_length=1,
        max_length=1024,
        pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        description="Why, as one CamelCase word for programs.",
    )
    message: str = Field(
        max_length=MESSAGE_CHARS_MAX, description="Why, as a sentence for people; may be empty."
    )
    last_transition_time: Time = Field(description="When the status last changed, in UTC.")
    observed_generation: Count | None = Field(
        default=None,
        description="The metadata.generation that the condition was computed from.",
    )


Conditions = Annotated[
    list[Condition],
    Field(
        max_length=CONDITIONS_MAX,
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    ),
]


def with_condition(
    conditions: Iterable[Mapping[str, Any]],
    *,
    type_: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    observed_generation: int,
    now: str,
) -> list[dict[str, Any]]:
    """The conditions of a status (as JSON) with one of them set, in a stable order.

    `lastTransitionTime` moves only when the status changes, so that saying the same again gives
    the same value and nothing is written. A list in a merge patch replaces the whole list: hand in
    the conditions of the version that the patch carries.
    """
    others = [dict(each) for each in conditions if each["type"] != type_]
    before = next((each for each in conditions if each["type"] == type_), None)
    unchanged = before is not None and before["status"] == status.value
    stated: dict[str, Any] = {
        "type": type_,
        "status": status.value,
        "reason": str(reason),
        "message": shown(message, MESSAGE_CHARS_MAX),
        "observedGeneration": observed_generation,
        "lastTransitionTime": before["lastTransitionTime"] if before and unchanged else now,
    }
    return sorted([*others, stated], key=lambda each: str(each["type"]))


def stalled_patch(
    object_: Mapping[str, Any], *, reason: str, why: str, now: str
) -> dict[str, Any] | None:
    """The patch of a status that has Stalled say `why`, or be gone where that is empty.

    None if the status has it already; called after every run of a key.
    """
    return _passing_patch(object_, STALLED, ConditionStatus.TRUE, reason=reason, why=why, now=now)


def unreadable_patch(
    object_: Mapping[str, Any], *, reason: str, why: str, now: str
) -> dict[str, Any] | None:
    """The patch of a status that has Readable be False and say `why`, or be gone; else None."""
    return _passing_patch(object_, READABLE, ConditionStatus.FALSE, reason=reason, why=why, now=now)


def _passing_patch(
    object_: Mapping[str, Any],
    type_: str,
    status: ConditionStatus,
    *,
    reason: str,
    why: str,
    now: str,
) -> dict[str, Any] | None:
    """The patch of a condition that is there only while it has something to say."""
    why = shown(why, MESSAGE_CHARS_MAX)
    before = [dict(each) for each in part_of(object_, "status").get("conditions") or ()]
    written = {each.get("type"): each.get("message") for each in before}.get(type_, "")
    if written == why:
        return None
    after = [each for each in before if each.get("type") != type_]
    if why:
        after = with_condition(
            before,
            type_=type_,
            status=status,
            reason=reason,
            message=why,
            observed_generation=int(object_["metadata"]["generation"]),
            now=now,
        )
    return {"status": {"conditions": after}}


def condition_holds(conditions: Iterable[Mapping[str, Any]], type_: str) -> bool:
    """Whether the condition is there and True."""
    return any(each["type"] == type_ and each["status"] == "True" for each in conditions)
