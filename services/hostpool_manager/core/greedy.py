"""Places what is most constrained first, without ever going back: fast, and often enough right.

1. Pools that choose members and classes of units take turns, ordered by how much of what they could
   take they need. A pool takes its members, then its classes are placed, the tightest first.
2. A class is placed as a whole: spread evenly over its nodes, or packed onto few.
3. Nodes that fewer others could use come first; a draw of numbers shakes this order and that of
   turns, so that other attempts end elsewhere.

A failure proves nothing; a solution holds every constraint of the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from services.hostpool_manager.core.cluster import Bools, Ints
from services.hostpool_manager.core.problem import NONE, PoolChoice, Problem, Solution, UnitClass


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """What shakes an attempt: None of it in the first. The numbers follow from the seed."""

    seed: int | None = None
    packs: bool = False

    def generator(self) -> np.random.Generator | None:
        """Numbers that are the same for the same seed."""
        return None if self.seed is None else np.random.default_rng(self.seed)


def attempt(
    problem: Problem, draw: Draw, is_over: Callable[[], bool] = lambda: False
) -> Solution | UnitClass | PoolChoice:
    """A solution, or the class or the pool that found no place, or was the next as it was over."""
    state = State(problem, draw)
    for pool, classes in _turns(problem, state):
        if pool is not None and not state.choose_members(pool, classes):
            return pool
        for at in classes:
            if is_over() or not state.place(at):
                return problem.classes[at]
    short = state.complete_members()
    return short if short is not None else state.solution()


def _turns(problem: Problem, state: State) -> list[tuple[PoolChoice | None, list[int]]]:
    """Pools with their classes, groups and single classes, the tightest first."""
    tightness = [state.tightness(at) for at in range(len(problem.classes))]
    order = sorted(range(len(problem.classes)), key=lambda at: (-tightness[at], at))
    turns: dict[tuple[str, int], list[int]] = {}
    for pool in problem.pools:
        if pool.chooses:
            turns[("pool", pool.position)] = []
    for at in order:
        unit_class = problem.classes[at]
        key = ("class", at) if unit_class.group == NONE else ("group", unit_class.group)
        if len(unit_class.pools) == 1 and ("pool", unit_class.pool) in turns:
            key = ("pool", unit_class.pool)
        turns.setdefault(key, []).append(at)
    weight: dict[tuple[str, int], float] = {}
    for key, classes in turns.items():
        inside = max((tightness[at] for at in classes), default=0.0)
        if key[0] == "pool":
            pool = problem.pools[key[1]]
            inside = max(inside, pool.least / max(1, int(pool.candidates.sum())))
        is_of_several = any(len(problem.classes[at].pools) > 1 for at in classes)
        weight[key] = -1.0 if is_of_several else inside * state.shake()
    return [
        (problem.pools[key[1]] if key[0] == "pool" else None, turns[key])
        for key in sorted(turns, key=lambda key: (-weight[key], key))
    ]


@dataclass(slots=True, eq=False)
class State:
    """What is placed so far. Arrays are over nodes; `owner` is the exclusive pool that has a node.

    `occupied`: a unit of the job is in the domain; `locked`: an isolated one is; `outsiders`: the
    pool of what is on a node, MIXED where that is not one.
    """

    problem: Problem
    draw: Draw
    free: Ints = field(init=False)
    occupied: Bools = field(init=False)
    locked: Bools = field(init=False)
    closed: list[Bools] = field(init=False)
    owner: Ints = field(init=False)
    user: Ints = field(init=False)
    members: list[Bools] = field(init=False)
    counts: dict[int, tuple[Ints, Ints]] = field(init=False)
    wanted: Ints = field(init=False)
    _generator: np.random.Generator | None = field(init=False)
    _tightness: list[float] = field(init=False)

    def __post_init__(self) -> None:
        problem, nodes = self.problem, len(self.problem.cluster)
        self._generator = self.draw.generator()
        self.free = problem.free.copy()
        self.occupied = problem.occupied.copy()
        self.locked = np.zeros(nodes, bool)
        self.closed = [each.closed.copy() for each in problem.exclusions]
        self.owner = np.full(nodes, NONE, np.int64)
        self.user = np.full(nodes, _NOBODY, np.int64)
        self.members = [pool.forced.copy() for pool in problem.pools]
        self.counts = {}
        self.wanted = np.zeros(nodes, np.int64)
        for pool in problem.pools:
            self.wanted += pool.candidates
            if pool.is_exclusive:
                self.owner[pool.forced] = pool.position
        self._tightness = []
        for unit_class in problem.classes:
            self.wanted[unit_class.nodes] += 1
            self._tightness.append(_tightness(problem, unit_class))

    def shake(self) -> float:
        """1, or near it in a later attempt."""
        return 1.0 if self._generator is None else float(self._generator.uniform(0.5, 2.0))

    def tightness(self, at: int) -> float:
        """How much of what a class could take it needs."""
        return self._tightness[at] * self.shake()

    # ------------------------------------------------------------------ pools

    def choose_members(self, pool: PoolChoice, classes: list[int]) -> bool:
        """Take members of a pool that has a size; others take them as they are used."""
        return not _is_sized(pool) or self._fill(pool, classes)

    def _fill(self, pool: PoolChoice, classes: list[int]) -> bool:
        if bool((pool.forced & ~pool.candidates).any()):
            return False
        members = self.members[pool.position]
        missing = pool.least - int(members.sum())
        open_ = pool.candidates & ~members & ((self.owner == NONE) | (self.owner == pool.position))
        if pool.is_exclusive:
            open_ &= (self.user == _NOBODY) & ~self._in_other_pools(pool)
        where = np.flatnonzero(open_)
        if missing > len(where):
            return False
        if missing > 0:
            chosen = where[self._preferred(where, self._use_of(where, classes))[:missing]]
            members[chosen] = True
        if pool.is_exclusive:
            self.owner[members] = pool.position
        return True

    def _in_other_pools(self, pool: PoolChoice) -> Bools:
        found = np.zeros(len(self.user), bool)
        for other, members in zip(self.problem.pools, self.members, strict=True):
            if other.position != pool.position and other.chooses:
                found |= members
        return found

    def _use_of(self, where: Ints, classes: list[int]) -> Ints:
        """How many units of the pool's classes each node could take."""
        use = np.zeros(len(self.user), np.int64)
        for at in classes:
            unit_class = self.problem.classes[at]
            use[unit_class.nodes] += self._room(unit_class)
        return np.asarray(use[where])

    def complete_members(self) -> PoolChoice | None:
        """Fill pools that took members as they were used; the pool that falls short, or None."""
        for pool in self.problem.pools:
            if pool.chooses and not self._fill(pool, []):
                return pool
        for pool in self.problem.pools:
            left = pool.candidates & (self.owner == NONE)
            if not pool.chooses and int(left.sum()) < pool.least:
                return pool
        return None

    # ------------------------------------------------------------------ classes

    def place(self, at: int) -> bool:
        """Place all units of a class, or say that this cannot be done now."""
        unit_class = self.problem.classes[at]
        room = self._room(unit_class)
        if not self.problem.is_of_hosts:
            room = self._in_domains(at, unit_class, room)
        count = len(unit_class.units)
        if int(room.sum()) < count:
            return False
        order = self._preferred(unit_class.nodes, room)
        if self.draw.packs or self._takes_as_used(unit_class):
            order = order[::-1][np.argsort(self.user[unit_class.nodes][order[::-1]] == _NOBODY)]
            taken = _packed(room, order, count)
        else:
            taken = _spread(room, order, count)
        used = taken > 0
        self.take(at, unit_class.nodes[used], taken[used])
        return True

    def _takes_as_used(self, unit_class: UnitClass) -> bool:
        if unit_class.pool == NONE:
            return False
        pool = self.problem.pools[unit_class.pool]
        return pool.is_exclusive and not _is_sized(pool)

    def _room(self, unit_class: UnitClass) -> Ints:
        """How many units of a class each of its nodes takes now."""
        nodes = unit_class.nodes
        open_ = ~self.locked[nodes]
        for exclusion in unit_class.apart:
            open_ &= ~self.closed[exclusion][nodes]
        owner = self.owner[nodes]
        open_ &= (owner == NONE) | (owner == unit_class.pool)
        if unit_class.is_isolated:
            open_ &= ~self.occupied[nodes]
        for position in unit_class.pools:
            pool = self.problem.pools[position]
            if pool.chooses and _is_sized(pool):
                open_ &= self.members[pool.position][nodes]
            elif pool.chooses and pool.is_exclusive:
                user = self.user[nodes]
                open_ &= (user == _NOBODY) | (user == unit_class.pool)
                open_ &= ~self._in_other_pools(pool)[nodes] | (owner == unit_class.pool)
        room = np.where(open_, self.problem.room(unit_class, self.free), 0)
        return np.minimum(room, 1) if unit_class.is_single else room

    def _in_domains(self, at: int, unit_class: UnitClass, room: Ints) -> Ints:
        """Where hosts are zones: the domain of the group, or one unit a domain."""
        problem = self.problem
        domains = problem.domains[unit_class.nodes]
        if unit_class.group != NONE:
            room = np.where(domains == self._domain_of_group(at, unit_class), room, 0)
        is_one_a_domain = unit_class.is_isolated or any(
            not problem.exclusions[each].is_of_nodes for each in unit_class.apart
        )
        if not is_one_a_domain:
            return room
        order = self._preferred(unit_class.nodes, room)
        order = order[room[order] > 0]
        _, first = np.unique(domains[order], return_index=True)
        single = np.zeros_like(room)
        single[order[first]] = 1
        return single

    def _domain_of_group(self, at: int, unit_class: UnitClass) -> int:
        """Where the group is already; else the domain that has most room for all of it."""
        group = [
            (number, each)
            for number, each in enumerate(self.problem.classes)
            if each.group == unit_class.group
        ]
        for number, _ in group:
            if number in self.counts:
                return int(self.problem.domains[self.counts[number][0][0]])
        size = int(self.problem.domains.max(initial=0)) + 1
        score = np.full(size, np.inf)
        for _, each in group:
            domains = self.problem.domains[each.nodes]
            room = np.bincount(domains, weights=self._room(each), minlength=size)
            score = np.minimum(score, room / len(each.units))
        score = np.minimum(score, 1.0 if self.draw.packs else np.inf)
        if self._generator is not None:
            score = np.where(score >= 1, 1 + self._generator.random(size), score)
        return int(np.argmax(score))

    def _preferred(self, nodes: Ints, room: Ints) -> Ints:
        """The order in which nodes are taken: those that others want less, then the roomiest."""
        wanted = self.wanted[nodes].astype(float)
        if self._generator is not None:
            wanted *= self._generator.uniform(0.3, 3.0, len(nodes))
        return np.lexsort((-room, wanted))

    def take(self, at: int, nodes: Ints, taken: Ints) -> None:
        """Put units of a class on nodes."""
        unit_class = self.problem.classes[at]
        self.counts[at] = nodes, taken
        self.free[nodes] -= taken[:, None] * unit_class.requests[None, :]
        near = self.problem.in_domains_of(nodes)
        self.occupied |= near
        if unit_class.is_isolated:
            self.locked |= near
        for each in unit_class.apart:
            if self.problem.exclusions[each].is_of_nodes:
                self.closed[each][nodes] = True
            else:
                self.closed[each] |= near
        user = self.user[nodes]
        is_first = (user == _NOBODY) | (user == unit_class.pool)
        self.user[nodes] = np.where(is_first, unit_class.pool, _MIXED)
        if self._takes_as_used(unit_class):
            self.members[unit_class.pool][nodes] = True
            self.owner[nodes] = unit_class.pool

    def solution(self) -> Solution:
        """All that was placed."""
        none = np.zeros(0, np.int64)
        return Solution(
            counts=tuple(
                self.counts.get(at, (none, none)) for at in range(len(self.problem.classes))
            ),
            members=tuple(self.members),
        )


_NOBODY, _MIXED = -3, -2


def _is_sized(pool: PoolChoice) -> bool:
    return pool.least == pool.most


def _tightness(problem: Problem, unit_class: UnitClass) -> float:
    room = problem.room(unit_class)
    available = int(np.minimum(room, 1).sum()) if unit_class.is_single else int(room.sum())
    return len(unit_class.units) / max(1, available)


def _spread(room: Ints, order: Ints, count: int) -> Ints:
    """As even as room allows: the lowest level that takes all, the rest by the order."""
    low, high = 1, count
    while low < high:
        middle = (low + high) // 2
        if int(np.minimum(room, middle).sum()) >= count:
            high = middle
        else:
            low = middle + 1
    taken = np.minimum(room, low - 1)
    more = order[room[order] >= low][: count - int(taken.sum())]
    taken[more] += 1
    return taken


def _packed(room: Ints, order: Ints, count: int) -> Ints:
    """Onto as few nodes as the order gives."""
    before = np.cumsum(room[order]) - room[order]
    taken = np.zeros_like(room)
    taken[order] = np.clip(count - before, 0, room[order])
    return taken
