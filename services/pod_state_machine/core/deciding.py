"""Decides on one key: `decide(snapshot, now, timing)` → effects.

The steps for a processing element:
1. observe the snapshot (observing.py) and look up the row of the life cycle (transitions.py);
2. turn the row's action into a status (recording.py) and effects;
3. remove or set aside pods that newer launches replaced (removing.py).

Properties: the intent of launch n ≥ 2 is written before its pod is created; launch counts never
fall; a status that is current is not written; statuses that only inform wait while the job is
being submitted or resized, so that they do not slow it down.
"""

from __future__ import annotations

from dataclasses import replace

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition
from services.chassis.running.stage import Decision
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.clearing import clear_job, clear_lost_pods
from services.pod_state_machine.core.effects import CreatePod, Effect, PatchPeStatus
from services.pod_state_machine.core.hanging import hanging_deadlines
from services.pod_state_machine.core.observing import observe, predecessors
from services.pod_state_machine.core.recording import Situation, intent, observed_status, write_time
from services.pod_state_machine.core.removing import removals, retention_ends
from services.pod_state_machine.core.snapshot import JobSnapshot, Pe, PeSnapshot, Snapshot, Timing
from services.pod_state_machine.core.transitions import TRANSITIONS, Action, Observation

_FIRST_LAUNCH_NUMBER = 1


def decide(snapshot: Snapshot, now: float, timing: Timing) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds)."""
    if isinstance(snapshot, JobSnapshot):
        return clear_job(snapshot)
    if snapshot.pe is None:
        return clear_lost_pods(snapshot)
    return _decide_pe(snapshot, snapshot.pe, now, timing)


def _decide_pe(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Decision[Effect]:
    at = Situation(snapshot, pe, observe(snapshot, pe, now, timing), now, timing)
    row = TRANSITIONS[pe.status.phase, at.observed.observation]
    decided = _of_row(at, row)
    detail = {"phase": pe.status.phase.value, "observation": at.observed.observation.name}
    if isinstance(row, Forbidden):
        detail["forbidden"] = row.why
    removed = removals(snapshot, pe, at.observed, now)
    rechecks = [
        *([] if decided.requeue_at is None else [decided.requeue_at]),
        *hanging_deadlines(snapshot, pe, now, timing),
        *retention_ends(snapshot, pe, at.observed, now),
    ]
    return replace(
        decided,
        effects=(*decided.effects, *removed),
        requeue_at=min(rechecks, default=None),
        detail=detail,
    )


def _of_row(at: Situation, row: Row[PePhase, Action]) -> Decision[Effect]:
    pe, observed = at.pe, at.observed
    reason: str
    match row:
        case Forbidden():
            return Decision((), Reason.WAITING)
        case Ignored(reason=reason):
            return Decision((), reason)
        case Transition(action=Action.CREATE_POD):
            reason = pe.status.reason if observed.launch > _FIRST_LAUNCH_NUMBER else row.reason
            return Decision((_create_pod(at),), reason)
        case Transition(action=Action.INTEND_LAUNCH):
            why = observed.reason or row.reason
            intended = PatchPeStatus(pe.uid, intent(at, why), _skipped_pod(at), _misplaced_pod(at))
            return Decision((intended,), why)
        case Transition(action=Action.RECORD):
            return _record(at, row)
    raise AssertionError(row)


def _skipped_pod(at: Situation) -> str:
    """The pod of a waiting launch that is skipped before the pod was observed; empty if none.

    Before the first status that is launch 1: its pod may exist although its fact is missing.
    """
    pe, observed = at.pe, at.observed
    waiting = max(observed.launch, _FIRST_LAUNCH_NUMBER)
    name = labels.pod_name(pe.job, pe.id, pe.uid, waiting)
    is_known = at.snapshot.last is not None or any(pod.name == name for pod in at.snapshot.pods)
    return "" if is_known or pe.status.phase is not PePhase.WAITING else name


def _misplaced_pod(at: Situation) -> str:
    """The pod that is replaced because its PE is assigned to another node; empty if none."""
    is_misplaced = at.observed.observation is Observation.POD_MISPLACED
    return at.observed.pod.name if is_misplaced and at.observed.pod else ""


def _create_pod(at: Situation) -> CreatePod:
    """The pod of the intended launch; creating the PE was the intent of the first one."""
    snapshot, pe, observed = at.snapshot, at.pe, at.observed
    launch = max(observed.launch, _FIRST_LAUNCH_NUMBER)
    shown = {pod.name for pod in snapshot.pods}
    believed_gone = predecessors(pe) - shown - snapshot.ended
    return CreatePod(
        name=labels.pod_name(pe.job, pe.id, pe.uid, launch),
        launch=launch,
        content_id=pe.content_id,
        pe_uid=pe.uid,
        pe_generation=pe.metadata_generation,
        believed_gone=tuple(sorted(believed_gone)),
        node=place.node.name if (place := place_of(snapshot)) else "",
    )


def _record(at: Situation, row: Transition[PePhase, Action]) -> Decision[Effect]:
    recorded = observed_status(at, row)
    if recorded == at.pe.status:
        return Decision((), row.reason, at.observed.due_at)
    write_at = write_time(at, recorded)
    if at.now < write_at:
        return Decision((), row.reason, write_at)
    return Decision((PatchPeStatus(at.pe.uid, recorded),), row.reason, at.observed.due_at)
