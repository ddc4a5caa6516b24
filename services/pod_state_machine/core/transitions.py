"""The life cycle of a processing element: the only table that changes its phase.

A row is (recorded phase, observation). The phase is the one in the PE's status; the observation is
computed from the whole snapshot (observing.py). Every pair is a transition, ignored with a reason,
or forbidden, because it cannot occur; a test checks that no pair is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition


class Observation(Enum):
    """What the snapshot of a PE shows, most urgent first; always exactly one.

    "The pod" is that of the newest launch. POD_ABSENT, POD_DISRUPTED, POD_FAILED and POD_SUCCEEDED
    hold if the restart policies demand no restart; else it is RESTART_DUE, or *_BACKING_OFF until
    the restart is due, or RESTARTS_EXHAUSTED. POD_LOST is POD_ABSENT of a launch that no status
    records: its pod existed and is gone. A STUCK pod is being deleted and does not end
    (hanging.py); one that counts as gone with its node is observed as absent. A BLOCKED pod does
    not start, for a reason in its status; the kubelet does not report on an UNKNOWN one. UNPLACED:
    the node of a waiting launch is not decided; POD_MISPLACED: an unbound pod is pinned to another
    node than the one that its PE is assigned to.
    """

    JOB_GONE = auto()
    PE_DELETING = auto()
    VIEW_BEHIND = auto()
    LAUNCH_REQUESTED = auto()
    RESTART_REQUESTED = auto()
    CONTENT_CHANGED = auto()
    POD_MISPLACED = auto()
    GATES_CLOSED = auto()
    PREDECESSOR_ALIVE = auto()
    PREDECESSOR_STUCK = auto()
    UNPLACED = auto()
    RESTART_DUE = auto()
    RESTARTS_EXHAUSTED = auto()
    FAILED_BACKING_OFF = auto()
    COMPLETED_BACKING_OFF = auto()
    POD_ABSENT = auto()
    POD_LOST = auto()
    POD_TERMINATING = auto()
    POD_STUCK = auto()
    POD_BLOCKED = auto()
    POD_PENDING = auto()
    POD_UNKNOWN = auto()
    POD_RUNNING = auto()
    POD_SUCCEEDED = auto()
    POD_FAILED = auto()
    POD_DISRUPTED = auto()


class Action(Enum):
    """What a transition does."""

    CREATE_POD = auto()
    """Create the pod of the intended launch; the phase changes when the pod is observed."""
    INTEND_LAUNCH = auto()
    """Write the intent of the next launch; once it is recorded, the last pod is removed."""
    RECORD = auto()
    """Write a status that records the observation, unless it is current."""


_Rows = dict[Observation, Row[PePhase, Action]]

_O = Observation
_LAUNCH = Transition(PePhase.WAITING, Action.CREATE_POD, Reason.FIRST_LAUNCH)
_HELD_UP = Transition(PePhase.WAITING, Action.RECORD, Reason.STUCK_TERMINATING)
_UNPLACED = Transition(PePhase.WAITING, Action.RECORD, Reason.GATES_CLOSED)
_MOVED = Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.REASSIGNED)
_STARTED = Transition(PePhase.STARTING, Action.RECORD, Reason.POD_STARTING)
_BLOCKED = Transition(PePhase.STARTING, Action.RECORD, Reason.WAITING)
_STUCK_STARTING = Transition(PePhase.STARTING, Action.RECORD, Reason.STUCK_TERMINATING)
_RUNNING = Transition(PePhase.RUNNING, Action.RECORD, Reason.POD_RUNNING)
_SILENT = Transition(PePhase.RUNNING, Action.RECORD, Reason.POD_UNKNOWN)
_STUCK_RUNNING = Transition(PePhase.RUNNING, Action.RECORD, Reason.STUCK_TERMINATING)
_COMPLETED = Transition(PePhase.COMPLETED, Action.RECORD, Reason.POD_COMPLETED)
_FAILED = Transition(PePhase.FAILED, Action.RECORD, Reason.POD_FAILED)
_DISRUPTED = Transition(PePhase.FAILED, Action.RECORD, Reason.DISRUPTED)
_EXHAUSTED = Transition(PePhase.FAILED, Action.RECORD, Reason.TOO_MANY_RESTARTS)
_DELAYED = Transition(PePhase.FAILED, Action.RECORD, Reason.BACKING_OFF)
_REPEATING = Transition(PePhase.COMPLETED, Action.RECORD, Reason.BACKING_OFF)
_STOPPED = Transition(PePhase.STOPPED, Action.RECORD, Reason.POD_DELETED)
_RESTART = Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.POD_FAILED)
_LEAVING = Ignored(Reason.WAITING)
_NOT_RESTARTED = Ignored(Reason.RESTART_NOT_WANTED)

_BACKWARDS = Forbidden("a pod that ran or ended never waits to start again")
_REVIVED = Forbidden("a pod that ended never runs again")
_UNCOMPLETED = Forbidden("a pod that completed never fails")
_UNFAILED = Forbidden("a pod that failed never completes")
_ONLY_OF_WAITING = Forbidden("only a waiting launch waits for something")
_RECORDED = Forbidden("only a waiting launch is not recorded")

_IN_EVERY_PHASE: _Rows = {
    _O.JOB_GONE: Ignored(Reason.OWNER_DELETED),
    _O.PE_DELETING: Ignored(Reason.OWNER_DELETED),
    _O.VIEW_BEHIND: Ignored(Reason.WAITING),
    _O.LAUNCH_REQUESTED: Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.LAUNCH_REQUESTED),
    _O.RESTART_REQUESTED: Transition(
        PePhase.WAITING, Action.INTEND_LAUNCH, Reason.RESTART_REQUESTED
    ),
    _O.CONTENT_CHANGED: Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.CONTENT_CHANGED),
    _O.GATES_CLOSED: Ignored(Reason.GATES_CLOSED),
    _O.RESTART_DUE: _RESTART,
}
# For a recorded launch; a pod whose fact was missing for a moment may appear again.
_IN_RECORDED_PHASES: _Rows = {
    **_IN_EVERY_PHASE,
    _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
    _O.PREDECESSOR_STUCK: _ONLY_OF_WAITING,
    _O.UNPLACED: _ONLY_OF_WAITING,
    _O.POD_MISPLACED: _MOVED,
    _O.RESTARTS_EXHAUSTED: _EXHAUSTED,
    _O.FAILED_BACKING_OFF: _DELAYED,
    _O.COMPLETED_BACKING_OFF: _REPEATING,
    _O.POD_ABSENT: _STOPPED,
    _O.POD_LOST: _RECORDED,
    _O.POD_TERMINATING: _LEAVING,
    _O.POD_STUCK: _LEAVING,
    _O.POD_BLOCKED: _BLOCKED,
    _O.POD_PENDING: _STARTED,
    _O.POD_UNKNOWN: _SILENT,
    _O.POD_RUNNING: _RUNNING,
    _O.POD_SUCCEEDED: _COMPLETED,
    _O.POD_FAILED: _FAILED,
    _O.POD_DISRUPTED: _DISRUPTED,
}
_AFTER_AN_END: _Rows = {
    **_IN_RECORDED_PHASES,
    _O.POD_ABSENT: _NOT_RESTARTED,
    _O.POD_MISPLACED: _BACKWARDS,
    _O.POD_BLOCKED: _BACKWARDS,
    _O.POD_PENDING: _BACKWARDS,
    _O.POD_UNKNOWN: _REVIVED,
    _O.POD_RUNNING: _REVIVED,
}

_ROWS: dict[PePhase, _Rows] = {
    PePhase.WAITING: {
        **_IN_RECORDED_PHASES,
        _O.PREDECESSOR_ALIVE: Ignored(Reason.POD_SUPERSEDED),
        _O.PREDECESSOR_STUCK: _HELD_UP,
        _O.UNPLACED: _UNPLACED,
        _O.POD_ABSENT: _LAUNCH,
        _O.POD_LOST: _STOPPED,
        _O.POD_TERMINATING: _STARTED,
        _O.POD_STUCK: _STUCK_STARTING,
    },
    PePhase.STARTING: {
        **_IN_RECORDED_PHASES,
        _O.POD_STUCK: _STUCK_STARTING,
    },
    PePhase.RUNNING: {
        **_IN_RECORDED_PHASES,
        _O.POD_STUCK: _STUCK_RUNNING,
        _O.POD_MISPLACED: _BACKWARDS,
        _O.POD_BLOCKED: _BACKWARDS,
        _O.POD_PENDING: _BACKWARDS,
    },
    PePhase.COMPLETED: {
        **_AFTER_AN_END,
        _O.RESTARTS_EXHAUSTED: _UNCOMPLETED,
        _O.FAILED_BACKING_OFF: _UNCOMPLETED,
        _O.POD_FAILED: _UNCOMPLETED,
        _O.POD_DISRUPTED: _UNCOMPLETED,
    },
    PePhase.FAILED: {
        **_AFTER_AN_END,
        _O.COMPLETED_BACKING_OFF: _UNFAILED,
        _O.POD_SUCCEEDED: _UNFAILED,
    },
    PePhase.STOPPED: _IN_RECORDED_PHASES,
}

TRANSITIONS: Mapping[tuple[PePhase, Observation], Row[PePhase, Action]] = {
    (phase, observation): row for phase, rows in _ROWS.items() for observation, row in rows.items()
}
