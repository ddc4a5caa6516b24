"""The hand-over of a resize, as a Job's status has it: which PEs seal their state, and how far.

fusion-backend writes it; pe-gateway serves it to PEs, and pod-state-machine waits for its end
(docs/adr/0068). Here is its schema; all who read it have it as the value of `millrace.protocol`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from pydantic import Field

from contracts.moments import unix_s_of
from millrace import protocol

from .conditions import Time
from .fields import NAMES_MAX, Count, Fields

FORMER_MAX: Final = 100
"""So many hand-overs before the newest one are recorded at most; then no width is taken up."""

Launches = Annotated[dict[str, Count], Field(max_length=NAMES_MAX)]
"""Launches by PE id."""


class FormerHandOver(Fields):
    """A hand-over that is complete, before the newest one."""

    generation: Count = Field(description="The plan generation that took over.")
    pes: Launches = Field(default={}, description="Launches of the PEs that handed over, by PE id.")
    sealed: Launches = Field(default={}, description="Those of them that sealed their state.")


class HandOver(Fields):
    """PEs that a plan generation changes or removes, and that seal their state before they go."""

    generation: Count = Field(description="The plan generation that takes over.")
    begun: Time = Field(description="When it began.")
    deadline: Time = Field(description="When the resize goes on without PEs that have not sealed.")
    pes: Launches = Field(default={}, description="Launches of the PEs that hand over, by PE id.")
    sealed: Launches = Field(
        default={}, description="Those of them that have sealed their state for this generation."
    )
    gone: list[Count] = Field(
        default=[],
        max_length=NAMES_MAX,
        description="Ids of PEs that ended without a seal, or had none at the deadline.",
    )
    complete: bool = Field(
        default=False, description="Whether PEs may be launched with their new content."
    )
    completed_at: Time | None = Field(default=None, description="When it was complete.")
    former: list[FormerHandOver] = Field(
        default=[],
        max_length=FORMER_MAX,
        description="Those before it, from the newest, that PEs had not begun since.",
    )


HandOverField = Annotated[
    HandOver | None,
    Field(description="The newest hand-over of a resize; absent before the first."),
]


def hand_over_in(status: Mapping[str, Any]) -> protocol.HandOver | None:
    """The newest hand-over of a Job's status, with those before it; None before the first.

    A deadline that cannot be read is over. Raises ValueError.
    """
    found = status.get("handOver")
    if not found:
        return None
    former = tuple(_read(each, complete=True) for each in found.get("former") or ())
    return _read(found, former=former, deadline=_moment(str(found.get("deadline") or "")))


def _read(field: Mapping[str, Any], **more: Any) -> protocol.HandOver:
    """In an order, so that what is made of a status is the same in every process."""
    value = {
        "generation": field.get("generation") or 0,
        "pes": dict(sorted((field.get("pes") or {}).items())),
        "sealed": dict(sorted((field.get("sealed") or {}).items())),
        "gone": sorted(field.get("gone") or ()),
        "complete": bool(field.get("complete")),
    }
    return msgspec.convert(value | more, protocol.HandOver, str_keys=True)


def _moment(text: str) -> float:
    try:
        return unix_s_of(text)
    except ValueError:
        return 0.0
