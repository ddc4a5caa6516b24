"""Which facts this service reads, and what it knows because of them.

`Knowledge` keeps the picture of the cluster (core/picture.py) up to date: facts are noted as they
come, and read as values when somebody looks. An answer that was found stands in the picture before
the API has it; what was tried is remembered, so that it is not tried again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from contracts.resources.placement import PlacementPhase
from services.chassis.log_lines import log_of
from services.chassis.metrics import Metrics
from services.chassis.table import Entry, Index, TableReading
from services.hostpool_manager.adapters.reading import (
    host_pool_of,
    node_of,
    placement_of,
    pod_of,
)
from services.hostpool_manager.core.picture import Picture
from services.hostpool_manager.core.saying import changes, placement_status
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    HostPool,
    InForce,
    JobSnapshot,
    Member,
    Placement,
    PlacementSaid,
    PoolSeen,
    Question,
    Ref,
    Standing,
    Tried,
    differ,
)

NODE, POD, PLACEMENT, HOST_POOL = "Node", "BoundPod", "Placement", "HostPool"
KINDS = frozenset((NODE, POD, PLACEMENT, HOST_POOL))
INDEXES: Mapping[str, Index] = {}
LISTED_FIRST = (NODE, HOST_POOL, PLACEMENT)
"""What a new leader lists before it decides."""
NOTED_MAX = 50_000


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


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a question: what is to be said, and the placement that is then in force."""

    uid: str
    generation: int
    said: PlacementSaid
    in_force: InForce


class Knowledge:
    """The picture, what was found and what was tried."""

    def __init__(self, table: TableReading, metrics: Metrics) -> None:
        self._table = table
        self._metrics = metrics
        self._log = log_of("intake")
        self._picture = Picture()
        self._noted: set[tuple[str, str, str]] | None = None  # None: everything
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
    def picture(self) -> Picture:
        """What is known by now."""
        if self._noted is None:
            self._picture = Picture(changes=self._picture.changes + 1)
            refs = [entry.ref for kind in sorted(KINDS) for entry in self._table.of_kind(kind)]
        else:
            refs = sorted(self._noted)
        self._noted = set()
        for ref in refs:
            try:
                self._see(*ref, self._table.get(*ref))
            except Exception:  # noqa: BLE001 - a bad object must not stop what others wait for
                self._note_crash("reading", ref)
                self._see(*ref, None)
        return self._picture

    def _note_crash(self, where: str, ref: tuple[str, ...]) -> None:
        self._metrics.count("millrace_crashes_total", where=where)
        self._log.exception(f"{where}_crashed", object="/".join(ref))

    def _see(self, kind: str, namespace: str, name: str, entry: Entry | None) -> None:
        match kind:
            case "Node":
                self._picture.see_node(name, *(node_of(entry) if entry else (None,)))
            case "BoundPod":
                self._picture.see_pod((namespace, name), pod_of(entry) if entry else None)
            case "HostPool":
                pool = host_pool_of(entry) if entry else None
                self._picture.see_pool((namespace, name), pool)
            case "Placement":
                self._see_placement(Ref(namespace, name), entry)

    def _see_placement(self, ref: Ref, entry: Entry | None) -> None:
        if entry is None:
            self._found.pop(ref, None)
            self.tried.pop(ref, None)
            self._picture.see_placement(ref, None)
            return
        placement = placement_of(entry)
        found = self._found.get(ref)
        if found is not None:
            if not _is_about(found, placement) or _stands(entry, found.said):
                del self._found[ref]
            else:
                placement = _with_answer(placement, found)
        self._picture.see_placement(ref, placement)

    def take_up(self, ref: Ref, found: Found) -> None:
        """Let an answer count from now on."""
        self._found[ref] = found
        self._picture.see_placement(ref, _with_answer(self._picture.placements[ref], found))

    def spec_bytes(self, ref: Ref) -> int:
        """How long the spec of a Placement is, as it is stored."""
        entry = self._table.get(PLACEMENT, *ref)
        return len(json.dumps(entry.data["spec"], ensure_ascii=False).encode()) if entry else 0

    # ------------------------------------------------------------------ keys and snapshots

    def keys_of(self, entry: Entry) -> Iterable[Key]:
        """The keys that an object concerns."""
        yield CLUSTER
        match entry.kind:
            case "Placement":
                yield JobKey(entry.namespace, entry.name)
            case "HostPool":
                yield JobKey(*host_pool_of(entry).job)
            case "Node":
                yield from (JobKey(*ref) for ref in self._picture.jobs_at(entry.name))
            case "BoundPod":
                yield from (JobKey(*ref) for ref in self._picture.jobs_at(entry.data["node"]))

    def all_keys(self) -> Iterable[Key]:
        """Every key; what changed while nobody was woken is looked at as well."""
        self._noted = None
        yield CLUSTER
        yield from (JobKey(*ref) for ref in self.picture.placements)

    def cluster_snapshot(self, searching: tuple[Question, ...]) -> ClusterSnapshot:
        """What the choice of the next search looks at."""
        picture = self.picture
        return ClusterSnapshot(
            standings=tuple(
                Standing(
                    placement,
                    is_broken=_is_placed(placement) and self._is_broken(ref),
                    tried=self.tried.get(ref),
                )
                for ref, placement in sorted(picture.placements.items())
            ),
            searching=searching,
            changes=picture.changes,
        )

    def _is_broken(self, ref: Ref) -> bool:
        try:
            return bool(self._picture.problems(ref))
        except Exception:  # noqa: BLE001 - one that cannot be judged must not stop the others
            self._note_crash("checking", ref)
            return False

    def job_snapshot(self, key: JobKey) -> JobSnapshot:
        """What the statuses of a job are decided on."""
        ref, picture = Ref(*key), self.picture
        placement = picture.placements.get(ref)
        entry = self._table.get(PLACEMENT, *ref)
        found = self._found.get(ref)
        return JobSnapshot(
            placement=placement,
            status=entry.data["status"] if entry else {},
            found=found.said if found else None,
            pools=tuple(
                self._seen(pool, placement)
                for pool in (picture.pools_of(ref) if placement else ())
                if placement and _is_of(pool, placement)
            ),
        )

    def _seen(self, pool: HostPool, placement: Placement) -> PoolSeen:
        entry = self._table.get(HOST_POOL, pool.namespace, pool.name)
        members = placement.in_force.pools.get(pool.index, ())
        seen = PoolSeen(
            pool=pool,
            status=entry.data["status"] if entry else {},
            members=tuple(self._member(pool, placement, members, node) for node in members),
        )
        asked = placement.asked
        for each in asked.pools if asked else ():
            if asked and each.index == pool.index and not each.is_default:
                places = frozenset(asked.places_in(each))
                return replace(seen, least=asked.least_of(each), places=places)
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


def _is_of(pool: HostPool, placement: Placement) -> bool:
    """Whether the HostPool is one of the very job, and not of a namesake that is gone."""
    return not differ(pool.job_uid, placement.job_uid)


def _is_placed(placement: Placement) -> bool:
    is_asked = placement.is_answered and placement.is_in_force
    return is_asked and placement.phase is PlacementPhase.PLACED


def _is_about(found: Found, placement: Placement) -> bool:
    return (found.uid, found.generation) == (placement.uid, placement.generation)


def _stands(entry: Entry, said: PlacementSaid) -> bool:
    status = entry.data["status"]
    return not changes(status, placement_status(status, said, ""))


def _with_answer(placement: Placement, found: Found) -> Placement:
    said = found.said
    return placement.answered(
        said.phase, waits=bool(said.waits), message=said.message, in_force=found.in_force
    )
