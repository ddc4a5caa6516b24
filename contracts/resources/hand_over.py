"""The hand-over of a resize, as a Job's status has it: which PEs seal their state, and how far.

fusion-backend writes it; pe-gateway serves it to PEs, and pod-state-machine waits for its end
(docs/adr/0068).
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

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
