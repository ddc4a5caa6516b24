"""The life cycle of a processing element: one table, and the only place where phases change.

A row is (recorded phase, observation). The phase is what the PE's status says; the observation is
computed from the whole snapshot (observing.py). Every pair is a transition, ignored with a reason,
or forbidden, because it cannot come about: a test counts that no pair is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase


class Observation(Enum):
    """What the snapshot of a PE shows, most urgent first; always exactly one.

    "The pod" is that of the newest launch. POD_ABSENT, POD_FAILED and POD_SUCCEEDED say that the
    restart policies ask for no restart; if they do, it is RESTART_DUE, or one of BACKING_OFF until
    the restart is due. POD_LOST is POD_ABSENT of a launch that no status speaks of: its pod was
    there and is gone.
    """

    JOB_GONE = auto()
    PE_DELETING = auto()
    VIEW_BEHIND = auto()
    LAUNCH_REQUESTED = auto()
    CONTENT_CHANGED = auto()
    GATES_CLOSED = auto()
    PREDECESSOR_ALIVE = auto()
    RESTART_DUE = auto()
    FAILED_BACKING_OFF = auto()
    COMPLETED_BACKING_OFF = auto()
    POD_ABSENT = auto()
    POD_LOST = auto()
    POD_TERMINATING = auto()
    POD_PENDING = auto()
    POD_RUNNING = auto()
    POD_SUCCEEDED = auto()
    POD_FAILED = auto()


class Action(Enum):
    """What a transition does."""

    CREATE_POD = auto()
    """Create the pod of the intended launch; the phase changes when the pod is seen."""
    INTEND_LAUNCH = auto()
    """Write the intent of the next launch and remove the pod of the one before."""
    RECORD = auto()
    """Write what is seen, if the status does not say it yet."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Go to `phase` by `action`."""

    phase: PePhase
    action: Action
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing follows from it, because of `reason`."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Forbidden:
    """It cannot come about; if it does all the same, nothing is done but say so."""

    why: str


Row = Transition | Ignored | Forbidden

_O = Observation
_LAUNCH = Transition(PePhase.WAITING, Action.CREATE_POD, Reason.FIRST_LAUNCH)
_STARTED = Transition(PePhase.STARTING, Action.RECORD, Reason.POD_STARTING)
_RUNNING = Transition(PePhase.RUNNING, Action.RECORD, Reason.POD_RUNNING)
_COMPLETED = Transition(PePhase.COMPLETED, Action.RECORD, Reason.POD_COMPLETED)
_FAILED = Transition(PePhase.FAILED, Action.RECORD, Reason.POD_FAILED)
_DELAYED = Transition(PePhase.FAILED, Action.RECORD, Reason.BACKING_OFF)
_REPEATING = Transition(PePhase.COMPLETED, Action.RECORD, Reason.BACKING_OFF)
_STOPPED = Transition(PePhase.STOPPED, Action.RECORD, Reason.POD_DELETED)

_IN_EVERY_PHASE: dict[Observation, Row] = {
    _O.JOB_GONE: Ignored(Reason.OWNER_DELETED),
    _O.PE_DELETING: Ignored(Reason.OWNER_DELETED),
    _O.VIEW_BEHIND: Ignored(Reason.WAITING),
    _O.LAUNCH_REQUESTED: Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.LAUNCH_REQUESTED),
    _O.CONTENT_CHANGED: Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.CONTENT_CHANGED),
    _O.GATES_CLOSED: Ignored(Reason.GATES_CLOSED),
    _O.PREDECESSOR_ALIVE: Ignored(Reason.POD_SUPERSEDED),
}
_RESTART = Transition(PePhase.WAITING, Action.INTEND_LAUNCH, Reason.POD_FAILED)
_BACKWARDS = Forbidden("a pod that ran or ended never waits to start again")
_REVIVED = Forbidden("a pod that ended never runs again")
_UNCOMPLETED = Forbidden("a pod that completed never fails")
_UNFAILED = Forbidden("a pod that failed never completes")
_ONLY_OF_WAITING = Forbidden("only a launch that waits has a predecessor to wait for")
_RECORDED = Forbidden("only a launch that waits is not recorded")

_ROWS: dict[PePhase, dict[Observation, Row]] = {
    PePhase.WAITING: {
        **_IN_EVERY_PHASE,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _DELAYED,
        _O.COMPLETED_BACKING_OFF: _REPEATING,
        _O.POD_ABSENT: _LAUNCH,
        _O.POD_LOST: _STOPPED,
        _O.POD_TERMINATING: _STARTED,
        _O.POD_PENDING: _STARTED,
        _O.POD_RUNNING: _RUNNING,
        _O.POD_SUCCEEDED: _COMPLETED,
        _O.POD_FAILED: _FAILED,
    },
    PePhase.STARTING: {
        **_IN_EVERY_PHASE,
        _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
        _O.POD_LOST: _RECORDED,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _DELAYED,
        _O.COMPLETED_BACKING_OFF: _REPEATING,
        _O.POD_ABSENT: _STOPPED,
        _O.POD_TERMINATING: Ignored(Reason.WAITING),
        _O.POD_PENDING: _STARTED,
        _O.POD_RUNNING: _RUNNING,
        _O.POD_SUCCEEDED: _COMPLETED,
        _O.POD_FAILED: _FAILED,
    },
    PePhase.RUNNING: {
        **_IN_EVERY_PHASE,
        _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
        _O.POD_LOST: _RECORDED,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _DELAYED,
        _O.COMPLETED_BACKING_OFF: _REPEATING,
        _O.POD_ABSENT: _STOPPED,
        _O.POD_TERMINATING: Ignored(Reason.WAITING),
        _O.POD_PENDING: _BACKWARDS,
        _O.POD_RUNNING: _RUNNING,
        _O.POD_SUCCEEDED: _COMPLETED,
        _O.POD_FAILED: _FAILED,
    },
    PePhase.COMPLETED: {
        **_IN_EVERY_PHASE,
        _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
        _O.POD_LOST: _RECORDED,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _UNCOMPLETED,
        _O.COMPLETED_BACKING_OFF: _REPEATING,
        _O.POD_ABSENT: Ignored(Reason.RESTART_NOT_WANTED),
        _O.POD_TERMINATING: Ignored(Reason.WAITING),
        _O.POD_PENDING: _BACKWARDS,
        _O.POD_RUNNING: _REVIVED,
        _O.POD_SUCCEEDED: _COMPLETED,
        _O.POD_FAILED: _UNCOMPLETED,
    },
    PePhase.FAILED: {
        **_IN_EVERY_PHASE,
        _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
        _O.POD_LOST: _RECORDED,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _DELAYED,
        _O.COMPLETED_BACKING_OFF: _UNFAILED,
        _O.POD_ABSENT: Ignored(Reason.RESTART_NOT_WANTED),
        _O.POD_TERMINATING: Ignored(Reason.WAITING),
        _O.POD_PENDING: _BACKWARDS,
        _O.POD_RUNNING: _REVIVED,
        _O.POD_SUCCEEDED: _UNFAILED,
        _O.POD_FAILED: _FAILED,
    },
    # A pod that was missed for a moment may be seen again: STOPPED corrects itself.
    PePhase.STOPPED: {
        **_IN_EVERY_PHASE,
        _O.PREDECESSOR_ALIVE: _ONLY_OF_WAITING,
        _O.POD_LOST: _RECORDED,
        _O.RESTART_DUE: _RESTART,
        _O.FAILED_BACKING_OFF: _DELAYED,
        _O.COMPLETED_BACKING_OFF: _REPEATING,
        _O.POD_ABSENT: _STOPPED,
        _O.POD_TERMINATING: Ignored(Reason.WAITING),
        _O.POD_PENDING: _STARTED,
        _O.POD_RUNNING: _RUNNING,
        _O.POD_SUCCEEDED: _COMPLETED,
        _O.POD_FAILED: _FAILED,
    },
}

TRANSITIONS: Mapping[tuple[PePhase, Observation], Row] = {
    (phase, observation): row for phase, rows in _ROWS.items() for observation, row in rows.items()
}
