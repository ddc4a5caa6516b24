"""Whether the plan in force has a Placement, and what spec.admission has to do with it.

1. A job with host constraints has one, and so has every job of Require: it was requested before the
   plan was recorded (`placement_states.py`).
2. Under Check, a job gets one when a pod has been unschedulable for UNSCHEDULABLE_S, and keeps it
   until every PE has a node. hostpool-manager then says what the PEs lack.
3. Under Ignore it has none.

Properties: a job whose pods all get nodes has none, and nothing is written for it; what decides is
in the statuses of PEs and of the Placement, so that a restarted service decides the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from contracts.moments import past_s
from contracts.resources import PePhase
from contracts.resources.job import Admission
from planner.numbering.records import PeRecord
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry
from services.fusion_backend.core.placement_requests import has_constraints, placement_spec
from services.fusion_backend.core.seen import PeSeen, PlacementSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.editing import admission_to_take_up

PLACEMENT: Final = "Placement"
UNSCHEDULABLE_S: Final = 2.0
"""How long a pod has to be unschedulable until its job requests a placement."""
SCHEDULER_S: Final = 15.0
"""How long the scheduler may take for a pod that fits: it tries one again after 10 s at most."""
_WITHOUT_NODE: Final = frozenset({None, PePhase.WAITING, PePhase.STARTING})


@dataclass(frozen=True)
class AdmissionInForce:
    """What admission makes of the plan in force at a time.

    `is_settled`: its generation is complete. Before, its pods are still to come.
    """

    snapshot: Snapshot
    plan: KnownPlan
    now: float
    is_settled: bool

    @cached_property
    def is_constrained(self) -> bool:
        """Whether the plan has host constraints."""
        return has_constraints(self.plan.record)

    @cached_property
    def admission(self) -> Admission:
        """The newest value that is accepted."""
        snapshot, pes = self.snapshot, len(self.plan.record.pes)
        assert snapshot.job is not None, "a plan in force is that of a Job"
        return admission_to_take_up(snapshot.job.spec, self.plan.inputs, snapshot.pod_rules, pes)

    @cached_property
    def seen(self) -> PlacementSeen | None:
        """The job's Placement."""
        entry = self.snapshot.of(PLACEMENT).get(self.snapshot.name)
        return PlacementSeen(entry) if entry is not None else None

    @cached_property
    def has_placement(self) -> bool:
        """Whether the job has a Placement while this plan is in force."""
        return self._is_wanted and self.refusal is None

    @cached_property
    def _is_wanted(self) -> bool:
        if self.is_constrained:
            return True
        match self.admission:
            case Admission.REQUIRE:
                return True
            case Admission.IGNORE:
                return False
        if self.seen is not None:
            return any(_is_without_node(each) for _, each in self._pes())
        return self.is_settled and any(
            self.now >= since + UNSCHEDULABLE_S for since in self.unschedulable.values()
        )

    @cached_property
    def refusal(self) -> PlanRefused | None:
        """Why a Placement that is missing cannot be requested: the request is too large."""
        if self.is_constrained or not self._is_wanted or self.seen is not None:
            return None
        try:
            placement_spec(self.snapshot, self.plan, is_in_force=True)
        except PlanRefused as refusal:
            return refusal
        return None

    @cached_property
    def unschedulable(self) -> dict[int, float]:
        """Since when (unix seconds) the pods of PEs are unschedulable, by the PEs' ids."""
        entries = self.snapshot.of("ProcessingElement")
        fine = self.plan.schedulable.among(entries.values(), _is_schedulable)
        found = {
            pe.id: PeSeen(entry).unschedulable_since
            for pe in self.plan.record.pes
            if (entry := entries.get(pe.name)) is not None and id(entry) not in fine
        }
        return {pe: past_s(since, self.now) for pe, since in found.items() if since is not None}

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """PEs that fit by what a Placement knows, and that the scheduler leaves without a node."""
        if self.is_constrained or not self.has_placement or self._placed_since is None:
            return ()
        return tuple(
            pe for pe, since in self.unschedulable.items() if self.now >= self._left_out_from(since)
        )

    @property
    def look_at(self) -> float | None:
        """When time alone changes the answer."""
        if self.is_constrained or self.admission is Admission.IGNORE:
            return None
        times = [since + UNSCHEDULABLE_S for since in self.unschedulable.values()]
        if self._placed_since is not None:
            times = [self._left_out_from(since) for since in self.unschedulable.values()]
        return min((each for each in times if each > self.now), default=None)

    @property
    def _placed_since(self) -> float | None:
        """Since when a placement answers the request, if one does."""
        return self.seen.placed_since if self.seen is not None else None

    def _left_out_from(self, since: float) -> float:
        return max(since, past_s(self._placed_since or 0.0, self.now)) + SCHEDULER_S

    def _pes(self) -> Iterator[tuple[PeRecord, PeSeen]]:
        entries = self.snapshot.of("ProcessingElement")
        for pe in self.plan.record.pes:
            entry = entries.get(pe.name)
            if entry is not None and not entry.unreadable:
                yield pe, PeSeen(entry)


def _is_schedulable(entry: Entry) -> bool:
    """Whether the status of a PE does not say that no node takes its pod."""
    return bool(entry.unreadable) or PeSeen(entry).unschedulable_since is None


def _is_without_node(pe: PeSeen) -> bool:
    """Whether the newest launch of a PE waits for a node, or for its pod."""
    return pe.phase in _WITHOUT_NODE and not pe.node
