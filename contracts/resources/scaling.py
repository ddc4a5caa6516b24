"""Widths of parallel regions as a Job has them: the first ones, and how new ones are taken up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from millrace.protocol import HAND_OVER_S

from .fields import WIDTH_MAX, Count, Fields, Text

SETTLE_SECONDS: Final = 2
SETTLE_SECONDS_MAX: Final = 3_600
HAND_OVER_SECONDS_MAX: Final = 3_600
HAND_OVER_SECONDS_SHORT: Final = 4
"""With less, PEs that have work are late: it takes so long until a status says that they have."""


class RegionWidth(Fields):
    """The width of the parallel regions that an alias names."""

    alias: Text = Field(
        min_length=1,
        description="The region: its full name, the end of it that no other has, or a pattern "
        "(* is any text).",
    )
    width: int = Field(
        ge=1,
        le=WIDTH_MAX,
        description="Number of channels.",
    )
    index: Count | None = Field(
        default=None, description="Accepted from the original and ignored: the alias counts."
    )


class Scaling(Fields):
    """How new widths of parallel regions are taken up."""

    settle_seconds: int = Field(
        default=SETTLE_SECONDS,
        ge=0,
        le=SETTLE_SECONDS_MAX,
        description="Seconds after the start of a resize in which new widths gather; 0: none do.",
    )
    hand_over_seconds: int = Field(
        default=HAND_OVER_S,
        ge=0,
        le=HAND_OVER_SECONDS_MAX,
        description="Seconds in which PEs seal their state before a resize launches them again; 0:"
        " they do not; 4 at least to finish.",
    )


def hand_over_s(scaling: Mapping[str, Any] | None) -> int:
    """How long PEs may hand over in a resize (seconds), as `spec.scaling` says; 0: they do not."""
    given = (scaling or {}).get("handOverSeconds")
    return HAND_OVER_S if given is None else int(given)
