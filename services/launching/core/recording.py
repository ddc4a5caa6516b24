"""The actions that write the status of an owner: what it says, and when it is written.

The intent of a launch is written at once, because it fences the launch; so is every end, because
restarts depend on it. A status that only informs may wait (docs/adr/0006). A status that is current
is not written; for a reason that flaps (an image that cannot be pulled), only the first message is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from contracts.labels import RESTART
from contracts.moments import moment_of, past_s
from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.resources.processing_element import PePhase
from contracts.showing import shown
from services.chassis.running.stage import Decision
from services.launching.core.conditions import (
    BACKING_OFF,
    POD_BLOCKED,
    STUCK_TERMINATING,
    Holding,
    with_conditions,
    with_restart,
)
from services.launching.core.effects import Effect, PatchStatus
from services.launching.core.ending import End
from services.launching.core.events import event_of_intent, event_of_record, event_of_restart
from services.launching.core.hanging import hanging_message
from services.launching.core.named_objects import fields_text, volumes_text
from services.launching.core.owners import LaunchStatus, Owner
from services.launching.core.pods import Pod
from services.launching.core.restarting import restarts_in_a_row
from services.launching.core.situation import ENDED, FIRST_LAUNCH, Situation

REFUSAL_CHARS_MAX = 1_024
"""Limit for the API server's refusal of a pod, which quotes the pod's fields in full."""
CROWD = 32
"""In a job of more owners, first statuses wait until the pods run; those of fewer owners fit into
`effects_in_flight_max` together and delay no pod."""
MOMENTS_ROUNDED_S = 1.0
"""Moments of the API have whole seconds: what started at one of them may be younger by so much."""
_CORRECTED_AT_ONCE = (Reason.POD_REFUSED, Reason.STUCK_TERMINATING, Reason.GATES_CLOSED)
Text = Callable[[Situation, Reason], str]
"""The message of a status; the reason is that of the rule."""


# --------------------------------------------------------------------------- intents


@dataclass(frozen=True, slots=True)
class IntendLaunch:
    """The action that writes the intent of the next launch; then the last pod is removed.

    `is_unbound`: the last pod is on no node yet, and the write fails if it is bound meanwhile.
    """

    phase: PePhase = PePhase.WAITING
    is_unbound: bool = False

    def __call__(self, at: Situation, reason: Reason) -> Decision[Effect]:
        unbound = at.pod.name if at.pod and self.is_unbound else ""
        status = intent(at, reason)
        event = event_of_intent(status, reason)
        effect = PatchStatus(at.owner.uid, status, _skipped_pod(at), unbound, event)
        return Decision((effect,), reason)


@dataclass(frozen=True, slots=True)
class IntendRestart:
    """The same for a restart by policy, which counts."""

    phase: PePhase = PePhase.WAITING

    def __call__(self, at: Situation, reason: Reason) -> Decision[Effect]:
        status = restart_intent(at, reason)
        event = event_of_restart(at, status)
        effect = PatchStatus(at.owner.uid, status, _skipped_pod(at), event=event)
        return Decision((effect,), reason)


def intent(at: Situation, reason: Reason) -> LaunchStatus:
    """The status that intends the next launch; `pod` still names the pod of the last one."""
    owner, last = at.owner, at.last
    return replace(
        owner.status,
        phase=PePhase.WAITING,
        launch_count=max(owner.launch_floor, at.launch + 1),
        pod=last.name if last else owner.status.pod,
        node="",
        content_id=owner.content_id,
        generation=_newest(owner.status.generation, owner.generation),
        observed_generation=owner.metadata_generation,
        restarts=owner.status.restarts if reason is Reason.REASSIGNED else 0,
        reason=reason.value,
        message=reason.sentence,
        next_restart="",
        observed_restart=owner.restart or owner.status.observed_restart,
        connectivity="",
        conditions=with_conditions(owner.status, {}, at.now, kept=(STUCK_TERMINATING,)),
    )


def restart_intent(at: Situation, reason: Reason) -> LaunchStatus:
    """The intent of a restart by policy: with the count of restarts and its condition."""
    assert at.end is not None, "no launch ended"
    status = intent(at, reason)
    restarts = restarts_in_a_row(at.owner, at.end, at.last, at.now, at.timing)
    message = shown(f"{reason.sentence} {_cause(at)}", MESSAGE_CHARS_MAX)
    text = f"Launch {status.launch_count} follows; {_counted(restarts)}. {message}"
    return replace(
        status,
        restarts=restarts,
        message=message,
        conditions=with_restart(status.conditions, reason, text, at.now),
    )


def _skipped_pod(at: Situation) -> str:
    """The pod of a waiting launch that is skipped before the pod was observed; empty if none.

    Before the first status that is launch 1: its pod may exist although its fact is missing.
    """
    pods = at.snapshot.pods
    name = at.owner.pod_name(max(at.launch, FIRST_LAUNCH))
    is_known = at.snapshot.last is not None or any(pod.name == name for pod in pods)
    return "" if is_known or at.phase is not PePhase.WAITING else name


def _counted(restarts: int) -> str:
    return f"restarts in a row: {restarts}"


def _cause(at: Situation) -> str:
    """Why its pod ended; of one that somebody deleted it is no matter."""
    return "" if at.end is End.DELETED else _why(at.last)


def _why(pod: Pod | None) -> str:
    """The message of a pod that ended, or of the cluster that disrupted it."""
    if pod is None:
        return ""
    if pod.is_disrupted:
        return f"{pod.disruption}: {pod.disruption_message}".rstrip(": ")
    return pod.problem


def give_up_pod(at: Situation, reason: Reason) -> Decision[Effect]:
    """Record that the failed pod is deleted, so that its absence is nobody else's deletion."""
    status, seconds = at.owner.status, at.owner.policies.failed_retention_s
    text = f"{status.message} Pod {status.pod} was deleted {seconds:g} s after its end."
    given_up = replace(status, pod="", node="", message=shown(text, MESSAGE_CHARS_MAX))
    return Decision((PatchStatus(at.owner.uid, given_up),), reason)


# --------------------------------------------------------------------------- observed states


def plain(at: Situation, reason: Reason) -> str:
    """The sentence of the reason, and why the pod ended."""
    return f"{reason.sentence} {_why(at.last if at.end else None)}".rstrip()


@dataclass(frozen=True, slots=True)
class Record:
    """The action that writes a status which records the observed state, unless it is current.

    `condition` is the type of the condition that holds, if any; all others become False. `settles`:
    the state is likely to end soon, so it is recorded only if it lasts. `announces`: an Event
    reports it.
    """

    phase: PePhase
    text: Text = plain
    condition: str = ""
    settles: bool = False
    announces: bool = False

    def __call__(self, at: Situation, reason: Reason) -> Decision[Effect]:
        status = self.status(at, reason)
        ends_at = at.restart_due_at if self.condition == BACKING_OFF else None
        if status == at.owner.status:
            return Decision((), reason, ends_at)
        due_at = self._due_at(at, status)
        if at.now < due_at:
            return Decision((), reason, due_at)
        event = event_of_record(at, status, reason) if self.announces else None
        return Decision((PatchStatus(at.owner.uid, status, event=event),), reason, ends_at)

    def status(self, at: Situation, reason: Reason) -> LaunchStatus:
        """The status to write."""
        owner, pod = at.owner, at.pod
        before = _status_of_lost_launch(at) if pod is None and at.is_unrecorded else owner.status
        message = shown(self.text(at, reason), MESSAGE_CHARS_MAX)
        is_backing_off = self.condition == BACKING_OFF
        held = _backing_off(at) if is_backing_off else Holding(reason.value, message)
        holding = {self.condition: held} if self.condition else {}
        status = replace(
            before,
            phase=self.phase,
            node="",
            reason=reason.value,
            message=message,
            next_restart=moment_of(at.restart_due_at) if is_backing_off else "",
            conditions=with_conditions(before, holding, at.now),
        )
        if pod is None:
            return status
        return replace(
            status,
            launch_count=at.launch,
            pod=pod.name,
            # An ended pod that leaves is on no node soon: who deletes it is known already.
            node="" if pod.is_deleting and self.phase in ENDED else pod.node,
            content_id=pod.content_id,
            generation=_newest(owner.status.generation, pod.generation),
            observed_generation=owner.metadata_generation,
            observed_restart=pod.restart or before.observed_restart,
        )

    def _due_at(self, at: Situation, recorded: LaunchStatus) -> float:
        """When a changed status is written (unix seconds); 0: at once."""
        if self.settles:
            return past_s(at.owner.created_at, at.now) + at.timing.status_settle_s
        return write_time(at, recorded)


def _status_of_lost_launch(at: Situation) -> LaunchStatus:
    """The status that would have been written if the lost pod had lived longer."""
    owner, launched = at.owner, at.snapshot.launched
    assert launched is not None, "no launch is unrecorded"
    return replace(
        owner.status,
        launch_count=max(owner.status.launch_count, launched.launch),
        pod=launched.pod,
        content_id=launched.content_id,
        generation=_newest(owner.status.generation, owner.generation),
        observed_generation=owner.metadata_generation,
    )


def _backing_off(at: Situation) -> Holding:
    reason, due = at.restart, moment_of(at.restart_due_at)
    assert reason is not None, "no restart follows"
    text = f"The next restart is due at {due}; {_counted(at.owner.status.restarts)}."
    return Holding(reason.value, f"{text} {reason.sentence} {_cause(at)}".rstrip())


# --------------------------------------------------------------------------- messages


def without_restart(policy: str) -> Text:
    """The message where a policy, a field of the spec, is false: how users launch it again."""

    def text(at: Situation, reason: Reason) -> str:
        launch = max(at.launch, at.owner.status.launch_count)
        hint = f"No restart follows, since spec.{policy} is false: set it, {_by_hand(launch)}."
        return f"{plain(at, reason)} {hint}"

    return text


def blocked(at: Situation, reason: Reason) -> str:
    """The first message for a pod and reason: the kubelet changes its messages all the time."""
    pod, status = at.pod, at.owner.status
    assert pod is not None, "no pod is blocked"
    is_recorded = status.pod == pod.name and status.reason == reason.value
    if is_recorded and reason is not Reason.UNSCHEDULABLE:
        return status.message
    fields = fields_text(reason, pod.problem, at.context.named())
    text = f"{reason.sentence} {pod.problem}".rstrip()
    return f"{text.rstrip('.')}. {fields}" if fields else text


def unmounted(at: Situation, reason: Reason) -> str:
    """What the volumes of the pod need; the first message stays, as its spec does."""
    pod, status = at.pod, at.owner.status
    assert pod is not None, "no pod waits for volumes"
    if status.pod == pod.name and status.reason == reason.value:
        return status.message
    return f"{reason.sentence} {volumes_text(pod.name, at.context.named())}"


def as_recorded(at: Situation, _reason: Reason) -> str:
    """The message that the status has."""
    return at.owner.status.message


def hanging(at: Situation, _reason: Reason) -> str:
    """Which pod does not end, where, and the remedy."""
    pod = at.hanging
    assert pod is not None, "no pod hangs"
    return hanging_message(at.snapshot, at.owner, pod)


def unplaced(at: Situation, _reason: Reason) -> str:
    """What the node of the owner waits for."""
    return at.context.awaited


def on_silent_node(at: Situation, reason: Reason) -> str:
    """The node whose kubelet does not report."""
    assert at.pod is not None, "no pod is silent"
    return f"{reason.sentence} Node: {at.pod.node}."


def exhausted(at: Situation, _reason: Reason) -> str:
    """The count of restarts and its limit, and how users launch the owner again."""
    status, limit = at.owner.status, at.owner.policies.restarts_max
    return (
        f"{_counted(status.restarts)}, and spec.maxRestartsInARow is {limit}: raise it,"
        f" {_by_hand(status.launch_count)}. {_why(at.last)}"
    ).rstrip()


def _by_hand(launch: int) -> str:
    """How a user launches an owner again."""
    return f"raise spec.launchCount above {launch}, or give the annotation {RESTART} a new value"


# --------------------------------------------------------------------------- when it is written


def write_time(at: Situation, recorded: LaunchStatus) -> float:
    """When a changed status is due (unix seconds); 0: at once.

    Ends are due at once: restarts depend on them. Starting and Running only inform: while a job is
    being submitted or resized, its pods are created first (docs/adr/0006). Otherwise Starting
    waits, since the pod soon runs. Pods of a submission or resize that ended are still in line for
    the scheduler and the kubelets, unless one has a problem (docs/adr/0052). In a job of at most
    CROWD owners a first status is due at once, since launch counts depend on it. Running waits for
    a report that is due (docs/adr/0070).
    """
    timing, pod, before = at.timing, at.pod, at.owner.status
    only_informs = recorded.phase in (PePhase.STARTING, PePhase.RUNNING)
    corrects = before.reason in _CORRECTED_AT_ONCE
    if pod is None or pod.is_deleting or corrects or not only_informs:
        return 0.0
    is_busy, created_at = at.context.is_job_busy, past_s(pod.created_at, at.now)
    if before.launch_count == 0 and at.context.owners_in_job <= CROWD:
        return 0.0
    if is_busy:
        return created_at + timing.status_busy_s
    if recorded.phase is not PePhase.STARTING:
        return _report_waited_for(at, pod)
    is_in_line = recorded.reason == Reason.POD_STARTING
    quiet_since = past_s(at.context.job_quiet_since, at.now) if is_in_line else 0.0
    return max(created_at, quiet_since) + timing.status_settle_s


def _report_waited_for(at: Situation, pod: Pod) -> float:
    """Until when Running waits for the report that comes with it (unix seconds); 0: not at all."""
    is_first = at.owner.status.phase in (PePhase.WAITING, PePhase.STARTING)
    if not (is_first and at.context.is_report_due) or not 0.0 < pod.started_at <= at.now:
        return 0.0
    return pod.started_at + MOMENTS_ROUNDED_S + at.timing.report_wait_s


# --------------------------------------------------------------------------- refusals


def refused_status(owner: Owner, message: str, *, now: float) -> LaunchStatus:
    """The status of an owner whose pod the API server refused, with the message of the refusal."""
    reason, message = Reason.POD_REFUSED.value, shown(message, REFUSAL_CHARS_MAX)
    holding = {POD_BLOCKED: Holding(reason, message)}
    return replace(
        owner.status,
        phase=PePhase.WAITING,
        reason=reason,
        message=message,
        conditions=with_conditions(owner.status, holding, now, kept=(BACKING_OFF,)),
    )


def _newest(recorded: int | None, observed: int | None) -> int | None:
    """The larger of two generations: those of a status never fall."""
    known = [each for each in (recorded, observed) if each is not None]
    return max(known) if known else None
