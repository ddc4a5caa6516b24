"""Settings of hostpool-manager; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pydantic import Field

from placement.deciding import Limits
from services.chassis.process.settings import ServiceSettings


class HostpoolManagerSettings(ServiceSettings):
    """The namespace of its Lease, and the limits of a search."""

    lease_namespace: str = Field(default="default", description="namespace of its Lease")
    search_s: float = Field(default=5.0, gt=0, description="seconds of one decision about a job")
    search_attempts: int = Field(
        default=20, ge=0, description="quick attempts before a search is exact"
    )

    @property
    def limits(self) -> Limits:
        """The limits of one search."""
        return Limits(search_s=self.search_s, attempts=self.search_attempts)
