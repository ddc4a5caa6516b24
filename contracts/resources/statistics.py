"""What the original's operator counts in the spec of a Job; nothing of ours reads it."""

from __future__ import annotations

from pydantic import Field

from .fields import Fields, Number


class Statistics(Fields):
    """Counters of the original's operator; accepted and ignored."""

    config_map_count: Number | None = Field(default=None, description="ConfigMaps.")
    consistent_region_count: Number | None = Field(default=None, description="Consistent regions.")
    export_count: Number | None = Field(default=None, description="Exports.")
    host_pool_count: Number | None = Field(default=None, description="Host pools.")
    import_count: Number | None = Field(default=None, description="Imports.")
    parallel_region_count: Number | None = Field(default=None, description="Parallel regions.")
    processing_element_count: Number | None = Field(default=None, description="PEs.")
    service_count: Number | None = Field(default=None, description="Services.")
