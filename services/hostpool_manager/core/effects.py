"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

None carries the time: one that failed is recognised by its value when it is decided on again.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.hostpool_manager.core.snapshot import PlacementStatus, PoolStatus, Ref, SearchTarget


@dataclass(frozen=True, slots=True)
class Search:
    """Begin to decide where a job runs; the answer comes when it is found."""

    target: SearchTarget

    @property
    def subject(self) -> str:
        """What it is for."""
        return self.target.subject


@dataclass(frozen=True, slots=True)
class WritePlacementStatus:
    """Write the answer into the Placement with this uid."""

    ref: Ref
    uid: str
    said: PlacementStatus

    @property
    def subject(self) -> str:
        """What it is for."""
        return "/".join(self.ref)


@dataclass(frozen=True, slots=True)
class WriteHostPoolStatus:
    """Write what is true of a HostPool into it."""

    namespace: str
    name: str
    uid: str
    said: PoolStatus


Effect = Search | WritePlacementStatus | WriteHostPoolStatus
