"""Decides what one key needs: `decide(snapshot)` → effects.

The steps for a node: which marks it should carry (claiming.py), what that looks like beside what
it carries (observing.py), and the row of its life cycle (transitions.py). For a host pool the last
two.

Properties: the finalizer of a pool is there before its first mark; what a node carries already is
not written; marks of a pool that lives or that no fact shows go only after a look at the API.
"""

from __future__ import annotations

from contracts.reasons import Reason
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition
from services.chassis.running.stage import Decision
from services.node_tainter.core.claiming import Wanted, is_claim, wanted_marks
from services.node_tainter.core.effects import AddFinalizer, Effect, RemoveFinalizer, SetMarks
from services.node_tainter.core.observing import (
    node_phase,
    observe_node,
    observe_pool,
    pool_phase,
)
from services.node_tainter.core.snapshot import NodeSnapshot, PoolKey, PoolSnapshot, Snapshot
from services.node_tainter.core.transitions import NODES, POOLS, Action, NodePhase, PoolPhase


def decide(snapshot: Snapshot) -> Decision[Effect]:
    """What the key of a snapshot needs; nothing here depends on the time."""
    if isinstance(snapshot, NodeSnapshot):
        return _decide_node(snapshot)
    return _decide_pool(snapshot)


def _decide_node(snapshot: NodeSnapshot) -> Decision[Effect]:
    wanted = wanted_marks(snapshot)
    phase, seen = node_phase(snapshot), observe_node(snapshot, wanted)
    row = NODES[phase, seen]
    effects = (_set_marks(snapshot, wanted),) if isinstance(row, Transition) else ()
    return _decision(row, effects, phase=phase.value, observation=seen.name)


def _set_marks(snapshot: NodeSnapshot, wanted: Wanted) -> SetMarks:
    node = snapshot.node
    assert node is not None
    going = node.carried.owners - wanted.marks.owners
    known = {each.pool.uid: each for each in snapshot.listings}
    left = (
        PoolKey(each.pool.namespace, each.pool.name)
        for uid, each in known.items()
        # A deletion cannot be taken back, and who lost to another owner did not leave.
        if uid in going and not each.pool.is_deleting and not is_claim(each)
    )
    return SetMarks(
        name=node.name,
        node_uid=node.uid,
        marks=wanted.marks,
        believed_gone=tuple(sorted(going - known.keys())),
        believed_left=tuple(sorted(left, key=str)),
    )


def _decide_pool(snapshot: PoolSnapshot) -> Decision[Effect]:
    phase, seen = pool_phase(snapshot), observe_pool(snapshot)
    row = POOLS[phase, seen]
    effects = (_of_pool(snapshot, row),) if isinstance(row, Transition) else ()
    return _decision(row, effects, phase=phase.value, observation=seen.name)


def _of_pool(snapshot: PoolSnapshot, row: Transition[PoolPhase, Action]) -> Effect:
    pool = snapshot.pool
    assert pool is not None
    if row.action is Action.ADD_FINALIZER:
        return AddFinalizer(pool.name, pool.uid)
    return RemoveFinalizer(pool.name, pool.uid)


def _decision(
    row: Row[NodePhase | PoolPhase, Action], effects: tuple[Effect, ...], **detail: str
) -> Decision[Effect]:
    match row:
        case Transition(reason=reason) | Ignored(reason=reason):
            return Decision(effects, reason, detail=detail)
        case Forbidden(why=why):
            return Decision((), Reason.WAITING, detail=detail | {"forbidden": why})
