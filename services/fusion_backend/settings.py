"""Settings of fusion-backend; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from services.chassis.settings import ServiceSettings
from services.fusion_backend.adapters.planning_worker import WorkerLimits
from services.fusion_backend.adapters.provisioner import Names


class FusionBackendSettings(ServiceSettings):
    """Where bundles are, and what planning may cost."""

    bundle_root: Path = Field(description="directory from which bundles are taken")
    bundle_store: Path = Field(description="directory in which bundles are kept by digest")
    planner_workers: int = Field(default=2, ge=1, le=64)
    planner_memory_bytes_max: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    planner_cpu_s_max: int = Field(default=120, ge=1)
    planner_answer_s_max: float = Field(default=240.0, gt=0)
    width_max: int = Field(default=20_000, ge=1, description="widest parallel region planned")

    cluster_domain: str = Field(
        default="cluster.local", description="what the DNS names of the cluster's Services end with"
    )
    redis_host: str = Field(
        default="{service}.{namespace}.svc.cluster.local",
        description="the DNS name whose addresses are the servers of a redis checkpoint store",
    )
    dns_answer_s_max: float = Field(default=5.0, gt=0)

    @field_validator("redis_host")
    @classmethod
    def name_a_service(cls, value: str) -> str:
        """Refuse early what could not be filled in."""
        try:
            value.format(service="redis", namespace="default")
        except (KeyError, IndexError, ValueError) as problem:
            raise ValueError("may have {service} and {namespace} in it, nothing else") from problem
        return value

    @property
    def names(self) -> Names:
        """How Services are called in the DNS."""
        return Names(cluster_domain=self.cluster_domain, redis_host=self.redis_host)

    @property
    def worker_limits(self) -> WorkerLimits:
        """What one planning worker may use."""
        return WorkerLimits(
            memory_bytes_max=self.planner_memory_bytes_max,
            cpu_s_max=self.planner_cpu_s_max,
            answer_s_max=self.planner_answer_s_max,
        )
