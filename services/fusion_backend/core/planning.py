"""The planner: one pure function from a request to the plan of one generation of a job.

SIGNATURES FIRST: `plan` and `read_application` are being filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contracts.bundle_format import Bundle
from services.fusion_backend.core.records import Fusion, PlanRecord

Application = Any


@dataclass(frozen=True, slots=True)
class Threading:
    """The threading model that the job spec asks for."""

    model: Literal["automatic", "dedicated", "dynamic", "manual"]
    threads: int | None = None
    elastic: bool | None = None


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What one plan may cost."""

    aadl_bytes_max: int = 900 * 1024
    operators_max: int = 20_000
    connections_max: int = 1_000_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything a plan depends on; equal requests give equal plans, byte for byte.

    `width_overrides`: (alias pattern, width) of the job spec. `widths`: exact widths by region name
    of the ParallelRegion objects at a resize; they win over everything else.
    """

    application: Application
    bundle_digest: str
    job_name: str
    job_id: int
    fusion: Fusion
    generation: int = 1
    width_overrides: tuple[tuple[str, int], ...] = ()
    widths: Mapping[str, int] = field(default_factory=dict)
    submission_time_values: Mapping[str, str] = field(default_factory=dict)
    threading: Threading | None = None
    data_directory: str | None = None
    tracing: str | None = None
    previous: PlanRecord | None = None
    limits: PlanLimits = PlanLimits()


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan: its record, the AADL texts that are new or changed, the job's port labels."""

    record: PlanRecord
    aadls: Mapping[int, str]
    port_labels: str
    warnings: tuple[str, ...] = ()


def read_application(bundle: Bundle) -> Application:
    """The application in a bundle; may be kept by `bundle.digest`. Raises PlanRefused."""
    raise NotImplementedError


def plan(request: PlanRequest) -> PlanResult:
    """The plan of one generation. Raises PlanRefused."""
    raise NotImplementedError
