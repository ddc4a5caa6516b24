"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

No effect has a time: a failed one is recognised by its value when it is decided again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from services.hostpool_manager.core.snapshot import (
    DesiredPlacementStatus,
    DesiredPoolStatus,
    Ref,
    SearchTarget,
)


@dataclass(frozen=True, slots=True)
class Search:
    """Begin the search for a placement of a job; its answer is taken up when the search ends."""

    kind: ClassVar[str] = "Placement"
    target: SearchTarget

    @property
    def name(self) -> str:
        """That of the Placement."""
        return self.target.ref[-1]

    @property
    def subject(self) -> str:
        """The job, as namespace/name."""
        return self.target.subject


@dataclass(frozen=True, slots=True)
class WritePlacementStatus:
    """Write the status of the Placement with this uid."""

    kind: ClassVar[str] = "Placement"
    ref: Ref
    uid: str
    status: DesiredPlacementStatus

    @property
    def name(self) -> str:
        """That of the Placement."""
        return self.ref[-1]

    @property
    def subject(self) -> str:
        """The job, as namespace/name."""
        return "/".join(self.ref)


@dataclass(frozen=True, slots=True)
class WriteHostPoolStatus:
    """Write the status of the HostPool with this uid."""

    kind: ClassVar[str] = "HostPool"
    namespace: str
    name: str
    uid: str
    status: DesiredPoolStatus


Effect = Search | WritePlacementStatus | WriteHostPoolStatus
