"""Settings of watch-ingest; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pydantic import Field

from services.chassis.process.settings import ServiceSettings


class WatchIngestSettings(ServiceSettings):
    """Where its Lease is, and how often it makes sure that everything was published."""

    lease_namespace: str = Field(default="default", description="namespace of its Lease")
    resync_s: float = Field(default=3600.0, gt=0, description="time between full resyncs")
    compare_s: float = Field(default=600.0, gt=0, description="time between comparisons")
    log_check_s: float = Field(
        default=5.0, gt=0, description="how often it looks whether the log was emptied"
    )
