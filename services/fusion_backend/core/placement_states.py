"""How the question stands that a job asks with its Placement, before a plan is recorded.

A Placement answers for its `metadata.generation`, so what it says of an older spec is no answer.
The request is made in `placement_requests.py`; `generation_rules.py` decides what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final

from pydantic import ValidationError

from contracts.moments import moment_of, unix_s_of
from contracts.reasons import Reason
from contracts.resources import JobCondition, PlacementPhase, PlacementSpec
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.fusion_backend.core.admission import PLACEMENT
from services.fusion_backend.core.children import Body
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.naming_pes import with_operators
from services.fusion_backend.core.placement_requests import is_placed_first, placement_spec
from services.fusion_backend.core.recording import kept_warnings
from services.fusion_backend.core.region_statuses import Waiting
from services.fusion_backend.core.seen import PlacementSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import PlanInputs
from services.fusion_backend.core.trying_again import TIME_OUT

PLACING_SETTLES_S = 2.0
"""How long a Placement may go without an answer until a region says so."""


class PlacementState(Enum):
    """What is known of the answer to a question."""

    UNASKED = "the Placement is missing, or asks for something else"
    UNANSWERED = "the Placement requests it, and has no answer yet"
    WAITING = "there is no placement now, and there may be one later"
    REFUSED = "there is no placement"
    PLACED = "there is one"


_REPORTED_AS: Final[Mapping[PlacementState | None, str]] = {
    PlacementState.UNANSWERED: "Unknown",
    PlacementState.WAITING: "False",
}
"""What the condition Placed says of them."""


@dataclass(frozen=True)
class Question:
    """The request to be answered before a plan is recorded; `refusal`: it cannot be written."""

    plan: KnownPlan
    spec: Body
    refusal: PlanRefused | None = None


@dataclass(frozen=True)
class Placing:
    """The question of the plan that comes next, if there is one, and how it stands at a time.

    A submission has its own deadline. Widths have as long as a submission, from when the condition
    Placed began to say that they wait, or from when they had no placement first (`first_tried`).
    Then they are refused.
    """

    snapshot: Snapshot
    question: Question | None
    now: float
    first_tried: float | None = None

    @cached_property
    def seen(self) -> PlacementSeen | None:
        """The job's Placement."""
        return placement_of(self.snapshot)

    @cached_property
    def state(self) -> PlacementState | None:
        """How the question stands; None without one."""
        return PlacementState.REFUSED if self.is_late else self._answer

    @cached_property
    def _answer(self) -> PlacementState | None:
        """What the Placement says, however long that has been so."""
        seen, question = self.seen, self.question
        if question is None:
            return None
        if question.refusal is not None:
            return PlacementState.REFUSED
        if seen is None or seen.is_deleting or not requests(seen, question.spec):
            return PlacementState.UNASKED
        state, generation = _of_answer(seen), seen.answered_generation
        is_older = state is PlacementState.PLACED and (
            generation is None or generation < question.spec["generation"]
        )
        return PlacementState.UNANSWERED if is_older else state

    @property
    def is_waiting(self) -> bool:
        """Whether a plan waits for its placement."""
        return self.state in (
            PlacementState.UNASKED,
            PlacementState.UNANSWERED,
            PlacementState.WAITING,
        )

    @property
    def is_late(self) -> bool:
        """Whether widths have waited for their placement as long as they may."""
        return self.until is not None and self.now >= self.until

    @cached_property
    def since(self) -> float | None:
        """Since when the condition Placed says that widths have no placement yet.

        It is False where there is none for now, and Unknown while nobody has answered. None for a
        plan that is made again, since its record was lost: it is not refused for being late.
        """
        snapshot, reported = self.snapshot, _REPORTED_AS.get(self._answer)
        job, is_requested = snapshot.job, snapshot.newest is not None and not snapshot.is_behind
        if job is None or not is_requested or reported is None:
            return None
        placed = condition(job.status, JobCondition.PLACED.value)
        return unix_s_of(placed["lastTransitionTime"]) if placed.get("status") == reported else None

    @cached_property
    def until(self) -> float | None:
        """When widths that wait for their placement are refused."""
        if self.since is None or self.snapshot.job is None:
            return None
        since = self.since if self.first_tried is None else min(self.since, self.first_tried)
        return since + self.snapshot.job.time_out_s

    @property
    def unanswered_from(self) -> float | None:
        """When regions say that new widths have no answer: most have it sooner."""
        if self.since is None or self.state is not PlacementState.UNANSWERED:
            return None
        return self.since + PLACING_SETTLES_S

    @cached_property
    def refusal(self) -> PlanRefused | None:
        """Why the plan that comes next is not put in force, where it has no placement."""
        seen, question = self.seen, self.question
        if question is None or self.state is not PlacementState.REFUSED:
            return None
        if question.refusal is not None:
            return question.refusal
        assert seen is not None, "a refusal answers a request"
        reason, message = reason_of(seen), message_of(seen, question.plan.record)
        if self.is_late and self._answer is PlacementState.UNANSWERED:
            reason = Reason.PLACEMENT_UNKNOWN
            message = f"Placement {seen.name} has no answer"
        field = TIME_OUT if self.is_late else ""
        return PlanRefused(reason, field=field, value="", message=message)

    @cached_property
    def waiting(self) -> Waiting | None:
        """What new widths wait for, once the condition Placed says it and since when."""
        if self.since is None or self.question is None or self.seen is None:
            return None
        since = f"since {moment_of(self.since)}"
        if self.state is PlacementState.WAITING:
            message = message_of(self.seen, self.question.plan.record)
            return Waiting(reason_of(self.seen), f"{waits_for(self.seen)} {since}: {message}")
        if self.unanswered_from is not None and self.now >= self.unanswered_from:
            return Waiting(Reason.PLACING, f"waits for the answer of its Placement {since}")
        return None


def question_of(snapshot: Snapshot, inputs: PlanInputs) -> Question | None:
    """The request of the plan that these inputs gave; None if the plan needs no placement."""
    outcome = snapshot.outcomes.get(inputs.digest)
    if not isinstance(outcome, PlanResult):
        return None
    if not is_placed_first(snapshot, inputs, outcome.record):
        return None
    warnings = kept_warnings(outcome.warnings)
    plan = KnownPlan(outcome.record, inputs, port_labels_id="", warnings=warnings)
    try:
        return Question(plan, placement_spec(snapshot, plan, is_in_force=False))
    except PlanRefused as refusal:
        return Question(plan, {}, refusal)


def placement_of(snapshot: Snapshot) -> PlacementSeen | None:
    """The job's Placement, if it exists."""
    entry = snapshot.of(PLACEMENT).get(snapshot.name)
    return PlacementSeen(entry) if entry is not None else None


def _of_answer(seen: PlacementSeen) -> PlacementState:
    if not seen.is_answered:
        return PlacementState.UNANSWERED
    match seen.phase:
        case PlacementPhase.PLACED:
            return PlacementState.PLACED
        case PlacementPhase.REFUSED if not seen.waits:
            return PlacementState.REFUSED
        case PlacementPhase.REFUSED | PlacementPhase.UNKNOWN:
            return PlacementState.WAITING
    return PlacementState.UNANSWERED


def state_in_force(seen: PlacementSeen | None) -> PlacementState:
    """What the Placement says of the plan that is in force."""
    return PlacementState.UNANSWERED if seen is None else _of_answer(seen)


def requests(seen: PlacementSeen, spec: Mapping[str, Any]) -> bool:
    """Whether a Placement says this spec, whatever the API server filled in."""
    if seen.spec == spec:
        return True
    try:
        return PlacementSpec.model_validate(seen.spec) == PlacementSpec.model_validate(spec)
    except ValidationError:
        return False


def reason_of(seen: PlacementSeen) -> Reason:
    """Why there is no placement, as its Placement says."""
    reason = seen.reason
    return Reason(reason) if reason in set(Reason) else Reason.NO_PLACEMENT  # type: ignore[call-arg]


def message_of(seen: PlacementSeen, record: PlanRecord) -> str:
    """The same as a sentence, with the operators of its PEs and the nodes that came closest."""
    return with_operators(seen.message or reason_of(seen).sentence, record)


def waits_for(seen: PlacementSeen) -> str:
    """What is waited for while there is no placement."""
    return "waits for capacity" if is_of_capacity(seen) else "waits for a placement"


def is_of_capacity(seen: PlacementSeen) -> bool:
    """Whether there is no placement for want of room."""
    return reason_of(seen) is Reason.INSUFFICIENT_CAPACITY
