"""A snapshot at a time, and what follows from it: questions that several rules ask.

Each property is computed once, at its first use. Which of them decides what is done is the business
of the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from contracts import labels
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources import JobPhase, JobSpec
from planner.numbering.records import PeRecord
from planner.refusals import PlanRefused
from services.fusion_backend.core.admission import PLACEMENT, AdmissionInForce
from services.fusion_backend.core.clearing import delete_children
from services.fusion_backend.core.effects import DeleteChild, Effect, WriteRegionStatus
from services.fusion_backend.core.handing_over import HandingOver
from services.fusion_backend.core.membership import Difference, difference, leftovers
from services.fusion_backend.core.pe_services import services_in_use
from services.fusion_backend.core.placement_states import PlacementState, Placing, question_of
from services.fusion_backend.core.progress import pes_not_running, pes_without_pod, start_trouble
from services.fusion_backend.core.provisions_due import provisions_missing, servers_awaited
from services.fusion_backend.core.region_statuses import outdated_statuses
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.shares import Shares
from services.fusion_backend.core.snapshot import (
    Damage,
    JobSeen,
    KnownPlan,
    Snapshot,
    Trouble,
)
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.editing import refusal_of_edit
from services.fusion_backend.core.spec.inputs import PlanInputs, first_inputs, template_of
from services.fusion_backend.core.starting import in_turn, unsettled, with_refused, without_node
from services.fusion_backend.core.widths import (
    WidthRequests,
    first_request,
    width_requests,
)
from services.fusion_backend.core.withholding import deletions_to_record, withheld_pes

BEGUN: Final = frozenset(
    {JobPhase.SUBMITTING, JobPhase.SUBMITTED, JobPhase.RESIZING, JobPhase.COMPLETED}
)
"""The phases of a job that is put in force or runs. A deletion is never taken back."""
JOB_ID = "job id"
"""The subject of trouble with the counter of job ids."""
TROUBLE_SETTLES_S = 1.0
"""How long something must go wrong until a condition says so: most trouble passes sooner."""


@dataclass(frozen=True)
class Situation:
    """A snapshot at a time, and what follows from it; each answer is computed once."""

    snapshot: Snapshot
    now: float

    @property
    def job(self) -> JobSeen:
        """The Job; used only if it exists."""
        assert self.snapshot.job is not None, "a step of a job needs the Job"
        return self.snapshot.job

    @cached_property
    def phase(self) -> JobPhase | None:
        """The recorded phase; an unknown word counts as none."""
        if self.snapshot.job is None or self.snapshot.job.phase not in set(JobPhase):
            return None
        return JobPhase(self.snapshot.job.phase)

    @property
    def is_leaving(self) -> bool:
        """Whether the Job is gone or is being deleted."""
        return self.snapshot.job is None or self.snapshot.job.deleting

    @property
    def has_begun(self) -> bool:
        """Whether the Job has an id and a phase."""
        return self.job.id is not None and self.phase is not None

    @property
    def plan(self) -> KnownPlan:
        """The newest plan; used only after it was read."""
        assert self.snapshot.newest is not None, "a step of a plan needs the plan"
        return self.snapshot.newest

    @cached_property
    def spec_refusal(self) -> PlanRefused | None:
        """Why the spec cannot be accepted."""
        return refusal_of_spec(self.job.spec, self.snapshot.pod_rules)

    @cached_property
    def first_inputs(self) -> PlanInputs:
        """What the first plan of an attempt is made from.

        A job that runs and has lost every plan record keeps the widths that its status says.
        """
        assert self.job.id is not None, "an id is taken before anything is planned"
        runs = self.phase is not JobPhase.SUBMITTING
        return first_inputs(
            JobSpec.model_validate(self.job.spec),
            job_name=self.job.name,
            job_id=self.job.id,
            generation=self.job.plan_generation + 1,
            cluster=self.snapshot.cluster,
            template=template_of(self.job.spec),
            widths=self.job.status.get("widths") if runs else None,
            services=services_in_use(self.snapshot),
        )

    @cached_property
    def next_plan(self) -> WidthRequests:
        """The plan that comes next: the first one, or what the ParallelRegions ask for."""
        if self.snapshot.newest is not None:
            return width_requests(self.snapshot, self.snapshot.newest, self.now)
        is_planning = self.phase in BEGUN and self.snapshot.newest_generation < 0
        if not is_planning or self.job.id is None:
            return WidthRequests()
        if self.spec_refusal is not None:
            return WidthRequests(refusal=self.spec_refusal)
        return first_request(self.snapshot, self.first_inputs)

    @cached_property
    def placing(self) -> Placing:
        """What has to be answered before the plan that comes next is recorded; how that stands."""
        ready = self.next_plan.ready
        question = question_of(self.snapshot, ready) if ready is not None else None
        return Placing(self.snapshot, question, self.now, self.next_plan.first_tried)

    # ------------------------------------------------------------------ the newest record

    @cached_property
    def damage(self) -> Damage | None:
        """Why the newest record cannot be read."""
        if self.snapshot.newest is not None:
            return None
        return self.snapshot.damaged.get(self.snapshot.newest_generation)

    @property
    def is_unread(self) -> bool:
        """Whether the newest record is still to be read."""
        return self.snapshot.newest is None and self.snapshot.newest_generation >= 0

    @property
    def is_lost(self) -> bool:
        """Whether the newest record was deleted, and we still know its plan."""
        snapshot = self.snapshot
        return snapshot.newest is not None and snapshot.newest_generation not in snapshot.heads

    @cached_property
    def is_plan_refused(self) -> bool:
        """Whether there is no plan to go by, and the planner refuses to make one."""
        return not self.is_lost and self.next_plan.refusal is not None

    @cached_property
    def awaits_servers(self) -> bool:
        """Whether there is no plan, and its redis servers are to be found first."""
        if self.snapshot.newest is not None or self.is_unread or self.is_plan_refused:
            return False
        return servers_awaited(self.snapshot) is not None

    @cached_property
    def awaits_record(self) -> bool:
        """Whether there is no plan, or another record comes at once: what it replaces is left.

        A newer plan may wait for its placement for minutes, and the planner may fail for reasons of
        its own. What is in force is kept meanwhile, unless it is older than the status says.
        """
        snapshot = self.snapshot
        if snapshot.newest is None or self.is_lost:
            return True
        if self.next_plan.ready is not None:
            is_waiting = self.placing.state in (PlacementState.UNANSWERED, PlacementState.WAITING)
            return snapshot.is_behind or not is_waiting
        unplanned = self.next_plan.unplanned
        if unplanned is None or unplanned.digest in snapshot.troubled:
            return snapshot.is_behind
        return snapshot.is_behind or self.in_progress or not snapshot.is_planning

    @cached_property
    def hand_over(self) -> HandingOver:
        """The hand-over that goes on, and the one that the plan which is put in force needs."""
        is_wanted = self.in_progress and not self.awaits_record
        return HandingOver(self.snapshot, self.plan if is_wanted else None, self.now)

    @cached_property
    def is_text_missing(self) -> bool:
        """Whether a text of the newest plan has to be written and is not known."""
        if self.awaits_record:
            return False
        return bool(self.difference.textless) or self.difference.port_labels_textless

    @cached_property
    def is_put_in_force(self) -> bool:
        """Whether every object of the newest plan exists and nothing else, and regions say so."""
        if self.awaits_record or not self.difference.is_empty:
            return False
        is_awaited = self.in_progress and (self.podless or self.shares.unsettled)
        return not is_awaited and not self.leftovers and not self.outdated_statuses

    # ------------------------------------------------------------------ refusals, trouble, times

    @cached_property
    def edit_refusal(self) -> PlanRefused | None:
        """Why the spec of a job that has its plan is refused, so that it is not taken up."""
        inputs, pes = self.plan.inputs, len(self.plan.record.pes)
        return refusal_of_edit(self.job.spec, inputs, self.snapshot.pod_rules, pes)

    def may_plan(self, inputs: PlanInputs) -> bool:
        """Whether the planner may be called now: one plan of a job at a time, and not too often."""
        trouble = self.snapshot.troubled.get(inputs.digest)
        return not self.snapshot.is_planning and (trouble is None or trouble.until <= self.now)

    @cached_property
    def trouble(self) -> Trouble | None:
        """What has gone wrong longest with what is still to be done, and is tried again."""
        found = [*self._write_troubles(), self._pod_trouble(), self.planning_trouble]
        return min((each for each in found if each), key=lambda each: each.since, default=None)

    def _write_troubles(self) -> Iterator[Trouble]:
        troubles = self.snapshot.troubles
        if not troubles:
            return
        subjects = {JOB_ID} if self.job.id is None else set(provisions_missing(self.snapshot))
        if self.snapshot.newest is not None:
            found = self.difference
            subjects |= {f"{each.kind} {each.name}" for each in found.creates}
            subjects |= {f"{each.kind} {each.name}" for each in found.patches}
        if self.placing.question is not None:
            pools = self.placing.question.plan.record.pools
            subjects |= {f"HostPool {labels.pe_name(self.job.name, pool.index)}" for pool in pools}
            subjects.add(f"{PLACEMENT} {self.job.name}")
        newest = self.snapshot.newest_generation
        subjects |= {f"plan record {number}" for number in (newest, newest + 1)}
        yield from (trouble for subject, trouble in troubles.items() if subject in subjects)

    def _pod_trouble(self) -> Trouble | None:
        """A pod that the API server refuses, as the status of its PE says."""
        if self.snapshot.newest is None or not self.in_progress:
            return None
        entries = self.snapshot.of("ProcessingElement")
        names = (labels.pe_name(self.snapshot.name, pe) for pe in self.podless)
        for entry in (entries[name] for name in names if name in entries):
            seen = PeSeen(entry)
            if seen.reason == Reason.POD_REFUSED:
                text = f"pod of {seen.name}: {seen.message}"
                return Trouble(Reason.POD_REFUSED, text, since=0.0)
        return None

    @property
    def planning_trouble(self) -> Trouble | None:
        """What keeps the planner from answering."""
        wanted = self.next_plan.unplanned
        return self.snapshot.troubled.get(wanted.digest) if wanted is not None else None

    @cached_property
    def deadline(self) -> float | None:
        """When the submission times out."""
        started = self.job.status.get("startedAt")
        if self.phase is not JobPhase.SUBMITTING or not started:
            return None
        return unix_s_of(started) + self.job.time_out_s

    @cached_property
    def in_progress(self) -> bool:
        """Whether the newest generation has not been recorded as complete yet."""
        if self.phase in (JobPhase.SUBMITTING, JobPhase.RESIZING):
            return True
        return self.snapshot.newest_generation > self.job.plan_generation

    @cached_property
    def difference(self) -> Difference:
        """What separates the children from the plan; in a resize, what of it comes first."""
        found = difference(
            self.snapshot,
            self.plan,
            confirmed=not self.in_progress,
            withheld=self.withheld,
            kept=self.hand_over.kept,
            has_placement=self.admission.has_placement,
            is_requesting=self.is_requesting,
            other_shares=self.shares.to_patch if self.is_resize else (),
        )
        return in_turn(found, self.snapshot, self.plan) if self.is_resize else found

    @cached_property
    def shares(self) -> Shares:
        """The shares of PEs in the resources of the job."""
        return Shares(self.snapshot, self.plan)

    @property
    def is_resizing_unknown(self) -> bool:
        """Whether a resize depends on whether the cluster resizes pods in place."""
        return self.is_resize and self.shares.is_unknown

    @property
    def is_resize(self) -> bool:
        """Whether a plan after the first one is put in force."""
        return self.in_progress and self.phase is not JobPhase.SUBMITTING

    @cached_property
    def admission(self) -> AdmissionInForce:
        """What spec.admission makes of the newest plan."""
        is_settled = not self.in_progress
        return AdmissionInForce(self.snapshot, self.plan, self.now, is_settled)

    @cached_property
    def is_requesting(self) -> bool:
        """Whether the Placement may speak of a newer plan than the newest record.

        Then neither the Placement nor a HostPool is patched back to the plan in force, and no pool
        of the newer plan is deleted. After a refusal this holds until the regions report it: a
        restarted service reads it there.
        """
        unplanned = self.next_plan.unplanned
        is_planned = unplanned is not None and unplanned.digest not in self.snapshot.troubled
        is_unsaid = any(each.refused is not None for each in self.outdated_statuses)
        return is_planned or is_unsaid or self.placing.question is not None

    @cached_property
    def podless(self) -> list[int]:
        """PEs of the plan without a pod of their content; in a resize, those that it waits for."""
        found = pes_without_pod(self.snapshot, self.plan.record, self.withheld)
        return unsettled(self.snapshot, self.plan, found) if self.is_resize else found

    @cached_property
    def withheld(self) -> frozenset[int]:
        """PEs of the plan that somebody deleted and that are not created again."""
        return withheld_pes(self.snapshot, self.plan, is_in_force=not self.in_progress)

    @cached_property
    def deletions_to_record(self) -> frozenset[int]:
        """The PEs that the status should record as deleted."""
        return deletions_to_record(self.snapshot, self.plan, self.withheld)

    @cached_property
    def without_node(self) -> list[PeRecord]:
        """PEs that a resize added and that have never been on a node, as it had no room for all."""
        return without_node(self.snapshot, self.plan)

    @property
    def without_room(self) -> list[PeRecord]:
        """The same, and PEs whose pod no node can take."""
        return with_refused(self.snapshot, self.plan, self.without_node)

    @cached_property
    def not_running(self) -> list[int]:
        """PEs of the plan whose content no pod runs."""
        return pes_not_running(self.snapshot, self.plan.record)

    @cached_property
    def start_trouble(self) -> str:
        """Why a PE does not start, as its status says; empty if none says so."""
        return start_trouble(self.snapshot, self.plan.record)

    @property
    def is_complete(self) -> bool:
        """Whether every object of the newest plan exists, one pod a PE included."""
        has_plan = self.snapshot.newest is not None
        return has_plan and self.difference.is_empty and not self.podless

    @cached_property
    def leftovers(self) -> tuple[DeleteChild, ...]:
        """Children that the plan does not name."""
        return leftovers(
            self.snapshot,
            self.plan,
            has_placement=self.admission.has_placement,
            is_requesting=self.is_requesting,
        )

    @cached_property
    def deletions(self) -> tuple[Effect, ...]:
        """What deletes the children of a Job that goes, or of an attempt that failed."""
        return delete_children(self.snapshot)

    @cached_property
    def outdated_statuses(self) -> tuple[WriteRegionStatus, ...]:
        """Statuses of regions that are due.

        Those of a submission are due at once, those of a resize when every pod exists.
        """
        is_settled = self.phase is JobPhase.SUBMITTING or not (self.in_progress and self.podless)
        return outdated_statuses(
            self.snapshot,
            self.plan,
            self.next_plan,
            self.placing.waiting,
            is_settled=is_settled,
            without_node=self.without_node,
        )
