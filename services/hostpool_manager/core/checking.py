"""Looks at a placement again, PE by PE in whole numbers, knowing nothing of how it was found.

What runs already is not judged: it was placed when the cluster was another, and it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from services.hostpool_manager.core.answers import Placed
from services.hostpool_manager.core.cluster import HOSTNAME, KEEPS_OUT, PODS, Amounts, Cluster, Node
from services.hostpool_manager.core.job import Job, Pe, Pool


def violations(cluster: Cluster, job: Job, placed: Placed) -> list[str]:
    """What is wrong with a placement, in sentences; nothing, if it holds all that is asked."""
    wanted = {pe.id for pe in job.pes}
    own = cluster.pods.get(job.name, ())
    running = {pod.pe: pod.node for pod in own if pod.is_bound and pod.pe in wanted}
    view = _View(cluster, job, placed, running)
    if view.unplaced:
        return [f"PE {pe} has no node that exists" for pe in view.unplaced]
    found = [*view.capacity(), *view.members(), *view.claims()]
    for pe in job.pes:
        if pe.id not in view.running:
            found += view.places(pe)
    return found + (list(view.neighbours()) if placed.is_as_preferred else [])


@dataclass(slots=True)
class _View:
    cluster: Cluster
    job: Job
    placed: Placed
    running: Mapping[int, str]

    @property
    def unplaced(self) -> list[int]:
        known = self.cluster.index.keys() | set(self.running.values())
        return [pe.id for pe in self.job.pes if self.placed.assignment.get(pe.id) not in known]

    def node(self, pe: Pe) -> Node | None:
        at = self.cluster.index.get(self.placed.assignment[pe.id])
        return None if at is None else self.cluster.nodes[at]

    # ------------------------------------------------------------------ one PE

    def places(self, pe: Pe) -> Iterator[str]:
        """What is wrong with where a PE is."""
        node = self.node(pe)
        if node is None:
            yield f"PE {pe.id} is on a node that does not exist"
            return
        if node.unschedulable or not node.ready:
            yield f"PE {pe.id} is on {node.name}, which takes no pods"
        for taint in node.taints:
            if taint.effect in KEEPS_OUT and not any(t.tolerates(taint) for t in pe.tolerations):
                yield f"PE {pe.id} does not tolerate {taint.key} of {node.name}"
        if pe.host and self.cluster.node_of(pe.host) != self.cluster.index[node.name]:
            yield f"PE {pe.id} is on {node.name} and not on {pe.host}"
        yield from self._in_pool(pe, node)

    def _in_pool(self, pe: Pe, node: Node) -> Iterator[str]:
        mine = {each.pool: each.nodes for each in self.placed.pools}
        own = mine.get(pe.pool) if pe.pool is not None else None
        if own is not None:
            if node.name not in own:
                yield f"PE {pe.id} is on {node.name}, which is no member of its pool"
            at = pe.in_pool_index
            if at is not None and (at >= len(own) or own[at] != node.name):
                yield f"PE {pe.id} is on {node.name}, which is not place {at} of its pool"
        for pool in self.job.pools:
            if pool.is_exclusive and pool.index != pe.pool and node.name in mine[pool.index]:
                yield f"PE {pe.id} is on {node.name}, which is another pool's alone"
        for claim in self.cluster.claims:
            if claim.node == node.name and claim.is_exclusive and claim.job != self.job.name:
                yield f"PE {pe.id} is on {node.name}, which {claim.job} holds"

    # ------------------------------------------------------------------ requests

    def capacity(self) -> Iterator[str]:
        """Nodes that would be asked for more than they have, on which something is new."""
        asked: dict[tuple[str, str], int] = {}
        for pe in self.job.pes:
            node = self.placed.assignment[pe.id]
            for resource, amount in _with_itself(pe.requests):
                asked[node, resource] = asked.get((node, resource), 0) + amount
        free = {name: self.cluster.free(name) for name in {resource for _, resource in asked}}
        for (node, resource), amount in asked.items():
            at = self.cluster.index.get(node)
            if at is not None and amount > int(free[resource][at]):
                yield from self._too_much(node, resource, amount, int(free[resource][at]))

    def _too_much(self, node: str, resource: str, asked: int, free: int) -> Iterator[str]:
        """What the job's own pods have there is free for it; what only stays is not judged."""
        pods = [pod for pod in self.cluster.pods.get(self.job.name, ()) if pod.node == node]
        had = sum(dict(_with_itself(pod.requests)).get(resource, 0) for pod in pods)
        stays = [pod for pod in pods if pod.is_bound and pod.pe in self.running]
        kept = sum(dict(_with_itself(pod.requests)).get(resource, 0) for pod in stays)
        here = [pe for pe in self.job.pes if self.placed.assignment[pe.id] == node]
        moved = [pe for pe in here if pe.id not in self.running]
        more = sum(dict(_with_itself(pe.requests)).get(resource, 0) for pe in moved)
        if asked > free + had and (more > 0 or asked > kept):
            yield f"{node} has {free + had} of {resource}, asked for are {asked}"

    # ------------------------------------------------------------------ pools

    def members(self) -> Iterator[str]:
        """Pools that are not what they are asked to be."""
        mine = {each.pool: each.nodes for each in self.placed.pools}
        for pool in self.job.pools:
            if pool.is_default:
                continue
            names = [name for name in mine.get(pool.index, ()) if name]
            runs = {
                self.running[pe.id]
                for pe in self.job.pes
                if pe.pool == pool.index and pe.id in self.running
            }
            yield from self._sized(pool, names)
            for name in names:
                if name not in runs:
                    yield from self._fits(pool, name)

    def _sized(self, pool: Pool, names: list[str]) -> Iterator[str]:
        if len(set(names)) < len(names) and not pool.hosts:
            yield f"a node is twice in {pool.name}"
        if pool.size is not None and not pool.hosts and len(names) < pool.size:
            yield f"{pool.name} has {len(names)} members and not {pool.size}"
        places = [pe.in_pool_index for pe in self.job.pes if pe.pool == pool.index]
        least = max((place + 1 for place in places if place is not None), default=0)
        if not pool.hosts and pool.size is None and len(names) < max(least, bool(pool.tags)):
            yield f"{pool.name} has {len(names)} members, which are too few"
        if pool.hosts and len(names) != len(pool.hosts):
            yield f"hosts of {pool.name} are missing"

    def _fits(self, pool: Pool, name: str) -> Iterator[str]:
        node = self.cluster.nodes[self.cluster.index[name]]
        if pool.hosts:
            if self.cluster.index[name] not in map(self.cluster.node_of, pool.hosts):
                yield f"{name} is not named by {pool.name}"
            return
        if not set(pool.tags) <= node.tags:
            yield f"{name} lacks tags of {pool.name}"
        if node.unschedulable or not node.ready:
            yield f"{name} of {pool.name} takes no pods"

    def claims(self) -> Iterator[str]:
        """Nodes that two hold of which one does so exclusively."""
        mine = {each.pool: {name for name in each.nodes if name} for each in self.placed.pools}
        for pool in self.job.pools:
            if not pool.is_exclusive:
                continue
            members = mine.get(pool.index, set())
            for other in self.job.pools:
                if other.index != pool.index and members & mine.get(other.index, set()):
                    yield f"{pool.name} and {other.name} share a node"
            for claim in self.cluster.claims:
                if claim.node in members and claim.job != self.job.name:
                    yield f"{claim.node} of {pool.name} is held by {claim.job}"
            yield from self._alone(pool, members)

    def _alone(self, pool: Pool, members: set[str]) -> Iterator[str]:
        """Nodes on which pods of other jobs run."""
        own = self.cluster.pods.get(self.job.name, ())
        for name in sorted(members):
            ours = sum(pod.node == name for pod in own)
            runs_here = any(
                self.running.get(pe.id) == name for pe in self.job.pes if pe.pool == pool.index
            )
            foreign = int(self.cluster.streams_pods[self.cluster.index[name]]) - ours
            if foreign and not runs_here:
                yield f"{name} of {pool.name} runs PEs of other jobs"

    # ------------------------------------------------------------------ colocation, exlocation

    def neighbours(self) -> Iterator[str]:
        """PEs that are together and must not be, or the other way round."""
        running = self.running
        new = [pe for pe in self.job.pes if pe.id not in running]
        domain = {pe.id: self._domain(pe) for pe in self.job.pes}
        for token in sorted({token for pe in new for token in pe.colocations}):
            with_it = [pe for pe in self.job.pes if token in pe.colocations]
            moved = {domain[pe.id] for pe in with_it if pe.id not in running}
            stays = {domain[pe.id] for pe in with_it if pe.id in running} - {None}
            if len(moved) > 1 or None in moved or (stays and not moved <= stays):
                yield f"PEs with {token} are not together"
        for token in sorted({token for pe in new for token in pe.exlocations}):
            apart = [pe for pe in self.job.pes if token in pe.exlocations]
            yield from _meeting(apart, domain, running, f"PEs with {token} are together")
        for pe in self.job.pes:
            if pe.is_isolated:
                for other in self.job.pes:
                    if other.id != pe.id and not {pe.id, other.id} <= running.keys():
                        yield from _meeting(
                            [pe, other], domain, running, f"PE {pe.id} is not alone"
                        )

    def _domain(self, pe: Pe) -> str | None:
        node = self.node(pe)
        if node is None or self.job.topology_key == HOSTNAME:
            return None if node is None else node.name
        return node.labels.get(self.job.topology_key)


def _meeting(
    pes: list[Pe], domain: Mapping[int, str | None], running: Mapping[int, str], said: str
) -> Iterator[str]:
    seen: dict[str, Pe] = {}
    for pe in pes:
        place = domain[pe.id]
        if place is None:
            if pe.id not in running and (pe.is_isolated or pe.exlocations):
                yield f"PE {pe.id} is in no domain"
            continue
        other = seen.setdefault(place, pe)
        if other is not pe and not {pe.id, other.id} <= running.keys():
            yield said


def _with_itself(requests: Amounts) -> list[tuple[str, int]]:
    """What a pod requests, and the pod."""
    return [*requests.items(), *([] if PODS in requests else [(PODS, 1)])]
