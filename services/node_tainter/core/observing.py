"""From a snapshot to one observation, most urgent first; pure.

What follows from it is a row of `transitions.py`.
"""

from __future__ import annotations

from services.node_tainter.core.claiming import Wanted
from services.node_tainter.core.snapshot import NodeSnapshot, PoolSnapshot
from services.node_tainter.core.transitions import (
    NodeObservation,
    NodePhase,
    PoolObservation,
    PoolPhase,
)


def node_phase(snapshot: NodeSnapshot) -> NodePhase:
    """What the node itself records: whether it carries anything of ours."""
    is_marked = snapshot.node is not None and snapshot.node.carried.owners
    return NodePhase.MARKED if is_marked else NodePhase.FREE


def observe_node(snapshot: NodeSnapshot, wanted: Wanted) -> NodeObservation:
    """What a node and the pools around it show."""
    if snapshot.node is None:
        return NodeObservation.NODE_GONE
    carried = snapshot.node.carried
    if not wanted.marks.owners and (carried.owners or not wanted.awaits_finalizer):
        return NodeObservation.UNCLAIMED
    if wanted.marks != carried:
        return NodeObservation.MARKS_DIFFER
    if wanted.awaits_finalizer:
        return NodeObservation.FINALIZER_AWAITED
    return NodeObservation.MARKS_STAND


def pool_phase(snapshot: PoolSnapshot) -> PoolPhase:
    """What the pool itself records: whether it has our finalizer."""
    is_held = snapshot.pool is not None and snapshot.pool.has_finalizer
    return PoolPhase.HELD if is_held else PoolPhase.OPEN


def observe_pool(snapshot: PoolSnapshot) -> PoolObservation:
    """What a host pool and the nodes that carry its uid show."""
    pool = snapshot.pool
    if pool is None:
        return PoolObservation.POOL_GONE
    if pool.is_deleting and snapshot.is_carried:
        return PoolObservation.DELETING_CARRIED
    if pool.is_deleting:
        return PoolObservation.DELETING_CLEAR
    return PoolObservation.MARKING if pool.is_marking else PoolObservation.PLAIN
