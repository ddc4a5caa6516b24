"""The life cycles of a node and of a host pool as this service sees them: two tables, side by side.

A row is (recorded phase, observation). The phase is what the object itself records: a node carries
something of ours or nothing, a pool has our finalizer or not. The observation is computed from the
whole snapshot (observing.py). Every pair is a transition, ignored with a reason, or forbidden,
because it cannot come about: a test counts that no pair is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto

from contracts.reasons import Reason
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition


class NodePhase(StrEnum):
    """Whether a node carries labels or taints of ours."""

    FREE = "Free"
    MARKED = "Marked"


class NodeObservation(Enum):
    """What a node and its pools show, most urgent first; always exactly one."""

    NODE_GONE = auto()
    UNCLAIMED = auto()
    """No pool may have marks on the node."""
    MARKS_DIFFER = auto()
    """The node does not carry exactly what it should."""
    FINALIZER_AWAITED = auto()
    """It does, until a pool that claims it as well has its finalizer."""
    MARKS_STAND = auto()


class PoolPhase(StrEnum):
    """Whether a host pool has our finalizer."""

    OPEN = "Open"
    HELD = "Held"


class PoolObservation(Enum):
    """What a host pool shows, most urgent first; always exactly one."""

    POOL_GONE = auto()
    DELETING_CARRIED = auto()
    """It is being deleted, and nodes still carry its uid."""
    DELETING_CLEAR = auto()
    MARKING = auto()
    """Its members are to be marked."""
    PLAIN = auto()


class Action(Enum):
    """What a transition does."""

    SET_MARKS = auto()
    ADD_FINALIZER = auto()
    REMOVE_FINALIZER = auto()


_FINE = Ignored(Reason.NOTHING_TO_CHANGE)
_WAITS = Ignored(Reason.WAITING)

NODES: Mapping[tuple[NodePhase, NodeObservation], Row[NodePhase, Action]] = {
    (NodePhase.FREE, NodeObservation.NODE_GONE): _FINE,
    (NodePhase.FREE, NodeObservation.UNCLAIMED): _FINE,
    (NodePhase.FREE, NodeObservation.MARKS_DIFFER): Transition(
        NodePhase.MARKED, Action.SET_MARKS, Reason.NODE_CLAIMED
    ),
    (NodePhase.FREE, NodeObservation.FINALIZER_AWAITED): _WAITS,
    (NodePhase.FREE, NodeObservation.MARKS_STAND): Forbidden(
        "a node that carries nothing does not carry what it should"
    ),
    (NodePhase.MARKED, NodeObservation.NODE_GONE): Forbidden("a node that is gone carries nothing"),
    (NodePhase.MARKED, NodeObservation.UNCLAIMED): Transition(
        NodePhase.FREE, Action.SET_MARKS, Reason.NODE_RELEASED
    ),
    (NodePhase.MARKED, NodeObservation.MARKS_DIFFER): Transition(
        NodePhase.MARKED, Action.SET_MARKS, Reason.NODE_CLAIMED
    ),
    (NodePhase.MARKED, NodeObservation.FINALIZER_AWAITED): _WAITS,
    (NodePhase.MARKED, NodeObservation.MARKS_STAND): _FINE,
}

POOLS: Mapping[tuple[PoolPhase, PoolObservation], Row[PoolPhase, Action]] = {
    (PoolPhase.OPEN, PoolObservation.POOL_GONE): _FINE,
    (PoolPhase.OPEN, PoolObservation.DELETING_CARRIED): _WAITS,
    (PoolPhase.OPEN, PoolObservation.DELETING_CLEAR): _FINE,
    (PoolPhase.OPEN, PoolObservation.MARKING): Transition(
        PoolPhase.HELD, Action.ADD_FINALIZER, Reason.POOL_SECURED
    ),
    (PoolPhase.OPEN, PoolObservation.PLAIN): _FINE,
    (PoolPhase.HELD, PoolObservation.POOL_GONE): Forbidden("a pool that is gone has no finalizer"),
    (PoolPhase.HELD, PoolObservation.DELETING_CARRIED): _WAITS,
    (PoolPhase.HELD, PoolObservation.DELETING_CLEAR): Transition(
        PoolPhase.OPEN, Action.REMOVE_FINALIZER, Reason.POOL_RELEASED
    ),
    (PoolPhase.HELD, PoolObservation.MARKING): _FINE,
    (PoolPhase.HELD, PoolObservation.PLAIN): _FINE,
}
