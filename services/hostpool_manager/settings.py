"""Settings of hostpool-manager; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pydantic import Field, field_validator

from placement.deciding import Limits
from services.chassis.process.settings import ServiceSettings
from services.hostpool_manager.core.quotas import Quotas


class HostpoolManagerSettings(ServiceSettings):
    """The namespace of its Lease, the limits of a search, and quotas of nodes."""

    lease_namespace: str = Field(default="default", description="namespace of its Lease")
    search_s: float = Field(default=5.0, gt=0, description="seconds of one decision about a job")
    search_attempts: int = Field(
        default=20, ge=0, description="quick attempts before a search is exact"
    )
    exclusive_nodes_max: str = Field(
        default="",
        description="how many nodes exclusive host pools of a namespace may have: a number, "
        "NAMESPACE=NUMBER for one namespace, or several with commas (4,team-a=10); empty: any",
    )

    @field_validator("exclusive_nodes_max")
    @classmethod
    def name_quotas(cls, value: str) -> str:
        """Refuse early what is no quota."""
        Quotas.parse(value)
        return value

    @property
    def quotas(self) -> Quotas:
        """How many nodes exclusive pools of each namespace may have."""
        return Quotas.parse(self.exclusive_nodes_max)

    @property
    def limits(self) -> Limits:
        """The limits of one search."""
        return Limits(search_s=self.search_s, attempts=self.search_attempts)
