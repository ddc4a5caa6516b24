"""The life cycle of an owner: the rules that decide on launches and its phase.

The first rule that holds decides (services/chassis/running/rules.py). "The pod" is that of the
newest launch; one that counts as gone with its node (hanging.py) is absent. Pods of earlier
launches have rules of their own (pod_rules.py).

Properties: a launch by request is never intended while its gates are closed, nor any created while
an earlier pod may still run; the intent of launch n ≥ 2 is written before its pod is created.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.rules import Rule
from services.chassis.running.stage import Decision
from services.launching.core.conditions import (
    BACKING_OFF,
    POD_BLOCKED,
    RESTARTS_EXHAUSTED,
    STUCK_TERMINATING,
)
from services.launching.core.effects import CreatePod, Effect
from services.launching.core.ending import End
from services.launching.core.recording import (
    IntendLaunch,
    IntendRestart,
    Record,
    as_recorded,
    blocked,
    exhausted,
    give_up_pod,
    hanging,
    on_silent_node,
    unmounted,
    unplaced,
    without_restart,
)
from services.launching.core.situation import ENDED, FIRST_LAUNCH, Situation, predecessors


class Observation(Enum):
    """What an owner and its pods show; a rule has one each."""

    JOB_GONE = "its job is gone, is being deleted, or is another one of the same name"
    OWNER_DELETING = "it is being deleted"
    VIEW_BEHIND = "a pod has a newer launch than its status: a fact of it is on its way"
    REQUEST_WAITS = (
        "a new launch waits for its gates, or for the last one to hand over, and the pod of that is"
        " as recorded"
    )
    LAUNCH_REQUESTED = "spec.launchCount was raised"
    RESTART_REQUESTED = "the annotation restart has a new value"
    CONTENT_CHANGED = "a resize changed what it runs"
    POD_MISPLACED = "an unbound pod is pinned to another node than the one its owner is assigned to"
    PREDECESSOR_STUCK = (
        "an earlier pod, which the waiting launch waits for, is being deleted and does not end"
    )
    PREDECESSOR_ALIVE = "an earlier pod, which the waiting launch waits for, may still run"
    GATES_CLOSED = "a ConfigMap that the pod mounts is missing"
    UNPLACED = "the node of a waiting launch is not decided, or other owners of the job come first"
    LAUNCH_DUE = "the intended launch has no pod, and nothing is awaited"
    GIVEN_UP = "it failed for good, and its status does not name its failed pod any more"
    RETENTION_OVER = "it failed for good, and the time for which its pod is kept is over"
    RESTARTS_EXHAUSTED = "it is restarted by its policy, and has been too often"
    RESTART_DUE = "it is restarted by its policy, and its back-off is over"
    COMPLETED_BACKING_OFF = "it completed, and its restart backs off"
    FAILED_BACKING_OFF = "it failed, and its restart backs off"
    STUCK_STARTING = "a pod that did not run yet is being deleted and does not end"
    STUCK_RUNNING = "a pod that runs is being deleted and does not end"
    TERMINATING_UNRECORDED = "the pod is being deleted, and no status records its launch"
    POD_TERMINATING = "the pod is being deleted"
    END_RECORDED = "the pod is gone after an end that the status records"
    POD_LOST = "the pod existed and is gone, and no status records its launch"
    POD_ABSENT = "the pod is gone, and its end was not seen"
    POD_SUCCEEDED = "the pod completed"
    POD_FAILED = "the pod failed"
    POD_DISRUPTED = "the cluster took the pod away"
    POD_UNKNOWN = "the kubelet does not report on the pod"
    POD_BLOCKED = "the pod does not start, for a reason in its status"
    PULL_REPEATED = "the pod is between two attempts to pull its image"
    NOT_MOUNTED = "the pod is on its node for ten seconds, and its volumes are not mounted"
    POD_PENDING = "the pod does not run yet"
    POD_RUNNING = "the pod runs"


Action = Callable[[Situation, Reason], Decision[Effect]]
"""The effects of a rule; the reason is that of the rule."""


def ignore(_at: Situation, reason: Reason) -> Decision[Effect]:
    """Do nothing: something else is awaited, or there is nothing to do."""
    return Decision((), reason)


def create_pod(at: Situation, reason: Reason) -> Decision[Effect]:
    """Create the pod of the intended launch; the phase changes when the pod is observed."""
    snapshot, owner = at.snapshot, at.owner
    launch = max(at.launch, FIRST_LAUNCH)
    believed_gone = predecessors(owner) - {pod.name for pod in snapshot.pods} - snapshot.ended
    effect = CreatePod(
        name=owner.pod_name(launch),
        launch=launch,
        content_id=owner.content_id,
        owner_uid=owner.uid,
        owner_generation=owner.metadata_generation,
        believed_gone=tuple(sorted(believed_gone)),
        node=at.context.node or "",
    )
    return Decision((effect,), reason)


_INTEND = IntendLaunch()
_WAITING: Final = frozenset({PePhase.WAITING})
_NOT_RUN: Final = frozenset({PePhase.WAITING, PePhase.STARTING, PePhase.STOPPED})
"""A pod that ran or ended never waits to start again. One that stopped may appear again: its fact
was missing for a moment."""
_NOT_ENDED: Final = _NOT_RUN | {PePhase.RUNNING}
"""A pod that ended never runs again."""
_NOT_COMPLETED: Final = frozenset(PePhase) - {PePhase.COMPLETED}
_NOT_FAILED: Final = frozenset(PePhase) - {PePhase.FAILED}

_O, _P = Observation, PePhase
RULES: Final[tuple[Rule[Situation, Action], ...]] = (
    # Whether the owner is to run at all, and the view of it is complete
    Rule(_O.JOB_GONE, lambda at: at.context.has_lost_job, ignore, Reason.OWNER_DELETED),
    Rule(_O.OWNER_DELETING, lambda at: at.owner.is_deleting, ignore, Reason.OWNER_DELETED),
    Rule(_O.VIEW_BEHIND, lambda at: at.is_behind, ignore, Reason.WAITING),
    # A new launch, by request
    Rule(
        # Or each changed PE of a resize would get one status more, for its new generation alone.
        _O.REQUEST_WAITS,
        lambda at: at.is_new_launch_requested and not at.are_gates_open and at.is_as_recorded,
        ignore,
        Reason.GATES_CLOSED,
        frozenset({PePhase.STARTING, PePhase.RUNNING}),
    ),
    Rule(
        _O.LAUNCH_REQUESTED,
        lambda at: at.is_launch_requested and at.are_gates_open,
        _INTEND,
        Reason.LAUNCH_REQUESTED,
    ),
    Rule(
        _O.RESTART_REQUESTED,
        lambda at: at.is_restart_requested and at.are_gates_open,
        _INTEND,
        Reason.RESTART_REQUESTED,
    ),
    Rule(
        _O.CONTENT_CHANGED,
        lambda at: at.is_content_changed and at.are_gates_open,
        _INTEND,
        Reason.CONTENT_CHANGED,
    ),
    Rule(
        _O.POD_MISPLACED,
        lambda at: at.is_misplaced and at.are_gates_open,
        IntendLaunch(is_unbound=True),
        Reason.REASSIGNED,
        _NOT_RUN,
    ),
    # A launch that is intended
    Rule(
        _O.PREDECESSOR_STUCK,
        lambda at: at.awaits_pod and any(map(at.hangs, at.blocking)),
        Record(_P.WAITING, hanging, STUCK_TERMINATING, announces=True),
        Reason.STUCK_TERMINATING,
        _WAITING,
    ),
    Rule(
        _O.PREDECESSOR_ALIVE,
        lambda at: at.awaits_pod and bool(at.blocking),
        ignore,
        Reason.POD_SUPERSEDED,
        _WAITING,
    ),
    Rule(
        _O.GATES_CLOSED,
        lambda at: at.awaits_pod and not at.context.has_mounts,
        ignore,
        Reason.GATES_CLOSED,
        _WAITING,
    ),
    Rule(
        _O.UNPLACED,
        lambda at: at.awaits_pod and bool(at.context.awaited),
        Record(_P.WAITING, unplaced, settles=True),
        Reason.GATES_CLOSED,
        _WAITING,
    ),
    Rule(
        _O.LAUNCH_DUE,
        lambda at: at.awaits_pod,
        create_pod,
        lambda at: Reason.LAUNCH_DUE if at.launch > FIRST_LAUNCH else Reason.FIRST_LAUNCH,
        _WAITING,
    ),
    # A launch that failed for good
    Rule(
        _O.GIVEN_UP,
        lambda at: at.is_given_up,
        ignore,
        Reason.RESTART_NOT_WANTED,
        frozenset({PePhase.FAILED}),
    ),
    Rule(
        _O.RETENTION_OVER,
        lambda at: at.retention_ends_at is not None and at.now >= at.retention_ends_at,
        give_up_pod,
        Reason.RETENTION_OVER,
        frozenset({PePhase.FAILED}),
    ),
    # A launch that ended, and that the policies restart
    Rule(
        _O.RESTARTS_EXHAUSTED,
        lambda at: at.restart is not None and at.is_exhausted,
        Record(_P.FAILED, exhausted, RESTARTS_EXHAUSTED, announces=True),
        Reason.TOO_MANY_RESTARTS,
        _NOT_COMPLETED,
    ),
    Rule(
        _O.RESTART_DUE,
        lambda at: at.restart is not None and at.now >= at.restart_due_at,
        IntendRestart(),
        lambda at: at.restart or Reason.POD_FAILED,
    ),
    Rule(
        _O.COMPLETED_BACKING_OFF,
        lambda at: at.restart is not None and at.has_completed,
        Record(_P.COMPLETED, condition=BACKING_OFF),
        Reason.BACKING_OFF,
        _NOT_FAILED,
    ),
    Rule(
        _O.FAILED_BACKING_OFF,
        lambda at: at.restart is not None,
        Record(_P.FAILED, condition=BACKING_OFF, announces=True),
        Reason.BACKING_OFF,
        _NOT_COMPLETED,
    ),
    # A pod that is being deleted
    Rule(
        _O.STUCK_STARTING,
        lambda at: at.is_leaving and at.hangs(at.pod) and at.phase in (_P.WAITING, _P.STARTING),
        Record(_P.STARTING, hanging, STUCK_TERMINATING, announces=True),
        Reason.STUCK_TERMINATING,
        frozenset({_P.WAITING, _P.STARTING}),
    ),
    Rule(
        _O.STUCK_RUNNING,
        lambda at: at.is_leaving and at.hangs(at.pod) and at.phase is _P.RUNNING,
        Record(_P.RUNNING, hanging, STUCK_TERMINATING, announces=True),
        Reason.STUCK_TERMINATING,
        frozenset({_P.RUNNING}),
    ),
    Rule(
        _O.TERMINATING_UNRECORDED,
        lambda at: at.is_leaving and at.phase is _P.WAITING,
        Record(_P.STARTING),
        Reason.POD_STARTING,
        _WAITING,
    ),
    Rule(_O.POD_TERMINATING, lambda at: at.is_leaving, ignore, Reason.WAITING),
    # A launch that ended for good
    Rule(
        _O.END_RECORDED,
        lambda at: at.pod is None and at.phase in ENDED,
        ignore,
        Reason.RESTART_NOT_WANTED,
        ENDED,
    ),
    Rule(
        _O.POD_LOST,
        lambda at: at.end is End.DELETED and at.is_unrecorded,
        Record(_P.STOPPED, without_restart("restartDeletedPod"), announces=True),
        Reason.POD_DELETED,
        _WAITING,
    ),
    Rule(
        _O.POD_ABSENT,
        lambda at: at.end is End.DELETED,
        Record(_P.STOPPED, without_restart("restartDeletedPod"), announces=True),
        Reason.POD_DELETED,
        frozenset({_P.STARTING, _P.RUNNING, _P.STOPPED}),
    ),
    Rule(
        _O.POD_SUCCEEDED,
        lambda at: at.end is End.COMPLETED,
        Record(_P.COMPLETED),
        Reason.POD_COMPLETED,
        _NOT_FAILED,
    ),
    Rule(
        _O.POD_FAILED,
        lambda at: at.end is End.FAILED,
        Record(_P.FAILED, without_restart("restartFailedPod"), announces=True),
        Reason.POD_FAILED,
        _NOT_COMPLETED,
    ),
    Rule(
        _O.POD_DISRUPTED,
        lambda at: at.end is End.DISRUPTED,
        Record(_P.FAILED, without_restart("restartFailedPod"), announces=True),
        Reason.DISRUPTED,
        _NOT_COMPLETED,
    ),
    # A pod that is there
    Rule(
        _O.POD_UNKNOWN,
        lambda at: at.pod is not None and at.pod.is_unreported,
        Record(_P.RUNNING, on_silent_node, POD_BLOCKED),
        Reason.POD_UNKNOWN,
        _NOT_ENDED,
    ),
    Rule(
        _O.POD_BLOCKED,
        lambda at: at.pod is not None and at.pod.blocked is not None,
        Record(_P.STARTING, blocked, POD_BLOCKED, announces=True),
        lambda at: (at.pod and at.pod.blocked) or Reason.WAITING,
        _NOT_RUN,
    ),
    Rule(
        _O.PULL_REPEATED,
        lambda at: at.is_pending and at.was_pull_recorded,
        Record(_P.STARTING, as_recorded, POD_BLOCKED),
        Reason.IMAGE_PULL_FAILED,
        _NOT_RUN,
    ),
    Rule(
        _O.NOT_MOUNTED,
        lambda at: at.is_unmounted,
        Record(_P.STARTING, unmounted, POD_BLOCKED, announces=True),
        Reason.VOLUMES_NOT_MOUNTED,
        _NOT_RUN,
    ),
    Rule(
        _O.POD_PENDING,
        lambda at: at.is_pending,
        Record(_P.STARTING),
        Reason.POD_STARTING,
        _NOT_RUN,
    ),
    Rule(
        _O.POD_RUNNING, lambda at: at.is_running, Record(_P.RUNNING), Reason.POD_RUNNING, _NOT_ENDED
    ),
)
