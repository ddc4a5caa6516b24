"""Settings of fusion-backend; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from services.chassis.settings import ServiceSettings
from services.fusion_backend.adapters.planning_worker import WorkerLimits


class FusionBackendSettings(ServiceSettings):
    """Where bundles are, and what planning may cost."""

    bundle_root: Path = Field(description="directory from which bundles are taken")
    bundle_store: Path = Field(description="directory in which bundles are kept by digest")
    planner_workers: int = Field(default=2, ge=1, le=64)
    planner_memory_bytes_max: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    planner_cpu_s_max: int = Field(default=120, ge=1)
    planner_answer_s_max: float = Field(default=240.0, gt=0)
    width_max: int = Field(default=20_000, ge=1, description="widest parallel region planned")

    @property
    def worker_limits(self) -> WorkerLimits:
        """What one planning worker may use."""
        return WorkerLimits(
            memory_bytes_max=self.planner_memory_bytes_max,
            cpu_s_max=self.planner_cpu_s_max,
            answer_s_max=self.planner_answer_s_max,
        )
