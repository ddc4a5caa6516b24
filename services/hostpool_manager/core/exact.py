"""Finds a solution or proves that there is none, by mixed-integer programming (HiGHS).

1. Classes that always find a place are left out: more nodes take one of their units than all other
   units and pools together could touch. They are placed when the others are.
2. Of nodes that look alike to what is left, as many stay as could be used.
3. Whole numbers: z[class, node] units of a class on a node; u[pool, node] whether it is a member;
   y[group, domain] where a group is. Rows: all units of a class; what is free on a node; at most
   one of an exclusion a node or a domain; nobody beside an isolated unit; units of a pool only on
   its members; nobody else on members of an exclusive pool.
4. A solution is read in whole numbers, and somebody else checks it (checking.py).

"No" comes from the solver's own proof over all nodes. A limit in seconds ends the search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from services.hostpool_manager.core.cluster import Bools, Floats, Ints
from services.hostpool_manager.core.greedy import Draw, State
from services.hostpool_manager.core.problem import NONE, PoolChoice, Problem, Solution, UnitClass
from services.hostpool_manager.core.reducing import hard_classes, nodes_kept

_INFEASIBLE = 2


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The limit was reached, or the solver could not say."""


def solve(problem: Problem, limit_s: float) -> Solution | Exhausted | None:
    """A solution, None where there is none, or that the limit was reached first."""
    hard = hard_classes(problem)
    program = _Program(problem, hard, nodes_kept(problem, hard))
    if not program.state():
        return None
    found = program.run(limit_s)
    if found is None or isinstance(found, Exhausted):
        return found
    return _completed(problem, hard, *found)


def _completed(
    problem: Problem, hard: list[int], counts: list[tuple[Ints, Ints]], members: list[Bools]
) -> Solution | Exhausted:
    """The others beside what was solved."""
    state = State(problem, Draw())
    for at, (nodes, taken) in zip(hard, counts, strict=True):
        state.take(at, nodes, taken)
    for pool, chosen in zip(problem.pools, members, strict=True):
        state.members[pool.position] |= chosen
        if pool.is_exclusive:
            state.owner[state.members[pool.position]] = pool.position
    for at in range(len(problem.classes)):
        if at not in state.counts and not state.place(at):
            return Exhausted()
    return state.solution() if state.complete_members() is None else Exhausted()


# --------------------------------------------------------------------------- the program


@dataclass(slots=True, eq=False)
class _Rows:
    """Rows of a sparse matrix with their bounds."""

    rows: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    low: list[Floats] = field(default_factory=list)
    high: list[Floats] = field(default_factory=list)
    count: int = 0

    def add(
        self, row: Ints, columns: Ints, values: Floats | float, low: float, high: Floats
    ) -> None:
        """Rows numbered from 0 among these; `high` has one bound for each."""
        self.rows.append(row + self.count)
        self.columns.append(columns)
        self.values.append(np.broadcast_to(np.asarray(values, float), columns.shape))
        self.low.append(np.full(len(high), low))
        self.high.append(high)
        self.count += len(high)

    def constraint(self, width: int) -> LinearConstraint:
        """All of them."""
        cells = (
            np.concatenate(self.values),
            (np.concatenate(self.rows), np.concatenate(self.columns)),
        )
        matrix = csr_array(cells, shape=(self.count, width))
        return LinearConstraint(matrix, np.concatenate(self.low), np.concatenate(self.high))


@dataclass(slots=True, eq=False)
class _Variables:
    """Whole numbers of one class or pool: their nodes, bounds, and the number of the first."""

    nodes: Ints
    low: Ints
    high: Ints
    first: int

    @property
    def numbers(self) -> Ints:
        return self.first + np.arange(len(self.nodes))


@dataclass(slots=True, eq=False)
class _Program:
    problem: Problem
    hard: list[int]
    kept: Ints
    rows: _Rows = field(default_factory=_Rows)
    z: list[_Variables] = field(default_factory=list)
    u: list[_Variables | None] = field(default_factory=list)
    groups: dict[int, _Variables] = field(default_factory=dict)
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
        self._leaving_enough()
        self._pools()
        return True

    def run(self, limit_s: float) -> tuple[list[tuple[Ints, Ints]], list[Bools]] | Exhausted | None:
        """Search."""
        solved = np.zeros(0)
        if self.width:
            variables = [*self.z, *(each for each in self.u if each), *self.groups.values()]
            variables.sort(key=lambda each: each.first)
            bounds = Bounds(
                np.concatenate([each.low for each in variables]).astype(float),
                np.concatenate([each.high for each in variables]).astype(float),
            )
            result = milp(
                np.zeros(self.width),
                integrality=np.ones(self.width),
                bounds=bounds,
                constraints=self.rows.constraint(self.width),
                options={"time_limit": limit_s, "presolve": True},
            )
            if result.status == _INFEASIBLE:
                return None
            if result.x is None:
                return Exhausted()
            solved = np.asarray(result.x)
        return self._read(np.rint(solved).astype(np.int64))

    def _read(self, values: Ints) -> tuple[list[tuple[Ints, Ints]], list[Bools]]:
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

    def _used_by(self, pool: PoolChoice, counts: list[tuple[Ints, Ints]]) -> Bools:
        found = np.zeros(len(self.problem.cluster), bool)
        for each, (nodes, _) in zip(self.classes, counts, strict=True):
            if each.pool == pool.position:
                found[nodes] = True
        return found

    # ------------------------------------------------------------------ variables

    def _variables(self, nodes: Ints, low: Ints, high: Ints) -> _Variables:
        made = _Variables(nodes, low, high, self.width)
        self.width += len(nodes)
        return made

    def _units(self, unit_class: UnitClass) -> _Variables:
        high = self.problem.room(unit_class)
        for token in unit_class.apart:
            high[self.problem.exclusions[token].closed[unit_class.nodes]] = 0
        if unit_class.is_single:
            high = np.minimum(high, 1)
        some = (high > 0) & np.isin(unit_class.nodes, self.kept)
        return self._variables(unit_class.nodes[some], high[some] * 0, high[some])

    def _members(self, pool: PoolChoice) -> _Variables:
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
            asked = [int(each.requests[at]) for each in self.classes]
            common = math.gcd(*asked)
            if not common:
                continue
            free = self.problem.free[:, at] // common
            most = np.zeros_like(free)
            for amount, z in zip(asked, self.z, strict=True):
                most[z.nodes] += z.high * (amount // common)
            tight = np.flatnonzero(most > free)
            if not len(tight):
                continue
            cells = [
                np.isin(nodes, tight) & (amount > 0)
                for nodes, amount in zip(nodes_of, asked, strict=True)
            ]
            row = np.concatenate(
                [np.searchsorted(tight, z.nodes[c]) for z, c in zip(self.z, cells, strict=True)]
            )
            column = np.concatenate([z.numbers[c] for z, c in zip(self.z, cells, strict=True)])
            value = np.concatenate(
                [
                    np.full(int(c.sum()), float(a // common))
                    for c, a in zip(cells, asked, strict=True)
                ]
            )
            scale = np.maximum(1, free[tight]).astype(float)
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
        """z + high · (isolated units in the domain) ≤ high, for z of every other class."""
        pairs = list(zip(self.classes, self.z, strict=True))
        isolated = [z for each, z in pairs if each.is_isolated]
        if not isolated:
            return
        domains = self.problem.domains
        nodes = np.concatenate([z.nodes for z in isolated])
        numbers = np.concatenate([z.numbers for z in isolated])
        places, row = np.unique(domains[nodes], return_inverse=True)
        self.rows.add(row.ravel(), numbers, 1.0, -np.inf, np.ones(len(places)))
        by_place = np.argsort(domains[nodes], kind="stable")
        sorted_places = domains[nodes][by_place]
        for each, z in pairs:
            if each.is_isolated:
                continue
            at = domains[z.nodes]
            first = np.searchsorted(sorted_places, at, "left")
            count = np.searchsorted(sorted_places, at, "right") - first
            row = np.repeat(np.arange(len(at)), count)
            offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
            others = numbers[by_place[first[row] + offset]]
            self._closing(z, row, others)

    def _closing(self, z: _Variables, row: Ints, closers: Ints) -> None:
        """z + high · Σ closers ≤ high; `row` is the place of each closer among z."""
        some, compact = np.unique(row, return_inverse=True)
        if not len(some):
            return
        high = z.high[some].astype(float)
        rows = np.concatenate([np.arange(len(some)), compact.ravel()])
        columns = np.concatenate([z.numbers[some], closers])
        values = np.concatenate([np.ones(len(some)), high[compact.ravel()]])
        self.rows.add(rows, columns, values, -np.inf, high)

    def _opening(self, z: _Variables, where: Ints, openers: Ints) -> None:
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

    def _leaving_enough(self) -> None:
        """Exclusive pools leave a pool that does not choose the members that it needs."""
        for pool in self.problem.pools:
            if pool.chooses or not pool.least:
                continue
            taken = [
                u.numbers[pool.candidates[u.nodes]]
                for other, u in zip(self.problem.pools, self.u, strict=True)
                if u is not None and other.is_exclusive
            ]
            numbers = np.concatenate([np.zeros(0, np.int64), *taken])
            if len(numbers):
                self._sum(numbers, -np.inf, int(pool.candidates.sum()) - pool.least)

    def _pools(self) -> None:
        for pool, u in zip(self.problem.pools, self.u, strict=True):
            if u is None or not len(u.nodes):
                continue
            for each, z in zip(self.classes, self.z, strict=True):
                at = np.searchsorted(u.nodes, z.nodes)
                known = u.nodes[np.minimum(at, len(u.nodes) - 1)] == z.nodes
                where = np.flatnonzero(known)
                if each.pool == pool.position:
                    self._opening(z, where, u.first + at[where])
                elif pool.is_exclusive:
                    self._closing(z, where, u.first + at[where])
            for other, v in zip(self.problem.pools, self.u, strict=True):
                is_pair = other.position > pool.position and v is not None
                if is_pair and v is not None and (pool.is_exclusive or other.is_exclusive):
                    both, left, right = np.intersect1d(u.nodes, v.nodes, return_indices=True)
                    row = np.tile(np.arange(len(both)), 2)
                    numbers = np.concatenate([u.first + left, v.first + right])
                    self.rows.add(row, numbers, 1.0, -np.inf, np.ones(len(both)))
