"""Looks at a whole snapshot and names what it shows: one observation, the first that holds.

The order of the questions is the order of `Observation`. What an answer was found with (the
difference from the plan, the widths asked for) is kept for the step that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from contracts.moments import unix_s_of
from contracts.resources import JobSpec
from services.fusion_backend.core.accepting import refusal_of_spec
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import DeleteChild, SayWidth
from services.fusion_backend.core.inputs import PlanInputs, first_inputs
from services.fusion_backend.core.membership import (
    Difference,
    all_completed,
    difference,
    leftovers,
    pes_not_running,
    pes_without_pod,
)
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Outcome, Snapshot
from services.fusion_backend.core.transitions import Observation, Phase
from services.fusion_backend.core.widths import WidthsAsked, unsaid, widths_asked

SUBMISSION_TIME_OUT_S = 300
HEALTH_SETTLES_S = 5.0
"""How long Healthy stays True at least: pods that come and go must not write on every step."""


@dataclass(frozen=True)
class Situation:
    """A snapshot at a time, and what follows from it; each answer is computed once."""

    snapshot: Snapshot
    now: float

    @property
    def job(self) -> JobSeen:
        """The Job; only asked where there is one."""
        assert self.snapshot.job is not None, "a step of a job needs the Job"
        return self.snapshot.job

    @property
    def phase(self) -> Phase:
        """The recorded phase; an unknown word counts as none."""
        if self.snapshot.job is None or self.snapshot.job.phase not in set(Phase):
            return Phase.NONE
        return Phase(self.snapshot.job.phase)

    @property
    def plan(self) -> KnownPlan:
        """The newest plan; only asked once it was read."""
        assert self.snapshot.newest is not None, "a step of a plan needs the plan"
        return self.snapshot.newest

    @cached_property
    def spec_refusal(self) -> PlanRefused | None:
        """Why the spec cannot be accepted."""
        return refusal_of_spec(self.job.spec)

    @cached_property
    def first_inputs(self) -> PlanInputs:
        """What the first plan of an attempt is made from."""
        assert self.job.id is not None, "an id is taken before anything is planned"
        return first_inputs(
            JobSpec.model_validate(self.job.spec),
            job_name=self.job.name,
            job_id=self.job.id,
            generation=self.job.plan_generation + 1,
            nodes=self.snapshot.nodes,
        )

    @cached_property
    def first_outcome(self) -> Outcome | None:
        """The planner's answer to the first inputs, if it has answered."""
        return self.snapshot.outcomes.get(self.first_inputs.digest)

    @cached_property
    def deadline(self) -> float | None:
        """When the submission times out."""
        started = self.job.status.get("startedAt")
        if self.phase is not Phase.SUBMITTING or not started:
            return None
        limit_s = self.job.spec.get("submissionTimeOutInSeconds") or SUBMISSION_TIME_OUT_S
        return unix_s_of(started) + float(limit_s)

    @cached_property
    def widths(self) -> WidthsAsked:
        """What the ParallelRegions ask for."""
        return widths_asked(self.snapshot, self.plan)

    @cached_property
    def in_progress(self) -> bool:
        """Whether the newest generation has not been recorded as complete yet."""
        if self.phase in (Phase.SUBMITTING, Phase.RESIZING):
            return True
        return self.snapshot.newest_generation > self.job.plan_generation

    @cached_property
    def difference(self) -> Difference:
        """What separates the children from the plan."""
        return difference(self.snapshot, self.plan, confirmed=not self.in_progress)

    @cached_property
    def podless(self) -> list[int]:
        """PEs of the plan without a pod of their content."""
        return pes_without_pod(self.snapshot, self.plan.record)

    @cached_property
    def not_running(self) -> list[int]:
        """PEs of the plan whose content no pod runs."""
        return pes_not_running(self.snapshot, self.plan.record)

    @property
    def is_complete(self) -> bool:
        """Whether every object of the newest plan exists, one pod a PE included."""
        has_plan = self.snapshot.newest is not None
        return has_plan and self.difference.is_empty and not self.podless

    @cached_property
    def leftovers(self) -> tuple[DeleteChild, ...]:
        """Children that the plan does not name."""
        return leftovers(self.snapshot, self.plan.record)

    @property
    def unsaid(self) -> tuple[SayWidth, ...]:
        """Statuses of regions that are due.

        Those of a submission are due at once, those of a resize when every pod exists.
        """
        is_settled = self.phase is Phase.SUBMITTING or not (self.in_progress and self.podless)
        return unsaid(self.snapshot, self.plan, self.widths.refused, is_settled=is_settled)

    @property
    def healthy_since(self) -> float | None:
        """Since when Healthy is True, if it is."""
        healthy = condition(self.job.status, "Healthy")
        if healthy.get("status") != "True":
            return None
        return unix_s_of(healthy["lastTransitionTime"])

    @property
    def health_changed(self) -> bool:
        """Whether Healthy is due to be written; a fall waits until it has settled."""
        if self.healthy_since is None:
            said = condition(self.job.status, "Healthy").get("status")
            return not self.not_running or said is None
        return bool(self.not_running) and self.now >= self.healthy_since + HEALTH_SETTLES_S


Question = Callable[[Situation], Observation | None]


def observe(situation: Situation) -> Observation:
    """The first observation that holds."""
    for question in _questions(situation):
        if found := question(situation):
            return found
    return Observation.IN_PLACE


def _questions(situation: Situation) -> Iterator[Question]:
    """The questions in order; those about a plan are asked only once there is one."""
    yield _about_existence
    if situation.phase is Phase.FAILED:
        yield _about_failure
    yield _about_beginning
    if situation.snapshot.newest is None:
        yield _about_first_plan
    yield _about_time
    if situation.snapshot.newest is not None:
        yield _about_widths
        yield _about_children
        yield _about_completeness
        yield _about_work
        yield _about_words


def _about_existence(situation: Situation) -> Observation | None:
    job = situation.snapshot.job
    if job is None:
        return Observation.JOB_GONE
    if not job.deleting:
        return None
    return Observation.JOB_ORPHANING if job.orphaning else Observation.JOB_DELETING


def _about_failure(situation: Situation) -> Observation | None:
    if any(situation.snapshot.children.values()):
        return Observation.REMAINS
    job = situation.job
    is_same = (
        job.status.get("observedGeneration") == job.generation
        and (job.status.get("observedRetry") or "") == job.retry
    )
    return Observation.FAILED_FOR_GOOD if is_same else Observation.TRIED_ANEW


def _about_beginning(situation: Situation) -> Observation | None:
    is_unplanned = situation.snapshot.newest_generation < 0
    may_be_refused = situation.phase in (Phase.NONE, Phase.SUBMITTING)
    if is_unplanned and may_be_refused and situation.spec_refusal:
        return Observation.SPEC_REFUSED
    if situation.job.id is None or situation.phase is Phase.NONE:
        return Observation.NOT_BEGUN
    return None


def _about_first_plan(situation: Situation) -> Observation | None:
    if situation.snapshot.newest_generation >= 0:
        return Observation.PLAN_UNREAD
    if situation.phase is not Phase.SUBMITTING and situation.spec_refusal:
        return Observation.PLAN_REFUSED
    outcome = situation.first_outcome
    if isinstance(outcome, PlanRefused):
        return Observation.PLAN_REFUSED
    late = _about_time(situation)
    return late or (Observation.UNPLANNED if outcome is None else Observation.PLANNED)


def _about_time(situation: Situation) -> Observation | None:
    if situation.is_complete:
        return None
    if situation.deadline is not None and situation.now >= situation.deadline:
        return Observation.TIMED_OUT
    if situation.snapshot.name_taken and situation.phase is Phase.SUBMITTING:
        return Observation.NAME_TAKEN
    return None


def _about_widths(situation: Situation) -> Observation | None:
    if situation.snapshot.newest_generation not in situation.snapshot.heads:
        return Observation.PLAN_LOST
    if situation.widths.ready is not None:
        return Observation.WIDTHS_PLANNED
    asked = situation.widths.asked
    if asked is not None and asked.digest not in situation.snapshot.troubled:
        return Observation.WIDTHS_UNPLANNED
    return None


def _about_children(situation: Situation) -> Observation | None:
    found = situation.difference
    if found.textless or found.port_labels_textless:
        return Observation.TEXTS_MISSING
    if found.creates or found.patches:
        return Observation.CHILDREN_DIFFER
    if found.leaving:
        return Observation.CHILDREN_LEAVING
    return None


def _about_completeness(situation: Situation) -> Observation | None:
    if situation.in_progress and situation.podless:
        return Observation.PODS_MISSING
    if situation.leftovers:
        return Observation.LEFTOVERS
    if situation.unsaid:
        return Observation.WIDTHS_UNSAID
    return Observation.COMPLETE if situation.in_progress else None


def _about_work(situation: Situation) -> Observation | None:
    is_done = all_completed(situation.snapshot, situation.plan.record)
    if is_done and situation.phase is Phase.SUBMITTED:
        return Observation.WORK_DONE
    if not is_done and situation.phase is Phase.COMPLETED:
        return Observation.WORK_RESUMED
    return None


def _about_words(situation: Situation) -> Observation | None:
    if situation.job.status.get("observedGeneration") != situation.job.generation:
        return Observation.SPEC_EDITED
    is_judged = situation.phase is Phase.SUBMITTED
    return Observation.HEALTH_CHANGED if is_judged and situation.health_changed else None
