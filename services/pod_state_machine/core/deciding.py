"""Decides what one key needs: `decide(snapshot, now, timing)` → effects.

The steps for a processing element:
1. observe the snapshot (observing.py) and look up the row of the life cycle (transitions.py);
2. turn the row's action into a status and effects;
3. remove what newer launches replaced.

Properties: the intent of launch n ≥ 2 is written before its pod is created; launch counts never
fall; a status that already says what is seen is not written; news that only inform wait while the
job is being submitted or resized, so that they do not slow it down.
"""

from __future__ import annotations

from dataclasses import replace

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase
from services.chassis.stage import Decision
from services.pod_state_machine.core.clearing import clear_job, clear_lost_pods
from services.pod_state_machine.core.effects import CreatePod, DeletePod, Effect, PatchPeStatus
from services.pod_state_machine.core.observing import Seen, earlier_pods, observe, predecessors
from services.pod_state_machine.core.restarting import restarts_in_a_row
from services.pod_state_machine.core.snapshot import (
    JobSnapshot,
    Pe,
    PeSnapshot,
    PeStatus,
    Pod,
    Snapshot,
    Timing,
)
from services.pod_state_machine.core.transitions import (
    TRANSITIONS,
    Action,
    Forbidden,
    Ignored,
    Observation,
    Transition,
)

_BUSY = (JobPhase.SUBMITTING, JobPhase.RESIZING)
_FIRST_LAUNCH_NUMBER = 1
CROWD_PES = 32
"""A job of more PEs has its first statuses written when it is submitted; those of fewer fit into
flight together (`effects_in_flight_max`) and delay no pod."""


def decide(snapshot: Snapshot, now: float, timing: Timing) -> Decision[Effect]:
    """What the key of a snapshot needs now (unix seconds)."""
    if isinstance(snapshot, JobSnapshot):
        return clear_job(snapshot)
    if snapshot.pe is None:
        return clear_lost_pods(snapshot)
    return _decide_pe(snapshot, snapshot.pe, now, timing)


def _decide_pe(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Decision[Effect]:
    seen = observe(snapshot, pe, now, timing)
    row = TRANSITIONS[pe.status.phase, seen.observation]
    detail = {"phase": pe.status.phase.value, "observation": seen.observation.name}
    removals: tuple[Effect, ...] = _removals(snapshot, pe, seen)
    reason: str
    match row:
        case Forbidden(why=why):
            return Decision(removals, Reason.WAITING, detail={**detail, "forbidden": why})
        case Ignored(reason=reason):
            return Decision(removals, reason, detail=detail)
        case Transition(action=Action.CREATE_POD):
            launched: Effect = _create_pod(snapshot, pe, seen)
            reason = pe.status.reason if seen.launch > _FIRST_LAUNCH_NUMBER else row.reason
            return Decision((launched, *removals), reason, detail=detail)
        case Transition(action=Action.INTEND_LAUNCH):
            reason = seen.reason or row.reason
            intent = PatchPeStatus(pe.uid, _intent(pe, seen, reason, now, timing))
            return Decision((intent, *_outgoing(pe, seen), *removals), reason, detail=detail)
        case Transition(action=Action.RECORD):
            effects, recheck_at = _record(snapshot, pe, seen, row, now=now, timing=timing)
            return Decision((*effects, *removals), row.reason, recheck_at, detail)
    raise AssertionError(row)


# --------------------------------------------------------------------------- launches


def _create_pod(snapshot: PeSnapshot, pe: Pe, seen: Seen) -> CreatePod:
    """The pod of the intended launch; creating the PE was the intent of the first one."""
    launch = seen.launch or max(_FIRST_LAUNCH_NUMBER, pe.launch_floor)
    shown = {pod.name for pod in snapshot.pods}
    believed_gone = predecessors(pe) - shown - snapshot.ended
    return CreatePod(
        name=labels.pod_name(pe.job, pe.id, pe.uid, launch),
        launch=launch,
        content_id=pe.content_id,
        pe_uid=pe.uid,
        pe_generation=pe.metadata_generation,
        believed_gone=tuple(sorted(believed_gone)),
    )


def _intent(pe: Pe, seen: Seen, reason: Reason, now: float, timing: Timing) -> PeStatus:
    """The status that intends the next launch; `pod` goes on naming the one before."""
    is_restart = seen.observation is Observation.RESTART_DUE
    return replace(
        pe.status,
        phase=PePhase.WAITING,
        launch_count=max(pe.launch_floor, seen.launch + 1),
        pod=seen.pod.name if seen.pod else pe.status.pod,
        node="",
        content_id=pe.content_id,
        generation=_newest(pe.status.generation, pe.generation),
        observed_generation=pe.metadata_generation,
        restarts=restarts_in_a_row(pe, seen.pod, now, timing) if is_restart else 0,
        reason=reason.value,
        message=reason.sentence,
    )


def _outgoing(pe: Pe, seen: Seen) -> tuple[DeletePod, ...]:
    """The pod that is being replaced while it may still run.

    One that is over holds nothing up: it goes when the intent is known, so that a crash between
    the two cannot make its end look like a deletion. So does one that no status speaks of yet: if
    only its removal came to pass, its launch would seem to be still to come, and run twice.
    """
    pod = seen.pod
    if pod is None or pod.is_deleting or pod.is_over or not _is_recorded(pe, seen):
        return ()
    return (_delete(pe, pod, Reason.POD_SUPERSEDED),)


def _is_recorded(pe: Pe, seen: Seen) -> bool:
    """Whether the status says that the pod of the newest launch was there."""
    return pe.status.launch_count == seen.launch and pe.status.phase is not PePhase.WAITING


def _removals(snapshot: PeSnapshot, pe: Pe, seen: Seen) -> tuple[DeletePod, ...]:
    """Pods of this PE's name that nothing needs any more."""
    if seen.observation in (Observation.JOB_GONE, Observation.VIEW_BEHIND):
        return ()  # the job's own clean-up takes its pods; a stale view takes nothing
    if seen.observation is Observation.PE_DELETING:
        pods = () if pe.is_orphaning else snapshot.pods
        return tuple(_delete(pe, pod, Reason.OWNER_DELETED) for pod in pods if not pod.is_deleting)
    return tuple(
        _delete(pe, pod, Reason.POD_SUPERSEDED)
        for pod in earlier_pods(pe, snapshot.pods, max(seen.launch, 1))
        if not pod.is_deleting and not _is_kept(pe, pod)
    )


def _is_kept(pe: Pe, pod: Pod) -> bool:
    return pod.phase == "Failed" and not pe.policies.delete_failed and pod.owner_uid == pe.uid


def _delete(pe: Pe, pod: Pod, reason: Reason) -> DeletePod:
    stranger = "" if pod.owner_uid == pe.uid else pod.owner_uid
    return DeletePod(pod.name, pod.uid, reason.value, believed_gone_owner=stranger)


# --------------------------------------------------------------------------- what is recorded


def _record(
    snapshot: PeSnapshot, pe: Pe, seen: Seen, row: Transition, *, now: float, timing: Timing
) -> tuple[tuple[Effect, ...], float | None]:
    """The status that says what is seen, at once or later, and when to look again."""
    recorded = _seen_status(snapshot, pe, seen, row)
    restart_at = seen.due_at
    if recorded == pe.status:
        return (), restart_at
    write_at = _writes_at(snapshot, pe, seen, recorded, timing)
    if now < write_at:
        return (), write_at
    return (PatchPeStatus(pe.uid, recorded),), restart_at


def _seen_status(snapshot: PeSnapshot, pe: Pe, seen: Seen, row: Transition) -> PeStatus:
    pod = seen.pod
    reason = row.reason
    if seen.observation is Observation.POD_LOST:
        pe = replace(pe, status=_had_launched(snapshot, pe))
    if pod is None:
        return replace(
            pe.status, phase=row.phase, reason=reason.value, message=reason.sentence, node=""
        )
    return replace(
        pe.status,
        phase=row.phase,
        launch_count=seen.launch,
        pod=pod.name,
        node=pod.node,
        content_id=pod.content_id,
        generation=_newest(pe.status.generation, pod.generation),
        observed_generation=pe.metadata_generation,
        reason=reason.value,
        message=f"{reason.sentence} {pod.problem}".rstrip(),
    )


def _had_launched(snapshot: PeSnapshot, pe: Pe) -> PeStatus:
    """The status that would have been written had the lost pod lived until then."""
    launched = snapshot.launched
    assert launched is not None, "observed: a pod that was there"
    return replace(
        pe.status,
        launch_count=max(pe.status.launch_count, launched.launch),
        pod=launched.pod,
        content_id=launched.content_id,
        generation=_newest(pe.status.generation, pe.generation),
        observed_generation=pe.metadata_generation,
    )


def _writes_at(
    snapshot: PeSnapshot, pe: Pe, seen: Seen, recorded: PeStatus, timing: Timing
) -> float:
    """When a changed status is written: 0 for at once.

    Every end is written at once: restarts rest on it. That a pod was made, that it runs, and where,
    only informs: while a job is busy, pods that are still to come go first (docs/adr/0006); but the
    first status, on which launch counts rest, waits in a crowd only. What is news of a pod that
    starts is old when it runs.
    """
    pod, before = seen.pod, pe.status
    only_informs = recorded.phase in (PePhase.STARTING, PePhase.RUNNING)
    corrects = before.reason == Reason.POD_REFUSED
    if pod is None or pod.is_deleting or corrects or not only_informs:
        return 0.0
    is_busy = snapshot.job is not None and snapshot.job.phase in _BUSY
    if before.launch_count == 0 and not (is_busy and snapshot.pes_of_job > CROWD_PES):
        return 0.0
    if is_busy:
        return pod.created_at + timing.status_busy_s
    runs_soon = recorded.phase is PePhase.STARTING
    return pod.created_at + timing.status_settle_s if runs_soon else 0.0


def refused_status(status: PeStatus, message: str) -> PeStatus:
    """The status of a PE whose pod the API server refused, with what it said."""
    return replace(status, phase=PePhase.WAITING, reason=Reason.POD_REFUSED.value, message=message)


def _newest(recorded: int | None, seen: int | None) -> int | None:
    """Generations of a status never fall."""
    known = [each for each in (recorded, seen) if each is not None]
    return max(known) if known else None
