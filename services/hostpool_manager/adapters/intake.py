"""What this service reads: the kinds, the keys that an object concerns, and the snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from services.chassis.table.entries import Entry, Index, TableReading
from services.hostpool_manager.adapters.folding import (
    HOST_POOL,
    NODE,
    PLACEMENT,
    POD,
    SEARCHED,
    SEARCHING,
    target_of,
)
from services.hostpool_manager.adapters.reading import job_of_pool
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.following import members_needed
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    HostPool,
    JobSnapshot,
    Member,
    ObservedPlacement,
    ObservedPool,
    Placement,
    Ref,
    uids_differ,
)

KINDS = frozenset((NODE, POD, PLACEMENT, HOST_POOL))
INDEXES: Mapping[str, Index] = {}


class ClusterKey(NamedTuple):
    """The choice of the next searches."""

    namespace: str = ""
    name: str = "cluster"


class JobKey(NamedTuple):
    """The statuses of one job's Placement and HostPools."""

    namespace: str
    name: str


CLUSTER = ClusterKey()
Key = ClusterKey | JobKey


def keys_of(entry: Entry, view: ClusterView) -> Iterable[Key]:
    """The keys that an object concerns."""
    yield CLUSTER
    match entry.kind:
        case "Placement" | "Searched":
            yield JobKey(entry.namespace, entry.name)
        case "HostPool":
            yield JobKey(*job_of_pool(entry))
        case "Searching":
            yield JobKey(*target_of(entry).ref)
        case "Node":
            yield from (JobKey(*ref) for ref in view.jobs_at(entry.name))
        case "BoundPod":
            node = "" if entry.unreadable else entry.data.get("node", "")
            yield from (JobKey(*ref) for ref in view.jobs_at(node))


def all_keys(table: TableReading) -> Iterable[Key]:
    """Every key, once."""
    yield CLUSTER
    placements = (JobKey(each.namespace, each.name) for each in table.of_kind(PLACEMENT))
    pools = (JobKey(*job_of_pool(each)) for each in table.of_kind(HOST_POOL))
    yield from dict.fromkeys((*placements, *pools))


def cluster_snapshot(table: TableReading, view: ClusterView) -> ClusterSnapshot:
    """The snapshot for the choice of the next searches."""
    return ClusterSnapshot(
        placements=tuple(_observed_placement(table, view, ref) for ref in sorted(view.placements)),
        searching=tuple(target_of(entry) for entry in table.of_kind(SEARCHING)),
        room=view.room,
    )


def job_snapshot(table: TableReading, view: ClusterView, key: JobKey) -> JobSnapshot:
    """The snapshot for the statuses of a job."""
    ref = Ref(*key)
    placement = view.placements.get(ref)
    if placement is None:
        pools = (_observed_pool(table, view, pool, None) for pool in view.pools_of(ref))
        return JobSnapshot(None, tuple(pools))
    return JobSnapshot(
        _observed_placement(table, view, ref),
        tuple(
            _observed_pool(table, view, pool, placement)
            for pool in view.pools_of(ref)
            if not uids_differ(pool.job_uid, placement.job_uid)
        ),
    )


def _observed_placement(table: TableReading, view: ClusterView, ref: Ref) -> ObservedPlacement:
    table.get(SEARCHED, *ref)  # the view has it: so the record of the decision names it
    return view.observed(ref, recorded_status(table, PLACEMENT, ref))


def _observed_pool(
    table: TableReading, view: ClusterView, pool: HostPool, placement: Placement | None
) -> ObservedPool:
    status = recorded_status(table, HOST_POOL, (pool.namespace, pool.name))
    if placement is None:
        return ObservedPool(pool, status, ())
    members = placement.in_force.pools.get(pool.index, ())
    observed = ObservedPool(
        pool=pool,
        status=status,
        members=tuple(_member(view, pool, placement, members, node) for node in members),
    )
    job = placement.spec
    for each in job.chosen_pools if job else ():
        if job and each.index == pool.index:
            places = frozenset(job.places_in(each))
            least = members_needed(view.cluster, job, each)
            return replace(observed, least=least, places=places)
    return observed


def recorded_status(table: TableReading, kind: str, name: tuple[str, str]) -> Mapping[str, Any]:
    """The recorded status, as it was last read whole."""
    entry = table.whole(kind, *name)
    return (entry.data.get("status") or {}) if entry else {}


def _member(
    view: ClusterView, pool: HostPool, placement: Placement, members: tuple[str, ...], node: str
) -> Member:
    if not node or not view.has_node(node):
        return Member(node)
    marks = view.marks_of(node)
    places = {str(at) for at, name in enumerate(members) if name == node}
    is_labelled = marks.places.get(pool.uid) in places
    is_tainted = pool.uid in marks.taints or not pool.is_exclusive
    return Member(
        node,
        is_there=True,
        is_marked=is_labelled and is_tainted,
        runs_others=view.runs_others(node, job=placement.ref, job_uid=placement.job_uid),
    )
