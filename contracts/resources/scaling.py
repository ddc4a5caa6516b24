"""How a Job takes up new widths of its parallel regions."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from .fields import Fields

SETTLE_SECONDS: Final = 2
SETTLE_SECONDS_MAX: Final = 3_600


class Scaling(Fields):
    """How new widths of parallel regions are taken up."""

    settle_seconds: int = Field(
        default=SETTLE_SECONDS,
        ge=0,
        le=SETTLE_SECONDS_MAX,
        description="Seconds after the start of a resize in which new widths gather; 0: none do.",
    )
