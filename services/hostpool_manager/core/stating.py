"""States the problem of a job on a cluster, with some families of constraints lifted.

1. PEs with a pod stay where they are: they are no part of the search, but close places to others.
2. Pools get candidates: nodes with their tags, or of their names, that nobody else holds.
3. PEs that must share a node become units; each unit gets the nodes where all of it may run.
4. Units that ask for the same become classes.

With `keeps`, what an earlier decision chose and can be had is fixed, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from services.hostpool_manager.core.answers import Family
from services.hostpool_manager.core.cluster import HOSTNAME, PODS, Bools, Cluster, Ints
from services.hostpool_manager.core.gathering import together
from services.hostpool_manager.core.job import Job, Pe
from services.hostpool_manager.core.pooling import Pooling, chosen_pools
from services.hostpool_manager.core.problem import (
    NONE,
    Exclusion,
    Problem,
    UnitClass,
    with_their_domains,
)

Token = tuple[str, Hashable]


def state(
    cluster: Cluster, job: Job, lifted: frozenset[Family] = frozenset(), *, keeps: bool = False
) -> Problem:
    """The problem of a job."""
    fixed = running(cluster, job)
    domains = cluster.domains(job.topology_key)
    pooling = chosen_pools(cluster, job, fixed, lifted, keeps=keeps)
    resources = () if Family.CAPACITY in lifted else _resources(job)
    free, overfull = _free(cluster, job, fixed, resources)
    statement = _Statement(cluster, job, lifted, keeps, fixed, domains, pooling, resources)
    statement.gather()
    occupied = np.zeros(len(cluster), bool)
    problem = Problem(
        cluster=cluster,
        job=job,
        lifted=lifted,
        resources=resources,
        free=free,
        classes=statement.classes(),
        pools=pooling.choices,
        exclusions=tuple(statement.exclusions),
        domains=domains,
        occupied=occupied,
        fixed=fixed,
        overfull=overfull,
        is_of_hosts=job.topology_key == HOSTNAME,
    )
    occupied |= problem.in_domains_of(_known(fixed.values()))
    return problem


def running(cluster: Cluster, job: Job) -> dict[int, int]:
    """The node of each PE of the job that has a pod; NONE where that node is gone."""
    wanted = {pe.id for pe in job.pes}
    return {
        pod.pe: cluster.index.get(pod.node, NONE)
        for pod in cluster.pods.get(job.name, ())
        if pod.is_bound and pod.pe in wanted
    }


def _known(nodes: Iterable[int]) -> Ints:
    return np.array(sorted({node for node in nodes if node != NONE}), np.int64)


def _resources(job: Job) -> tuple[str, ...]:
    asked = {name for pe in job.pes for name, amount in pe.requests.items() if amount}
    return (PODS, *sorted(asked - {PODS}))


def _amounts(pe: Pe, resources: tuple[str, ...]) -> list[int]:
    return [pe.requests.get(name, int(name == PODS)) for name in resources]


def _free(
    cluster: Cluster, job: Job, fixed: Mapping[int, int], resources: tuple[str, ...]
) -> tuple[Ints, bool]:
    """What is left beside what stays; and whether that asks for more than it did and there is."""
    free = np.zeros((len(cluster), len(resources)), np.int64)
    for at, name in enumerate(resources):
        free[:, at] = cluster.free(name)
    before, now = np.zeros_like(free), np.zeros_like(free)
    for pod in cluster.pods.get(job.name, ()):
        node = cluster.index.get(pod.node, NONE)
        if node == NONE:
            continue
        amounts = [pod.requests.get(name, int(name == PODS)) for name in resources]
        free[node] += np.array(amounts, np.int64)
        if fixed.get(pod.pe) == node and pod.is_bound:
            before[node] += np.array(amounts, np.int64)
    by_id = job.by_id
    for pe, node in fixed.items():
        if node != NONE:
            now[node] += np.array(_amounts(by_id[pe], resources), np.int64)
    free -= now
    overfull = bool(((free < 0) & (now > before)).any())
    return np.maximum(free, 0), overfull


@dataclass(slots=True)
class _Statement:
    """What is gathered while classes are made."""

    cluster: Cluster
    job: Job
    lifted: frozenset[Family]
    keeps: bool
    fixed: Mapping[int, int]
    domains: Ints
    pooling: Pooling
    resources: tuple[str, ...]
    exclusions: list[Exclusion] = field(default_factory=list)
    exclusion_of: dict[Token, int] = field(default_factory=dict)
    closed: Bools = field(default_factory=lambda: np.zeros(0, bool))
    units: list[tuple[Pe, ...]] = field(default_factory=list)
    fixed_tokens: dict[Token, list[int]] = field(default_factory=dict)
    groups: dict[int, int] = field(default_factory=dict)
    masks: dict[Hashable, Bools] = field(default_factory=dict)

    @property
    def is_of_hosts(self) -> bool:
        return self.job.topology_key == HOSTNAME

    # ------------------------------------------------------------------ units, groups, exclusions

    def gather(self) -> None:
        """Units, what keeps them apart, and where what runs keeps them out."""
        moving = [pe for pe in self.job.pes if pe.id not in self.fixed]
        runs = [pe for pe in self.job.pes if self.fixed.get(pe.id, NONE) != NONE]
        for pe in runs:
            for token in (*self._same_place(pe), *self._apart(pe)):
                self.fixed_tokens.setdefault(token, []).append(self.fixed[pe.id])
        self.units = together(moving, self._same_node)
        places = together(moving, self._same_place)
        grouped = [members for members in places if len(members) > 1]
        self.groups = {pe.id: at for at, members in enumerate(grouped) for pe in members}
        counts: dict[Token, int] = {}
        for pe in moving:
            for token in self._apart(pe):
                counts[token] = counts.get(token, 0) + 1
        for token, count in sorted(counts.items(), key=str):
            if count > 1 or token in self.fixed_tokens:
                self._exclude(token)
        isolated = [self.fixed[pe.id] for pe in runs if self._is_isolated(pe)]
        self.closed = self._around(isolated)

    def _exclude(self, token: Token) -> None:
        """Places of a pool that run already are known to pooling.py."""
        is_of_nodes = token[0] == "slot" or self.is_of_hosts
        held = [] if token[0] == "slot" else self.fixed_tokens.get(token, [])
        closed = self._nodes(held) if is_of_nodes else self._around(held)
        self.exclusion_of[token] = len(self.exclusions)
        self.exclusions.append(Exclusion(is_of_nodes=is_of_nodes, closed=closed))

    def _same_node(self, pe: Pe) -> list[Token]:
        slot: list[Token] = []
        if pe.in_pool_index is not None and self.pooling.at(pe) != NONE:
            slot = [("slot of", (pe.pool, pe.in_pool_index))]
        return slot + (self._same_place(pe) if self.is_of_hosts else [])

    def _same_place(self, pe: Pe) -> list[Token]:
        if not pe.colocations or Family.COLOCATION in self.lifted:
            return []
        return [("together", token) for token in sorted(pe.colocations)]

    def _apart(self, pe: Pe) -> list[Token]:
        found: list[Token] = []
        if pe.exlocations and Family.EXLOCATION not in self.lifted:
            found += [("apart", token) for token in sorted(pe.exlocations)]
        if pe.in_pool_index is not None and self.pooling.at(pe) != NONE:
            found.append(("slot", (pe.pool, pe.in_pool_index)))
        return [("slot", pe.pool) if kind == "slot" else (kind, token) for kind, token in found]

    def _is_isolated(self, pe: Pe) -> bool:
        return pe.is_isolated and Family.EXLOCATION not in self.lifted

    def _nodes(self, nodes: Iterable[int]) -> Bools:
        found = np.zeros(len(self.cluster), bool)
        found[_known(nodes)] = True
        return found

    def _around(self, nodes: Iterable[int]) -> Bools:
        found = self._nodes(nodes)
        return found if self.is_of_hosts else with_their_domains(found, self.domains)

    # ------------------------------------------------------------------ classes

    def classes(self) -> tuple[UnitClass, ...]:
        """The units by what they ask for, in the order of their first PE."""
        found: dict[Hashable, list[tuple[int, ...]]] = {}
        made: dict[Hashable, tuple[tuple[Pe, ...], Bools, tuple[int, ...]]] = {}
        for unit in self.units:
            kinds = frozenset(self._kind(pe) for pe in unit)
            each = [_amounts(pe, self.resources) for pe in unit]
            amounts = tuple(map(sum, zip(*each, strict=True)))
            held = self._held_by(unit)
            asked = kinds, amounts, held
            key = (*asked, self._unit_apart(unit), self._group(unit))
            found.setdefault(key, []).append(tuple(pe.id for pe in unit))
            if key not in made:
                made[key] = unit, self._mask(unit), amounts
        return tuple(
            UnitClass(
                units=tuple(found[key]),
                requests=np.array(amounts, np.int64),
                nodes=np.flatnonzero(mask).astype(np.int64),
                pool=next((at for pe in unit if (at := self.pooling.at(pe)) != NONE), NONE),
                apart=self._unit_apart(unit),
                is_isolated=any(self._is_isolated(pe) for pe in unit),
                group=self._group(unit),
            )
            for key, (unit, mask, amounts) in made.items()
        )

    def _kind(self, pe: Pe) -> Hashable:
        assigned = pe.assigned if self.keeps else ""
        asked = pe.host, pe.pool, pe.in_pool_index, pe.tolerations, assigned
        return *asked, self._needs_domain(pe), self._is_isolated(pe)

    def _needs_domain(self, pe: Pe) -> bool:
        is_apart = any(kind == "apart" for kind, _ in self._apart(pe))
        return is_apart or bool(self._same_place(pe)) or self._is_isolated(pe)

    def _clashes(self, unit: tuple[Pe, ...]) -> bool:
        """Whether PEs of one node must not be on one."""
        tokens = [token for pe in unit for token in self._apart(pe) if token[0] == "apart"]
        is_isolated = any(self._is_isolated(pe) for pe in unit)
        pools = {self.pooling.at(pe) for pe in unit}
        is_exclusive = any(self.pooling.choices[at].is_exclusive for at in pools - {NONE})
        return (
            len(set(tokens)) < len(tokens)
            or (is_isolated and len(unit) > 1)
            or (is_exclusive and len(pools) > 1)
        )

    def _unit_apart(self, unit: tuple[Pe, ...]) -> tuple[int, ...]:
        tokens = {token for pe in unit for token in self._apart(pe)}
        return tuple(sorted(self.exclusion_of[each] for each in tokens & self.exclusion_of.keys()))

    def _group(self, unit: tuple[Pe, ...]) -> int:
        """The group of units that share a domain; hosts are shared by a unit alone."""
        if self.is_of_hosts:
            return NONE
        return next((self.groups[pe.id] for pe in unit if pe.id in self.groups), NONE)

    def _held_by(self, unit: tuple[Pe, ...]) -> tuple[tuple[bool, tuple[int, ...]], ...]:
        """Where PEs run that these must be with: (is it their node?, the nodes)."""
        found = []
        for token in sorted({token for pe in unit for token in self._same_place(pe)}, key=str):
            nodes = self.fixed_tokens.get(token)
            if nodes:
                found.append((self.is_of_hosts, tuple(sorted(set(nodes)))))
        return tuple(found)

    def _mask(self, unit: tuple[Pe, ...]) -> Bools:
        if self._clashes(unit):
            return np.zeros(len(self.cluster), bool)
        mask = ~self.closed
        for pe in unit:
            mask &= self._mask_of(pe)
            if self._is_isolated(pe):
                mask &= ~self._around(self.fixed.values())
        for is_node, nodes in self._held_by(unit):
            mask &= self._nodes(nodes) if is_node else self._around(nodes)
        if self.keeps:
            mask = self._kept(unit, mask)
        return mask

    def _kept(self, unit: tuple[Pe, ...], mask: Bools) -> Bools:
        """Where it was assigned to before, if it may still be there."""
        before = {self.cluster.index.get(pe.assigned, NONE) for pe in unit if pe.assigned}
        kept = mask & self._nodes(before)
        return kept if kept.any() else mask

    def _mask_of(self, pe: Pe) -> Bools:
        kind = self._kind(pe)
        if kind not in self.masks:
            self.masks[kind] = self._made_mask(pe)
        return self.masks[kind]

    def _made_mask(self, pe: Pe) -> Bools:
        if Family.CLOSED in self.lifted:
            mask = np.ones(len(self.cluster), bool)
        else:
            mask = self.cluster.open_to(pe.tolerations)
        mask &= ~self.pooling.claimed
        if pe.host and Family.HOSTS not in self.lifted:
            node = self.cluster.node_of(pe.host)
            mask &= self._nodes([] if node is None else [node])
        at = self.pooling.at(pe)
        if at != NONE:
            mask &= self.pooling.choices[at].candidates
            if pe.in_pool_index is not None:
                mask &= self.pooling.slot(at, pe.in_pool_index)
        if self._needs_domain(pe) and not self.is_of_hosts:
            mask &= self.domains != NONE
        return mask
