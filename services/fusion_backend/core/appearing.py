"""Nodes that a refused placement lacked, and whether they have appeared since.

1. When an attempt fails, its status records what would have to be there: so many nodes that take
   the job's pods, carry these tags and are among these hosts.
2. Pools and hosts with too few such nodes count alone. Where all have enough, as when other pools
   hold them, one node more than there are is awaited.
3. A submission that timed out while it waited for capacity records what is short in all.
4. When one of these is there, the next attempt begins.

Properties: with the nodes of the failed attempt nothing has appeared, so no attempt follows another
without a change; a node without the tag, the name or the address changes nothing. What is recorded
is necessary, not sufficient: whether there is a placement is for hostpool-manager to find out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Final

from contracts.id_runs import ids_of
from contracts.labels import EXCLUSIVE_TAINT
from contracts.resources.awaiting import AWAITED_NAMES_MAX, AWAITED_NODES_MAX
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS, amounts_of
from services.fusion_backend.core.awaited import Awaited
from services.fusion_backend.core.children import DEFAULT_POOL, Body
from services.fusion_backend.core.placement_requests import demand_of_pod, pod_demand
from services.fusion_backend.core.rooms import Demand, NodeRoom
from services.fusion_backend.core.snapshot import Snapshot

HOST_POOL: Final = "HostPool"


def lacked(snapshot: Snapshot, spec: Body, *, is_of_capacity: bool = False) -> tuple[Awaited, ...]:
    """What the request of a Placement lacks now; `is_of_capacity`: only room, at no place."""
    rooms = _usable(snapshot)
    if is_of_capacity:
        return (_room_lacked(rooms, spec),)
    wanted = tuple(dict.fromkeys(_wanted(spec)))
    found = {each: len(_among(rooms, each)) for each in wanted}
    few = [each for each in wanted if found[each] < each.count]
    more = [replace(each, count=found[each] + 1) for each in wanted]
    named = [each for each in few or more or [Awaited(count=len(rooms) + 1)] if _is_short(each)]
    return tuple(named[:AWAITED_NODES_MAX])


def have_appeared(snapshot: Snapshot, awaited: Sequence[Awaited]) -> bool:
    """Whether one of what a failed attempt lacked is there."""
    rooms = _usable(snapshot) if awaited else ()
    return any(_is_there(rooms, each) for each in awaited)


def _is_there(rooms: Iterable[NodeRoom], awaited: Awaited) -> bool:
    found = _among(rooms, awaited)
    if len(found) < awaited.count:
        return False
    free = _free(found)
    return all(free[name] >= amount for name, amount in awaited.free)


def _among(rooms: Iterable[NodeRoom], awaited: Awaited) -> list[NodeRoom]:
    return [room for room in rooms if awaited.is_met_by(room.node)]


def _is_short(awaited: Awaited) -> bool:
    """Whether a status can hold it."""
    return max(len(awaited.tags), len(awaited.hosts)) <= AWAITED_NAMES_MAX


# --------------------------------------------------------------------------- what is requested


def _wanted(spec: Body) -> Iterator[Awaited]:
    """The nodes that pools and PEs of a request need at least."""
    for pool in spec["pools"]:
        if pool["name"] != DEFAULT_POOL:
            least = pool.get("size") or max(1, len(pool["hosts"]))
            yield Awaited(tuple(sorted(pool["tags"])), tuple(pool["hosts"]), least)
    for each in spec["classes"]:
        if each.get("host"):
            yield Awaited(hosts=(each["host"],), count=1)


def _room_lacked(rooms: Sequence[NodeRoom], spec: Body) -> Awaited:
    """What all PEs request of resources that nodes have less of; else one node more."""
    requested: Counter[str] = Counter()
    for each in spec["classes"]:
        number = len(ids_of(each["pes"]))
        for name, amount in (amounts_of(each["requests"]) | {PODS: 1}).items():
            requested[name] += number * amount
    free = _free(rooms)
    short = {name: amount for name, amount in requested.items() if amount > free[name]}
    if not short or len(short) > AWAITED_NAMES_MAX:
        return Awaited(count=len(rooms) + 1)
    return Awaited(free=tuple(sorted(short.items())))


def _free(rooms: Iterable[NodeRoom]) -> Counter[str]:
    """What bound pods leave of all nodes together."""
    free: Counter[str] = Counter()
    for room in rooms:
        for name, amount in room.free.items():
            free[name] += max(0, amount)
    return free


# --------------------------------------------------------------------------- which nodes count


def _usable(snapshot: Snapshot) -> tuple[NodeRoom, ...]:
    """The nodes that take the pods of the job; its own pools keep none of them off."""
    own = {entry.uid for entry in snapshot.of(HOST_POOL).values()}
    demand = _demand(snapshot)
    return tuple(each for each in snapshot.rooms if demand.may_be_on(_without(each.node, own)))


def _demand(snapshot: Snapshot) -> Demand:
    assert snapshot.job is not None, "an attempt is that of a Job"
    template = (snapshot.job.spec_field("processingElement") or {}).get("podTemplate")
    return demand_of_pod(pod_demand(None, template))


def _without(node: Node, pools: Set[str]) -> Node:
    """A node without the taints of these pools."""
    left = tuple(
        each for each in node.taints if each.key != EXCLUSIVE_TAINT or each.value not in pools
    )
    return node if len(left) == len(node.taints) else replace(node, taints=left)
