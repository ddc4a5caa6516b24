"""The cluster as it is known, kept up to date one object at a time, and what was decided on it.

An answer that was found counts from then on, before it stands in the API: what the next job is
given is never given twice. Node marks of ours are not taints to the decision but claims: the Node
is the lock, so a live owner's taint takes the node from whoever's status names it.
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
from services.hostpool_manager.core.following import follows, not_followed
from services.hostpool_manager.core.snapshot import (
    HostPool,
    InForce,
    Marks,
    Placement,
    Ref,
    differ,
    holds_on,
)
from services.hostpool_manager.core.usage import Taken

NO_MARKS = Marks()
PATCHED_SHARE: Final = 8
"""Of how many nodes one may change, for the arrays of nodes to be patched and not made anew."""


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node; `job` is empty where it is none of Streams, `is_leaving` while it ends."""

    node: str
    requests: Amounts
    job: Ref | None = None
    job_uid: str = ""
    pe: int = -1
    is_leaving: bool = False


class ClusterView:
    """What is known; `changes` counts what may have made room for somebody."""

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

    # ------------------------------------------------------------------ what is seen

    def see_node(self, name: str, node: Node | None, marks: Marks = NO_MARKS) -> None:
        """A node as it is now; None: there is none of this name."""
        is_other = self._nodes.get(name) != node
        for address in node.addresses if node and is_other else ():
            normalised(address)  # takes long, and is then known where all nodes are looked at
        if is_other:
            self._changed.add(name)
        if is_other or self._marks.get(name, NO_MARKS).taints != marks.taints:
            self._put(self._nodes, name, node)
            self._touch_jobs({*self._jobs_at[name], *self._watching()})
            self._claimed = None
            self._note_change()
        self._put(self._marks, name, marks if marks != NO_MARKS else None)

    def see_pod(self, name: tuple[str, str], pod: BoundPod | None) -> None:
        """A pod as it is bound now; None: it is bound nowhere any more."""
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
        self._put(self._pods, name, pod)
        self._count(name)
        for job in {each.job for each in (old, pod) if each is not None and each.job is not None}:
            self._count_promises(job)
        if old is not None:
            self._note_change()
        self._cluster = None

    def see_pool(self, name: tuple[str, str], pool: HostPool | None) -> None:
        """A HostPool as it is now; None: there is none."""
        old = self._pools.get(name)
        if old is not None:
            self._pools_of[old.job].discard(name)
            self._owners.pop(old.uid, None)
        if pool is not None:
            self._pools_of[pool.job].add(name)
        if pool is not None and pool.is_exclusive and not pool.is_deleting:
            self._owners[pool.uid] = pool
        self._put(self._pools, name, pool)
        if _claims(old) != _claims(pool):
            self._problems.clear()
            self._claimed = None
            self._note_change()

    def see_placement(self, ref: Ref, placement: Placement | None) -> None:
        """A Placement as it is now, with the answer that counts; None: there is none."""
        old = self.placements.get(ref)
        self._put(self.placements, ref, placement)
        spec = placement.spec if placement else None
        self._following.discard(ref)
        if spec is not None and any(follows(pool) for pool in spec.pools):
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
        if _held_by(old) != _held_by(placement):
            self._touch_jobs(self._following)
        if _how_pods_count(old) != _how_pods_count(placement):
            for name in self._pods_of.get(ref, ()):
                self._count(name)
        self._count_promises(ref)
        before = old.in_force if old is not None else InForce()
        if before.generation is not None and (placement is None or placement.in_force != before):
            self._note_change()
        self._claimed = self._cluster = None

    @staticmethod
    def _put(where: dict, name: object, value: object | None) -> None:  # type: ignore[type-arg]
        if value is None:
            where.pop(name, None)
        else:
            where[name] = value

    def _watching(self) -> list[Ref]:
        """Jobs that any node may concern: of what is wrong, or of pools that follow the nodes."""
        return [ref for ref, found in self._problems.items() if found or ref in self._following]

    def _touch_jobs(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self._problems.pop(ref, None)

    def _note_change(self) -> None:
        self.changes += 1
        self._cluster = None

    # ------------------------------------------------------------------ what follows

    @property
    def cluster(self) -> Cluster:
        """The arrays of all that is known; made where something changed since."""
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
        """Why what is in force does not hold any more: nothing, where it does."""
        found = self._problems.get(ref)
        if found is None:
            found = _problems(self.cluster, self.placements[ref], self.job(ref))
            self._problems[ref] = found
        return found

    def job(self, ref: Ref) -> Job | None:
        """The job of a Placement, with what is remembered of earlier answers.

        A Placement that says none had one, perhaps, before somebody deleted it: HostPools know.
        """
        placement = self.placements[ref]
        job = placement.job
        if job is None or placement.in_force.generation is not None:
            return job
        members = {
            pool.index: pool.members
            for pool in self.pools_of(ref)
            if not pool.is_deleting and not differ(pool.job_uid, placement.job_uid)
        }
        pools = (replace(pool, members=members.get(pool.index, ())) for pool in job.pools)
        return replace(job, pools=tuple(pools))

    def jobs_at(self, node: str) -> Iterable[Ref]:
        """The jobs whose placement speaks of a node."""
        return tuple(self._jobs_at.get(node, ()))

    def pools_of(self, ref: Ref) -> list[HostPool]:
        """The HostPools of a job, by name."""
        return [self._pools[name] for name in sorted(self._pools_of.get(ref, ()))]

    def has_node(self, name: str) -> bool:
        """Whether there is a node of this name."""
        return name in self._nodes

    def marks_of(self, node: str) -> Marks:
        """Our marks on a node."""
        return self._marks.get(node, NO_MARKS)

    def runs_others(self, node: str, job: Ref, job_uid: str) -> bool:
        """Whether Streams pods of other jobs are on a node; a namesake's job is another one."""
        pods = (self._pods[name] for name in self._pods_on.get(node, ()))
        return any(
            pod.job is not None and (pod.job != job or differ(pod.job_uid, job_uid)) for pod in pods
        )

    # ------------------------------------------------------------------ pods and claims

    def _count(self, name: tuple[str, str]) -> None:
        """Count what a pod takes; who leaves takes its room as long as it is there, no more.

        A job that is submitted again would else be refused for the pods of the one before it.
        """
        pod = self._pods.get(name)
        if pod is None:
            self._take(name, ())
            return
        job = "" if self._leaves(pod) else self._name(pod.job, pod.job_uid)
        self._take(name, [Pod(pod.node, pod.requests, job, pod.pe)])

    def _leaves(self, pod: BoundPod) -> bool:
        """Whether a pod ends, and no job that is placed has it launched again."""
        placement = self.placements.get(pod.job) if pod.job is not None else None
        if placement is None or differ(placement.job_uid, pod.job_uid):
            return pod.is_leaving
        return placement.is_deleting

    def _count_promises(self, ref: Ref) -> None:
        """Count what is promised to PEs of a job that have no pod."""
        placement = self.placements.get(ref)
        is_live = placement is not None and not placement.is_deleting
        self._take(("promised", *ref), self._promised(placement) if placement and is_live else ())

    def _take(self, key: tuple[str, ...], pods: Iterable[Pod]) -> None:
        for node in self._taken.put(key, pods):
            self._touch_jobs(self._jobs_at.get(node, ()))

    def _promised(self, placement: Placement) -> Iterator[Pod]:
        """PEs that have a node and no pod on any yet."""
        if placement.spec is None:
            return
        bound = {
            pod.pe
            for name in self._pods_of.get(placement.ref, ())
            if not differ((pod := self._pods[name]).job_uid, placement.job_uid)
        }
        pes = placement.spec.by_id
        for pe, node in placement.in_force.assignments.items():
            if pe in pes and pe not in bound:
                yield Pod(node, pes[pe].requests, placement.spec.name, pe, is_bound=False)

    def _each_claim(self) -> Iterator[Claim]:
        locked: dict[str, list[str]] = {}
        for node, marks in self._marks.items():
            for owner in (self._owners[uid] for uid in marks.taints if uid in self._owners):
                job = self._name(owner.job, owner.job_uid)
                locked.setdefault(node, []).append(job)
                yield Claim(node, job, self._called(owner), is_exclusive=True)
        for placement in self._live():
            if placement.spec is None:
                continue
            job = placement.spec.name
            for pool in placement.spec.pools:
                if pool.is_default or not holds_on(pool):
                    continue
                for node in placement.in_force.pools.get(pool.index, ()):
                    if node and job in locked.get(node, (job,)):
                        yield Claim(node, job, pool.name, pool.is_exclusive)

    def _called(self, owner: HostPool) -> str:
        """What the application calls a pool, as its Placement says it: one holder has one name."""
        placement = self.placements.get(owner.job)
        spec = placement.spec if placement is not None else None
        if placement is None or spec is None or differ(placement.job_uid, owner.job_uid):
            return owner.name
        return next((pool.name for pool in spec.pools if pool.index == owner.index), owner.name)

    def _live(self) -> Iterator[Placement]:
        return (each for each in self.placements.values() if not each.is_deleting)

    def _name(self, job: Ref | None, uid: str) -> str:
        """The name by which the decision knows a job: a namesake's with another uid is another."""
        if job is None:
            return ""
        placement = self.placements.get(job)
        if placement is not None and differ(placement.job_uid, uid):
            return f"{'/'.join(job)} ({uid})"
        return "/".join(job)


def _how_pods_count(placement: Placement | None) -> tuple[str, bool] | None:
    """What of a Placement decides how the pods of its job count."""
    return (placement.job_uid, placement.is_deleting) if placement is not None else None


def _held_by(placement: Placement | None) -> frozenset[str]:
    """The nodes that exclusive pools of a placement in force claim: others follow when they go."""
    if placement is None or placement.spec is None or placement.is_deleting:
        return frozenset()
    pools = (pool.index for pool in placement.spec.pools if pool.is_exclusive)
    return frozenset(node for at in pools for node in placement.in_force.pools.get(at, ()))


def _claims(pool: HostPool | None) -> tuple[object, ...]:
    """What of a HostPool decides whether its taints claim nodes, and for whom."""
    if pool is None or pool.is_deleting or not pool.is_exclusive:
        return ()
    return (pool.uid, pool.job, pool.job_uid)


def _problems(cluster: Cluster, placement: Placement, job: Job | None) -> tuple[str, ...]:
    if job is None or placement.in_force.generation is None:
        return ()
    wanted = {pool.index for pool in job.pools if not pool.is_default}
    if wanted - placement.in_force.pools.keys():
        return ("its pools are not those that it asks for",)
    wrong = violations(cluster, job, placement.placed)
    return tuple(wrong) or not_followed(cluster, job)
