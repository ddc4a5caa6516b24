"""What a Job's status keeps of lost tuples: how many, when, whose, and why.

pe-gateway writes it from the reports of PEs; `contracts/losses.py` reads it (docs/adr/0080).
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from .conditions import Time
from .fields import INT32_MAX, Count, Fields, ObjectName, Text

LAUNCHES_MAX: Final = 1_000
"""Rows of a status: some 200 kB, as the API server takes them with the rest of a Job."""
LOSS_RETENTION_S: Final = 86_400


class LaunchLoss(Fields):
    """What one launch of a PE reported as lost."""

    processing_element: Count = Field(description="The id of the PE.")
    uid: ObjectName = Field(description="The uid of the object of the PE.")
    launch: Count = Field(description="The launch that reported.")
    tuples: Count = Field(description="At most so many tuples the launch lost so far.")
    total: Count = Field(description="status.losses.tuples when this row changed last.")
    since: Time = Field(description="When the first of them were reported.")
    last: Time = Field(description="When the last of them were reported.")
    reason: Text = Field(description="Why the last of them were lost, as one CamelCase word.")


class Losses(Fields):
    """Tuples of a job that were lost, since it was made."""

    tuples: Count = Field(
        description="At most so many tuples were lost; it never falls. People acknowledge this."
    )
    last: Time = Field(description="When the last of them were reported.")
    launches: list[LaunchLoss] = Field(
        default=[],
        max_length=LAUNCHES_MAX,
        description="Whose they were; where room lacks, launches that are over are left out.",
    )
    has_more: bool = Field(
        default=False,
        description="Whether launches lost tuples that have no room here; Events have them.",
    )


LossRetention = Annotated[
    int,
    Field(
        ge=0,
        le=INT32_MAX,
        description="Seconds after a loss for which Healthy is False unless it is acknowledged; 0:"
        " Healthy leaves it out.",
    ),
]
LossesField = Annotated[
    Losses | None,
    Field(description="Tuples that were lost, as PEs report; absent before the first."),
]
