"""The integer program over classes and nodes, its variables and its rows.

Whole numbers: z[class, node] units of a class on a node; u[pool, node] whether it is a member;
y[group, domain] where a group is. Rows: all units of a class; what is free on a node; at most one
of an exclusion a node or a domain; nobody beside an isolated unit; units of a pool only on its
members; nobody else on members of an exclusive pool. The last two go by whether any isolated unit
is in a domain and any exclusive pool has a node, so that rows grow with classes, not with pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.optimize import Bounds

from placement.cluster import Bools
from placement.columns import TOTAL_MAX, Ints
from placement.problem import NONE, PoolChoice, Problem, UnitClass
from placement.rows import Exhausted, Rows, searched

_TIGHT_MAX: Final = 1e6
"""The largest number of a row of amounts: the solver's tolerance, 1e-6, is then less than a byte
of a terabyte, and numbers of one row do not differ by more than it can bear."""

Counts = tuple[Ints, Ints]
"""Nodes and how many units of a class are on each."""


@dataclass(slots=True, eq=False)
class Variables:
    """Whole numbers of one class or pool: their nodes, bounds, and the number of the first.

    In constraints on domains, the nodes are domains.
    """

    nodes: Ints
    low: Ints
    high: Ints
    first: int

    @property
    def numbers(self) -> Ints:
        return self.first + np.arange(len(self.nodes))

    def find(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Which of these nodes, ascending or not, have one; and which one."""
        if not len(self.nodes):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        where = np.flatnonzero(self.nodes[at] == nodes)
        return where, at[where]


@dataclass(slots=True, eq=False)
class Program:
    problem: Problem
    hard: list[int]
    kept: Ints
    rows: Rows = field(default_factory=Rows)
    z: list[Variables] = field(default_factory=list)
    u: list[Variables | None] = field(default_factory=list)
    groups: dict[int, Variables] = field(default_factory=dict)
    others: list[Variables] = field(default_factory=list)
    width: int = 0

    @property
    def classes(self) -> list[UnitClass]:
        return [self.problem.classes[at] for at in self.hard]

    def state(self) -> bool:
        """State all rows; False where a class or a pool has not even the candidates."""
        self.z = [self._units(each) for each in self.classes]
        self.u = [self._members(pool) if pool.chooses else None for pool in self.problem.pools]
        for number in sorted({each.group for each in self.classes} - {NONE}):
            size = int(self.problem.domains.max(initial=0)) + 1
            one = np.ones(size, np.int64)
            self.groups[number] = self._variables(np.arange(size), one * 0, one)
        if not self._counts():
            return False
        self._capacity()
        self._exclusions()
        self._isolation()
        self._grouping()
        self._pools()
        return True

    def run(self, limit_s: float) -> tuple[list[Counts], list[Bools]] | Exhausted | None:
        """Search."""
        solved = np.zeros(0)
        if self.width:
            chosen = (each for each in self.u if each)
            variables = [*self.z, *chosen, *self.groups.values(), *self.others]
            variables.sort(key=lambda each: each.first)
            bounds = Bounds(
                np.concatenate([each.low for each in variables]).astype(float),
                np.concatenate([each.high for each in variables]).astype(float),
            )
            found = searched(bounds, self.rows, limit_s)
            if found is None or isinstance(found, Exhausted):
                return found
            solved = found
        return self._read(np.rint(solved).astype(np.int64))

    def _read(self, values: Ints) -> tuple[list[Counts], list[Bools]]:
        counts = []
        for each in self.z:
            taken = values[each.numbers]
            counts.append((each.nodes[taken > 0], taken[taken > 0]))
        members = []
        for pool, chosen in zip(self.problem.pools, self.u, strict=True):
            found = pool.forced.copy()
            if chosen is not None:
                found |= self._used_by(pool, counts)
                spare = chosen.nodes[(values[chosen.numbers] > 0) & ~found[chosen.nodes]]
                found[spare[: max(0, pool.least - int(found.sum()))]] = True
            members.append(found)
        return counts, members

    def _used_by(self, pool: PoolChoice, counts: list[Counts]) -> Bools:
        found = np.zeros(len(self.problem.cluster), bool)
        for each, (nodes, _) in zip(self.classes, counts, strict=True):
            if pool.position in each.pools:
                found[nodes] = True
        return found

    # ------------------------------------------------------------------ variables

    def _variables(self, nodes: Ints, low: Ints, high: Ints) -> Variables:
        made = Variables(nodes, low, high, self.width)
        self.width += len(nodes)
        return made

    def _units(self, unit_class: UnitClass) -> Variables:
        high = self.problem.room(unit_class)
        some = (high > 0) & np.isin(unit_class.nodes, self.kept)
        return self._variables(unit_class.nodes[some], high[some] * 0, high[some])

    def _members(self, pool: PoolChoice) -> Variables:
        nodes = self.kept[(pool.candidates | pool.forced)[self.kept]]
        low = pool.forced[nodes].astype(np.int64)
        return self._variables(nodes, low, (low | pool.candidates[nodes]).astype(np.int64))

    # ------------------------------------------------------------------ rows

    def _counts(self) -> bool:
        for each, z in zip(self.classes, self.z, strict=True):
            if int(z.high.sum()) < len(each.units):
                return False
            self._sum(z.numbers, len(each.units), len(each.units))
        for pool, u in zip(self.problem.pools, self.u, strict=True):
            if not pool.chooses or u is None:
                if int(pool.candidates.sum()) < pool.least:
                    return False
                continue
            if int(u.high.sum()) < pool.least or bool((pool.forced & ~pool.candidates).any()):
                return False
            if len(u.nodes):
                self._sum(u.numbers, pool.least, pool.most)
        for y in self.groups.values():
            self._sum(y.numbers, 1, 1)
        return True

    def _sum(self, numbers: Ints, low: float, high: float) -> None:
        self.rows.add(np.zeros(len(numbers), np.int64), numbers, 1.0, low, np.array([float(high)]))

    def _capacity(self) -> None:
        """Amounts are divided by what all of them have in common, so that numbers stay small."""
        nodes_of = [z.nodes for z in self.z]
        for at in range(len(self.problem.resources)):
            requests = [int(each.requests[at]) for each in self.classes]
            common = math.gcd(*requests)
            if not common:
                continue
            free = self.problem.free[:, at] // common
            most = np.zeros_like(free)
            for amount, z in zip(requests, self.z, strict=True):
                most[z.nodes] += z.high * (amount // common)
                np.minimum(most, TOTAL_MAX, out=most)
            tight = np.flatnonzero(most > free)
            if not len(tight):
                continue
            cells = [
                np.isin(nodes, tight) & (amount > 0)
                for nodes, amount in zip(nodes_of, requests, strict=True)
            ]
            row = np.concatenate(
                [np.searchsorted(tight, z.nodes[c]) for z, c in zip(self.z, cells, strict=True)]
            )
            column = np.concatenate([z.numbers[c] for z, c in zip(self.z, cells, strict=True)])
            value = np.concatenate(
                [
                    np.full(int(c.sum()), float(a // common))
                    for c, a in zip(cells, requests, strict=True)
                ]
            )
            scale = np.maximum(1.0, free[tight] / _TIGHT_MAX)
            self.rows.add(row, column, value / scale[row], -np.inf, free[tight] / scale)

    def _exclusions(self) -> None:
        for token, exclusion in enumerate(self.problem.exclusions):
            inside = [
                z for each, z in zip(self.classes, self.z, strict=True) if token in each.apart
            ]
            if not inside:
                continue
            nodes = np.concatenate([z.nodes for z in inside])
            place = nodes if exclusion.is_of_nodes else self.problem.domains[nodes]
            places, row = np.unique(place, return_inverse=True)
            numbers = np.concatenate([z.numbers for z in inside])
            self.rows.add(row.ravel(), numbers, 1.0, -np.inf, np.ones(len(places)))

    def _isolation(self) -> None:
        """Of each domain, whether an isolated unit is there: then nothing else is."""
        pairs = list(zip(self.classes, self.z, strict=True))
        isolated = [z for each, z in pairs if each.is_isolated]
        if not isolated:
            return
        domains = self.problem.domains
        nodes = np.concatenate([z.nodes for z in isolated])
        alone = self._whether_any(domains[nodes], np.concatenate([z.numbers for z in isolated]))
        for each, z in pairs:
            if not each.is_isolated:
                self._close(z, domains[z.nodes], alone)

    def _whether_any(self, places: Ints, numbers: Ints) -> Variables:
        """Of each place, whether one of these is 1; so that at most one is."""
        some, row = np.unique(places, return_inverse=True)
        one = np.ones(len(some), np.int64)
        found = self._variables(some, one * 0, one)
        self.rows.add(
            np.concatenate([row.ravel(), np.arange(len(some))]),
            np.concatenate([numbers, found.numbers]),
            np.concatenate([np.ones(len(numbers)), -np.ones(len(some))]),
            0.0,
            np.zeros(len(some)),
        )
        self.others.append(found)
        return found

    def _close(self, z: Variables, places: Ints, closers: Variables) -> None:
        """z + high · closer ≤ high, where the place of z has one."""
        where, at = closers.find(places)
        high = z.high[where].astype(float)
        row = np.tile(np.arange(len(where)), 2)
        columns = np.concatenate([z.numbers[where], closers.first + at])
        values = np.concatenate([np.ones(len(where)), high])
        self.rows.add(row, columns, values, -np.inf, high)

    def _opening(self, z: Variables, where: Ints, openers: Ints) -> None:
        """z ≤ high · opener, for these of z."""
        high = z.high[where].astype(float)
        row = np.tile(np.arange(len(where)), 2)
        columns = np.concatenate([z.numbers[where], openers])
        values = np.concatenate([np.ones(len(where)), -high])
        self.rows.add(row, columns, values, -np.inf, np.zeros(len(where)))

    def _grouping(self) -> None:
        for each, z in zip(self.classes, self.z, strict=True):
            if each.group != NONE:
                domains = self.problem.domains[z.nodes]
                self._opening(z, np.arange(len(z.nodes)), self.groups[each.group].first + domains)

    def _pools(self) -> None:
        """Units only on members; nobody else on those of an exclusive pool."""
        chosen = [(p, u) for p, u in zip(self.problem.pools, self.u, strict=True) if u is not None]
        exclusive = [u for pool, u in chosen if pool.is_exclusive and len(u.nodes)]
        owned = None
        if exclusive:
            nodes = np.concatenate([u.nodes for u in exclusive])
            owned = self._whether_any(nodes, np.concatenate([u.numbers for u in exclusive]))
        for each, z in zip(self.classes, self.z, strict=True):
            inside = [(pool, u) for pool, u in chosen if pool.position in each.pools]
            for _, u in inside:
                where, at = u.find(z.nodes)
                self._opening(z, where, u.first + at)
            if owned is not None and not any(pool.is_exclusive for pool, _ in inside):
                self._close(z, z.nodes, owned)
        if owned is not None:
            for pool, u in chosen:
                if not pool.is_exclusive:
                    self._close(u, u.nodes, owned)
            self._leaving_enough(owned)

    def _leaving_enough(self, owned: Variables) -> None:
        """Exclusive pools leave a pool that does not choose the members that it needs."""
        for pool in self.problem.pools:
            taken = owned.numbers[pool.candidates[owned.nodes]]
            if not pool.chooses and pool.least and len(taken):
                self._sum(taken, -np.inf, int(pool.candidates.sum()) - pool.least)
