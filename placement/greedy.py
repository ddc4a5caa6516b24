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
from typing import Final

import numpy as np

from placement.cluster import Bools, Floats
from placement.columns import Ints
from placement.problem import (
    NONE,
    PoolChoice,
    Problem,
    Solution,
    UnitClass,
    fitting,
)
from placement.spreading import first, packed, spread

_NOBODY: Final = -3
_MIXED: Final = -2
_ALL: Final = slice(None)
_LOOSE: Final = 8
"""A class is loose if its nodes have room for more than this many times its units."""
_FRONT: Final = 4
_FRONT_MORE: Final = 32
"""The nodes that a loose class tries first: _FRONT for each unit, and _FRONT_MORE."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The randomness of an attempt: None in the first. The numbers follow from the seed."""

    seed: int | None = None
    packs: bool = False

    def generator(self) -> np.random.Generator | None:
        """Numbers that are the same for the same seed."""
        return None if self.seed is None else np.random.default_rng(self.seed)


def attempt(
    problem: Problem, draw: Draw, is_over: Callable[[], bool] = lambda: False
) -> Solution | UnitClass | PoolChoice:
    """A solution, or the class or pool that could not be placed, or was next when time ran out."""
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

    `occupied`: a unit of the job is in the domain; `locked`: an isolated one is; `user`: the pool
    of what is on a node, MIXED where that is not one; `touched`: not as in the problem any more.
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
    touched: Bools = field(init=False)
    _generator: np.random.Generator | None = field(init=False)
    _tightness: list[float] = field(init=False)
    _fronts: dict[int, int] = field(default_factory=dict)

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
        self.touched = problem.occupied.copy()
        for pool in problem.pools:
            self.touched |= pool.forced
            if pool.is_exclusive:
                self.owner[pool.forced] = pool.position
        self.wanted, self._tightness = problem.remember("wants", lambda: _wants(problem))

    def shake(self) -> float:
        """1 in the first attempt; a random factor from 0.5 to 2 in later ones."""
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
            use, own = self._use_of(where, classes)
            preferred = self._preferred(where, use) - own
            chosen = where[first(np.arange(len(where)), preferred, missing)]
            members[chosen] = True
        if pool.is_exclusive:
            self.owner[members] = pool.position
        self.touched |= members
        return True

    def _in_other_pools(self, pool: PoolChoice) -> Bools:
        found = np.zeros(len(self.user), bool)
        for other, members in zip(self.problem.pools, self.members, strict=True):
            if other.position != pool.position and other.chooses:
                found |= members
        return found

    def _use_of(self, where: Ints, classes: list[int]) -> tuple[Ints, Ints]:
        """How many units of the pool's classes each node could take, and how many of the classes.

        These are no others that want the node: without them a pool holds nodes for nothing.
        """
        use, own = np.zeros((2, len(self.user)), np.int64)
        for at in classes:
            unit_class = self.problem.classes[at]
            use[unit_class.nodes] += self._room(unit_class, _ALL)
            own[unit_class.nodes] += 1
        return use[where], own[where]

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
        inside = self._inside(unit_class)
        if inside is _ALL and self._is_loose(at):
            front = self._front(unit_class.nodes, _front_of(unit_class))
            if self._place_on(at, front):
                return True
        return self._place_on(at, inside)

    def _place_on(self, at: int, where: Ints | slice) -> bool:
        """Like `place`, on the nodes at these positions."""
        unit_class = self.problem.classes[at]
        nodes = unit_class.nodes[where]
        room = self._room(unit_class, where)
        if not self.problem.is_of_hosts:
            room = self._in_domains(at, nodes, room)
        count = len(unit_class.units)
        if int(room.sum()) < count:
            return False
        preferred = self._preferred(nodes, room)
        if self.draw.packs or self._takes_as_used(unit_class):
            is_new = self.user[nodes] == _NOBODY
            taken = packed(room, np.where(is_new, -preferred, -np.inf), count)
        else:
            taken = spread(room, preferred, count)
        used = np.flatnonzero(taken)
        self.take(at, nodes[used], taken[used])
        return True

    def _inside(self, unit_class: UnitClass) -> Ints | slice:
        """Positions in `unit_class.nodes` of the members of its sized pools; all without such
        pools."""
        found: Ints | slice = _ALL
        for position in unit_class.pools:
            if self.problem.pools[position].chooses and _is_sized(self.problem.pools[position]):
                members = self.members[position][unit_class.nodes]
                if not isinstance(found, slice):
                    members[np.setdiff1d(np.arange(len(members)), found)] = False
                found = np.flatnonzero(members)
        return found

    def _is_loose(self, at: int) -> bool:
        """Whether a class has so much room that a few of its nodes will do."""
        unit_class = self.problem.classes[at]
        is_first = self._generator is None and not self.draw.packs
        few = 2 * _front_of(unit_class) < len(unit_class.nodes)
        is_plain = self.problem.is_of_hosts and not self._takes_as_used(unit_class)
        return is_first and is_plain and few and self._tightness[at] * _LOOSE < 1

    def _front(self, nodes: Ints, count: int) -> Ints:
        """Some of the nodes that fewest others want; each time others, as long as there are."""

        def made() -> tuple[Ints, int]:
            wanted = np.minimum(self.wanted[nodes], np.iinfo(np.int16).max).astype(np.int16)
            return np.argsort(wanted, kind="stable"), int((wanted == wanted.min()).sum())

        order, least_wanted = self.problem.remember(("front", id(nodes)), made)
        start = self._fronts.get(id(nodes), 0)
        start = 0 if start + count > least_wanted else start
        self._fronts[id(nodes)] = start + count
        return order[start : start + count]

    def _takes_as_used(self, unit_class: UnitClass) -> bool:
        if unit_class.pool == NONE:
            return False
        pool = self.problem.pools[unit_class.pool]
        return pool.is_exclusive and not _is_sized(pool)

    def _room(self, unit_class: UnitClass, where: Ints | slice) -> Ints:
        """How many units of a class some of its nodes take now; nobody writes into it."""
        if not isinstance(where, slice):
            return self._room_now(unit_class, unit_class.nodes[where])
        room = self.problem.room(unit_class)
        touched = np.flatnonzero(self.touched[unit_class.nodes])
        if len(touched):
            room = room.copy()
            room[touched] = self._room_now(unit_class, unit_class.nodes[touched])
        return room

    def _room_now(self, unit_class: UnitClass, nodes: Ints) -> Ints:
        """The same for some nodes, where other units or pools may be."""
        open_ = ~self.locked[nodes]
        for exclusion in unit_class.apart:
            open_ &= ~self.closed[exclusion][nodes]
        owner = self.owner[nodes]
        open_ &= (owner == NONE) | (owner == unit_class.pool)
        if unit_class.is_isolated:
            open_ &= ~self.occupied[nodes]
        for position in unit_class.pools:
            pool = self.problem.pools[position]
            if pool.chooses and pool.is_exclusive and not _is_sized(pool):
                user = self.user[nodes]
                open_ &= (user == _NOBODY) | (user == unit_class.pool)
                open_ &= ~self._in_other_pools(pool)[nodes] | (owner == unit_class.pool)
        return np.where(open_, fitting(unit_class, self.free.take(nodes, axis=0).T), 0)

    def _in_domains(self, at: int, nodes: Ints, room: Ints) -> Ints:
        """Where hosts are zones: the domain of the group, or one unit a domain."""
        unit_class, domains = self.problem.classes[at], self.problem.domains[nodes]
        if unit_class.group != NONE:
            room = np.where(domains == self._domain_of_group(at, unit_class), room, 0)
        is_one_a_domain = unit_class.is_isolated or any(
            not self.problem.exclusions[each].is_of_nodes for each in unit_class.apart
        )
        if not is_one_a_domain:
            return room
        some = np.flatnonzero(room)
        order = first(some, self._preferred(nodes, room), len(some))
        _, one_each = np.unique(domains[order], return_index=True)
        single = np.zeros_like(room)
        single[order[one_each]] = 1
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
            inside = self._inside(each)
            domains = self.problem.domains[each.nodes[inside]]
            room = np.bincount(domains, weights=self._room(each, inside), minlength=size)
            score = np.minimum(score, room / len(each.units))
        score = np.minimum(score, 1.0 if self.draw.packs else np.inf)
        if self._generator is not None:
            score = np.where(score >= 1, 1 + self._generator.random(size), score)
        return int(np.argmax(score))

    def _preferred(self, nodes: Ints, room: Ints) -> Floats:
        """The lower, the sooner a node is taken: those that others want less, then the roomiest."""
        wanted = self.wanted[nodes].astype(float)
        if self._generator is not None:
            wanted *= self._generator.uniform(0.3, 3.0, len(nodes))
        return wanted - room / (1.0 + float(room.max(initial=0)))

    def take(self, at: int, nodes: Ints, taken: Ints) -> None:
        """Put units of a class on nodes."""
        unit_class = self.problem.classes[at]
        self.counts[at] = nodes, taken
        self.free[nodes] -= taken[:, None] * unit_class.requests[None, :]
        near = nodes if self.problem.is_of_hosts else self.problem.in_domains_of(nodes)
        self.occupied[near] = True
        self.touched[near] = True
        if unit_class.is_isolated:
            self.locked[near] = True
        for each in unit_class.apart:
            where = nodes if self.problem.exclusions[each].is_of_nodes else near
            self.closed[each][where] = True
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


def _front_of(unit_class: UnitClass) -> int:
    return _FRONT * len(unit_class.units) + _FRONT_MORE


def _is_sized(pool: PoolChoice) -> bool:
    return pool.least == pool.most


def _wants(problem: Problem) -> tuple[Ints, list[float]]:
    """How many pools and classes could use each node; what part of its room each class needs."""
    wanted = np.zeros(len(problem.cluster), np.int64)
    for pool in problem.pools:
        wanted += pool.candidates
    shared: dict[int, tuple[Ints, int]] = {}
    for each in problem.classes:
        shared[id(each.nodes)] = each.nodes, shared.get(id(each.nodes), (each.nodes, 0))[1] + 1
    for nodes, count in shared.values():
        wanted[nodes] += count
    return wanted, [
        len(each.units) / max(1.0, problem.room_in_all(each)) for each in problem.classes
    ]
