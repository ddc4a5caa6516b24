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
"""

from __future__ import annotations

from services.fusion_backend.core.constraints import Profile, Unit, conflict


class Container:
    """A PE while it is being filled."""

    __slots__ = ("feeds", "fed_by", "operators", "profile", "target", "units")  # noqa: RUF023

    def __init__(self) -> None:
        """An empty container."""
        self.units: list[Unit] = []
        self.operators = 0
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


class _Packing:
    """The state of the greedy packing between two rounds."""

    def __init__(self, units: list[Unit], pes_max: int) -> None:
        self.remaining = initial_order(units)
        self.completed: list[Container] = []
        for unit in [unit for unit in self.remaining if unit.stands_alone]:
            container = Container()
            container.add(unit)
            self.completed.append(container)
            self.remaining.remove(unit)
        wanted = min(pes_max, sum(len(unit.operators) for unit in units))
        self.available = [Container() for _ in range(max(0, wanted - len(self.completed)))]
        self._current: Container | None = None
        self._in_chain = False

    def place_one(self) -> None:
        """One round: place one unit, or close a container, or break a chain."""
        any_empty = any(not container.units for container in self.available)
        if len(self.remaining) <= len(self.available) and any_empty:
            self._current = None
        heading = self._current is None
        if self._current is None:
            if not self.available:
                self.available.append(Container())
            self._current = min(self.available, key=lambda container: container.operators)
        else:
            self._in_chain = True
        container = self._current
        self._set_target(container)
        unit = self._pick(container, heading)
        if unit is None:
            if not self._in_chain:
                self.available.remove(container)
                self.completed.append(container)
            self._in_chain, self._current = False, None
            return
        container.add(unit)
        self.remaining.remove(unit)
        if container.full:
            self._in_chain, self._current = False, None

    def _set_target(self, container: Container) -> None:
        """Its share of what is left, rounded up; only the current container's is renewed."""
        open_ones = [each for each in self.available if not each.full]
        operators = sum(len(unit.operators) for unit in self.remaining)
        operators += sum(each.operators for each in open_ones)
        container.target = max(1, -(-operators // max(1, len(open_ones))))

    def _pick(self, container: Container, heading: bool) -> Unit | None:
        """The first unit that fits, in an order that the list keeps from round to round."""
        feeds, fed_by = container.feeds, container.fed_by
        if heading:
            self.remaining.sort(
                key=lambda unit: (
                    not unit.has_source,
                    not unit.has_sink,
                    -len(unit.operators),
                    -feeds.get(unit, 0) - fed_by.get(unit, 0),
                )
            )
        else:
            self.remaining.sort(key=lambda unit: (-feeds.get(unit, 0), -fed_by.get(unit, 0)))
        for unit in self.remaining:
            connected = heading or unit in feeds or unit in fed_by
            if connected and container.accepts(unit):
                return unit
        return None


def initial_order(units: list[Unit]) -> list[Unit]:
    """The order of the original's hash set, on which its result depends among equals."""
    size = 16
    while size < len(units) * 4 // 3 + 1:
        size *= 2

    def bucket(unit: Unit) -> int:
        value = (31 + sum(31 + index for index in unit.operators)) & 0xFFFFFFFF
        return (value ^ (value >> 16)) % size

    return sorted(units, key=bucket)
