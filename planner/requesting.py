"""The request to the planner: everything a plan depends on, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planner.application import model
from planner.fusion.placing import ORIGINAL, USUAL, HostRules
from planner.fusion.reckoning import NOT_MEASURED, CpuUsage
from planner.graph.keeping_state import Store
from planner.graph.threading_models import Threading
from planner.numbering.records import Fusion, PlanRecord


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What one plan may cost.

    Isolated operators are written into labels of the pods of all other PEs: each pod has so many
    at most (its object may have 1.5 MB), all pods of the job together so many (some 40 MB).
    """

    aadl_bytes_max: int = 900 * 1024
    isolated_max: int = 1_024
    isolation_labels_max: int = 262_144
    operators_max: int = 200_000
    connections_max: int = 2_000_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything a plan depends on; equal requests give equal plans, byte for byte.

    `width_overrides`: (alias pattern, width) of the job spec. `widths`: exact widths by region name
    of the ParallelRegion objects at a resize; they win over everything else. `compat`: as the
    original would have planned it. `hosts`: how host constraints are put into force. `usage`:
    measured CPU, which automatic fusion chooses the number of PEs from, and at a resize how much
    a PE has room for. `store`: where operators keep their state.
    """

    application: model.Application
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
    compat: bool = False
    hosts: HostRules = USUAL
    usage: CpuUsage = NOT_MEASURED
    store: Store = Store.SHARED

    @property
    def resized(self) -> PlanRecord | None:
        """The previous record if it is one of the same application."""
        previous = self.previous
        return previous if previous and previous.bundle_digest == self.bundle_digest else None

    @property
    def usage_in_force(self) -> CpuUsage:
        """`usage`; if the cluster was not measured for this plan, as it was for the one before."""
        before = self.resized.measured if self.resized else None
        return self.usage if self.usage.cluster else replace(self.usage, cluster=before)

    @property
    def running(self) -> frozenset[int]:
        """The operators of that record."""
        known = self.resized.operators if self.resized else ()
        return frozenset(each.operator for each in known)

    @property
    def hosts_in_force(self) -> HostRules:
        """`hosts`, or how the original puts them into force."""
        return ORIGINAL if self.compat else self.hosts
