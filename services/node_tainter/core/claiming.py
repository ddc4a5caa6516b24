"""Which marks a node should carry: `wanted_marks(snapshot)`, a function of the snapshot alone.

1. The claimants are the pools that list the node, mark their members, and are not being deleted.
2. One exclusive claimant at most gets the taint: the one whose taint the node carries, however it
   came there, for the node is the lock; else the earliest created, then the smaller uid.
3. That one gets its label, and every claimant that shares its members gets its own. A claimant
   that does not get the taint gets nothing: it is hostpool-manager's to decide again.
4. A claimant whose finalizer is not there yet keeps what the node carries of it and gets nothing
   new: were it deleted now, nobody would be left to ask for the release.

Properties: two instances that know the same want the same; a node has one taint of ours at most;
whatever else stands under our keys is not wanted, and goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.scheduling.taints import NO_SCHEDULE
from services.node_tainter.core.snapshot import Listing, Marks, NodeSnapshot, Pool, exclusive_taint


@dataclass(frozen=True, slots=True)
class Wanted:
    """The marks, and whether more of them are to come when finalizers are there."""

    marks: Marks
    awaits_finalizer: bool = False


def wanted_marks(snapshot: NodeSnapshot) -> Wanted:
    """What the node of a snapshot should carry; nothing where there is no node."""
    if snapshot.node is None:
        return Wanted(Marks())
    carried = snapshot.node.carried
    claims = tuple(each for each in snapshot.listings if is_claim(each))
    holder = holder_of(claims, carried)
    marking = [each for each in claims if each.pool == holder or not each.pool.is_exclusive]
    ready = holder is not None and (
        holder.has_finalizer or exclusive_taint(holder.uid) in carried.taints
    )
    marks = Marks(
        taints=(exclusive_taint(holder.uid),) if holder is not None and ready else (),
        places=tuple(sorted(_places(marking, carried))),
    )
    return Wanted(marks, any(not each.pool.has_finalizer for each in marking))


def is_claim(listing: Listing) -> bool:
    """Whether a pool wants its marks on the node."""
    return listing.place is not None and listing.pool.is_marking


def holder_of(claims: tuple[Listing, ...], carried: Marks) -> Pool | None:
    """The exclusive claimant to which the node belongs."""
    pools = {each.pool.uid: each.pool for each in claims if each.pool.is_exclusive}
    # A taint with another effect still says whose the node was: people change effects.
    for taint in sorted(carried.taints, key=lambda taint: taint.effect != NO_SCHEDULE):
        if taint.value in pools:
            return pools[taint.value]
    return min(pools.values(), key=lambda pool: (pool.created, pool.uid), default=None)


def _places(claims: list[Listing], carried: Marks) -> Iterator[tuple[str, str]]:
    for each in claims:
        carried_place = carried.place_of(each.pool.uid)
        if each.pool.has_finalizer:
            yield each.pool.uid, str(each.place)
        elif carried_place is not None:
            yield each.pool.uid, carried_place
