"""What follows for one job: snapshot → observation → row of the table → action → effects.

Actions are small functions from a situation to effects. Effects of one decision run concurrently;
what must come after another effect is decided on again, when its outcome has been observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from services.chassis.stage import Decision
from services.fusion_backend.core import wording
from services.fusion_backend.core.clearing import delete_children, strangers_cleared
from services.fusion_backend.core.effects import (
    CreateChild,
    Effect,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    TakeJobId,
    WriteJobStatus,
)
from services.fusion_backend.core.inputs import rendered_again, resized
from services.fusion_backend.core.observing import HEALTH_SETTLES_S, Situation, observe
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.snapshot import Snapshot
from services.fusion_backend.core.transitions import (
    TRANSITIONS,
    Action,
    Forbidden,
    Ignored,
    Observation,
    Phase,
)

Effects = tuple[Effect, ...]


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """What to do for one job now, and when to look again if nothing happens."""
    situation = Situation(snapshot, now)
    observation = observe(situation)
    cleared = strangers_cleared(snapshot)
    row = TRANSITIONS[situation.phase, observation]
    if isinstance(row, Ignored | Forbidden):
        told = f"defect: {observation} in phase {situation.phase}: {row.why}"
        reason = observation.value if isinstance(row, Ignored) else told
        return Decision(cleared, reason, recheck_at=_recheck_at(situation))
    effects = ACTIONS[row.action](situation)
    if _starts_resizing(situation, observation):
        effects = (_status(situation, wording.resizing(situation)), *effects)
    return Decision(
        (*cleared, *effects),
        observation.value,
        recheck_at=_recheck_at(situation),
        detail={"phase": situation.phase.value, "generation": snapshot.newest_generation},
    )


def _recheck_at(situation: Situation) -> float | None:
    """What no fact wakes: the submission's deadline, and a fall of Healthy that settles."""
    if situation.snapshot.job is None or situation.job.deleting:
        return None
    if situation.deadline is not None:
        return situation.deadline
    if situation.phase is Phase.SUBMITTED and situation.healthy_since is not None:
        settled_at = situation.healthy_since + HEALTH_SETTLES_S
        return settled_at if situation.now < settled_at else None
    return None


def _starts_resizing(situation: Situation, observation: Observation) -> bool:
    """Whether a newer plan exists than the phase speaks of, and it is not complete yet."""
    has_newer = situation.snapshot.newest is not None and situation.in_progress
    is_recorded = situation.phase in (Phase.SUBMITTED, Phase.COMPLETED)
    return has_newer and is_recorded and observation is not Observation.COMPLETE


def _status(situation: Situation, change: wording.Change) -> WriteJobStatus:
    return WriteJobStatus(situation.job.uid, change)


# --------------------------------------------------------------------------- actions


def _begin(situation: Situation) -> Effects:
    change = wording.begun(situation)
    if situation.job.id is None:
        return (TakeJobId(situation.job.uid, change),)
    return (_status(situation, change),)


def _fail(situation: Situation) -> Effects:
    return (_status(situation, wording.failed(situation)),)


def _read_plan(situation: Situation) -> Effects:
    generation = situation.snapshot.newest_generation
    return (ReadPlan(generation, situation.snapshot.heads[generation].uid),)


def _record_again(situation: Situation) -> Effects:
    return (RecordPlan(situation.snapshot.newest_generation, situation.plan.inputs),)


def _plan(situation: Situation) -> Effects:
    return (Plan(situation.job.uid, situation.first_inputs),)


def _record_plan(situation: Situation) -> Effects:
    inputs = situation.first_inputs
    return (RecordPlan(inputs.generation, inputs),)


def _plan_widths(situation: Situation) -> Effects:
    """Only the planner runs: what the newer plan replaces need not be written first."""
    assert situation.widths.asked is not None, "observed: widths without an answer"
    return (Plan(situation.job.uid, situation.widths.asked),)


def _record_widths(situation: Situation) -> Effects:
    assert situation.widths.ready is not None, "observed: widths with an answer"
    return (RecordPlan(situation.widths.ready.generation, situation.widths.ready),)


def _render(situation: Situation) -> Effects:
    """The missing texts from the same inputs; where these give other texts now, a generation more.

    A newer release may render differently. The old text is then lost for good, and the PE gets its
    new content by the ordinary way of a plan.
    """
    textless, plan = situation.difference.textless, situation.plan
    others = _write_children(situation)
    again = rendered_again(plan.inputs, plan.record, textless)
    if again.digest not in situation.snapshot.outcomes:
        return (Plan(situation.job.uid, again), *others)
    anew = replace(resized(plan.inputs, plan.record, plan.record.widths), rendered=textless)
    outcome = situation.snapshot.outcomes.get(anew.digest)
    if outcome is None:
        return (Plan(situation.job.uid, anew), *others)
    if isinstance(outcome, PlanRefused):
        return others
    return (RecordPlan(anew.generation, anew), *others)


def _write_children(situation: Situation) -> Effects:
    found = situation.difference
    children: list[CreateChild | PatchChild] = [*found.creates, *found.patches]
    children.sort(key=_place_in_line)
    return (*children, *_tell_and_ask_widths(situation))


def _place_in_line(effect: CreateChild | PatchChild) -> tuple[int, bool]:
    """What every pod needs, then PE by PE what its pod needs: launches begin with the first."""
    return effect.pe, effect.kind != "ConfigMap"


def _tell_and_ask_widths(situation: Situation) -> Effects:
    """Beside other work: say the widths that are due, and plan those that wait for an answer.

    The planner may have failed on these for reasons of its own, which must not stop repairs.
    """
    asked = situation.widths.asked
    said = situation.unsaid
    return (*said, Plan(situation.job.uid, asked)) if asked is not None else said


def _wait(situation: Situation) -> Effects:
    return _tell_and_ask_widths(situation)


def _clean_up(situation: Situation) -> Effects:
    return (*situation.leftovers, *_tell_and_ask_widths(situation))


def _mark_submitted(situation: Situation) -> Effects:
    change = wording.submitted(situation)
    return (_status(situation, change), *_tell_and_ask_widths(situation))


def _mark_completed(situation: Situation) -> Effects:
    return (_status(situation, wording.completed(situation)),)


def _say_edited(situation: Situation) -> Effects:
    return (_status(situation, wording.edited(situation)),)


def _say_health(situation: Situation) -> Effects:
    return (_status(situation, wording.health_seen(situation)), *_tell_and_ask_widths(situation))


def _delete_children(situation: Situation) -> Effects:
    return delete_children(situation.snapshot)


ACTIONS: Mapping[Action, Callable[[Situation], Effects]] = {
    Action.DELETE_CHILDREN: _delete_children,
    Action.BEGIN: _begin,
    Action.FAIL: _fail,
    Action.READ_PLAN: _read_plan,
    Action.RECORD_AGAIN: _record_again,
    Action.PLAN: _plan,
    Action.RECORD_PLAN: _record_plan,
    Action.PLAN_WIDTHS: _plan_widths,
    Action.RECORD_WIDTHS: _record_widths,
    Action.RENDER: _render,
    Action.WRITE_CHILDREN: _write_children,
    Action.WAIT: _wait,
    Action.CLEAN_UP: _clean_up,
    Action.SAY_WIDTHS: _tell_and_ask_widths,
    Action.MARK_SUBMITTED: _mark_submitted,
    Action.MARK_COMPLETED: _mark_completed,
    Action.SAY_EDITED: _say_edited,
    Action.SAY_HEALTH: _say_health,
}
