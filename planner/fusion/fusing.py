"""Fusion of a fresh plan: fusable units into PEs.

Legacy: one PE for each unit. Manual N is the original's greedy packing, step by step, its quirks
included, because people compare the result with what they know:

1. isolated units get a PE each; the rest shares what is left of N containers;
2. HEAD seeds the emptiest container with a source, else a sink, else what connects most;
3. CONTINUE follows connections downstream until the container has its share of what is left;
4. when there are no more units than containers and one is empty, the tail is spread;
5. a container that refuses every remaining unit is closed; when none is left one is added, so
   constraints may make more than N.

Each unit ends in exactly one container, and no constraint of profiles.py or cohosting.py is
violated by packing.

The original sorts all that is left before every pick, which takes half a minute where 10,000 units
share two PEs. The same picks come from less: a stable sort moves only what is connected to the
container, so each unit has a place in the order, and who moves to the front gets a lower one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from planner.fusion.cohosting import NOBODY_BOUND, Cohosting
from planner.fusion.constraints import Unit
from planner.fusion.neighbouring import fed, feeding
from planner.fusion.profiles import Profile, conflict


class Container:
    """A PE while it is being filled. `bound`: the unit that stands for it in cohosting.py."""

    __slots__ = (
        *("bound", "cohosting", "counted", "fed_by", "feeds", "number", "operators", "profile"),
        *("target", "units"),
    )

    def __init__(self, number: int = 0, cohosting: Cohosting = NOBODY_BOUND) -> None:
        """An empty container; of two that are filled alike the lower number comes first."""
        self.number = number
        self.cohosting = cohosting
        self.bound: Unit | None = None
        self.units: list[Unit] = []
        self.operators = 0
        self.counted: int | None = 0
        self.target: int | None = None
        self.profile: Profile | None = None
        self.feeds: dict[Unit, int] = {}
        self.fed_by: dict[Unit, int] = {}

    @property
    def full(self) -> bool:
        """Whether it holds its share."""
        return self.target is not None and self.operators >= self.target

    def accepts(self, unit: Unit) -> bool:
        """Whether no constraint keeps the unit out."""
        return self.fits(unit) and self.cohosting.refusal(self.bound, unit) is None

    def fits(self, unit: Unit) -> bool:
        """Whether no constraint of what is in here keeps the unit out."""
        return self.profile is None or conflict(unit.profile, self.profile) is None

    def add(self, unit: Unit) -> None:
        """Takes the unit in."""
        self.units.append(unit)
        self.bound = self.cohosting.joined(self.bound, unit)
        self.operators += len(unit.operators)
        self.profile = unit.profile if self.profile is None else self.profile.joined(unit.profile)
        for other, count in fed(unit):
            self.feeds[other] = self.feeds.get(other, 0) + count
        for other, count in feeding(unit):
            self.fed_by[other] = self.fed_by.get(other, 0) + count


Place = tuple[tuple[bool, bool, int], int]
"""Where a unit stands in the order of HEAD; the second part differs for any two."""


def fuse_legacy(units: list[Unit]) -> list[list[Unit]]:
    """One PE for each unit."""
    return [[unit] for unit in units]


def fuse_manual(
    units: list[Unit], pes_max: int, cohosting: Cohosting = NOBODY_BOUND
) -> list[list[Unit]]:
    """At most that many PEs, more where constraints ask for it; by smallest operator."""
    packing = _Packing(units, pes_max, cohosting)
    while packing.remaining:
        packing.place_one()
    filled = [container.units for container in (*packing.completed, *packing.available.values())]
    return sorted(filter(None, filled), key=lambda each: min(unit.operators[0] for unit in each))


class _Chain:
    """What is left to place while one container follows connections: which unit comes next.

    The order is that of stable sorts by connections to the container, most first, before each pick.
    A unit only ever gains connections, so it moves from its group to the end of another: its place
    is (-feeds, -fed by, whether it moved, and its old place or when it moved).
    """

    def __init__(
        self, container: Container, remaining: set[Unit], heads: Mapping[Unit, Place]
    ) -> None:
        self._container = container
        self._remaining = remaining
        self._heads = heads
        self._moves = 0
        self._places: dict[Unit, tuple[int, int, bool, Any]] = {}
        self._heap: list[tuple[tuple[int, int, bool, Any], Unit]] = []
        self._added: Unit | None = None
        for unit in _connected(container, remaining):
            self._put(unit, is_moved=False)

    def note_added(self, unit: Unit) -> None:
        """The container took a unit in; what this changes counts from the next pick on."""
        self._added = unit

    def first_that_fits(self) -> Unit | None:
        """The next connected unit that the container accepts."""
        self._move_neighbours()
        return _first(self._heap, self._places, self._remaining, self._container)

    def connected(self) -> list[Unit]:
        """What is left and connected, in the order of the last pick."""
        left = (unit for unit in self._places if unit in self._remaining)
        return sorted(left, key=self._places.__getitem__)

    def _move_neighbours(self) -> None:
        unit, self._added = self._added, None
        if unit is None:
            return
        neighbours = chain(fed(unit), feeding(unit))
        moving = {other for other, _ in neighbours if other in self._remaining}
        for other in sorted(moving, key=self._place):
            self._put(other, is_moved=True)

    def _place(self, unit: Unit) -> tuple[int, int, bool, Any]:
        return self._places.get(unit) or (0, 0, False, self._heads[unit])

    def _put(self, unit: Unit, *, is_moved: bool) -> None:
        feeds, fed_by = self._container.feeds, self._container.fed_by
        last: Place | int = self._heads[unit]
        if is_moved:
            self._moves += 1
            last = self._moves
        place = (-feeds.get(unit, 0), -fed_by.get(unit, 0), is_moved, last)
        self._places[unit] = place
        heapq.heappush(self._heap, (place, unit))


def _first(
    heap: list[tuple[Any, Unit]],
    places: Mapping[Unit, object],
    remaining: set[Unit],
    container: Container,
) -> Unit | None:
    """The first unit of a heap that is left and that the container accepts; it is taken out."""
    refused: list[tuple[Any, Unit]] = []
    found: Unit | None = None
    while heap and found is None:
        place, unit = heapq.heappop(heap)
        if unit not in remaining or places[unit] != place:
            continue
        if container.accepts(unit):
            found = unit
        else:
            refused.append((place, unit))
    for entry in refused:
        heapq.heappush(heap, entry)
    return found


def _connected(container: Container, remaining: set[Unit]) -> Iterator[Unit]:
    """Units that are left and have a connection to the container, each once.

    The container forgets the placed ones: a hub's thousands must not be passed over every time.
    """
    container.feeds = {u: count for u, count in container.feeds.items() if u in remaining}
    container.fed_by = {u: count for u, count in container.fed_by.items() if u in remaining}
    yield from container.feeds
    yield from (unit for unit in container.fed_by if unit not in container.feeds)


class _Packing:
    """The state of the greedy packing between two rounds.

    What a round needs of all containers is counted along: `_open` containers are not full and have
    `_open_operators`, `_empty` ones have none, `_left` operators are not placed.
    """

    def __init__(self, units: list[Unit], pes_max: int, cohosting: Cohosting) -> None:
        self._cohosting = cohosting
        self.completed: list[Container] = []
        self.available: dict[int, Container] = {}
        self._by_filling: list[tuple[int, int]] = []
        ordered = initial_order(units)
        for unit in ordered:
            if unit.stands_alone:
                self.completed.append(Container(cohosting=cohosting))
                self.completed[-1].add(unit)
        rest = [unit for unit in ordered if not unit.stands_alone]
        self.remaining = set(rest)
        self._places: dict[Unit, Place] = {
            unit: (_head_key(unit), number) for number, unit in enumerate(rest)
        }
        self._heap = [(place, unit) for unit, place in self._places.items()]
        heapq.heapify(self._heap)
        self._front = 0
        self._left = sum(len(unit.operators) for unit in rest)
        self._open = self._empty = self._open_operators = 0
        wanted = min(pes_max, sum(len(unit.operators) for unit in units))
        for _ in range(wanted - len(self.completed)):
            self._add_container()
        self._current: Container | None = None
        self._in_chain = False
        self._chain: _Chain | None = None

    def place_one(self) -> None:
        """One round: place one unit, or close a container, or break a chain."""
        if len(self.remaining) <= len(self.available) and self._empty:
            self._current = None
        heading = self._current is None
        if self._current is None:
            if not self.available:
                self._add_container()
            self._current = self._least_filled()
        else:
            self._in_chain = True
        container = self._current
        self._set_target(container)
        unit = self._first_ahead(container) if heading else self._next_in_chain(container)
        if unit is None:
            if not self._in_chain:
                self._close(container)
            self._in_chain, self._current = False, None
            return
        self._add(container, unit)
        if container.full:
            self._in_chain, self._current = False, None

    # ------------------------------------------------------------------ containers

    def _add_container(self) -> None:
        container = Container(len(self.available) + len(self.completed), self._cohosting)
        self.available[container.number] = container
        heapq.heappush(self._by_filling, (0, container.number))
        self._open += 1
        self._empty += 1

    def _least_filled(self) -> Container:
        while True:
            operators, number = self._by_filling[0]
            container = self.available.get(number)
            if container is not None and container.operators == operators:
                return container
            heapq.heappop(self._by_filling)

    def _close(self, container: Container) -> None:
        del self.available[container.number]
        self.completed.append(container)
        if container.counted is not None:
            self._open -= 1
            self._open_operators -= container.counted
            container.counted = None

    def _add(self, container: Container, unit: Unit) -> None:
        self._empty -= not container.units
        container.add(unit)
        heapq.heappush(self._by_filling, (container.operators, container.number))
        self._count(container)
        self._left -= len(unit.operators)
        self.remaining.remove(unit)
        if self._chain is not None:
            self._chain.note_added(unit)

    def _set_target(self, container: Container) -> None:
        """Its share of what is left, rounded up; only the current container's is renewed."""
        operators = self._left + self._open_operators
        container.target = max(1, -(-operators // max(1, self._open)))
        self._count(container)

    def _count(self, container: Container) -> None:
        before, after = container.counted, None if container.full else container.operators
        self._open += (after is not None) - (before is not None)
        self._open_operators += (after or 0) - (before or 0)
        container.counted = after

    # ------------------------------------------------------------------ which unit

    def _first_ahead(self, container: Container) -> Unit | None:
        """The first unit that fits, sources first, then sinks, then what is large or connected."""
        if self._chain is not None:
            self._move_to_front(self._chain.connected())
            self._chain = None
        connections = {
            unit: container.feeds.get(unit, 0) + container.fed_by.get(unit, 0)
            for unit in _connected(container, self.remaining)
        }
        self._move_to_front(
            sorted(connections, key=lambda unit: (-connections[unit], self._places[unit]))
        )
        return _first(self._heap, self._places, self.remaining, container)

    def _next_in_chain(self, container: Container) -> Unit | None:
        """The first unit that fits, connected most first; none where nothing is connected."""
        if self._chain is None:
            if next(_connected(container, self.remaining), None) is None:
                return None
            self._chain = _Chain(container, self.remaining, self._places)
        return self._chain.first_that_fits()

    def _move_to_front(self, units: list[Unit]) -> None:
        """Gives units, in their order, the first places among those of their kind."""
        for unit in reversed(units):
            self._front -= 1
            place = self._places[unit][0], self._front
            self._places[unit] = place
            heapq.heappush(self._heap, (place, unit))


def _head_key(unit: Unit) -> tuple[bool, bool, int]:
    return (not unit.has_source, not unit.has_sink, -len(unit.operators))


def initial_order(units: list[Unit]) -> list[Unit]:
    """The order of the original's hash set, on which its result depends among equals."""
    size = 16
    while size < len(units) * 4 // 3 + 1:
        size *= 2

    def bucket(unit: Unit) -> int:
        value = (31 + sum(31 + index for index in unit.operators)) & 0xFFFFFFFF
        return (value ^ (value >> 16)) % size

    return sorted(units, key=bucket)
