"""Which facts this service reads, and what it knows because of them.

`Knowledge` keeps the view of the cluster (core/cluster_view.py) up to date: it notes facts as they
arrive, and reads them as values when a decision looks. An answer that a search found is in the view
before the API has it. What was tried is remembered, so that it is not tried again and again.
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
    Member,
    Placement,
    PlacementSeen,
    PoolSeen,
    Ref,
    SearchTarget,
    Tried,
    differ,
)
from services.hostpool_manager.core.statuses import is_current

NODE, POD, PLACEMENT, HOST_POOL = "Node", "BoundPod", "Placement", "HostPool"
KINDS = frozenset((NODE, POD, PLACEMENT, HOST_POOL))
INDEXES: Mapping[str, Index] = {}
LISTED_FIRST = (NODE, HOST_POOL, PLACEMENT)
"""What a new leader lists before it decides."""
NOTED_MAX = 50_000
READ_AT_ONCE = 250
"""Objects, of which each takes some 30 µs; a Placement is read by itself."""


class ClusterKey(NamedTuple):
    """The choice of what is searched next."""

    namespace: str = ""
    name: str = "cluster"


class JobKey(NamedTuple):
    """The statuses of one job's Placement and HostPools."""

    namespace: str
    name: str


CLUSTER = ClusterKey()
Key = ClusterKey | JobKey


class Knowledge:
    """The picture, what was found and what was tried."""

    def __init__(self, table: TableReading, metrics: Metrics) -> None:
        self._table = table
        self._readable = Readable(metrics)
        self._picture = ClusterView()
        self._coming = self._picture
        self._noted: set[tuple[str, str, str]] | None = None  # None: everything
        self._unread: deque[tuple[str, str, str]] = deque()
        self.forget()

    def forget(self) -> None:
        """Begin anew: somebody else may have decided meanwhile."""
        self._noted = None
        self._found: dict[Ref, Found] = {}
        self.tried: dict[Ref, Tried] = {}

    # ------------------------------------------------------------------ facts

    def note(self, entry: Entry) -> None:
        """An object came, changed or went."""
        if self._noted is not None:
            self._noted.add(entry.ref)
            if len(self._noted) > NOTED_MAX:
                self._noted = None

    @property
    def view(self) -> ClusterView:
        """What is known by now."""
        while self.read_some():
            pass
        return self._picture

    def read_some(self) -> bool:
        """Read a little of what was noted; False where nothing of it is left.

        Where everything is read anew, the picture before counts until the new one is whole.
        """
        if self._noted is None:
            self._coming = ClusterView(changes=self._picture.changes + 1)
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
        self._picture = self._coming
        return False

    def _read(self, ref: tuple[str, str, str]) -> None:
        entry = self._table.get(*ref)
        if entry is None:
            self._readable.forget(ref)
            self._see_gone(*ref)
        elif not self._readable.read(entry, self._see):
            self._see_unknown(*ref)

    def _see(self, entry: Entry) -> None:
        match entry.kind:
            case "Node":
                self._coming.see_node(entry.name, *node_of(entry))
            case "BoundPod":
                self._coming.see_pod((entry.namespace, entry.name), pod_of(entry))
            case "HostPool":
                self._coming.see_pool((entry.namespace, entry.name), host_pool_of(entry))
            case "Placement":
                self._see_placement(Ref(entry.namespace, entry.name), entry)

    def _see_gone(self, kind: str, namespace: str, name: str) -> None:
        match kind:
            case "Node":
                self._coming.see_node(name, None)
            case "BoundPod":
                self._coming.see_pod((namespace, name), None)
            case "HostPool":
                self._coming.see_pool((namespace, name), None)
            case "Placement":
                self._found.pop(Ref(namespace, name), None)
                self.tried.pop(Ref(namespace, name), None)
                self._coming.see_placement(Ref(namespace, name), None)

    def _see_unknown(self, kind: str, namespace: str, name: str) -> None:
        """An object that was never read: a node is there and takes nothing, others say nothing."""
        self._see_gone(kind, namespace, name)
        if kind == NODE:
            self._coming.see_node(name, Node(name, unschedulable=True, ready=False))

    def _see_placement(self, ref: Ref, entry: Entry) -> None:
        placement = placement_of(entry)
        found = self._found.get(ref)
        if found is not None:
            if not found.is_of(placement) or is_current(entry.data["status"], found.said):
                del self._found[ref]
            else:
                placement = _with_answer(placement, found)
        self._coming.see_placement(ref, placement)

    def take_up(self, ref: Ref, found: Found, tried: Tried) -> None:
        """Let what a search found count from now on."""
        self._found[ref], self.tried[ref] = found, tried
        self._picture.see_placement(ref, _with_answer(self._picture.placements[ref], found))

    def spec_bytes(self, ref: Ref) -> int:
        """How long the spec of a Placement is, as it is stored."""
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
                yield from (JobKey(*ref) for ref in self._picture.jobs_at(entry.name))
            case "BoundPod":
                node = "" if entry.unreadable else entry.data.get("node", "")
                yield from (JobKey(*ref) for ref in self._picture.jobs_at(node))

    def all_keys(self) -> Iterable[Key]:
        """Every key; what changed while nobody was woken is looked at as well."""
        self._noted = None
        yield CLUSTER
        yield from (JobKey(e.namespace, e.name) for e in self._table.of_kind(PLACEMENT))

    def cluster_snapshot(self, searching: tuple[SearchTarget, ...]) -> ClusterSnapshot:
        """What the choice of the next search looks at."""
        placements = sorted(self.view.placements.items())
        return ClusterSnapshot(
            placements=tuple(self._placement_seen(*each) for each in placements),
            searching=searching,
            changes=self._picture.changes,
        )

    def _placement_seen(self, ref: Ref, placement: Placement) -> PlacementSeen:
        entry = self._readable.last((PLACEMENT, *ref))
        return PlacementSeen(
            placement,
            status=entry.data["status"] if entry else {},
            found=self._found.get(ref),
            is_broken=_is_placed(placement) and self._is_broken(ref),
            tried=self.tried.get(ref),
        )

    def _is_broken(self, ref: Ref) -> bool:
        try:
            return bool(self._picture.problems(ref))
        except Exception:  # noqa: BLE001 - one that cannot be judged must not stop the others
            self._readable.note_crash("checking", ref)
            return False

    def job_snapshot(self, key: JobKey) -> JobSnapshot:
        """What the statuses of a job are decided on."""
        ref, picture = Ref(*key), self.view
        placement = picture.placements.get(ref)
        if placement is None:
            return JobSnapshot(None, ())
        return JobSnapshot(
            self._placement_seen(ref, placement),
            tuple(
                self._pool_seen(pool, placement)
                for pool in picture.pools_of(ref)
                if not differ(pool.job_uid, placement.job_uid)
            ),
        )

    def _pool_seen(self, pool: HostPool, placement: Placement) -> PoolSeen:
        entry = self._readable.last((HOST_POOL, pool.namespace, pool.name))
        members = placement.in_force.pools.get(pool.index, ())
        seen = PoolSeen(
            pool=pool,
            status=entry.data["status"] if entry else {},
            members=tuple(self._member(pool, placement, members, node) for node in members),
        )
        job = placement.spec
        for each in job.chosen_pools if job else ():
            if job and each.index == pool.index:
                places = frozenset(job.places_in(each))
                least = members_needed(self._picture.cluster, job, each)
                return replace(seen, least=least, places=places)
        return seen

    def _member(
        self, pool: HostPool, placement: Placement, members: tuple[str, ...], node: str
    ) -> Member:
        if not node or not self._picture.has_node(node):
            return Member(node)
        marks = self._picture.marks_of(node)
        places = {str(at) for at, name in enumerate(members) if name == node}
        is_labelled = marks.places.get(pool.uid) in places
        is_tainted = pool.uid in marks.taints or not pool.is_exclusive
        return Member(
            node,
            is_there=True,
            is_marked=is_labelled and is_tainted,
            runs_others=self._picture.runs_others(node, placement.ref, placement.job_uid),
        )


def _is_placed(placement: Placement) -> bool:
    is_asked = placement.is_answered and placement.is_in_force
    return is_asked and placement.phase is PlacementPhase.PLACED


def _with_answer(placement: Placement, found: Found) -> Placement:
    said = found.said
    return placement.answered(
        said.phase, waits=bool(said.waits), message=said.message, in_force=found.in_force
    )
