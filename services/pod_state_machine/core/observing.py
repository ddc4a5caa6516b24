"""Makes one observation of a snapshot: the key into the table of the life cycle.

1. Find the pod of the newest launch: that of `status.launchCount`, or, before any status was
   written, the newest that this PE controls or is known to have had.
2. A pod that counts as gone with its node (hanging.py) is treated as absent.
3. Check in order of urgency: whether job and PE live, whether the view is complete, whether a new
   launch is requested, whether the last one ended (ending.py), and then the state of its pod.

Properties: exactly one observation for every snapshot; a launch is never intended while its gates
are closed, nor created while an earlier pod may still run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.pod_state_machine.core.awaiting import awaited_place, awaits_job, place_of
from services.pod_state_machine.core.ending import End, end_of
from services.pod_state_machine.core.hanging import blocks_next_launch, counts_as_gone, is_hanging
from services.pod_state_machine.core.restarting import (
    is_exhausted,
    restart_due_at,
    restart_wanted,
)
from services.pod_state_machine.core.snapshot import Launched, Pe, PeSnapshot, Pod, Timing
from services.pod_state_machine.core.transitions import Observation


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation and its evidence.

    `pod` is the pod of the newest launch, None if it is gone; `launch` is its number, 0 before the
    first launch; `last` is its last observed state, gone or not. `end` is how the launch ended,
    `reason` why a restart follows; `due_at` is when the restart is due (unix seconds).
    """

    observation: Observation
    pod: Pod | None
    launch: int
    last: Pod | None = None
    end: End | None = None
    reason: Reason | None = None
    due_at: float | None = None


def newest_launch(pe: Pe, pods: tuple[Pod, ...], launched: Launched | None = None) -> int:
    """The number of the newest launch; 0 before the first."""
    if pe.status.launch_count > 0:
        return pe.status.launch_count
    if launched is not None:
        return launched.launch
    return max((pod.launch for pod in pods if pod.owner_uid == pe.uid), default=0)


def pod_of_launch(pe: Pe, pods: tuple[Pod, ...], launch: int) -> Pod | None:
    """The pod of one launch of this PE (by uid)."""
    return next(
        (pod for pod in pods if pod.owner_uid == pe.uid and pod.launch == launch),
        None,
    )


def earlier_pods(pe: Pe, pods: tuple[Pod, ...], launch: int) -> tuple[Pod, ...]:
    """Pods of earlier launches, and of an earlier PE of the same name."""
    return tuple(pod for pod in pods if pod.owner_uid != pe.uid or pod.launch < launch)


def predecessors(pe: Pe) -> frozenset[str]:
    """Names of the pods beside which the next launch must not run.

    An intent without a pod name was written when no earlier pod existed: the set is empty.
    """
    launch, pod = pe.status.launch_count, pe.status.pod
    if launch < 2 or not pod:
        return frozenset()
    return frozenset((pod, labels.pod_name(pe.job, pe.id, pe.uid, launch - 1)))


def observe(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Observed:
    """The one observation of a snapshot whose PE exists."""
    launch = newest_launch(pe, snapshot.pods, snapshot.launched)
    there = pod_of_launch(pe, snapshot.pods, launch)
    last = there or snapshot.last
    pod = None if there and counts_as_gone(snapshot, pe, there, now) else there
    observation = (
        _state_of_owners(snapshot, pe)
        or _view(pe, snapshot.pods, launch)
        or _requested_launch(snapshot, pe, pod, launch)
    )
    if observation is not None:
        return Observed(observation, pod, launch, last)
    if pod is None and pe.status.phase is PePhase.WAITING and not _is_lost(snapshot, pe, launch):
        return Observed(_readiness_to_launch(snapshot, pe, launch, now, timing), pod, launch, last)
    node = snapshot.node((last.node if last else "") or pe.status.node)
    end = end_of(pe, pod=pod, last=last, node=node)
    if end is None:
        return Observed(_state_of(snapshot, pe, pod, now, timing), pod, launch, last)
    ended = Observed(Observation.POD_ABSENT, pod, launch, last, end)
    return _ended(snapshot, pe, ended, now, timing)


def _ended(
    snapshot: PeSnapshot, pe: Pe, observed: Observed, now: float, timing: Timing
) -> Observed:
    """The observation of a launch that has ended: its restart, or how it ended."""
    end = observed.end
    assert end is not None
    reason = restart_wanted(pe, end)
    if reason is None:
        observation = _not_restarted(snapshot, pe, observed, end, now, timing)
        return replace(observed, observation=observation)
    if is_exhausted(pe, end, observed.last, now, timing):
        return replace(observed, observation=Observation.RESTARTS_EXHAUSTED)
    due_at = restart_due_at(pe, observed.last, timing)
    observation = _restart(end, due=now >= due_at)
    return replace(observed, observation=observation, reason=reason, due_at=due_at)


_ENDS = {
    End.FAILED: Observation.POD_FAILED,
    End.COMPLETED: Observation.POD_SUCCEEDED,
    End.DISRUPTED: Observation.POD_DISRUPTED,
    End.DELETED: Observation.POD_ABSENT,
}
_OVER = (PePhase.COMPLETED, PePhase.FAILED)


def _not_restarted(
    snapshot: PeSnapshot, pe: Pe, observed: Observed, end: End, now: float, timing: Timing
) -> Observation:
    pod = observed.pod
    if pe.status.phase in _OVER:
        if pod is None:
            return Observation.POD_ABSENT
        if pod.is_deleting:
            return _state_of(snapshot, pe, pod, now, timing)
    if end is End.DELETED and _is_lost(snapshot, pe, observed.launch):
        return Observation.POD_LOST
    return _ENDS[end]


def _is_lost(snapshot: PeSnapshot, pe: Pe, launch: int) -> bool:
    """Whether the pod of a waiting launch was deleted by force before any status recorded it."""
    launched = snapshot.launched
    has_had_pod = launched is not None and launched.launch >= launch > 0
    return pe.status.phase is PePhase.WAITING and has_had_pod


def _restart(end: End, *, due: bool) -> Observation:
    if due:
        return Observation.RESTART_DUE
    if end is End.COMPLETED:
        return Observation.COMPLETED_BACKING_OFF
    return Observation.FAILED_BACKING_OFF


def gates_open(snapshot: PeSnapshot) -> bool:
    """Whether everything that a pod mounts exists, and its node is decided."""
    return _has_mounts(snapshot) and not awaited_place(snapshot)


def _has_mounts(snapshot: PeSnapshot) -> bool:
    is_mounted_there = snapshot.has_pe_config_map and snapshot.has_job_config_map
    return is_mounted_there and not awaits_job(snapshot)


def _state_of_owners(snapshot: PeSnapshot, pe: Pe) -> Observation | None:
    job = snapshot.job
    if job is None or job.is_deleting or job.uid != pe.job_uid:
        return Observation.JOB_GONE
    return Observation.PE_DELETING if pe.is_deleting else None


def _view(pe: Pe, pods: tuple[Pod, ...], launch: int) -> Observation | None:
    """VIEW_BEHIND if a pod has a newer launch than the status: a fact of the PE is on its way."""
    ahead = any(pod.owner_uid == pe.uid and pod.launch > launch for pod in pods)
    return Observation.VIEW_BEHIND if ahead else None


def _requested_launch(
    snapshot: PeSnapshot, pe: Pe, pod: Pod | None, launch: int
) -> Observation | None:
    requested: Observation | None = None
    if pe.launch_floor > max(launch, 1):  # creating the PE is the intent of launch 1 only
        requested = Observation.LAUNCH_REQUESTED
    elif _is_restart_requested(pe, pod, launch):
        requested = Observation.RESTART_REQUESTED
    elif _content_changed(pe, pod):
        requested = Observation.CONTENT_CHANGED
    if requested is not None and not gates_open(snapshot):
        return Observation.GATES_CLOSED
    if requested is None and _is_misplaced(snapshot, pod) and gates_open(snapshot):
        return Observation.POD_MISPLACED
    return requested


def _is_misplaced(snapshot: PeSnapshot, pod: Pod | None) -> bool:
    """Whether an unbound pod is pinned to another node than the one that its PE is assigned to.

    A bound pod stays. Without an assignment no pod is misplaced.
    """
    place = place_of(snapshot)
    if place is None or pod is None or pod.node or pod.is_deleting or pod.is_over:
        return False
    return pod.pinned_to != place.node.name


def _is_restart_requested(pe: Pe, pod: Pod | None, launch: int) -> bool:
    """Whether the annotation has a value that no launch has answered.

    A waiting launch will answer it: its pod gets the current value.
    """
    if not pe.restart or pe.restart == pe.status.observed_restart or launch == 0:
        return False
    if pod is not None:
        return pod.restart != pe.restart
    return pe.status.phase is not PePhase.WAITING


def _content_changed(pe: Pe, pod: Pod | None) -> bool:
    if pod is not None:
        return pod.content_id != pe.content_id
    if pe.status.phase is PePhase.WAITING or pe.status.launch_count == 0:
        return False  # a waiting launch will take the current content
    return pe.status.content_id != pe.content_id


def _readiness_to_launch(
    snapshot: PeSnapshot, pe: Pe, launch: int, now: float, timing: Timing
) -> Observation:
    earlier = earlier_pods(pe, snapshot.pods, max(launch, 1))
    alive = [pod for pod in earlier if blocks_next_launch(snapshot, pe, pod, now)]
    if any(is_hanging(snapshot, pe, pod, now, timing) for pod in alive):
        return Observation.PREDECESSOR_STUCK
    if alive:
        return Observation.PREDECESSOR_ALIVE
    if not _has_mounts(snapshot):
        return Observation.GATES_CLOSED
    return Observation.UNPLACED if awaited_place(snapshot) else Observation.POD_ABSENT


def hanging_pod(
    snapshot: PeSnapshot, pe: Pe, observed: Observed, now: float, timing: Timing
) -> Pod | None:
    """The pod that hangs in deletion, of the newest launch or of an earlier one; None if none."""
    pods = [observed.last] if observed.observation is Observation.POD_STUCK else snapshot.pods
    return next((pod for pod in pods if pod and is_hanging(snapshot, pe, pod, now, timing)), None)


def _state_of(
    snapshot: PeSnapshot, pe: Pe, pod: Pod | None, now: float, timing: Timing
) -> Observation:
    if pod is None:
        return Observation.POD_ABSENT
    if pod.is_deleting:
        hangs = is_hanging(snapshot, pe, pod, now, timing)
        return Observation.POD_STUCK if hangs else Observation.POD_TERMINATING
    if pod.is_unreported:
        return Observation.POD_UNKNOWN
    if pod.blocked is not None:
        return Observation.POD_BLOCKED
    return Observation.POD_PENDING if pod.phase == "Pending" else Observation.POD_RUNNING
