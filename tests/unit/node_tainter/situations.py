"""Nodes and pools in few words, and what is decided about them."""

from __future__ import annotations

from contracts.scheduling.taints import Taint
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.effects import Effect, SetMarks
from services.node_tainter.core.snapshot import (
    Listing,
    Marks,
    Node,
    NodeKey,
    NodeSnapshot,
    Pool,
    PoolKey,
    PoolSnapshot,
    exclusive_taint,
)

KEY = NodeKey("node-1")
EARLY, LATE = "2026-11-20T00:00:00Z", "2026-11-20T00:00:01Z"


def exclusive(
    uid: str,
    *,
    created: str = EARLY,
    is_deleting: bool = False,
    has_finalizer: bool = True,
) -> Pool:
    """A pool that keeps everybody else out; its name is that of its uid."""
    return Pool(
        namespace="default",
        name=f"pool-{uid}",
        uid=uid,
        created=created,
        is_exclusive=True,
        labels_members=False,
        is_deleting=is_deleting,
        has_finalizer=has_finalizer,
    )


def labelled(uid: str, *, is_deleting: bool = False, has_finalizer: bool = True) -> Pool:
    """A shared pool of whose members one may be requested."""
    return Pool(
        namespace="default",
        name=f"pool-{uid}",
        uid=uid,
        created=EARLY,
        is_exclusive=False,
        labels_members=True,
        is_deleting=is_deleting,
        has_finalizer=has_finalizer,
    )


def plain(uid: str, *, is_deleting: bool = False, has_finalizer: bool = False) -> Pool:
    """A shared pool that marks nothing."""
    return Pool(
        namespace="default",
        name=f"pool-{uid}",
        uid=uid,
        created=EARLY,
        is_exclusive=False,
        labels_members=False,
        is_deleting=is_deleting,
        has_finalizer=has_finalizer,
    )


def carrying(*taints: str | Taint, **places: str) -> Marks:
    """Marks: owners of taints in their order, and places by the uid of the pool."""
    made = (exclusive_taint(each) if isinstance(each, str) else each for each in taints)
    return Marks(tuple(made), tuple(sorted(places.items())))


NOTHING = carrying()


def around(
    carried: Marks, *listings: tuple[Pool, int | None], is_there: bool = True
) -> NodeSnapshot:
    """A node that carries something, and the pools that have to do with it."""
    node = Node("node-1", "uid-node-1", carried) if is_there else None
    ordered = sorted(listings, key=lambda each: each[0].uid)
    return NodeSnapshot(KEY, node, tuple(Listing(*each) for each in ordered))


def effects_of(snapshot: NodeSnapshot | PoolSnapshot) -> tuple[Effect, ...]:
    """What is decided."""
    return decide(snapshot).effects


def marked(snapshot: NodeSnapshot) -> Marks | None:
    """The marks that the node is given; None where it is left as it is."""
    effects = effects_of(snapshot)
    if not effects:
        return None
    (effect,) = effects
    assert isinstance(effect, SetMarks)
    assert (effect.name, effect.node_uid) == ("node-1", "uid-node-1")
    return effect.marks


def of_pool(pool: Pool | None, *, is_carried: bool = False) -> PoolSnapshot:
    """A pool and whether nodes carry its uid."""
    key = PoolKey("default", pool.name if pool else "gone")
    return PoolSnapshot(key, pool, is_carried)
