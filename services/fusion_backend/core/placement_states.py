"""How the question stands that a job asks with its Placement, before a plan is recorded.

A Placement answers for its `metadata.generation`, so what it says of an older spec is no answer.
The request is made in `placement_requests.py`; `generation_rules.py` decides what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import ValidationError

from contracts.reasons import Reason
from contracts.resources import PlacementPhase, PlacementSpec
from planner.numbering.records import PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.fusion_backend.core.children import Body
from services.fusion_backend.core.naming_pes import with_operators
from services.fusion_backend.core.placement_requests import needs_placement, placement_spec
from services.fusion_backend.core.recording import WARNINGS_MAX
from services.fusion_backend.core.seen import PlacementSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import PlanInputs

PLACEMENT = "Placement"


class PlacementState(Enum):
    """What is known of the answer to a question."""

    UNASKED = "the Placement is missing, or asks for something else"
    UNANSWERED = "the Placement requests it, and has no answer yet"
    WAITING = "there is no placement now, and there may be one later"
    REFUSED = "there is no placement"
    PLACED = "there is one"


@dataclass(frozen=True)
class Question:
    """The request to be answered before a plan is recorded; `refusal`: it cannot be written."""

    plan: KnownPlan
    spec: Body
    refusal: PlanRefused | None = None


def question_of(snapshot: Snapshot, inputs: PlanInputs) -> Question | None:
    """The request of the plan that these inputs gave; None if the plan needs no placement."""
    outcome = snapshot.outcomes.get(inputs.digest)
    if not isinstance(outcome, PlanResult) or not needs_placement(outcome.record):
        return None
    warnings = outcome.warnings[:WARNINGS_MAX]
    plan = KnownPlan(outcome.record, inputs, port_labels_id="", warnings=warnings)
    try:
        return Question(plan, placement_spec(snapshot, plan))
    except PlanRefused as refusal:
        return Question(plan, {}, refusal)


def placement_of(snapshot: Snapshot) -> PlacementSeen | None:
    """The job's Placement, if it exists."""
    entry = snapshot.of(PLACEMENT).get(snapshot.name)
    return PlacementSeen(entry) if entry is not None else None


def state_of_question(seen: PlacementSeen | None, question: Question) -> PlacementState:
    """How a question stands."""
    if question.refusal is not None:
        return PlacementState.REFUSED
    if seen is None or seen.is_deleting or not requests(seen, question.spec):
        return PlacementState.UNASKED
    state, generation = _of_answer(seen), seen.answered_generation
    is_older = state is PlacementState.PLACED and (
        generation is None or generation < question.spec["generation"]
    )
    return PlacementState.UNANSWERED if is_older else state


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
    is_room = reason_of(seen) is Reason.INSUFFICIENT_CAPACITY
    return "waits for capacity" if is_room else "waits for a placement"


def refusal_of_placement(
    seen: PlacementSeen, record: PlanRecord, *, waited_s: float | None = None
) -> PlanRefused:
    """The refusal of a plan that has no placement, or got none in the time that it had."""
    if waited_s is None:
        message = message_of(seen, record)
        return PlanRefused(reason_of(seen), field="", value="", message=message)
    is_waiting = _of_answer(seen) is PlacementState.WAITING
    cause = message_of(seen, record) if is_waiting else f"Placement {seen.name} has no answer"
    return PlanRefused(
        reason_of(seen) if is_waiting else Reason.PLACEMENT_UNKNOWN,
        field="",
        value="",
        message=f"no placement within spec.submissionTimeOutInSeconds ({waited_s:g}): {cause}",
    )
