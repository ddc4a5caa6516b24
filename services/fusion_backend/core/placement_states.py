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
from services.chassis.table.entries import Entry, is_deleting
from services.fusion_backend.core.children import Body
from services.fusion_backend.core.naming_pes import with_operators
from services.fusion_backend.core.placement_requests import needs_placement, placement_spec
from services.fusion_backend.core.recording import WARNINGS_MAX
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


def placement_of(snapshot: Snapshot) -> Entry | None:
    """The job's Placement, if it exists."""
    return snapshot.of(PLACEMENT).get(snapshot.name)


def state_of_question(entry: Entry | None, question: Question) -> PlacementState:
    """How a question stands."""
    if question.refusal is not None:
        return PlacementState.REFUSED
    if entry is None or is_deleting(entry) or not requests(entry, question.spec):
        return PlacementState.UNASKED
    state = _of_answer(entry)
    generation = entry.data["status"].get("generation")
    is_older = state is PlacementState.PLACED and (
        generation is None or generation < question.spec["generation"]
    )
    return PlacementState.UNANSWERED if is_older else state


def _of_answer(entry: Entry) -> PlacementState:
    status = entry.data["status"]
    if status.get("observedGeneration") != entry.data["metadata"]["generation"]:
        return PlacementState.UNANSWERED
    match status.get("phase"):
        case PlacementPhase.PLACED:
            return PlacementState.PLACED
        case PlacementPhase.REFUSED if not status.get("waits"):
            return PlacementState.REFUSED
        case PlacementPhase.REFUSED | PlacementPhase.UNKNOWN:
            return PlacementState.WAITING
    return PlacementState.UNANSWERED


def state_in_force(entry: Entry | None) -> PlacementState:
    """What the Placement says of the plan that is in force."""
    return PlacementState.UNANSWERED if entry is None else _of_answer(entry)


def requests(entry: Entry, spec: Mapping[str, Any]) -> bool:
    """Whether a Placement says this spec, whatever the API server filled in."""
    seen = entry.data["spec"]
    if seen == spec:
        return True
    try:
        return PlacementSpec.model_validate(seen) == PlacementSpec.model_validate(spec)
    except ValidationError:
        return False


def requested_generation(entry: Entry) -> int:
    """The plan generation that a Placement asks for; -1 where it says none."""
    generation = entry.data["spec"].get("generation")
    return generation if isinstance(generation, int) else -1


def reason_of(entry: Entry) -> Reason:
    """Why there is no placement, as its Placement says."""
    reason = entry.data["status"].get("reason")
    return Reason(reason) if reason in set(Reason) else Reason.NO_PLACEMENT  # type: ignore[call-arg]


def message_of(entry: Entry, record: PlanRecord) -> str:
    """The same as a sentence, with the operators of its PEs and the nodes that came closest."""
    message = str(entry.data["status"].get("message") or reason_of(entry).sentence)
    return with_operators(message, record)


def waits_for(entry: Entry) -> str:
    """What is waited for while there is no placement."""
    is_room = reason_of(entry) is Reason.INSUFFICIENT_CAPACITY
    return "waits for capacity" if is_room else "waits for a placement"


def refusal_of_placement(
    entry: Entry, record: PlanRecord, *, waited_s: float | None = None
) -> PlanRefused:
    """The refusal of a plan that has no placement, or got none in the time that it had."""
    if waited_s is None:
        message = message_of(entry, record)
        return PlanRefused(reason_of(entry), field="", value="", message=message)
    is_waiting = _of_answer(entry) is PlacementState.WAITING
    cause = message_of(entry, record) if is_waiting else f"Placement {entry.name} has no answer"
    return PlanRefused(
        reason_of(entry) if is_waiting else Reason.PLACEMENT_UNKNOWN,
        field="",
        value="",
        message=f"no placement within spec.submissionTimeOutInSeconds ({waited_s:g}): {cause}",
    )
