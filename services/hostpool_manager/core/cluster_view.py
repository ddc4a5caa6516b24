"""The state of the cluster, updated one object at a time, with the answers that count.

An answer counts as soon as it is found, before it is written, so no two jobs get the same room.
Decisions see our taints as claims: the taint of a live HostPool takes the node from every other job
whose status names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from placement.checking import violations
from placement.cluster import (
    Amounts,
    Claim,
    Cluster,
    Node,
    Pod,
    normalised,
)
from placement.job import Job
from placement.patching import with_claims, with_nodes, with_taken
from services.hostpool_manager.core.following import follows_nodes, membership_problems
from services.hostpool_manager.core.snapshot import (
    HostPool,
    InForce,
    Marks,
    Placement,
    Ref,
    claims_nodes,
    uids_differ,
)
from services.hostpool_manager.core.usage import Taken

NO_MARKS = Marks()
PATCHED_SHARE: Final = 8
"""If at most one node in this many changed, the arrays of nodes are patched, not rebuilt."""


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node; `job` is None for pods that are not of Streams; `is_leaving`: it ends."""

    node: str
    requests: Amounts
    job: Ref | None = None
    job_uid: str = ""
    pe: int = -1
    is_leaving: bool = False


class ClusterView:
    """The nodes, pods, HostPools and Placements; `changes` counts changes that may make room."""

    def __init__(self, changes: int = 0) -> None:
        self.changes = changes
        self.placements: dict[Ref, Placement] = {}
        self._nodes: dict[str, Node] = {}
        self._marks: dict[str, Marks] = {}
        self._pods: dict[tuple[str, str], BoundPod] = {}
        self._pods_of: dict[Ref, set[tuple[str, str]]] = defaultdict(set)
        self._pods_on: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._pools: dict[tuple[str, str], HostPool] = {}
        self._pools_of: dict[Ref, set[tuple[str, str]]] = defaultdict(set)
        self._jobs_at: dict[str, set[Ref]] = defaultdict(set)
        self._problems: dict[Ref, tuple[str, ...]] = {}
        self._following: set[Ref] = set()
        self._taken = Taken()
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
            self._touch_jobs({*self._jobs_at[name], *self._affected_by_any_node()})
            self._claimed = None
            self._note_change()
        self._store(self._marks, name, marks if marks != NO_MARKS else None)

    def update_pod(self, name: tuple[str, str], pod: BoundPod | None) -> None:
        """Store the observed state of a bound pod; None: it is bound to no node any more."""
        old = self._pods.get(name)
        for each in (old, pod):
            if each is not None:
                self._touch_jobs({*self._jobs_at[each.node], *([each.job] if each.job else [])})
        if old is not None:
            self._pods_on[old.node].discard(name)
            if old.job is not None:
                self._pods_of[old.job].discard(name)
        if pod is not None:
            self._pods_on[pod.node].add(name)
            if pod.job is not None:
                self._pods_of[pod.job].add(name)
        self._store(self._pods, name, pod)
        self._count(name)
        for job in {each.job for each in (old, pod) if each is not None and each.job is not None}:
            self._count_promises(job)
        if old is not None:
            self._note_change()
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
        if _taint_owner(old) != _taint_owner(pool):
            self._problems.clear()
            self._claimed = None
            self._note_change()

    def update_placement(self, ref: Ref, placement: Placement | None) -> None:
        """Store a Placement with the answer that counts; None: it does not exist."""
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
        self._touch_jobs(touched)
        if _exclusive_members(old) != _exclusive_members(placement):
            self._touch_jobs(self._following)
        if _pod_counting(old) != _pod_counting(placement):
            for name in self._pods_of.get(ref, ()):
                self._count(name)
        self._count_promises(ref)
        before = old.in_force if old is not None else InForce()
        if before.generation is not None and (placement is None or placement.in_force != before):
            self._note_change()
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

    def _note_change(self) -> None:
        self.changes += 1
        self._cluster = None

    # ------------------------------------------------------------------ derived state

    @property
    def cluster(self) -> Cluster:
        """The arrays of the whole state; rebuilt if something changed since the last call."""
        if self._changed:
            self._nodes_only = self._with_changed(self._nodes_only)
            self._changed.clear()
            self._claimed = None
        if self._claimed is None:
            self._claimed = with_claims(self._nodes_only, dict.fromkeys(self._each_claim()))
            self._cluster = None
        if self._cluster is None:
            used, streams_pods = self._taken.columns(self._claimed.index)
            self._cluster = with_taken(self._claimed, used, streams_pods, self._taken.of_jobs())
        return self._cluster

    def _with_changed(self, before: Cluster) -> Cluster:
        changed = [self._nodes.get(name) for name in self._changed]
        there = [node for node in changed if node is not None and node.name in before.index]
        is_few = len(there) <= len(before) // PATCHED_SHARE
        if is_few and len(there) == len(changed):
            return with_nodes(before, there)
        return Cluster.of(self._nodes.values())

    def problems(self, ref: Ref) -> tuple[str, ...]:
        """Why the placement in force does not hold any more; empty if it holds."""
        found = self._problems.get(ref)
        if found is None:
            found = _problems(self.cluster, self.placements[ref], self.job(ref))
            self._problems[ref] = found
        return found

    def job(self, ref: Ref) -> Job | None:
        """The job of a Placement, with the assignments and members of earlier answers.

        If the status of the Placement was deleted, the members come from the HostPools.
        """
        placement = self.placements[ref]
        job = placement.job
        if job is None or placement.in_force.generation is not None:
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

    # ------------------------------------------------------------------ pods and claims

    def _count(self, name: tuple[str, str]) -> None:
        """Count the requests of a pod; one that ends takes room while it exists and claims nothing.

        Otherwise a job that is submitted again would be refused for the pods of the one before.
        """
        pod = self._pods.get(name)
        if pod is None:
            self._take(name, ())
            return
        job = "" if self._ends_for_good(pod) else self._job_name(pod.job, pod.job_uid)
        self._take(name, [Pod(pod.node, pod.requests, job, pod.pe)])

    def _ends_for_good(self, pod: BoundPod) -> bool:
        """Whether a pod ends for good: its Placement is being deleted, or it ends and has none."""
        placement = self.placements.get(pod.job) if pod.job is not None else None
        if placement is None or uids_differ(placement.job_uid, pod.job_uid):
            return pod.is_leaving
        return placement.is_deleting

    def _count_promises(self, ref: Ref) -> None:
        """Count the requests of the PEs of a job that have a node and no pod."""
        placement = self.placements.get(ref)
        is_live = placement is not None and not placement.is_deleting
        self._take(("promised", *ref), self._promised(placement) if placement and is_live else ())

    def _take(self, key: tuple[str, ...], pods: Iterable[Pod]) -> None:
        for node in self._taken.put(key, pods):
            self._touch_jobs(self._jobs_at.get(node, ()))

    def _promised(self, placement: Placement) -> Iterator[Pod]:
        """The PEs that have a node and no bound pod yet, as pods."""
        if placement.spec is None:
            return
        bound = {
            pod.pe
            for name in self._pods_of.get(placement.ref, ())
            if not uids_differ((pod := self._pods[name]).job_uid, placement.job_uid)
        }
        pes = placement.spec.by_id
        for pe, node in placement.in_force.assignments.items():
            if pe in pes and pe not in bound:
                yield Pod(node, pes[pe].requests, placement.spec.name, pe, is_bound=False)

    def _each_claim(self) -> Iterator[Claim]:
        locked: dict[str, list[str]] = {}
        for node, marks in self._marks.items():
            for owner in (self._owners[uid] for uid in marks.taints if uid in self._owners):
                job = self._job_name(owner.job, owner.job_uid)
                locked.setdefault(node, []).append(job)
                yield Claim(node, job, self._pool_name(owner), is_exclusive=True)
        for placement in self._live():
            if placement.spec is None:
                continue
            job = placement.spec.name
            for pool in placement.spec.pools:
                if pool.is_default or not claims_nodes(pool):
                    continue
                for node in placement.in_force.pools.get(pool.index, ()):
                    if node and job in locked.get(node, (job,)):
                        yield Claim(node, job, pool.name, pool.is_exclusive)

    def _pool_name(self, owner: HostPool) -> str:
        """The name of a pool in its Placement, so that all claims of a pool have one name."""
        placement = self.placements.get(owner.job)
        spec = placement.spec if placement is not None else None
        if placement is None or spec is None or uids_differ(placement.job_uid, owner.job_uid):
            return owner.name
        return next((pool.name for pool in spec.pools if pool.index == owner.index), owner.name)

    def _live(self) -> Iterator[Placement]:
        return (each for each in self.placements.values() if not each.is_deleting)

    def _job_name(self, job: Ref | None, uid: str) -> str:
        """The name of a job in decisions; a namesake with another uid has another name."""
        if job is None:
            return ""
        placement = self.placements.get(job)
        if placement is not None and uids_differ(placement.job_uid, uid):
            return f"{'/'.join(job)} ({uid})"
        return "/".join(job)


def _pod_counting(placement: Placement | None) -> tuple[str, bool] | None:
    """The fields of a Placement that decide how the pods of its job count."""
    return (placement.job_uid, placement.is_deleting) if placement is not None else None


def _exclusive_members(placement: Placement | None) -> frozenset[str]:
    """Members of exclusive pools in force; pools that follow nodes get them when released."""
    if placement is None or placement.spec is None or placement.is_deleting:
        return frozenset()
    pools = (pool.index for pool in placement.spec.pools if pool.is_exclusive)
    return frozenset(node for at in pools for node in placement.in_force.pools.get(at, ()))


def _taint_owner(pool: HostPool | None) -> tuple[object, ...]:
    """The fields of a HostPool that decide whether its taints claim nodes, and for which job."""
    if pool is None or pool.is_deleting or not pool.is_exclusive:
        return ()
    return (pool.uid, pool.job, pool.job_uid)


def _problems(cluster: Cluster, placement: Placement, job: Job | None) -> tuple[str, ...]:
    if job is None or placement.in_force.generation is None:
        return ()
    required = {pool.index for pool in job.pools if not pool.is_default}
    if required - placement.in_force.pools.keys():
        return ("its pools are not the requested ones",)
    wrong = violations(cluster, job, placement.placed)
    return tuple(wrong) or membership_problems(cluster, job)
