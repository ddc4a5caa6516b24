"""From the table to snapshots: which facts wake which key, and what belongs to it.

A node that no pool marks, and that carries nothing of ours, is nobody's business here: its facts
wake no key. What a projection means is read in reading.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from services.chassis.table.entries import Change, Entry, Index, TableReading
from services.node_tainter.adapters.reading import carried_by, members_of, pool_of
from services.node_tainter.core.snapshot import (
    Key,
    Listing,
    Node,
    NodeKey,
    NodeSnapshot,
    PoolKey,
    PoolSnapshot,
    Snapshot,
)

HOST_POOL = "HostPool"
NODE = "Node"
KINDS = frozenset({HOST_POOL, NODE})

_POOLS_LISTING = "pools-listing"
_POOLS_BY_UID = "pools-by-uid"
_NODES_CARRYING = "nodes-carrying"


def _by_member(entry: Entry) -> Iterator[Hashable]:
    """Those whose members are marked; others may have all nodes as members."""
    if entry.kind == HOST_POOL and not entry.unreadable and pool_of(entry).is_marking:
        yield from {member for member in members_of(entry) if member}


def _by_uid(entry: Entry) -> Iterator[Hashable]:
    if entry.kind == HOST_POOL:
        yield entry.uid


def _by_owner(entry: Entry) -> Iterator[Hashable]:
    if entry.kind == NODE:
        yield from carried_by(entry).owners


INDEXES: Mapping[str, Index] = {
    _POOLS_LISTING: _by_member,
    _POOLS_BY_UID: _by_uid,
    _NODES_CARRYING: _by_owner,
}


# --------------------------------------------------------------------------- who is woken


def keys_of(change: Change, table: TableReading) -> Iterator[Key]:
    """The keys that a change concerns."""
    if change.kind == HOST_POOL or change.shows(carried_by):
        for entry in change.entries:
            yield from _keys_of_entry(entry, table)


def _keys_of_entry(entry: Entry, table: TableReading) -> Iterator[Key]:
    if entry.kind == HOST_POOL:
        yield PoolKey(entry.namespace, entry.name)
        # A member that does not exist wakes itself if it ever appears; there may be thousands.
        listed = (name for name in sorted(map(str, _by_member(entry))) if table.get(NODE, "", name))
        yield from map(NodeKey, listed)
        for node in table.by(_NODES_CARRYING, entry.uid):
            yield NodeKey(node.name)
    elif entry.kind == NODE:
        owners = carried_by(entry).owners
        if owners or table.count(_POOLS_LISTING, entry.name):
            yield NodeKey(entry.name)
        for owner in sorted(owners):
            for pool in table.by(_POOLS_BY_UID, owner):
                yield PoolKey(pool.namespace, pool.name)


def all_keys(table: TableReading) -> Iterator[Key]:
    """Every pool, and every node that is listed or carries something of ours."""
    seen: set[Key] = set()
    for kind in (HOST_POOL, NODE):
        for entry in table.of_kind(kind):
            for key in _keys_of_entry(entry, table):
                if key not in seen:
                    seen.add(key)
                    yield key


# --------------------------------------------------------------------------- what belongs to a key


def snapshot_of(table: TableReading, key: Key) -> Snapshot:
    """Everything that a decision about the key may look at."""
    if isinstance(key, PoolKey):
        return _pool_snapshot(table, key)
    entry = table.get(NODE, "", key.name)
    node = Node(entry.name, entry.uid, carried_by(entry)) if entry else None
    return NodeSnapshot(key, node, _listings(table, key.name, entry))


def _pool_snapshot(table: TableReading, key: PoolKey) -> PoolSnapshot:
    entry = table.get(HOST_POOL, key.namespace, key.name)
    if entry is None:
        return PoolSnapshot(key, None)
    is_carried = table.count(_NODES_CARRYING, entry.uid) > 0
    return PoolSnapshot(key, pool_of(entry), is_carried)


def _listings(table: TableReading, name: str, node: Entry | None) -> tuple[Listing, ...]:
    pools = {pool.uid: pool for pool in table.by(_POOLS_LISTING, name)}
    for owner in carried_by(node).owners if node else ():
        pools |= {pool.uid: pool for pool in table.by(_POOLS_BY_UID, owner)}
    return tuple(Listing(pool_of(pools[uid]), _place(pools[uid], name)) for uid in sorted(pools))


def _place(pool: Entry, name: str) -> int | None:
    members = members_of(pool)
    return members.index(name) if name in members else None


def fence_of(table: TableReading, key: Key) -> Hashable:
    """What stops the carrying out of an older decision: the pools, not what our own writes do."""
    snapshot = snapshot_of(table, key)
    if isinstance(snapshot, PoolSnapshot):
        return snapshot.pool
    return snapshot.node.uid if snapshot.node else "", snapshot.listings
