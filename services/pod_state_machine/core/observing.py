"""From a snapshot to one observation: what the life cycle's table is asked with.

1. Find the pod of the newest launch: that of `status.launchCount`, or, before any status was
   written, the newest that this PE controls or is known to have had.
2. Ask in order of urgency: may the PE live, is our view of it complete, does somebody want a new
   launch, and only then how its pod is.

Properties: exactly one observation for every snapshot; a launch is never asked for while its gates
are closed, nor created while an earlier pod may still run.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.pod_state_machine.core.awaiting import awaits_job
from services.pod_state_machine.core.restarting import restart_due_at, restart_wanted
from services.pod_state_machine.core.snapshot import Launched, Pe, PeSnapshot, Pod, Timing
from services.pod_state_machine.core.transitions import Observation


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation and what it rests on.

    `pod` is the pod of the newest launch; `launch` its number, 0 when nothing was launched yet;
    `reason` says why a restart is wanted; `due_at` is when it may happen (unix seconds).
    """

    observation: Observation
    pod: Pod | None
    launch: int
    reason: Reason | None = None
    due_at: float | None = None


def newest_launch(pe: Pe, pods: tuple[Pod, ...], launched: Launched | None = None) -> int:
    """The number of the newest launch; 0 when there was none."""
    if pe.status.launch_count > 0:
        return pe.status.launch_count
    if launched is not None:
        return launched.launch
    return max((pod.launch for pod in pods if pod.owner_uid == pe.uid), default=0)


def pod_of_launch(pe: Pe, pods: tuple[Pod, ...], launch: int) -> Pod | None:
    """The pod of one launch of this very PE."""
    return next(
        (pod for pod in pods if pod.owner_uid == pe.uid and pod.launch == launch),
        None,
    )


def earlier_pods(pe: Pe, pods: tuple[Pod, ...], launch: int) -> tuple[Pod, ...]:
    """Pods of earlier launches, and of an earlier PE of the same name."""
    return tuple(pod for pod in pods if pod.owner_uid != pe.uid or pod.launch < launch)


def predecessors(pe: Pe) -> frozenset[str]:
    """Names of the pods that the launch which the status intends must not run beside."""
    launch = pe.status.launch_count
    if launch < 2:
        return frozenset()
    names = (pe.status.pod, labels.pod_name(pe.job, pe.id, pe.uid, launch - 1))
    return frozenset(name for name in names if name)


def observe(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Seen:
    """The one observation of a snapshot whose PE exists."""
    launch = newest_launch(pe, snapshot.pods, snapshot.launched)
    pod = pod_of_launch(pe, snapshot.pods, launch)
    observation = (
        _life_of_owners(snapshot, pe)
        or _view(pe, snapshot.pods, launch)
        or _launch_wanted(snapshot, pe, pod, launch)
    )
    if observation is not None:
        return Seen(observation, pod, launch)
    is_lost = pod is None and _is_lost(snapshot, pe, launch)
    if pod is None and pe.status.phase is PePhase.WAITING and not is_lost:
        return Seen(_readiness_to_launch(snapshot, pe, launch), pod, launch)
    reason = restart_wanted(pe, pod)
    if reason is not None:
        due_at = restart_due_at(pe, pod, timing)
        return Seen(_restart(reason, due=now >= due_at), pod, launch, reason, due_at)
    return Seen(Observation.POD_LOST if is_lost else _state_of(pod), pod, launch)


def _is_lost(snapshot: PeSnapshot, pe: Pe, launch: int) -> bool:
    """Whether the launch that waits had its pod: deleted by force before a status spoke of it."""
    launched = snapshot.launched
    has_had_pod = launched is not None and launched.launch >= launch > 0
    return pe.status.phase is PePhase.WAITING and has_had_pod


def _restart(reason: Reason, *, due: bool) -> Observation:
    if due:
        return Observation.RESTART_DUE
    if reason is Reason.POD_COMPLETED:
        return Observation.COMPLETED_BACKING_OFF
    return Observation.FAILED_BACKING_OFF


def gates_open(snapshot: PeSnapshot) -> bool:
    """Whether everything that a pod mounts exists."""
    is_mounted_there = snapshot.has_pe_config_map and snapshot.has_job_config_map
    return is_mounted_there and not awaits_job(snapshot)


def _life_of_owners(snapshot: PeSnapshot, pe: Pe) -> Observation | None:
    job = snapshot.job
    if job is None or job.is_deleting or job.uid != pe.job_uid:
        return Observation.JOB_GONE
    return Observation.PE_DELETING if pe.is_deleting else None


def _view(pe: Pe, pods: tuple[Pod, ...], launch: int) -> Observation | None:
    """A pod of a launch that the PE's status does not know: the PE's newer fact is on its way."""
    ahead = any(pod.owner_uid == pe.uid and pod.launch > launch for pod in pods)
    return Observation.VIEW_BEHIND if ahead else None


def _launch_wanted(
    snapshot: PeSnapshot, pe: Pe, pod: Pod | None, launch: int
) -> Observation | None:
    wanted: Observation | None = None
    if launch > 0 and pe.launch_floor > launch:
        wanted = Observation.LAUNCH_REQUESTED
    elif _content_changed(pe, pod):
        wanted = Observation.CONTENT_CHANGED
    if wanted is not None and not gates_open(snapshot):
        return Observation.GATES_CLOSED
    return wanted


def _content_changed(pe: Pe, pod: Pod | None) -> bool:
    if pod is not None:
        return pod.content_id != pe.content_id
    if pe.status.phase is PePhase.WAITING or pe.status.launch_count == 0:
        return False  # its launch is still to come, and takes the content of that moment
    return pe.status.content_id != pe.content_id


def _readiness_to_launch(snapshot: PeSnapshot, pe: Pe, launch: int) -> Observation:
    intended = max(launch, 1)
    if any(not pod.is_over for pod in earlier_pods(pe, snapshot.pods, intended)):
        return Observation.PREDECESSOR_ALIVE
    return Observation.POD_ABSENT if gates_open(snapshot) else Observation.GATES_CLOSED


_PHASES = {
    "Pending": Observation.POD_PENDING,
    "Running": Observation.POD_RUNNING,
    "Succeeded": Observation.POD_SUCCEEDED,
    "Failed": Observation.POD_FAILED,
    "Unknown": Observation.POD_RUNNING,  # its node is silent: until it speaks, the pod may run
}


def _state_of(pod: Pod | None) -> Observation:
    if pod is None:
        return Observation.POD_ABSENT
    if pod.is_deleting:
        return Observation.POD_TERMINATING
    return _PHASES[pod.phase]
