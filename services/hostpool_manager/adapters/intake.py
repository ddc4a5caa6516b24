"""The facts that this service reads, and the state that it keeps of them.

`Knowledge` keeps the view of the cluster (core/cluster_view.py) up to date: it notes which objects
changed, and reads them when a decision needs the view. An answer is in the view before it is
written. The last search for each Placement is kept, so that it is not repeated without a pause.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from contracts.resources.placement import PlacementPhase
from placement.cluster import Node
from services.chassis.process.metrics import Metrics
from services.chassis.table.table import Entry, Index, TableReading
from services.hostpool_manager.adapters.readable import Readable
from services.hostpool_manager.adapters.reading import (
    host_pool_of,
    job_of_pool,
    node_of,
    placement_of,
    pod_of,
)
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.following import members_needed
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    Found,
    HostPool,
    JobSnapshot,
    LastSearch,
    Member,
    ObservedPlacement,
    ObservedPool,
    Placement,
    Ref,
    SearchTarget,
    uids_differ,
)
from services.hostpool_manager.core.statuses import is_current

NODE, POD, PLACEMENT, HOST_POOL = "Node", "BoundPod", "Placement", "HostPool"
KINDS = frozenset((NODE, POD, PLACEMENT, HOST_POOL))
INDEXES: Mapping[str, Index] = {}
LISTED_FIRST = (NODE, HOST_POOL, PLACEMENT)
"""The kinds that a new leader lists before it decides."""
NOTED_MAX = 50_000
READ_AT_ONCE = 250
"""Objects of some 30 µs each, read without a pause; a Placement is read by itself."""


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


class Knowledge:
    """The view of the cluster, the answers that are not written yet, and the last searches."""

    def __init__(self, table: TableReading, metrics: Metrics) -> None:
        self._table = table
        self._readable = Readable(metrics)
        self._view = ClusterView()
        self._next_view = self._view
        self._noted: set[tuple[str, str, str]] | None = None  # None: everything
        self._unread: deque[tuple[str, str, str]] = deque()
        self.forget()

    def forget(self) -> None:
        """Drop answers and searches and read all again: another instance may have decided."""
        self._noted = None
        self._found: dict[Ref, Found] = {}
        self.last_searches: dict[Ref, LastSearch] = {}

    # ------------------------------------------------------------------ facts

    def note(self, entry: Entry) -> None:
        """Remember that an object was added, changed or deleted."""
        if self._noted is not None:
            self._noted.add(entry.ref)
            if len(self._noted) > NOTED_MAX:
                self._noted = None

    @property
    def view(self) -> ClusterView:
        """The view of the cluster, with every noted object read."""
        while self.read_some():
            pass
        return self._view

    def read_some(self) -> bool:
        """Read some of the noted objects; False if none is left.

        While everything is read again, the old view counts until the new one is complete.
        """
        if self._noted is None:
            self._next_view = ClusterView(changes=self._view.changes + 1)
            there = {e.ref: None for kind in sorted(KINDS) for e in self._table.of_kind(kind)}
            gone = sorted(ref for ref in self._readable.refs if ref not in there)
            self._unread = deque((*there, *gone))
            self._noted = set()
        elif not self._unread:
            self._unread = deque(sorted(self._noted))
            self._noted = set()
        for _ in range(min(READ_AT_ONCE, len(self._unread))):
            ref = self._unread.popleft()
            self._read(ref)
            if ref[0] == PLACEMENT:
                break
        if self._unread or self._noted:
            return True
        self._view = self._next_view
        return False

    def _read(self, ref: tuple[str, str, str]) -> None:
        entry = self._table.get(*ref)
        if entry is None:
            self._readable.forget(ref)
            self._remove(*ref)
        elif not self._readable.read(entry, self._update):
            self._update_unreadable(*ref)

    def _update(self, entry: Entry) -> None:
        match entry.kind:
            case "Node":
                self._next_view.update_node(entry.name, *node_of(entry))
            case "BoundPod":
                self._next_view.update_pod((entry.namespace, entry.name), pod_of(entry))
            case "HostPool":
                self._next_view.update_pool((entry.namespace, entry.name), host_pool_of(entry))
            case "Placement":
                self._update_placement(Ref(entry.namespace, entry.name), entry)

    def _remove(self, kind: str, namespace: str, name: str) -> None:
        match kind:
            case "Node":
                self._next_view.update_node(name, None)
            case "BoundPod":
                self._next_view.update_pod((namespace, name), None)
            case "HostPool":
                self._next_view.update_pool((namespace, name), None)
            case "Placement":
                self._found.pop(Ref(namespace, name), None)
                self.last_searches.pop(Ref(namespace, name), None)
                self._next_view.update_placement(Ref(namespace, name), None)

    def _update_unreadable(self, kind: str, namespace: str, name: str) -> None:
        """An object that never could be read: a node exists and is closed, others do not count."""
        self._remove(kind, namespace, name)
        if kind == NODE:
            self._next_view.update_node(name, Node(name, unschedulable=True, ready=False))

    def _update_placement(self, ref: Ref, entry: Entry) -> None:
        placement = placement_of(entry)
        found = self._found.get(ref)
        if found is not None:
            if not found.is_of(placement) or is_current(entry.data["status"], found.status):
                del self._found[ref]
            else:
                placement = _with_answer(placement, found)
        self._next_view.update_placement(ref, placement)

    def take_up(self, ref: Ref, found: Found, search: LastSearch) -> None:
        """Let the answer of a search count from now on."""
        self._found[ref], self.last_searches[ref] = found, search
        self._view.update_placement(ref, _with_answer(self._view.placements[ref], found))

    def spec_bytes(self, ref: Ref) -> int:
        """The size of the spec of a Placement as it is stored."""
        entry = self._readable.last((PLACEMENT, *ref))
        return len(json.dumps(entry.data["spec"], ensure_ascii=False).encode()) if entry else 0

    # ------------------------------------------------------------------ keys and snapshots

    def keys_of(self, entry: Entry) -> Iterable[Key]:
        """The keys that an object concerns."""
        yield CLUSTER
        match entry.kind:
            case "Placement":
                yield JobKey(entry.namespace, entry.name)
            case "HostPool":
                yield JobKey(*job_of_pool(entry))
            case "Node":
                yield from (JobKey(*ref) for ref in self._view.jobs_at(entry.name))
            case "BoundPod":
                node = "" if entry.unreadable else entry.data.get("node", "")
                yield from (JobKey(*ref) for ref in self._view.jobs_at(node))

    def all_keys(self) -> Iterable[Key]:
        """Every key; everything is read again, in case a change was missed."""
        self._noted = None
        yield CLUSTER
        yield from (JobKey(e.namespace, e.name) for e in self._table.of_kind(PLACEMENT))

    def cluster_snapshot(self, searching: tuple[SearchTarget, ...]) -> ClusterSnapshot:
        """The snapshot for the choice of the next searches."""
        placements = sorted(self.view.placements.items())
        return ClusterSnapshot(
            placements=tuple(self._observed_placement(*each) for each in placements),
            searching=searching,
            changes=self._view.changes,
        )

    def _observed_placement(self, ref: Ref, placement: Placement) -> ObservedPlacement:
        entry = self._readable.last((PLACEMENT, *ref))
        return ObservedPlacement(
            placement,
            status=entry.data["status"] if entry else {},
            found=self._found.get(ref),
            is_broken=_is_placed(placement) and self._is_broken(ref),
            last_search=self.last_searches.get(ref),
        )

    def _is_broken(self, ref: Ref) -> bool:
        try:
            return bool(self._view.problems(ref))
        except Exception:  # noqa: BLE001 - a bad Placement must not stop the others
            self._readable.note_crash("checking", ref)
            return False

    def job_snapshot(self, key: JobKey) -> JobSnapshot:
        """The snapshot for the statuses of a job."""
        ref, view = Ref(*key), self.view
        placement = view.placements.get(ref)
        if placement is None:
            return JobSnapshot(None, ())
        return JobSnapshot(
            self._observed_placement(ref, placement),
            tuple(
                self._observed_pool(pool, placement)
                for pool in view.pools_of(ref)
                if not uids_differ(pool.job_uid, placement.job_uid)
            ),
        )

    def _observed_pool(self, pool: HostPool, placement: Placement) -> ObservedPool:
        entry = self._readable.last((HOST_POOL, pool.namespace, pool.name))
        members = placement.in_force.pools.get(pool.index, ())
        observed = ObservedPool(
            pool=pool,
            status=entry.data["status"] if entry else {},
            members=tuple(self._member(pool, placement, members, node) for node in members),
        )
        job = placement.spec
        for each in job.chosen_pools if job else ():
            if job and each.index == pool.index:
                places = frozenset(job.places_in(each))
                least = members_needed(self._view.cluster, job, each)
                return replace(observed, least=least, places=places)
        return observed

    def _member(
        self, pool: HostPool, placement: Placement, members: tuple[str, ...], node: str
    ) -> Member:
        if not node or not self._view.has_node(node):
            return Member(node)
        marks = self._view.marks_of(node)
        places = {str(at) for at, name in enumerate(members) if name == node}
        is_labelled = marks.places.get(pool.uid) in places
        is_tainted = pool.uid in marks.taints or not pool.is_exclusive
        return Member(
            node,
            is_there=True,
            is_marked=is_labelled and is_tainted,
            runs_others=self._view.runs_others(node, job=placement.ref, job_uid=placement.job_uid),
        )


def _is_placed(placement: Placement) -> bool:
    is_up_to_date = placement.is_answered and placement.is_in_force
    return is_up_to_date and placement.phase is PlacementPhase.PLACED


def _with_answer(placement: Placement, found: Found) -> Placement:
    status = found.status
    return placement.answered(
        status.phase, waits=bool(status.waits), message=status.message, in_force=found.in_force
    )
