"""The state of the cluster, updated one object at a time, with the answers that count.

It is a function of these objects and answers, whatever the order in which they came. An answer
counts as soon as it is found, before it is written, so no two jobs get the same room.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from contracts.canonical import Fingerprint
from contracts.hosts import normalised
from contracts.scheduling.nodes import Node
from placement.checking import violations
from placement.cluster import Cluster
from placement.columns import Columns
from placement.job import Job
from placement.patching import with_claims, with_nodes, with_taken
from placement.taken import Pod
from services.hostpool_manager.core import parts
from services.hostpool_manager.core.claims import claims, job_name
from services.hostpool_manager.core.following import follows_nodes, membership_problems
from services.hostpool_manager.core.snapshot import (
    BoundPod,
    Found,
    HostPool,
    Marks,
    ObservedPlacement,
    Placement,
    Ref,
    Searched,
    uids_differ,
)

NO_MARKS = Marks()
PATCHED_SHARE: Final = 8
"""If at most one node in this many changed, the arrays of nodes are patched, not rebuilt."""


class ClusterView:
    """The nodes, pods, HostPools and Placements.

    `placements` have the answers that count. While `room` stays the same, a search that found none
    would find none again. `note_crash` is called where the check of a Placement raises.
    """

    def __init__(self, note_crash: Callable[[Ref], None] = lambda _ref: None) -> None:
        self._note_crash = note_crash
        self.placements: dict[Ref, Placement] = {}
        self.searched: dict[Ref, Searched] = {}
        self._observed: dict[Ref, Placement] = {}
        self._room = Fingerprint()
        self._nodes: dict[str, Node] = {}
        self._marks: dict[str, Marks] = {}
        self._pods: dict[tuple[str, str], BoundPod] = {}
        self._pods_of: dict[Ref, set[tuple[str, str]]] = defaultdict(set)
        self._pods_on: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._bound: dict[tuple[Ref, int], Counter[str]] = defaultdict(Counter)
        self._pools: dict[tuple[str, str], HostPool] = {}
        self._pools_of: dict[Ref, set[tuple[str, str]]] = defaultdict(set)
        self._jobs_at: dict[str, set[Ref]] = defaultdict(set)
        self._jobs: dict[Ref, Job | None] = {}
        self._problems: dict[Ref, tuple[str, ...]] = {}
        self._unchecked: dict[Ref, None] = {}
        self._following: set[Ref] = set()
        self._taken = Columns()
        self._owners: dict[str, HostPool] = {}
        self._changed: set[str] = set()
        self._nodes_only = Cluster.of(())
        self._claimed: Cluster | None = None
        self._cluster: Cluster | None = None

    # ------------------------------------------------------------------ observed objects

    def update_node(self, name: str, node: Node | None, marks: Marks = NO_MARKS) -> None:
        """Store the observed state of a node; None: it does not exist."""
        is_other = self._nodes.get(name) != node
        for address in node.addresses if node and is_other else ():
            normalised(address)  # slow; warms its cache before all nodes are read at once
        if is_other:
            self._changed.add(name)
        if is_other or self._marks.get(name, NO_MARKS).taints != marks.taints:
            self._store(self._nodes, name, node)
            self._touch_jobs({*self._jobs_at.get(name, ()), *self._affected_by_any_node()})
            self._claimed = None
            self._count_room(name, (node, marks.taints) if node else None)
        self._store(self._marks, name, marks if marks != NO_MARKS else None)

    def update_pod(self, name: tuple[str, str], pod: BoundPod | None) -> None:
        """Store the observed state of a bound pod; None: it is bound to no node any more."""
        old = self._pods.get(name)
        if pod == old:
            return
        for each in (old, pod):
            if each is not None:
                self._touch_jobs({*self._jobs_at[each.node], *([each.job] if each.job else [])})
        if old is not None:
            self._pods_on[old.node].discard(name)
            if old.job is not None:
                self._pods_of[old.job].discard(name)
                self._unbind(old.job, old.pe, old.job_uid)
        if pod is not None:
            self._pods_on[pod.node].add(name)
            if pod.job is not None:
                self._pods_of[pod.job].add(name)
                self._bound[pod.job, pod.pe][pod.job_uid] += 1
        self._store(self._pods, name, pod)
        self._count(name)
        for job, pe in {(each.job, each.pe) for each in (old, pod) if each and each.job}:
            self._count_promise(job, pe)
        self._count_room(name, pod)
        self._cluster = None

    def update_pool(self, name: tuple[str, str], pool: HostPool | None) -> None:
        """Store the observed state of a HostPool; None: it does not exist."""
        old = self._pools.get(name)
        if old is not None:
            self._pools_of[old.job].discard(name)
            self._owners.pop(old.uid, None)
        if pool is not None:
            self._pools_of[pool.job].add(name)
        if pool is not None and pool.is_exclusive and not pool.is_deleting:
            self._owners[pool.uid] = pool
        self._store(self._pools, name, pool)
        if parts.taint_owner(old) != parts.taint_owner(pool):
            self._touch_jobs([*self._problems])
            self._claimed = None
            self._count_room(("pool", *name), parts.taint_owner(pool) or None)

    def update_placement(self, ref: Ref, placement: Placement | None) -> None:
        """Store the observed state of a Placement; None: it does not exist."""
        self._store(self._observed, ref, placement)
        self._let_count(ref)

    def update_searched(self, ref: Ref, searched: Searched | None) -> None:
        """Store the last search for a Placement; its answer counts for the spec that it is of."""
        self._store(self.searched, ref, searched)
        self._let_count(ref)

    def _let_count(self, ref: Ref) -> None:
        """Let a Placement count with the answer that counts for it."""
        placement = self._observed.get(ref)
        if placement is not None and (found := self.found_for(ref)) is not None:
            placement = parts.with_answer(placement, found)
        old = self.placements.get(ref)
        self._store(self.placements, ref, placement)
        spec = placement.spec if placement else None
        self._following.discard(ref)
        if spec is not None and any(follows_nodes(pool) for pool in spec.pools):
            self._following.add(ref)
        touched = {ref}
        for each in (old, placement):
            for node in each.in_force.nodes if each else ():
                touched |= self._jobs_at[node]
        for node in old.in_force.nodes if old else ():
            self._jobs_at[node].discard(ref)
        for node in placement.in_force.nodes if placement else ():
            self._jobs_at[node].add(ref)
        self._jobs.pop(ref, None)
        self._touch_jobs(touched)
        if parts.exclusive_members(old) != parts.exclusive_members(placement):
            self._touch_jobs(self._following)
        if parts.pod_counting(old) != parts.pod_counting(placement):
            for name in self._pods_of.get(ref, ()):
                self._count(name)
        if parts.promising(old) != parts.promising(placement):
            for each in (old, placement):
                for pe in each.in_force.assignments if each is not None else ():
                    self._count_promise(ref, pe)
        if parts.holding(old) != parts.holding(placement):
            self._count_room(("placement", *ref), parts.holding(placement))
        self._claimed = self._cluster = None

    @staticmethod
    def _store(where: dict, name: object, value: object | None) -> None:  # type: ignore[type-arg]
        if value is None:
            where.pop(name, None)
        else:
            where[name] = value

    def _affected_by_any_node(self) -> list[Ref]:
        """Jobs with problems or with pools that follow nodes: any node may concern them."""
        return [ref for ref, found in self._problems.items() if found or ref in self._following]

    def _touch_jobs(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self._problems.pop(ref, None)
            self._unchecked[ref] = None

    def _count_room(self, name: Hashable, value: object | None) -> None:
        """Let an object count in `room` as it is now; None: it does not any more."""
        self._cluster = None
        self._room.put(name, None if value is None else parts.room_text(name, value))

    # ------------------------------------------------------------------ derived state

    @property
    def room(self) -> int:
        """Stands for all that a search looks for room in."""
        return self._room.value

    @property
    def cluster(self) -> Cluster:
        """The arrays of the whole state; rebuilt if something changed since the last call."""
        self._take_in_nodes()
        if self._claimed is None:
            found = claims(self.placements, self._marks, self._owners)
            self._claimed = with_claims(self._nodes_only, dict.fromkeys(found))
            self._cluster = None
        if self._cluster is None:
            self._cluster = with_taken(self._claimed, self._taken)
        return self._cluster

    def _take_in_nodes(self) -> bool:
        """Bring the arrays of nodes up to date; whether a node had changed."""
        if not self._changed:
            return False
        self._nodes_only = self._with_changed(self._nodes_only)
        self._changed.clear()
        self._claimed = None
        return True

    def _with_changed(self, before: Cluster) -> Cluster:
        changed = [self._nodes.get(name) for name in self._changed]
        there = [node for node in changed if node is not None and node.name in before.index]
        is_few = len(there) <= len(before) // PATCHED_SHARE
        if is_few and len(there) == len(changed):
            return with_nodes(before, there)
        return Cluster.of(self._nodes.values())

    def observed(self, ref: Ref, status: Mapping[str, Any]) -> ObservedPlacement:
        """A Placement with its recorded status."""
        searched = self.searched.get(ref)
        return ObservedPlacement(
            self.placements[ref],
            status=status,
            found=self.found_for(ref),
            is_broken=self.is_broken(ref),
            last_search=searched.last if searched else None,
        )

    def is_broken(self, ref: Ref) -> bool:
        """Whether a Placement is placed and does not hold any more."""
        try:
            return bool(self.problems(ref))
        except Exception:  # noqa: BLE001 - a bad Placement must not stop the others
            self._note_crash(ref)
            return False

    def problems(self, ref: Ref) -> tuple[str, ...]:
        """Why a Placement that is placed does not hold any more; empty if it holds."""
        placement = self.placements[ref]
        if not placement.is_placed:
            return ()
        found = self._problems.get(ref)
        if found is None:
            found = self._problems[ref] = _problems(self.cluster, placement, self.job(ref))
        return found

    def found_for(self, ref: Ref) -> Found | None:
        """The answer to the current spec of a Placement that its status does not record yet."""
        searched, placement = self.searched.get(ref), self._observed.get(ref)
        found = searched.found if searched is not None else None
        return found if found and placement and found.is_of(placement) else None

    def check_one(self) -> bool:
        """Look for problems of one job that may have some since; whether there was one."""
        if self._unchecked and self._take_in_nodes():
            return True  # 15 ms for thousands of new nodes: a turn of their own
        while self._unchecked:
            ref = self._unchecked.popitem()[0]
            placement = self.placements.get(ref)
            if placement is not None and placement.is_placed and ref not in self._problems:
                self.problems(ref)
                return True
        return False

    def job(self, ref: Ref) -> Job | None:
        """The job of a Placement, with the assignments and members of earlier answers.

        If the status of the Placement was deleted, the members come from the HostPools.
        """
        if ref in self._jobs:
            return self._jobs[ref]
        placement = self.placements[ref]
        job = placement.job
        if job is None or placement.in_force.plan_generation is not None:
            self._jobs[ref] = job
            return job
        members = {
            pool.index: pool.members
            for pool in self.pools_of(ref)
            if not pool.is_deleting and not uids_differ(pool.job_uid, placement.job_uid)
        }
        pools = (replace(pool, members=members.get(pool.index, ())) for pool in job.pools)
        return replace(job, pools=tuple(pools))

    def jobs_at(self, node: str) -> Iterable[Ref]:
        """The jobs whose placement names a node."""
        return tuple(self._jobs_at.get(node, ()))

    def pools_of(self, ref: Ref) -> list[HostPool]:
        """The HostPools of a job, by name."""
        return [self._pools[name] for name in sorted(self._pools_of.get(ref, ()))]

    def has_node(self, name: str) -> bool:
        """Whether a node of this name exists."""
        return name in self._nodes

    def marks_of(self, node: str) -> Marks:
        """Our marks on a node."""
        return self._marks.get(node, NO_MARKS)

    def runs_others(self, node: str, *, job: Ref, job_uid: str) -> bool:
        """Whether Streams pods of other jobs are on a node; another uid is another job."""
        pods = (self._pods[name] for name in self._pods_on.get(node, ()))
        return any(
            pod.job is not None and (pod.job != job or uids_differ(pod.job_uid, job_uid))
            for pod in pods
        )

    # ------------------------------------------------------------------ pods

    def _count(self, name: tuple[str, str]) -> None:
        """Count the requests of a pod; one that ends takes room while it exists and claims nothing.

        Otherwise a job that is submitted again would be refused for the pods of the one before.
        """
        pod = self._pods.get(name)
        if pod is None:
            self._take(name, None)
            return
        job = "" if self._ends_for_good(pod) else job_name(self.placements, pod.job, pod.job_uid)
        self._take(name, Pod(pod.node, pod.requests, job, pod.pe))

    def _ends_for_good(self, pod: BoundPod) -> bool:
        """Whether a pod ends for good: its Placement is being deleted, or it ends and has none."""
        placement = self.placements.get(pod.job) if pod.job is not None else None
        if placement is None or uids_differ(placement.job_uid, pod.job_uid):
            return pod.is_leaving
        return placement.is_deleting

    def _count_promise(self, ref: Ref, pe: int) -> None:
        """Count the requests of a PE that has a node and no bound pod yet."""
        placement = self.placements.get(ref)
        promised = None
        if placement is not None and not placement.is_deleting:
            promised = self._promised(placement, pe)
        self._take(("promised", *ref, str(pe)), promised)

    def _unbind(self, job: Ref, pe: int, uid: str) -> None:
        bound = self._bound[job, pe]
        bound[uid] -= 1
        if not bound[uid]:
            del bound[uid]
        if not bound:
            del self._bound[job, pe]

    def _take(self, key: tuple[str, ...], pod: Pod | None) -> None:
        for node in self._taken.put(key, pod):
            self._touch_jobs(self._jobs_at.get(node, ()))

    def _promised(self, placement: Placement, pe: int) -> Pod | None:
        node = placement.in_force.assignments.get(pe)
        requested = placement.spec.by_id.get(pe) if placement.spec else None
        if node is None or placement.spec is None or requested is None:
            return None
        bound = self._bound.get((placement.ref, pe), ())
        if any(not uids_differ(uid, placement.job_uid) for uid in bound):
            return None
        return Pod(node, requested.requests, placement.spec.name, pe, is_bound=False)


def _problems(cluster: Cluster, placement: Placement, job: Job | None) -> tuple[str, ...]:
    if job is None:
        return ()
    required = {pool.index for pool in job.pools if not pool.is_default}
    if required - placement.in_force.pools.keys():
        return ("its pools are not the requested ones",)
    wrong = violations(cluster, job, placement.placed)
    return tuple(wrong) or membership_problems(cluster, job)
