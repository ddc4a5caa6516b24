"""The desired status of a PE, and when it is written.

The intent of a launch is written at once, because it fences the launch; so is every end, because
restarts depend on it. A status that only informs may wait (docs/adr/0006). A status that is current
is not written, and of reasons that flap (an image that cannot be pulled) only the first is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from contracts.labels import RESTART
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase
from contracts.showing import shown
from services.chassis.running.life_cycles import Transition
from services.pod_state_machine.core.awaiting import awaited_place
from services.pod_state_machine.core.conditions import (
    BACKING_OFF,
    POD_BLOCKED,
    RESTARTS_EXHAUSTED,
    STUCK_TERMINATING,
    Holding,
    with_conditions,
    with_restart,
)
from services.pod_state_machine.core.hanging import hanging_message
from services.pod_state_machine.core.observing import Observed, hanging_pod
from services.pod_state_machine.core.restarting import restarts_in_a_row
from services.pod_state_machine.core.snapshot import Pe, PeSnapshot, PeStatus, Pod, Timing
from services.pod_state_machine.core.transitions import Action, Observation

REFUSAL_CHARS_MAX = 1_024
"""Limit for the API server's refusal of a pod, which quotes the pod's fields in full."""
_BUSY = (JobPhase.SUBMITTING, JobPhase.RESIZING)
CROWD_PES = 32
"""In a job of more PEs, first statuses wait until the job is submitted; those of fewer PEs fit into
`effects_in_flight_max` together and delay no pod."""
_CORRECTED_AT_ONCE = (Reason.POD_REFUSED, Reason.STUCK_TERMINATING, Reason.GATES_CLOSED)
_BACKING_OFF = (Observation.FAILED_BACKING_OFF, Observation.COMPLETED_BACKING_OFF)


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a decision: the snapshot with its PE, the observation, and the time."""

    snapshot: PeSnapshot
    pe: Pe
    observed: Observed
    now: float
    timing: Timing


# --------------------------------------------------------------------------- intents


def intent(at: Situation, reason: Reason) -> PeStatus:
    """The status that intends the next launch; `pod` still names the pod of the last one."""
    pe, observed = at.pe, at.observed
    status = replace(
        pe.status,
        phase=PePhase.WAITING,
        launch_count=max(pe.launch_floor, observed.launch + 1),
        pod=observed.last.name if observed.last else pe.status.pod,
        node="",
        content_id=pe.content_id,
        generation=_newest(pe.status.generation, pe.generation),
        observed_generation=pe.metadata_generation,
        restarts=pe.status.restarts if reason is Reason.REASSIGNED else 0,
        reason=reason.value,
        message=reason.sentence,
        next_restart="",
        observed_restart=pe.restart or pe.status.observed_restart,
        connectivity="",
        conditions=with_conditions(pe.status, {}, at.now, kept=(STUCK_TERMINATING,)),
    )
    return _restarted(at, status, reason) if observed.end and observed.reason else status


def _restarted(at: Situation, status: PeStatus, reason: Reason) -> PeStatus:
    """The intent of a restart by policy: with the count of restarts and its condition."""
    observed, end = at.observed, at.observed.end
    assert end is not None, "observed: a launch that ended"
    restarts = restarts_in_a_row(at.pe, end, observed.last, at.now, at.timing)
    message = shown(f"{reason.sentence} {_why(observed.last)}", MESSAGE_CHARS_MAX)
    text = f"Launch {status.launch_count} follows; {_counted(restarts)}. {message}"
    return replace(
        status,
        restarts=restarts,
        message=message,
        conditions=with_restart(status.conditions, reason, text, at.now),
    )


def _counted(restarts: int) -> str:
    return f"restarts in a row: {restarts}"


def _why(pod: Pod | None) -> str:
    """The message of a pod that ended, or of the cluster that disrupted it."""
    if pod is None:
        return ""
    if pod.is_disrupted:
        return f"{pod.disruption}: {pod.disruption_message}".rstrip(": ")
    return pod.problem


# --------------------------------------------------------------------------- observed states


def observed_status(at: Situation, row: Transition[PePhase, Action]) -> PeStatus:
    """The status that records the observation."""
    pe, observed = at.pe, at.observed
    is_lost = observed.pod is None and _is_unrecorded(pe, observed)
    before = _had_launched(at) if is_lost else pe.status
    reason, text = _reason_of(at, row)
    message = shown(text, MESSAGE_CHARS_MAX)
    status = replace(
        before,
        phase=row.phase,
        node="",
        reason=reason.value,
        message=message,
        next_restart=_next_restart(observed),
        conditions=with_conditions(before, _holding(at, reason, message), at.now),
    )
    pod = observed.pod
    if pod is None:
        return status
    return replace(
        status,
        launch_count=observed.launch,
        pod=pod.name,
        node=pod.node,
        content_id=pod.content_id,
        generation=_newest(pe.status.generation, pod.generation),
        observed_generation=pe.metadata_generation,
        observed_restart=pod.restart or before.observed_restart,
    )


def _is_unrecorded(pe: Pe, observed: Observed) -> bool:
    """Whether no status records the launch yet although its pod was observed."""
    is_held_up = observed.observation in (Observation.PREDECESSOR_STUCK, Observation.UNPLACED)
    return pe.status.phase is PePhase.WAITING and not is_held_up


def _had_launched(at: Situation) -> PeStatus:
    """The status that would have been written if the lost pod had lived longer."""
    pe, launched = at.pe, at.snapshot.launched
    assert launched is not None, "observed: a pod that was there"
    return replace(
        pe.status,
        launch_count=max(pe.status.launch_count, launched.launch),
        pod=launched.pod,
        content_id=launched.content_id,
        generation=_newest(pe.status.generation, pe.generation),
        observed_generation=pe.metadata_generation,
    )


def _reason_of(at: Situation, row: Transition[PePhase, Action]) -> tuple[Reason, str]:
    observed, pod = at.observed, at.observed.pod
    match observed.observation:
        case Observation.POD_BLOCKED:
            assert pod is not None
            assert pod.blocked is not None
            reason = pod.blocked
            return reason, _once(at.pe, pod, reason, f"{reason.sentence} {pod.problem}".rstrip())
        case Observation.POD_PENDING if pod and _was_blocked(at.pe, pod):
            return Reason.IMAGE_PULL_FAILED, at.pe.status.message  # between two attempts
        case Observation.POD_STUCK | Observation.PREDECESSOR_STUCK:
            hanging = hanging_pod(at.snapshot, at.pe, observed, at.now, at.timing)
            assert hanging is not None, "observed: a pod that hangs"
            return row.reason, hanging_message(at.snapshot, at.pe, hanging)
        case Observation.UNPLACED:
            return row.reason, f"The processing element {awaited_place(at.snapshot)}."
        case Observation.RESTARTS_EXHAUSTED:
            return row.reason, _how_to_go_on(at)
        case Observation.POD_UNKNOWN:
            return row.reason, f"{row.reason.sentence} Node: {pod.node if pod else ''}."
    text = f"{row.reason.sentence} {_why(observed.last if observed.end else None)}".rstrip()
    policy = _NOT_RESTARTED_BY.get(observed.observation)
    return row.reason, f"{text} {_no_restart(at, policy)}" if policy else text


_NOT_RESTARTED_BY = {
    Observation.POD_ABSENT: "restartDeletedPod",
    Observation.POD_LOST: "restartDeletedPod",
    Observation.POD_FAILED: "restartFailedPod",
    Observation.POD_DISRUPTED: "restartFailedPod",
}
"""The policy that is false if one of these is recorded."""


def _no_restart(at: Situation, policy: str) -> str:
    launch = max(at.observed.launch, at.pe.status.launch_count)
    return f"No restart follows, since spec.{policy} is false: set it, {_by_hand(launch)}."


def _by_hand(launch: int) -> str:
    """How a user launches a PE again."""
    return f"raise spec.launchCount above {launch}, or give the annotation {RESTART} a new value"


def _once(pe: Pe, pod: Pod, reason: Reason, message: str) -> str:
    """The first message for this pod and reason: the kubelet changes its messages all the time."""
    is_recorded = pe.status.pod == pod.name and pe.status.reason == reason.value
    return pe.status.message if is_recorded and reason is not Reason.UNSCHEDULABLE else message


def _was_blocked(pe: Pe, pod: Pod) -> bool:
    return pe.status.pod == pod.name and pe.status.reason == Reason.IMAGE_PULL_FAILED.value


def _how_to_go_on(at: Situation) -> str:
    status, limit = at.pe.status, at.pe.policies.restarts_max
    return (
        f"{_counted(status.restarts)}, and spec.maxRestartsInARow is {limit}: raise it,"
        f" {_by_hand(status.launch_count)}. {_why(at.observed.last)}"
    ).rstrip()


def _next_restart(observed: Observed) -> str:
    if observed.observation not in _BACKING_OFF or observed.due_at is None:
        return ""
    return moment_of(observed.due_at)


def _holding(at: Situation, reason: Reason, message: str) -> Mapping[str, Holding]:
    """The conditions that hold for the observation, by type."""
    match at.observed.observation:
        case Observation.FAILED_BACKING_OFF | Observation.COMPLETED_BACKING_OFF:
            return {BACKING_OFF: _backing_off(at)}
        case Observation.RESTARTS_EXHAUSTED:
            return {RESTARTS_EXHAUSTED: Holding(reason.value, message)}
        case Observation.POD_STUCK | Observation.PREDECESSOR_STUCK:
            return {STUCK_TERMINATING: Holding(reason.value, message)}
        case Observation.POD_BLOCKED | Observation.POD_UNKNOWN:
            return {POD_BLOCKED: Holding(reason.value, message)}
        case Observation.POD_PENDING if reason is Reason.IMAGE_PULL_FAILED:
            return {POD_BLOCKED: Holding(reason.value, message)}
    return {}


def _backing_off(at: Situation) -> Holding:
    observed, reason = at.observed, at.observed.reason
    assert reason is not None, "observed: a restart follows"
    assert observed.due_at is not None, "observed: a restart follows"
    due = moment_of(observed.due_at)
    text = f"The next restart is due at {due}; {_counted(at.pe.status.restarts)}."
    return Holding(reason.value, f"{text} {reason.sentence} {_why(observed.last)}".rstrip())


# --------------------------------------------------------------------------- when it is written


def write_time(at: Situation, recorded: PeStatus) -> float:
    """When a changed status is due (unix seconds); 0: at once.

    Ends are due at once: restarts depend on them. That a pod exists or runs, and where, only
    informs: while a job is busy, its missing pods come first (docs/adr/0006), but a first status,
    on which launch counts depend, waits in a crowd only. That a pod starts waits, since it soon
    runs; that a new PE is not placed yet waits, since it soon is.
    """
    snapshot, timing, pod, before = at.snapshot, at.timing, at.observed.pod, at.pe.status
    if at.observed.observation is Observation.UNPLACED:
        return at.pe.created_at + timing.status_settle_s
    only_informs = recorded.phase in (PePhase.STARTING, PePhase.RUNNING)
    corrects = before.reason in _CORRECTED_AT_ONCE
    if pod is None or pod.is_deleting or corrects or not only_informs:
        return 0.0
    is_busy = snapshot.job is not None and snapshot.job.phase in _BUSY
    if before.launch_count == 0 and not (is_busy and snapshot.pes_of_job > CROWD_PES):
        return 0.0
    if is_busy:
        return pod.created_at + timing.status_busy_s
    runs_soon = recorded.phase is PePhase.STARTING
    return pod.created_at + timing.status_settle_s if runs_soon else 0.0


# --------------------------------------------------------------------------- refusals


def refused_status(pe: Pe, message: str, *, now: float) -> PeStatus:
    """The status of a PE whose pod the API server refused, with the message of the refusal."""
    reason, message = Reason.POD_REFUSED.value, shown(message, REFUSAL_CHARS_MAX)
    holding = {POD_BLOCKED: Holding(reason, message)}
    return replace(
        pe.status,
        phase=PePhase.WAITING,
        reason=reason,
        message=message,
        conditions=with_conditions(pe.status, holding, now, kept=(BACKING_OFF,)),
    )


def _newest(recorded: int | None, observed: int | None) -> int | None:
    """The larger of two generations: those of a status never fall."""
    known = [each for each in (recorded, observed) if each is not None]
    return max(known) if known else None
