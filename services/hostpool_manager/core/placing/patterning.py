"""Searches how many nodes are filled in which way, where each can be filled in few ways.

1. A pattern says how many units of each class a node takes; of each kind of nodes all patterns are
   listed to which nothing can be added. One that leaves more of a resource than all nodes together
   may leave cannot be used, and is left out: at the edge few remain.
2. Whole numbers: how many nodes of a kind have a pattern. Rows: no more than there are; all units
   of a class. Nodes that look alike are not told apart, on which a program over nodes founders.
3. What the patterns hold too much of is taken off again.

It answers for jobs whose hosts are nodes and whose pools choose no members: what a node takes then
depends on that node alone. A list of patterns that grows too long says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.optimize import Bounds

from services.hostpool_manager.core.placing.cluster import Ints
from services.hostpool_manager.core.placing.problem import Problem
from services.hostpool_manager.core.placing.reducing import Kept
from services.hostpool_manager.core.placing.room import total
from services.hostpool_manager.core.placing.rows import Exhausted, Rows, searched

STEPS_MAX: Final = 150_000
"""Of listing patterns: about half a second."""
PATTERNS_MAX: Final = 20_000
KINDS_MAX: Final = 64

Pattern = tuple[int, ...]


def search_patterns(
    problem: Problem, hard: list[int], kept: Kept, limit_s: float
) -> list[tuple[Ints, Ints]] | Exhausted | None:
    """Nodes and counts of each hard class, None where there are none, or that it cannot say."""
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
        self._extend(self.order, [], free)
        return self.found

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
            self.counts[at] += 1
            left = [has - asks for has, asks in zip(free, self.asks[at], strict=True)]
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
    asked = np.array([len(problem.classes[at].units) for at in hard])
    if not len(table) or bool((table.max(axis=0) == 0).any()):
        return None
    rows = Rows()
    at, column = np.nonzero(table.T)
    most = np.full(len(hard), np.inf)
    rows.add(at, column, table.T[at, column].astype(float), asked.astype(float), most)
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
