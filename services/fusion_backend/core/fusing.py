"""Fusion of a fresh plan: fusable units into PEs.

Legacy: one PE for each unit. Manual N is the original's greedy packing, step by step, its quirks
included, because people compare the result with what they know:

1. isolated units get a PE each; the rest shares what is left of N containers;
2. HEAD seeds the emptiest container with a source, else a sink, else what connects most;
3. CONTINUE follows connections downstream until the container has its share of what is left;
4. when there are no more units than containers and one is empty, the tail is spread;
5. a container that refuses every remaining unit is closed; when none is left one is added, so
   constraints may make more than N.

Each unit ends in exactly one container, and no constraint of constraints.py is violated by packing.

The original sorts all that is left before every pick, which takes half a minute where 10,000 units
share two PEs. The same picks come from less: see `_Chain`, and what `_Packing` counts along.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter

from services.fusion_backend.core.constraints import Profile, Unit, conflict


class Container:
    """A PE while it is being filled."""

    __slots__ = ("counted", "fed_by", "feeds", "operators", "profile", "target", "units")

    def __init__(self) -> None:
        """An empty container."""
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
        return self.profile is None or conflict(unit.profile, self.profile) is None

    def add(self, unit: Unit) -> None:
        """Takes the unit in."""
        self.units.append(unit)
        self.operators += len(unit.operators)
        self.profile = unit.profile if self.profile is None else self.profile.joined(unit.profile)
        for other, count in unit.successors.items():
            self.feeds[other] = self.feeds.get(other, 0) + count
        for other, count in unit.predecessors.items():
            self.fed_by[other] = self.fed_by.get(other, 0) + count


def fuse_legacy(units: list[Unit]) -> list[list[Unit]]:
    """One PE for each unit."""
    return [[unit] for unit in units]


def fuse_manual(units: list[Unit], pes_max: int) -> list[list[Unit]]:
    """At most that many PEs, more where constraints ask for it; by smallest operator."""
    packing = _Packing(units, pes_max)
    while packing.remaining:
        packing.place_one()
    filled = [container.units for container in packing.completed + packing.available]
    return sorted(filter(None, filled), key=lambda each: min(unit.operators[0] for unit in each))


class _Chain:
    """What is left to place while one container follows connections: which unit comes next.

    The order is that of stable sorts by connections to the container, most first, before each pick.
    A unit only ever gains connections, so it moves from its group to the end of another: its place
    is (-feeds, -fed by, number), and the numbers of those that move are given in their old order.
    Units without a connection keep the order in which the chain found them.
    """

    def __init__(self, container: Container, remaining: dict[Unit, None]) -> None:
        self._container = container
        self._remaining = remaining
        self._ranks = {unit: rank for rank, unit in enumerate(remaining)}
        self._numbers = len(remaining)
        self._places: dict[Unit, tuple[int, int, int]] = {}
        self._heap: list[tuple[tuple[int, int, int], Unit]] = []
        self._added: Unit | None = None
        for unit in _connected(container, remaining):
            self._put(unit, self._ranks[unit])

    def note_added(self, unit: Unit) -> None:
        """The container took a unit in; what this changes counts from the next pick on."""
        self._added = unit

    def first_that_fits(self) -> Unit | None:
        """The next connected unit that the container accepts."""
        self._move_neighbours()
        refused: list[tuple[tuple[int, int, int], Unit]] = []
        found: Unit | None = None
        while self._heap and found is None:
            place, unit = heapq.heappop(self._heap)
            if unit not in self._remaining or self._places[unit] != place:
                continue
            if self._container.accepts(unit):
                found = unit
            else:
                refused.append((place, unit))
        for entry in refused:
            heapq.heappush(self._heap, entry)
        return found

    def order(self) -> list[Unit]:
        """What is left, in the order of the last pick."""
        connected = sorted(
            (unit for unit in self._places if unit in self._remaining), key=self._places.__getitem__
        )
        return connected + [unit for unit in self._remaining if unit not in self._places]

    def _move_neighbours(self) -> None:
        unit, self._added = self._added, None
        if unit is None:
            return
        moving = {
            other for other in (*unit.successors, *unit.predecessors) if other in self._remaining
        }
        for other in sorted(moving, key=self._place):
            self._put(other, self._numbers)
            self._numbers += 1

    def _place(self, unit: Unit) -> tuple[int, int, int]:
        return self._places.get(unit) or (0, 0, self._ranks[unit])

    def _put(self, unit: Unit, number: int) -> None:
        feeds, fed_by = self._container.feeds, self._container.fed_by
        place = (-feeds.get(unit, 0), -fed_by.get(unit, 0), number)
        self._places[unit] = place
        heapq.heappush(self._heap, (place, unit))


def _connected(container: Container, remaining: dict[Unit, None]) -> Iterator[Unit]:
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

    def __init__(self, units: list[Unit], pes_max: int) -> None:
        self.completed: list[Container] = []
        self.remaining: dict[Unit, None] = {}
        for unit in initial_order(units):
            if not unit.stands_alone:
                self.remaining[unit] = None
                continue
            container = Container()
            container.add(unit)
            self.completed.append(container)
        self._left = sum(len(unit.operators) for unit in self.remaining)
        wanted = min(pes_max, sum(len(unit.operators) for unit in units))
        self.available = [Container() for _ in range(max(0, wanted - len(self.completed)))]
        self._open = self._empty = len(self.available)
        self._open_operators = 0
        self._current: Container | None = None
        self._in_chain = False
        self._chain: _Chain | None = None
        self._is_in_head_order = False

    def place_one(self) -> None:
        """One round: place one unit, or close a container, or break a chain."""
        if len(self.remaining) <= len(self.available) and self._empty:
            self._current = None
        heading = self._current is None
        if self._current is None:
            if not self.available:
                self._add_container()
            self._current = min(self.available, key=attrgetter("operators"))
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
        self.available.append(Container())
        self._open += 1
        self._empty += 1

    def _close(self, container: Container) -> None:
        self.available.remove(container)
        self.completed.append(container)
        if container.counted is not None:
            self._open -= 1
            self._open_operators -= container.counted
            container.counted = None

    def _add(self, container: Container, unit: Unit) -> None:
        self._empty -= not container.units
        container.add(unit)
        self._count(container)
        self._left -= len(unit.operators)
        del self.remaining[unit]
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
            self._order(self._chain.order())
        connections = {
            unit: container.feeds.get(unit, 0) + container.fed_by.get(unit, 0)
            for unit in _connected(container, self.remaining)
        }
        if connections:
            self._order(
                sorted(
                    self.remaining, key=lambda unit: (_head_key(unit), -connections.get(unit, 0))
                )
            )
        elif not self._is_in_head_order:
            self._order(sorted(self.remaining, key=_head_key))
        self._is_in_head_order = True
        return next((unit for unit in self.remaining if container.accepts(unit)), None)

    def _next_in_chain(self, container: Container) -> Unit | None:
        """The first unit that fits, connected most first; none where nothing is connected."""
        if self._chain is None:
            if next(_connected(container, self.remaining), None) is None:
                return None
            self._chain = _Chain(container, self.remaining)
        return self._chain.first_that_fits()

    def _order(self, units: Iterable[Unit]) -> None:
        self.remaining = dict.fromkeys(units)
        self._chain = None
        self._is_in_head_order = False


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
