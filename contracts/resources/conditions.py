"""Conditions as every status carries them: the model, and the one way to change a list of them.

Which conditions a resource has and what their reasons mean is in the resource's module and by
`contracts/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from contracts.showing import shown
from contracts.unreadable import part_of

from .fields import MESSAGE_CHARS_MAX, TIME_CHARS_MAX, Count, Fields

CONDITIONS_MAX: Final = 16
STALLED: Final = "Stalled"
"""That our own code crashes on the object, again and again; there only while it does."""
WITHIN_RESOURCES: Final = "WithinResources"
"""That pods of a Job have no more than its `spec.resources`; there only after they had more."""
STREAMS_CONNECTED: Final = "StreamsConnected"
"""That streams between jobs are connected; of a Job that imports or exports, and False."""
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


@dataclass(frozen=True, slots=True)
class StatedCondition:
    """A condition as a status states it; `observed_generation` is None where it names no spec."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int | None = None

    @staticmethod
    def of(value: Mapping[str, Any]) -> StatedCondition:
        """The condition of a JSON object; raises KeyError where a field is missing."""
        return StatedCondition(
            value["type"],
            value["status"],
            value["reason"],
            value["message"],
            value["lastTransitionTime"],
            value.get("observedGeneration"),
        )

    def to_json(self) -> dict[str, Any]:
        """As the status states it."""
        value: dict[str, Any] = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.last_transition_time,
        }
        if self.observed_generation is not None:
            value["observedGeneration"] = self.observed_generation
        return value


def with_stated(
    conditions: Iterable[StatedCondition], desired: StatedCondition
) -> tuple[StatedCondition, ...]:
    """The conditions of a status with one of them set, by type: the only setter.

    `desired.last_transition_time` is now; the time of the one before stays unless the status
    changes, so that stating the same again gives the same value and nothing is written.
    """
    found = {each.type: each for each in conditions}
    before = found.get(desired.type)
    found[desired.type] = replace(
        desired,
        message=shown(desired.message, MESSAGE_CHARS_MAX),
        last_transition_time=before.last_transition_time
        if before is not None and before.status == desired.status
        else desired.last_transition_time,
    )
    return tuple(found[type_] for type_ in sorted(found))


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
    """`with_stated` for a status as JSON.

    A list in a merge patch replaces the whole list: hand in the conditions of the version that the
    patch carries.
    """
    desired = StatedCondition(type_, status.value, str(reason), message, now, observed_generation)
    return [each.to_json() for each in with_stated(map(StatedCondition.of, conditions), desired)]


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
