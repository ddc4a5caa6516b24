"""Searches how many nodes are filled in which way, where each can be filled in few ways.

1. A pattern says how many units of each class a node takes; of each kind of nodes all patterns are
   listed to which nothing can be added. One that leaves more of a resource than all nodes together
   may leave cannot be used, and is left out: at the edge few remain. Nor is one begun that classes
   could not fill so far: which amounts they add up to is known beforehand.
2. Whole numbers: how many nodes of a kind have a pattern. Rows: no more than there are; all units
   of a class. Interchangeable nodes count as one kind; a program over single nodes takes too long.
3. What the patterns hold too much of is taken off again.

It answers for jobs whose hosts are nodes and whose pools choose no members: what a node takes then
depends on that node alone. A list of patterns that grows too long says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.optimize import Bounds

from placement.columns import Ints
from placement.problem import Problem
from placement.reducing import Kept
from placement.room import total
from placement.rows import Exhausted, Rows, searched

STEPS_MAX: Final = 400_000
"""Of listing patterns: a quarter of a second to half of one."""
PATTERNS_MAX: Final = 20_000
KINDS_MAX: Final = 64
SUM_MAX: Final = 100_000
"""Of a node's amount of a resource, counted in what all requests have in common."""

Pattern = tuple[int, ...]


def search_patterns(
    problem: Problem, hard: list[int], kept: Kept, limit_s: float
) -> list[tuple[Ints, Ints]] | Exhausted | None:
    """Nodes and counts of each hard class, None if none exist, or that the search gave up."""
    chooses = any(pool.chooses for pool in problem.pools)
    _, first, many = np.unique(kept.kinds, return_index=True, return_counts=True)
    if chooses or not problem.is_of_hosts or not hard or not 0 < len(first) <= KINDS_MAX:
        return Exhausted()
    listing = _Listing(problem, hard, _slack(problem, hard, kept))
    patterns = [listing.of(int(kept.nodes[at])) for at in first.tolist()]
    if listing.is_over:
        return Exhausted()
    found = _counted(problem, hard, patterns, many, limit_s)
    if found is None or isinstance(found, Exhausted):
        return found
    return _read(problem, hard, kept, patterns, found)


def _slack(problem: Problem, hard: list[int], kept: Kept) -> list[int]:
    """What all nodes together have left of each resource when all is placed."""
    classes = [problem.classes[at] for at in hard]
    return [
        total(problem.free[kept.nodes, at])
        - sum(len(each.units) * int(each.requests[at]) for each in classes)
        for at in range(len(problem.resources))
    ]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Which amounts of one resource classes add up to: of each the bits, with those that follow."""

    resource: int
    common: int
    slack: int
    of_class: Mapping[int, int]

    @classmethod
    def of(
        cls, resource: int, common: int, free: int, slack: int, classes: list[tuple[int, int, int]]
    ) -> _Sums:
        """`classes`: in their order, what a unit of each asks for and how many a node takes."""
        mask = (1 << free // common + 1) - 1
        bits, found = 1, {}
        for at, asks, most in reversed(classes):
            for _ in range(most if asks else 0):
                bits |= bits << asks // common & mask
            found[at] = bits
        return cls(resource, common, slack, found)

    def may_fill(self, free: list[int], at: int) -> bool:
        """Whether a class and those that follow could leave no more than may be left."""
        most = free[self.resource] // self.common
        least = max(0, -((self.slack - free[self.resource]) // self.common))
        return bool(self.of_class[at] >> least & (1 << most - least + 1) - 1)


@dataclass(slots=True)
class _Listing:
    """Lists patterns, by classes from the largest."""

    problem: Problem
    hard: list[int]
    slack: list[int]
    steps: int = 0
    count: int = 0
    found: list[Pattern] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    asks: list[list[int]] = field(default_factory=list)
    most: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    is_mindful: bool = False
    sums: _Sums | None = None

    @property
    def is_over(self) -> bool:
        return self.steps > STEPS_MAX or self.count > PATTERNS_MAX

    def of(self, node: int) -> list[Pattern]:
        """The patterns of a node, each with a count by hard class."""
        classes = [self.problem.classes[at] for at in self.hard]
        free = self.problem.free[node].tolist()
        self.asks = [each.requests.tolist() for each in classes]
        self.most = [self._most(at, node, free) for at in range(len(classes))]
        share = [
            max((amount / has for amount, has in zip(ask, free, strict=True) if has), default=0)
            for ask in self.asks
        ]
        some = (at for at in range(len(classes)) if self.most[at])
        self.order = sorted(some, key=lambda at: (-share[at], at))
        self.found = []
        self.counts = [0] * len(classes)
        self.is_mindful = any(each.is_single for each in classes)
        self.sums = self._sums(free)
        self._extend(self.order, [], free)
        return self.found

    def _sums(self, free: list[int]) -> _Sums | None:
        """Of the scarcest resource, if its numbers are small enough."""
        if not free:
            return None
        tight = min(range(len(free)), key=lambda at: self.slack[at] / max(1, free[at]))
        asks = {at: self.asks[at][tight] for at in self.order}
        common = math.gcd(*asks.values())
        if not common or not 0 <= self.slack[tight] < free[tight] <= common * SUM_MAX:
            return None
        return _Sums.of(
            tight,
            common,
            free[tight],
            self.slack[tight],
            [(at, asks[at], self.most[at]) for at in self.order],
        )

    def _most(self, at: int, node: int, free: list[int]) -> int:
        each = self.problem.classes[self.hard[at]]
        place = int(np.searchsorted(each.nodes, node))
        if place == len(each.nodes) or int(each.nodes[place]) != node:
            return 0
        if any(self.problem.exclusions[token].closed[node] for token in each.apart):
            return 0
        pairs = zip(self.asks[at], free, strict=True)
        fits = min((has // asks for asks, has in pairs if asks), default=len(each.units))
        return min(fits, 1 if each.is_single else len(each.units))

    def _extend(self, later: list[int], skipped: list[int], free: list[int]) -> None:
        """Every way to go on with these classes; none of those that were skipped may still fit."""
        self.steps += 1 + len(later) + len(skipped)
        if self.is_over:
            return
        later = [at for at in later if self._fits(at, free)]
        if not later:
            if not any(self._fits(at, free) for at in skipped) and self._leaves_little(free):
                self.count += 1
                self.found.append(tuple(self.counts))
            return
        for place, at in enumerate(later):
            left = [has - asks for has, asks in zip(free, self.asks[at], strict=True)]
            if self.sums is not None and not self.sums.may_fill(left, at):
                self.steps += 1
                continue
            self.counts[at] += 1
            self._extend(later[place:], skipped + later[:place], left)
            self.counts[at] -= 1

    def _fits(self, at: int, free: list[int]) -> bool:
        """Whether one more unit of a class could be added."""
        if self.counts[at] >= self.most[at]:
            return False
        if any(asks > has for asks, has in zip(self.asks[at], free, strict=True)):
            return False
        each = self.problem.classes[self.hard[at]]
        if not self.is_mindful:
            return True
        others = [self.problem.classes[self.hard[o]] for o in self.order if self.counts[o]]
        return not others or not (
            each.is_isolated
            or any(other.is_isolated or set(other.apart) & set(each.apart) for other in others)
        )

    def _leaves_little(self, free: list[int]) -> bool:
        return all(left <= slack for left, slack in zip(free, self.slack, strict=True))


def _counted(
    problem: Problem,
    hard: list[int],
    patterns: list[list[Pattern]],
    many: Ints,
    limit_s: float,
) -> Ints | Exhausted | None:
    """How many nodes have each pattern, of all kinds one after the other."""
    table = np.array([each for found in patterns for each in found], np.int64)
    kind = np.repeat(np.arange(len(patterns)), [len(found) for found in patterns])
    units = np.array([len(problem.classes[at].units) for at in hard])
    if not len(table) or bool((table.max(axis=0) == 0).any()):
        return None
    rows = Rows()
    at, column = np.nonzero(table.T)
    most = np.full(len(hard), np.inf)
    rows.add(at, column, table.T[at, column].astype(float), units.astype(float), most)
    rows.add(kind, np.arange(len(kind)), 1.0, -np.inf, many.astype(float))
    bounds = Bounds(np.zeros(len(kind)), many[kind].astype(float))
    found = searched(bounds, rows, limit_s)
    if found is None or isinstance(found, Exhausted):
        return found
    return np.rint(found).astype(np.int64)


def _read(
    problem: Problem,
    hard: list[int],
    kept: Kept,
    patterns: list[list[Pattern]],
    numbers: Ints,
) -> list[tuple[Ints, Ints]]:
    """The nodes of each kind get its patterns one after the other; what is too much comes off."""
    taken = np.zeros((len(problem.cluster), len(hard)), np.int64)
    start = 0
    for kind, found in zip(np.unique(kept.kinds), patterns, strict=True):
        nodes = kept.nodes[kept.kinds == kind]
        times = numbers[start : start + len(found)]
        start += len(found)
        if found:
            filled = np.repeat(np.array(found, np.int64), times, axis=0)
            taken[nodes[: len(filled)]] = filled[: len(nodes)]
    read = []
    for place, at in enumerate(hard):
        column = taken[:, place]
        before = np.cumsum(column) - column
        column = np.clip(len(problem.classes[at].units) - before, 0, column)
        nodes = np.flatnonzero(column)
        read.append((nodes, column[nodes]))
    return read
