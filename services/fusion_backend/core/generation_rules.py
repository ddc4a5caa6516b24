"""How a plan generation comes about: wanted → planned → placed → recorded.

The first generation is a resize from nothing, and goes the same way as later ones. What differs:

* Nothing is in force before the first one. If it is refused, the job fails (status_rules.py).
* Several widths are tried together, then one by one (widths.py); a refusal is kept for the regions.
* A record that is lost is written again, and one that cannot be read is deleted. If such a plan has
  no placement, that is not kept: nobody requests its widths, so no request would end it.

Writing what a record plans is the business of child_rules.py.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from planner.refusals import PlanRefused
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.admission import PLACEMENT
from services.fusion_backend.core.effects import (
    CreateChild,
    DeleteChild,
    Effect,
    KeepRefusal,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    RefusalKept,
    WidthsUnplaced,
)
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.pool_settling import pools_to_settle
from services.fusion_backend.core.rules import NOT_GOING_ON, JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation
from services.fusion_backend.core.spec.inputs import PlanInputs, rendered_again, resized
from services.fusion_backend.core.wording_plans import reports_placing

Effects = tuple[Effect, ...]


class GenerationObservation(Enum):
    """What the plan that comes next waits for; a rule has one each."""

    RECORD_DAMAGED = "the newest plan record cannot be read"
    RECORD_UNREAD = "the newest plan record is not read yet"
    RECORD_LOST = "the newest record was deleted, and we still know the plan"
    LOST_AND_REFUSED = (
        "a job that runs has lost its records, and the planner refuses to plan it again"
    )
    SERVERS_UNKNOWN = "the redis servers of the checkpoints are not found yet"
    UNPLANNED = "a plan is wanted, and the planner may be called"
    UNREQUESTED = "the plan needs a placement, and the Placement does not request it yet"
    STAYS_UNPLACED = "a job that runs has lost its records, and there is no placement for it"
    UNPLACED = "there is no placement for new widths"
    PLANNED = "the plan is there, and its placement where it needs one"
    TEXTS_MISSING = "a text of the plan in force has to be written and is not known"
    PLANNING = "the planner works on it or is called again later"
    PLACING = "a plan waits for its placement"
    GATHERING = "new widths follow the start of a resize so closely that they gather"
    STATE_LOADING = "new widths wait for PEs to load what was handed over"
    WIDTHS_REFUSED = "the widths that differ from the newest plan are refused"
    AS_WANTED = "the newest plan is the wanted one"


def read_record(at: Situation) -> Effects:
    """Read the newest plan record."""
    generation = at.snapshot.newest_generation
    return (ReadPlan(generation, at.snapshot.heads[generation].uid),)


def discard_record(at: Situation) -> Effects:
    """Delete a record that nobody can read; one of a newer release is waited for."""
    generation = at.snapshot.newest_generation
    if not at.snapshot.damaged[generation].is_lost:
        return ()
    head = at.snapshot.heads[generation]
    return (DeleteChild(head.kind, head.name, head.uid, head.resource_version),)


def record_again(at: Situation) -> Effects:
    """Write the lost record again."""
    return (RecordPlan(at.snapshot.newest_generation, at.plan.inputs),)


def plan(at: Situation) -> Effects:
    """Run the planner."""
    inputs = at.next_plan.unplanned
    assert inputs is not None, "observed: inputs without an answer"
    return (Plan(at.job.uid, inputs),)


def request_placement(at: Situation) -> Effects:
    """Create the host pools, then request with the Placement, once the status says so.

    Pools first: hostpool-manager writes members there.
    """
    seen, question = at.placing.seen, at.placing.question
    assert question is not None, "observed: a question"
    inputs, job = question.plan.inputs, at.job
    pools = pools_to_settle(at.snapshot, question.plan)
    if pools or not reports_placing(at):
        return pools
    if seen is None:
        return (CreateChild(PLACEMENT, job.name, inputs.generation, planned_from=inputs),)
    if seen.is_deleting:
        return ()
    version = seen.entry.resource_version
    return (PatchChild(PLACEMENT, seen.name, inputs.generation, version, planned_from=inputs),)


def keep_refusal(at: Situation) -> Effects:
    """Keep the refusal as the answer, so that the same widths are not planned again."""
    refusal, question = at.placing.refusal, at.placing.question
    assert question is not None, "observed: a question"
    assert refusal is not None, "observed: no placement"
    message = shown(refusal.message, MESSAGE_CHARS_MAX)
    kept = RefusalKept(refusal.reason, refusal.field, "", message)
    digest, widths = question.plan.inputs.digest, at.next_plan.requested
    return (KeepRefusal(WidthsUnplaced(at.job.uid, digest, widths, kept)),)


def record(at: Situation) -> Effects:
    """Create the plan record."""
    inputs = at.next_plan.ready
    assert inputs is not None, "observed: inputs with an answer"
    return (RecordPlan(inputs.generation, inputs),)


def render(at: Situation) -> Effects:
    """Render the missing texts from the same inputs; if they differ now, record a generation more.

    A newer release may render differently. The old text is then lost for good, and the PE gets its
    new content by the ordinary way of a plan.
    """
    textless, plan = at.difference.textless, at.plan
    again = rendered_again(plan.inputs, plan.record, textless)
    if again.digest not in at.snapshot.outcomes:
        return _planned(at, again)
    rendering = replace(resized(plan.inputs, plan.record, plan.record.widths), rendered=textless)
    outcome = at.snapshot.outcomes.get(rendering.digest)
    if outcome is None:
        return _planned(at, rendering)
    return (
        () if isinstance(outcome, PlanRefused) else (RecordPlan(rendering.generation, rendering),)
    )


def _planned(at: Situation, inputs: PlanInputs) -> tuple[Plan, ...]:
    return (Plan(at.job.uid, inputs),) if at.may_plan(inputs) else ()


def _of_record(at: Situation) -> Reason:
    return Reason.FUSED if at.snapshot.newest is None else Reason.RESIZING


def _is_unrequested(at: Situation) -> bool:
    """Whether nobody requested the widths of the plan that comes next: its record was lost.

    Its refusal is not kept. Nothing would end it, since no region requests these widths again.
    """
    return at.snapshot.newest is None or at.snapshot.is_behind


_O, _P = GenerationObservation, PlacementState
GENERATION_RULES: Final[tuple[JobRule, ...]] = (
    *NOT_GOING_ON,
    # The newest record
    Rule(_O.RECORD_DAMAGED, lambda at: at.damage is not None, discard_record, Reason.PLAN_DAMAGED),
    Rule(_O.RECORD_UNREAD, lambda at: at.is_unread, read_record, Reason.WAITING),
    Rule(_O.RECORD_LOST, lambda at: at.is_lost, record_again, Reason.REPAIRING),
    # The plan that comes next
    Rule(
        _O.LOST_AND_REFUSED, lambda at: at.is_plan_refused, leave, Reason.NOTHING_TO_CHANGE, BEGUN
    ),
    Rule(_O.SERVERS_UNKNOWN, lambda at: at.awaits_servers, leave, Reason.WAITING, BEGUN),
    Rule(
        _O.UNPLANNED,
        lambda at: at.next_plan.unplanned is not None and at.may_plan(at.next_plan.unplanned),
        plan,
        Reason.PLANNING,
        BEGUN,
    ),
    Rule(
        _O.UNREQUESTED,
        lambda at: at.placing.state is _P.UNASKED,
        request_placement,
        Reason.PLACING,
        BEGUN,
    ),
    Rule(
        _O.STAYS_UNPLACED,
        lambda at: at.placing.state is _P.REFUSED and _is_unrequested(at),
        leave,
        Reason.NOTHING_TO_CHANGE,
        BEGUN,
    ),
    Rule(
        _O.UNPLACED,
        lambda at: at.placing.state is _P.REFUSED,
        keep_refusal,
        Reason.WIDTH_REFUSED,
        BEGUN,
    ),
    Rule(
        _O.PLANNED,
        lambda at: at.next_plan.ready is not None and not at.placing.is_waiting,
        record,
        _of_record,
        BEGUN,
    ),
    # The plan in force, beside a plan that waits
    Rule(_O.TEXTS_MISSING, lambda at: at.is_text_missing, render, Reason.REPAIRING, BEGUN),
    Rule(_O.PLANNING, lambda at: at.next_plan.unplanned is not None, leave, Reason.PLANNING, BEGUN),
    Rule(_O.PLACING, lambda at: at.placing.is_waiting, leave, Reason.PLACING, BEGUN),
    Rule(_O.GATHERING, lambda at: bool(at.next_plan.gathering), leave, Reason.GATHERING, BEGUN),
    Rule(
        _O.STATE_LOADING,
        lambda at: bool(at.next_plan.waiting),
        leave,
        Reason.STATE_LOADING,
        BEGUN,
    ),
    Rule(
        # Which ones, and why: widths.py. The regions report it (region_rules.py).
        _O.WIDTHS_REFUSED,
        lambda at: bool(at.next_plan.refused),
        leave,
        Reason.WIDTH_REFUSED,
        BEGUN,
    ),
    Rule(_O.AS_WANTED, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)
