"""States the problem of a job on a cluster, with some families of constraints lifted.

1. PEs with a pod stay where they are: they are no part of the search, but close places to others.
2. Pools get candidates: nodes with their tags, or of their names, that nobody else holds.
3. PEs that must share a node become units; each unit gets the nodes where all of it may run.
4. Units that ask for the same become classes.

All of it goes by kinds of PEs, not by PEs. With `keeps`, what an earlier decision chose and can be
had is fixed, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from contracts.labels import HOSTNAME
from contracts.scheduling.requests import AMOUNT_MAX, PODS
from placement.answers import Family
from placement.cluster import Bools, Cluster
from placement.columns import Ints
from placement.gathering import together
from placement.job import Job, Pe, bound_nodes
from placement.masking import Masks
from placement.pooling import Pooling, chosen_pools
from placement.problem import (
    NONE,
    Exclusion,
    Problem,
    UnitClass,
    with_their_domains,
)
from placement.room import amounts_of, free_beside

Token = tuple[str, Hashable]


def build_problem(
    cluster: Cluster, job: Job, lifted: frozenset[Family] = frozenset(), *, keeps: bool = False
) -> Problem:
    """The problem of a job."""
    fixed = {pe: cluster.index.get(node, NONE) for pe, node in bound_nodes(cluster, job).items()}
    domains = cluster.domains(job.topology_key)
    pooling = chosen_pools(cluster, job, fixed, lifted, keeps=keeps)
    resources = () if Family.CAPACITY in lifted else _resources(job)
    free, overfull = free_beside(cluster, job, fixed, resources)
    masks = Masks(cluster, job, lifted, domains, pooling)
    statement = _Draft(cluster, job, lifted, keeps, fixed, domains, pooling, resources, masks)
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
    # In place: the problem holds this array, and its domains are needed to fill it.
    occupied |= problem.in_domains_of(_known(fixed.values()))
    return problem


def _known(nodes: Iterable[int]) -> Ints:
    return np.array(sorted({node for node in nodes if node != NONE}), np.int64)


def _resources(job: Job) -> tuple[str, ...]:
    requested = {name for kind in job.kinds for name, amount in kind[0].requests.items() if amount}
    return (PODS, *sorted(requested - {PODS}))


@dataclass(frozen=True, slots=True)
class _Unit:
    """PEs that share a node: how many of each kind; and all units that are made like it."""

    kinds: tuple[tuple[Pe, int], ...]
    ids: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.kinds)


class _Likeness(NamedTuple):
    """What units of one class have in common; `held` are nodes of what they must be with."""

    demands: frozenset[Hashable]
    clashes: bool
    amounts: tuple[int, ...]
    held: tuple[tuple[int, ...], ...]
    apart: tuple[int, ...]
    group: int
    kept: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    """The state while classes are made."""

    cluster: Cluster
    job: Job
    lifted: frozenset[Family]
    keeps: bool
    fixed: Mapping[int, int]
    domains: Ints
    pooling: Pooling
    resources: tuple[str, ...]
    masks: Masks
    exclusions: list[Exclusion] = field(default_factory=list)
    exclusion_of: dict[Token, int] = field(default_factory=dict)
    closed: Bools | None = None
    taken: Bools | None = None
    units: list[_Unit] = field(default_factory=list)
    fixed_tokens: dict[Token, list[int]] = field(default_factory=dict)
    groups: dict[int, int] = field(default_factory=dict)

    @property
    def is_of_hosts(self) -> bool:
        return self.job.topology_key == HOSTNAME

    # ------------------------------------------------------------------ units, groups, exclusions

    def gather(self) -> None:
        """Collect the units, the groups and the exclusions."""
        moving = self._moving()
        self.units = self._units(moving)
        if not self.is_of_hosts:
            places = together(moving, lambda pes: self._same_place(pes[0]))
            grouped = [kinds for kinds in places if sum(map(len, kinds)) > 1]
            for at, kinds in enumerate(grouped):
                if self._same_place(kinds[0][0]):
                    self.groups.update((pe.id, at) for pes in kinds for pe in pes)
        counts: dict[Token, int] = {}
        for pes in moving:
            for token in self._apart(pes[0]):
                counts[token] = counts.get(token, 0) + len(pes)
        for token, count in sorted(counts.items(), key=str):
            if count > 1 or token in self.fixed_tokens:
                self._exclude(token)

    def _moving(self) -> list[tuple[Pe, ...]]:
        """The kinds without PEs that run; tokens and isolation of these are kept."""
        if not self.fixed:
            return list(self.job.kinds)
        moving, isolated = [], []
        for kind in self.job.kinds:
            runs = [at for pe in kind if (at := self.fixed.get(pe.id, NONE)) != NONE]
            for token in (*self._same_place(kind[0]), *self._apart(kind[0])):
                self.fixed_tokens.setdefault(token, []).extend(runs)
            if self._is_isolated(kind[0]):
                isolated += runs
            if left := tuple(pe for pe in kind if pe.id not in self.fixed):
                moving.append(left)
        self.fixed_tokens = {token: at for token, at in self.fixed_tokens.items() if at}
        self.closed = self._around(isolated) if isolated else None
        self.taken = self._around(self.fixed.values())
        return moving

    def _units(self, moving: list[tuple[Pe, ...]]) -> list[_Unit]:
        """Units by their first kind."""
        found: list[_Unit] = []
        for kinds in together(moving, lambda pes: self._same_node(pes[0])):
            (first, *_) = kinds
            if not self._same_node(first[0]):
                found.append(_Unit(((first[0], 1),), tuple((pe.id,) for pe in first)))
                continue
            ids = tuple(sorted(pe.id for pes in kinds for pe in pes))
            found.append(_Unit(tuple((pes[0], len(pes)) for pes in kinds), (ids,)))
        return found

    def _exclude(self, token: Token) -> None:
        """Places of a pool that run already are known to pooling.py."""
        is_of_nodes = token[0] == "slot" or self.is_of_hosts
        held = [] if token[0] == "slot" else self.fixed_tokens.get(token, [])
        closed = self._nodes(held) if is_of_nodes else self._around(held)
        self.exclusion_of[token] = len(self.exclusions)
        self.exclusions.append(Exclusion(is_of_nodes=is_of_nodes, closed=closed))

    def _same_node(self, pe: Pe) -> list[Token]:
        place = self.pooling.place(pe)
        slot: list[Token] = [] if place is None else [("slot of", (pe.pool, place))]
        return slot + (self._same_place(pe) if self.is_of_hosts else [])

    def _same_place(self, pe: Pe) -> list[Token]:
        if not pe.colocations or Family.COLOCATION in self.lifted:
            return []
        return [("together", token) for token in sorted(pe.colocations)]

    def _apart(self, pe: Pe) -> list[Token]:
        found: list[Token] = []
        if pe.exlocations and Family.EXLOCATION not in self.lifted:
            found += [("apart", token) for token in sorted(pe.exlocations)]
        if self.pooling.place(pe) is not None:
            found.append(("slot", pe.pool))
        return found

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
        alike: dict[_Likeness, list[_Unit]] = {}
        for unit in self.units:
            likeness = _Likeness(
                demands=frozenset(self._demands_of(pe) for pe, _ in unit.kinds),
                clashes=self._clashes(unit),
                amounts=self._amounts(unit),
                held=self._held_by(unit),
                apart=self._unit_apart(unit),
                group=self._group(unit),
                kept=tuple(sorted({pe.assigned for pe, _ in unit.kinds})) if self.keeps else (),
            )
            alike.setdefault(likeness, []).append(unit)
        return tuple(self._class(likeness, units) for likeness, units in alike.items())

    def _class(self, likeness: _Likeness, units: list[_Unit]) -> UnitClass:
        first = units[0]
        return UnitClass(
            units=tuple(ids for unit in units for ids in unit.ids),
            requests=np.array(likeness.amounts, np.int64),
            nodes=self._where(first, likeness),
            pools=tuple(sorted({self.pooling.at(pe) for pe, _ in first.kinds} - {NONE})),
            apart=likeness.apart,
            is_isolated=any(self._is_isolated(pe) for pe, _ in first.kinds),
            group=likeness.group,
        )

    def _demands_of(self, pe: Pe) -> Hashable:
        needs_domain = self._needs_domain(pe)
        return self.masks.key(pe, needs_domain=needs_domain), self._is_isolated(pe)

    def _amounts(self, unit: _Unit) -> tuple[int, ...]:
        """Sums are cut to AMOUNT_MAX + 1, which no node has."""
        each = [
            [count * amount for amount in amounts_of(pe, self.resources)]
            for pe, count in unit.kinds
        ]
        return tuple(min(sum(amounts), AMOUNT_MAX + 1) for amounts in zip(*each, strict=True))

    def _needs_domain(self, pe: Pe) -> bool:
        """Whether its node must be in a domain, where hosts are zones."""
        if self.is_of_hosts:
            return False
        is_apart = any(kind == "apart" for kind, _ in self._apart(pe))
        return is_apart or bool(self._same_place(pe)) or self._is_isolated(pe)

    def _clashes(self, unit: _Unit) -> bool:
        """Whether PEs of the unit may not share a node."""
        if unit.count == 1:
            return False
        tokens = [
            token
            for pe, count in unit.kinds
            for token in self._apart(pe) * min(count, 2)
            if token[0] == "apart"
        ]
        pools = {self.pooling.at(pe) for pe, _ in unit.kinds}
        is_exclusive = any(self.pooling.choices[at].is_exclusive for at in pools - {NONE})
        return (
            len(set(tokens)) < len(tokens)
            or any(self._is_isolated(pe) for pe, _ in unit.kinds)
            or (is_exclusive and len(pools) > 1)
        )

    def _unit_apart(self, unit: _Unit) -> tuple[int, ...]:
        if not self.exclusion_of:
            return ()
        tokens = {token for pe, _ in unit.kinds for token in self._apart(pe)}
        return tuple(sorted(self.exclusion_of[each] for each in tokens & self.exclusion_of.keys()))

    def _group(self, unit: _Unit) -> int:
        """The group of units that share a domain; hosts are shared by a unit alone."""
        if not self.groups:
            return NONE
        ids = (pe.id for pe, _ in unit.kinds)
        return next((self.groups[pe] for pe in ids if pe in self.groups), NONE)

    def _held_by(self, unit: _Unit) -> tuple[tuple[int, ...], ...]:
        """The nodes of what runs already and these must be with, by each token."""
        if not self.fixed_tokens:
            return ()
        tokens = {token for pe, _ in unit.kinds for token in self._same_place(pe)}
        held = (self.fixed_tokens.get(token) for token in sorted(tokens, key=str))
        return tuple(tuple(sorted(set(nodes))) for nodes in held if nodes)

    def _where(self, unit: _Unit, likeness: _Likeness) -> Ints:
        """The nodes where all of a unit may run."""
        (first, _), *others = unit.kinds
        needs = self._needs_domain(first)
        if likeness.clashes:
            return np.zeros(0, np.int64)
        is_beside = bool(likeness.held) or self.closed is not None or self.taken is not None
        if not (is_beside or self.keeps) and len(likeness.demands) == 1:
            return self.masks.nodes(first, needs_domain=needs)
        mask = self.masks.of(first, needs_domain=needs).copy()
        for pe, _ in others:
            mask &= self.masks.of(pe, needs_domain=self._needs_domain(pe))
        if self.closed is not None:
            mask &= ~self.closed
        if self.taken is not None and any(self._is_isolated(pe) for pe, _ in unit.kinds):
            mask &= ~self.taken
        for nodes in likeness.held:
            mask &= self._around(nodes)
        if self.keeps:
            mask = self._kept(unit, mask)
        return np.flatnonzero(mask)

    def _kept(self, unit: _Unit, mask: Bools) -> Bools:
        """Its assigned nodes in `mask`; `mask` if it has no such nodes."""
        before = {self.cluster.index.get(pe.assigned, NONE) for pe, _ in unit.kinds if pe.assigned}
        kept = mask & self._nodes(before)
        return kept if kept.any() else mask
