"""Looks at a placement again, PE by PE in whole numbers, knowing nothing of how it was found.

A PE with a bound pod is not judged: it was placed when the cluster was another, and it stays, even
on a node that does not exist any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import add, gt

import numpy as np

from contracts.labels import HOSTNAME
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS
from placement.answers import Placed
from placement.cluster import Claim, Cluster
from placement.columns import capped
from placement.job import Job, Pe, Pool, bound_nodes
from placement.taken import Amounts

_Where = list[tuple[int, str | None]]
"""PEs, each with the domain that it is in."""


def violations(cluster: Cluster, job: Job, placed: Placed) -> list[str]:
    """What is wrong with a placement, in sentences; empty if it meets all constraints."""
    view = _View(cluster, job, placed, bound_nodes(cluster, job))
    if view.unplaced:
        return [f"PE {pe} has no node that exists" for pe in view.unplaced]
    found = [*view.capacity(), *view.members(), *view.claims()]
    for kind, names in view.kinds:
        found += view.places(kind, names)
    return found + (list(view.neighbours()) if placed.is_as_preferred else [])


@dataclass(slots=True)
class _View:
    """A placement, and values of it that are used again and again.

    `bound`: nodes of PEs with a bound pod; `kinds`: PEs that ask for the same, and the node of
    each; `at`: the numbers of those nodes that exist; `mine`: members by pool, `inside`: as sets;
    `alone`: the exclusive pools that have each node; `held`: claims of other jobs by node; `plain`:
    nodes of `at` that ask for nothing.
    """

    cluster: Cluster
    job: Job
    placed: Placed
    bound: Mapping[int, str]
    kinds: list[tuple[tuple[Pe, ...], list[str]]] = field(init=False)
    at: dict[str, int] = field(init=False)
    mine: Mapping[int | None, tuple[str, ...]] = field(init=False)
    inside: Mapping[int | None, frozenset[str]] = field(init=False)
    alone: dict[str, list[Pool]] = field(init=False)
    held: dict[str, list[Claim]] = field(init=False)
    plain: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        node_of = self.placed.assignment.get
        self.kinds = [(kind, [node_of(pe.id, "") for pe in kind]) for kind in self.job.kinds]
        self.mine = {each.pool: each.nodes for each in self.placed.pools}
        self.inside = {pool: frozenset(nodes) for pool, nodes in self.mine.items()}
        self.alone, self.held = {}, {}
        for pool in self.job.pools:
            if pool.is_exclusive:
                for name in self.mine[pool.index]:
                    self.alone.setdefault(name, []).append(pool)
        used = set[str]().union(*(names for _, names in self.kinds))
        claims = self.cluster.remember("claims by node", lambda: _by_node(self.cluster.claims))
        for name in used.union(*self.mine.values()).intersection(claims):
            others = [claim for claim in claims[name] if claim.job != self.job.name]
            if others:
                self.held[name] = others
        self.at = {name: at for name in used if (at := self.cluster.index.get(name)) is not None}
        self.plain = frozenset(self._plain())

    @property
    def unplaced(self) -> list[int]:
        known, bound = self.cluster.index, set(self.bound.values())
        return [
            pe.id
            for kind, names in self.kinds
            if not bound.issuperset(lost := set(names).difference(known))
            for pe, name in zip(kind, names, strict=True)
            if name in lost - bound
        ]

    def _plain(self) -> Iterator[str]:
        """The nodes that ask for nothing: so are most."""
        asks = self.cluster.unready | self.cluster.cordoned
        for taints, where in self.cluster.tainted:
            asks[where] |= bool(taints)
        for name, at in self.at.items():
            if not (asks[at] or name in self.alone or name in self.held):
                yield name

    # ------------------------------------------------------------------ one PE

    def places(self, kind: tuple[Pe, ...], names: list[str]) -> Iterator[str]:
        """What is wrong with where PEs of one kind are: each of their nodes is looked at once."""
        asks = kind[0].host or kind[0].pool in self.mine or kind[0].selects
        if not asks and self.plain.issuperset(names):
            return
        seen: dict[str, Pe] = {}
        for pe, name in zip(kind, names, strict=True):
            if pe.id not in self.bound:
                seen.setdefault(name, pe)
        for name, pe in seen.items():
            at = self.cluster.index.get(name)
            if at is None:
                yield f"PE {pe.id} is on a node that does not exist"
            elif asks or name not in self.plain:
                yield from self._on(pe, self.cluster.nodes[at])

    def _on(self, pe: Pe, node: Node) -> Iterator[str]:
        if not node.is_open:
            yield f"PE {pe.id} is on {node.name}, which takes no pods"
        for taint in node.untolerated(pe.tolerations):
            yield f"PE {pe.id} does not tolerate {taint.key} of {node.name}"
        if pe.host and self.cluster.node_of(pe.host) != self.cluster.index[node.name]:
            yield f"PE {pe.id} is on {node.name} and not on {pe.host}"
        if pe.selects and not pe.selector.selects(node.name, node.labels):
            yield f"PE {pe.id} is on {node.name}, which its template does not select"
        yield from self._in_pool(pe, node)

    def _in_pool(self, pe: Pe, node: Node) -> Iterator[str]:
        own = self.mine.get(pe.pool, ()) if pe.pool is not None else ()
        if pe.pool in self.inside:
            if node.name not in self.inside[pe.pool]:
                yield f"PE {pe.id} is on {node.name}, which is no member of its pool"
            at = pe.in_pool_index
            if at is not None and (at >= len(own) or own[at] != node.name):
                yield f"PE {pe.id} is on {node.name}, which is not place {at} of its pool"
        if any(pool.index != pe.pool for pool in self.alone.get(node.name, ())):
            yield f"PE {pe.id} is on {node.name}, which is another pool's alone"
        for claim in self.held.get(node.name, ()):
            if claim.is_exclusive:
                yield f"PE {pe.id} is on {node.name}, which {claim.job} holds"

    # ------------------------------------------------------------------ requests

    def capacity(self) -> Iterator[str]:
        """Nodes with something new whose requests exceed what they have."""
        resources = sorted({PODS}.union(*(kind[0].requests for kind, _ in self.kinds)))
        requested: dict[str, list[int]] = {}
        for kind, names in self.kinds:
            own = dict(_with_itself(kind[0].requests))
            amounts = [own.get(name, 0) for name in resources]
            for node in names:
                row = requested.get(node)
                requested[node] = amounts if row is None else list(map(add, row, amounts))
        there = [node for node in requested if node in self.at]
        at = np.array([self.at[node] for node in there], np.int64)
        columns = zip(*(requested[node] for node in there), strict=True)
        for resource, amounts_of in zip(resources, columns, strict=False):
            free = self.cluster.free(resource)[at].tolist()
            if any(map(gt, amounts_of, free)):
                for node, amount, left in zip(there, amounts_of, free, strict=True):
                    if amount > left and amount > 0:
                        yield from self._too_much(node, resource, amount, left)

    def _too_much(self, node: str, resource: str, requested: int, free: int) -> Iterator[str]:
        """What the job's own pods have there is free for it; what only stays is not judged."""
        pods = [pod for pod in self.cluster.pods.get(self.job.name, ()) if pod.node == node]
        had = sum(dict(_with_itself(pod.requests)).get(resource, 0) for pod in pods)
        stays = [pod for pod in pods if pod.is_bound and pod.pe in self.bound]
        kept = sum(dict(_with_itself(pod.requests)).get(resource, 0) for pod in stays)
        here = [pe for pe in self.job.pes if self.placed.assignment[pe.id] == node]
        moved = [pe for pe in here if pe.id not in self.bound]
        more = sum(dict(_with_itself(pe.requests)).get(resource, 0) for pe in moved)
        if requested > free + had and (more > 0 or requested > kept):
            yield f"{node} has {free + had} of {resource}, requested are {requested}"

    # ------------------------------------------------------------------ pools

    def members(self) -> Iterator[str]:
        """Pools that differ from their declaration."""
        for pool in self.job.chosen_pools:
            names = [name for name in self.mine.get(pool.index, ()) if name]
            yield from self._sized(pool, names)
            bound, named = self._bound_in(pool), {self.cluster.node_of(host) for host in pool.hosts}
            for name in names:
                if name not in self.cluster.index:
                    yield f"{name} of {pool.name} does not exist"
                elif name not in bound:
                    yield from self._fits(pool, name, named)

    def _bound_in(self, pool: Pool) -> set[str]:
        """The nodes to which PEs of a pool are bound."""
        if not self.bound:
            return set()
        return {self.bound[pe] for pe in self.job.ids_in(pool) & self.bound.keys()}

    def _sized(self, pool: Pool, names: list[str]) -> Iterator[str]:
        if len(set(names)) < len(names):
            yield f"a node is twice in {pool.name}"
        if pool.size is not None and not pool.hosts and len(names) < pool.size:
            yield f"{pool.name} has {len(names)} members and not {pool.size}"
        least = max((place + 1 for place in self.job.places_in(pool)), default=0)
        if not pool.hosts and pool.size is None and len(names) < max(least, bool(pool.tags)):
            yield f"{pool.name} has {len(names)} members, which are too few"
        nodes = {self.cluster.node_of(host) for host in pool.hosts}
        if None in nodes or (nodes and len(names) != len(nodes)):
            yield f"hosts of {pool.name} are missing"

    def _fits(self, pool: Pool, name: str, named: set[int | None]) -> Iterator[str]:
        at = self.cluster.index[name]
        node = self.cluster.nodes[at]
        if pool.hosts:
            if at not in named:
                yield f"{name} is not named by {pool.name}"
            return
        if pool.tags and not set(pool.tags) <= node.tags:
            yield f"{name} lacks tags of {pool.name}"
        if not node.is_open:
            yield f"{name} of {pool.name} takes no pods"

    def claims(self) -> Iterator[str]:
        """Nodes that two pools hold, one of them exclusively."""
        users: dict[str, list[Pool]] = {}
        for pool in self.job.chosen_pools:
            for name in set(self.mine.get(pool.index, ())) - {""}:
                users.setdefault(name, []).append(pool)
        ours = Counter(pod.node for pod in self.cluster.pods.get(self.job.name, ()))
        bound = {pool.index: self._bound_in(pool) for pool in self.job.chosen_pools}
        for name in sorted(self.alone.keys() & self.cluster.index.keys()):
            pool = self.alone[name][0]
            for other in users.get(name, ()):
                if other.index != pool.index:
                    yield f"{pool.name} and {other.name} share a node"
            for claim in self.held.get(name, ()):
                yield f"{name} of {pool.name} is held by {claim.job}"
            foreign = int(self.cluster.streams_pods[self.cluster.index[name]]) - ours[name]
            if foreign and name not in bound[pool.index]:
                yield f"{name} of {pool.name} runs PEs of other jobs"

    # ------------------------------------------------------------------ colocation, exlocation

    def neighbours(self) -> Iterator[str]:
        """PEs that are together and must not be, or the other way round."""
        for token, pes in self._by_token(lambda pe: pe.colocations):
            moved = {place for pe, place in pes if pe not in self.bound}
            stays = {place for pe, place in pes if pe in self.bound} - {None}
            if len(moved) > 1 or None in moved or (moved and stays and not moved <= stays):
                yield f"PEs with {token} are not together"
        for token, pes in self._by_token(lambda pe: pe.exlocations):
            yield from self._meeting(pes, f"PEs with {token} are together")
        if any(kind[0].is_isolated for kind, _ in self.kinds):
            yield from self._accompanied()

    def _domains(self, kind: tuple[Pe, ...], names: list[str]) -> _Where:
        return [(pe.id, self._domain(name)) for pe, name in zip(kind, names, strict=True)]

    def _domain(self, name: str) -> str | None:
        at = self.cluster.index.get(name)
        if at is None or self.job.topology_key == HOSTNAME:
            return None if at is None else name
        return self.cluster.nodes[at].labels.get(self.job.topology_key)

    def _by_token(self, tokens: Callable[[Pe], frozenset[str]]) -> list[tuple[str, _Where]]:
        found: dict[str, _Where] = {}
        for kind, names in self.kinds:
            if tokens(kind[0]):
                where = self._domains(kind, names)
                for token in tokens(kind[0]):
                    found.setdefault(token, []).extend(where)
        return sorted(found.items())

    def _meeting(self, pes: _Where, sentence: str) -> Iterator[str]:
        new = Counter(place for pe, place in pes if pe not in self.bound)
        stays = {place for pe, place in pes if pe in self.bound}
        if new[None]:
            yield f"{sentence}: some are in no domain"
        for place, count in new.items():
            if place is not None and (count > 1 or place in stays):
                yield sentence

    def _accompanied(self) -> Iterator[str]:
        """Isolated PEs that are not alone; of those that run, what comes is looked at."""
        where = [(kind[0], self._domains(kind, names)) for kind, names in self.kinds]
        all_ = Counter(place for _, pes in where for _, place in pes)
        new = Counter(place for _, pes in where for pe, place in pes if pe not in self.bound)
        for pe, place in (each for first, pes in where if first.is_isolated for each in pes):
            is_new = pe not in self.bound
            if place is None and is_new:
                yield f"PE {pe} is in no domain"
            others = all_[place] - 1 if is_new else new[place]
            if place is not None and others:
                yield f"PE {pe} is not alone"


def _by_node(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.node, []).append(claim)
    return found


def _with_itself(requests: Amounts) -> list[tuple[str, int]]:
    """What a pod requests, counted as what nodes have is; and the pod."""
    amounts = [(name, capped(amount)) for name, amount in requests.items()]
    return [*amounts, *([] if PODS in requests else [(PODS, 1)])]
