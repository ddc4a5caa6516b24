"""What follows for one job: snapshot → observation → row of the table → action → effects.

Actions are small functions from a situation to effects. Effects of one decision run concurrently;
what must come after another effect is decided on again, when its outcome has been observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.chassis.running.life_cycles import Forbidden, Transition
from services.chassis.running.stage import Decision
from services.chassis.table.table import is_deleting
from services.fusion_backend.core import wording
from services.fusion_backend.core.clearing import (
    delete_children,
    job_confirmed_gone,
    strangers_cleared,
)
from services.fusion_backend.core.conditions import is_current
from services.fusion_backend.core.effects import (
    CreateChild,
    DeleteChild,
    Effect,
    FindServers,
    KeepRefusal,
    PatchChild,
    Plan,
    ReadPlan,
    RecordPlan,
    TakeJobId,
    WriteJobStatus,
)
from services.fusion_backend.core.membership import pools_to_settle
from services.fusion_backend.core.observing import observe
from services.fusion_backend.core.placement_states import PLACEMENT, placement_of
from services.fusion_backend.core.provisions_due import (
    next_look_at,
    provisions_due,
    servers_awaited,
)
from services.fusion_backend.core.situation import HEALTH_SETTLES_S, TROUBLE_SETTLES_S, Situation
from services.fusion_backend.core.snapshot import Snapshot
from services.fusion_backend.core.spec.inputs import PlanInputs, rendered_again, resized
from services.fusion_backend.core.transitions import TRANSITIONS, Action, Observation, Phase
from services.fusion_backend.core.wording_plans import placing, reports_placing

Effects = tuple[Effect, ...]


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """What to do for one job now, and when to look again if nothing happens."""
    situation = Situation(snapshot, now)
    observation = observe(situation)
    effects: Effects
    cleared = (*job_confirmed_gone(snapshot), *strangers_cleared(snapshot))
    row = TRANSITIONS[situation.phase, observation]
    detail = {
        "phase": situation.phase.value,
        "observation": observation.name,
        "generation": snapshot.newest_generation,
    }
    if isinstance(row, Forbidden):
        return Decision(cleared, Reason.WAITING, detail={**detail, "forbidden": row.why})
    effects = ACTIONS[row.action](situation) if isinstance(row, Transition) else ()
    if _starts_resizing(situation, observation):
        effects = (_status(situation, wording.resizing(situation)), *effects)
    if _is_going_on(situation, observation):
        effects = (*effects, *_report_placing(situation, effects))
        effects = (*effects, *_provide(situation, effects))
        effects = (*effects, *_report_trouble(situation, effects))
    reason = row.reason
    if isinstance(row, Transition) and row.action is Action.FAIL:
        reason = wording.refusal_of(situation).reason
    return Decision((*cleared, *effects), reason, requeue_at=_requeue_at(situation), detail=detail)


def _requeue_at(situation: Situation) -> float | None:
    """What no fact wakes.

    The submission's deadline, a fall of Healthy that settles, trouble that does not pass, and the
    next time that the planner may be called.
    """
    if situation.snapshot.job is None or situation.job.deleting or situation.phase is Phase.FAILED:
        return None
    times = [
        situation.deadline,
        situation.placing_until,
        situation.unanswered_from,
        next_look_at(situation.snapshot, situation.now),
    ]
    if situation.phase is Phase.SUBMITTED and situation.healthy_since is not None:
        times.append(situation.healthy_since + HEALTH_SETTLES_S)
    if (trouble := situation.trouble) is not None:
        times.append(trouble.since + TROUBLE_SETTLES_S)
    if (trouble := situation.planning_trouble) is not None:
        times.append(trouble.until)
    return min((at for at in times if at is not None and at > situation.now), default=None)


def _is_going_on(situation: Situation, observation: Observation) -> bool:
    """Whether an attempt, or something that runs, has troubles that a condition may report."""
    is_over = observation in (Observation.JOB_GONE, Observation.JOB_ORPHANING)
    return not is_over and situation.phase not in (Phase.FAILED, Phase.DELETING)


def _provide(situation: Situation, effects: Effects) -> Effects:
    """What the PEs share, beside other work; not beside another write of the status."""
    if any(isinstance(each, WriteJobStatus | TakeJobId) for each in effects):
        return ()
    return provisions_due(situation.snapshot, situation.now)


def _report_placing(situation: Situation, effects: Effects) -> Effects:
    """The condition Placed of the plan that waits for a placement, beside other work."""
    is_reported = any(isinstance(each, WriteJobStatus | TakeJobId) for each in effects)
    if is_reported or situation.job.deleting:
        return ()
    if not situation.is_placing or reports_placing(situation):
        return ()
    return (_status(situation, placing(situation)),)


def _report_trouble(situation: Situation, effects: Effects) -> Effects:
    """The condition Submitted, where it does not say what goes wrong; beside other work.

    A status that is written anyway says it, or is followed by another decision.
    """
    if any(isinstance(each, WriteJobStatus) for each in effects):
        return ()
    progress = wording.progress(situation)
    if progress is None or is_current(situation.job.status, progress):
        return ()
    if situation.phase is Phase.NONE:
        return (_status(situation, wording.begun(situation)),)
    return (_status(situation, wording.with_trouble(situation, progress)),)


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


def _discard_plan(situation: Situation) -> Effects:
    """Only what nobody can read is deleted: a newer release's record is waited for."""
    generation = situation.snapshot.newest_generation
    damage = situation.snapshot.damaged[generation]
    change = wording.damaged(situation, damage)
    is_reported = all(is_current(situation.job.status, each) for each in change.conditions)
    report = () if is_reported else (_status(situation, change),)
    if not damage.is_lost:
        return report
    head = situation.snapshot.heads[generation]
    return (*report, DeleteChild(head.kind, head.name, head.uid, head.resource_version))


def _find_servers(situation: Situation) -> Effects:
    request = servers_awaited(situation.snapshot)
    assert request is not None, "observed: servers that are not known"
    return (FindServers(situation.job.uid, request),)


def _plan(situation: Situation) -> Effects:
    return _planned(situation, situation.first_inputs)


def _planned(situation: Situation, inputs: PlanInputs) -> tuple[Plan, ...]:
    return (Plan(situation.job.uid, inputs),) if situation.may_plan(inputs) else ()


def _record_plan(situation: Situation) -> Effects:
    inputs = situation.first_inputs
    return (RecordPlan(inputs.generation, inputs),)


def _ask_placement(situation: Situation) -> Effects:
    """Pools first: hostpool-manager writes members there. The status has reported the request."""
    question = situation.question
    assert question is not None, "observed: a question"
    inputs, job = question.plan.inputs, situation.job
    pools = pools_to_settle(situation.snapshot, question.plan)
    if pools or not reports_placing(situation):
        return pools
    entry = placement_of(situation.snapshot)
    if entry is None:
        return (CreateChild(PLACEMENT, job.name, inputs.generation, planned_from=inputs),)
    if is_deleting(entry):
        return ()
    version = entry.resource_version
    return (PatchChild(PLACEMENT, entry.name, inputs.generation, version, planned_from=inputs),)


def _keep_refusal(situation: Situation) -> Effects:
    """Replaces the planner's answer, so that the same widths are not planned again."""
    refusal, question = situation.placement_refusal, situation.question
    assert question is not None, "observed: a question"
    assert refusal is not None, "observed: no placement"
    inputs = question.plan.inputs
    widths = () if situation.snapshot.newest is None else situation.widths.requested
    return (KeepRefusal(situation.job.uid, inputs, widths, refusal.reason, refusal.message),)


def _plan_widths(situation: Situation) -> Effects:
    """Only the planner runs: what the newer plan replaces need not be written first."""
    assert situation.widths.unplanned is not None, "observed: widths without an answer"
    return _planned(situation, situation.widths.unplanned)


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
        return (*_planned(situation, again), *others)
    rendering = replace(resized(plan.inputs, plan.record, plan.record.widths), rendered=textless)
    outcome = situation.snapshot.outcomes.get(rendering.digest)
    if outcome is None:
        return (*_planned(situation, rendering), *others)
    if isinstance(outcome, PlanRefused):
        return others
    return (RecordPlan(rendering.generation, rendering), *others)


def _write_children(situation: Situation) -> Effects:
    found = situation.difference
    children: list[CreateChild | PatchChild] = [*found.creates, *found.patches]
    children.sort(key=_place_in_line)
    repairs: Effects = (*found.orphans, *found.unmendable)
    return (*children, *repairs, *_report_and_plan_widths(situation))


def _place_in_line(effect: CreateChild | PatchChild) -> tuple[int, bool]:
    """What every pod needs, then PE by PE what its pod needs: launches begin with the first."""
    return effect.pe, effect.kind != "ConfigMap"


def _report_and_plan_widths(situation: Situation) -> Effects:
    """Beside other work: say the widths that are due, and plan those that wait for an answer.

    The planner may have failed on these for reasons of its own, which must not stop repairs.
    """
    unplanned = situation.widths.unplanned
    return (
        *situation.outdated_statuses,
        *(_planned(situation, unplanned) if unplanned is not None else ()),
    )


def _wait(situation: Situation) -> Effects:
    return _report_and_plan_widths(situation) if situation.snapshot.newest is not None else ()


def _clean_up(situation: Situation) -> Effects:
    return (*situation.leftovers, *_report_and_plan_widths(situation))


def _mark_submitted(situation: Situation) -> Effects:
    change = wording.submitted(situation)
    return (_status(situation, change), *_report_and_plan_widths(situation))


def _mark_completed(situation: Situation) -> Effects:
    return (_status(situation, wording.completed(situation)),)


def _write_status(situation: Situation) -> Effects:
    return (_status(situation, wording.changed_conditions(situation)),)


def _write_health(situation: Situation) -> Effects:
    return (_status(situation, wording.health_seen(situation)), *_report_and_plan_widths(situation))


def _delete_children(situation: Situation) -> Effects:
    """What goes with the Job, or with a failed attempt; a Job that has to wait for it says so.

    The status is written last: it wakes pod-state-machine, which deletes the pods.
    """
    effects, job = delete_children(situation.snapshot), situation.job
    is_held = job.uid in situation.snapshot.with_pods
    if effects or is_held or not job.deleting or situation.phase is Phase.DELETING:
        return effects
    return (_status(situation, wording.deleting(situation)),)


ACTIONS: Mapping[Action, Callable[[Situation], Effects]] = {
    Action.DELETE_CHILDREN: _delete_children,
    Action.BEGIN: _begin,
    Action.FAIL: _fail,
    Action.READ_PLAN: _read_plan,
    Action.DISCARD_PLAN: _discard_plan,
    Action.RECORD_AGAIN: _record_again,
    Action.FIND_SERVERS: _find_servers,
    Action.PLAN: _plan,
    Action.RECORD_PLAN: _record_plan,
    Action.ASK_PLACEMENT: _ask_placement,
    Action.PLAN_WIDTHS: _plan_widths,
    Action.KEEP_REFUSAL: _keep_refusal,
    Action.RECORD_WIDTHS: _record_widths,
    Action.RENDER: _render,
    Action.WRITE_CHILDREN: _write_children,
    Action.WAIT: _wait,
    Action.CLEAN_UP: _clean_up,
    Action.SAY_WIDTHS: _report_and_plan_widths,
    Action.MARK_SUBMITTED: _mark_submitted,
    Action.MARK_COMPLETED: _mark_completed,
    Action.SAY_STATUS: _write_status,
    Action.SAY_HEALTH: _write_health,
}
