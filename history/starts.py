"""The starts of instances that a log has, and the decisions and observations of each.

The topic of decisions is read once to know where everything is. Decisions of one start are in the
partitions of their jobs, and are recorded after their effects: their order is that of their
positions. A decision itself is read when its turn comes; those that are passed meanwhile wait.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from history.entries import DECISION_PARTITIONS, Decided, Gap, Observed, Place, Unread
from history.merging import entries_in
from history.sources import Bounds, Source
from services.chassis.running.observations import Observed as Kinds

StartName = tuple[str, str]
"""A service, and one start of it."""


class Due(NamedTuple):
    """A decision whose turn comes in this order; `now` is the time that its core was given."""

    observation: int
    facts: int
    now: float
    place: Place


@dataclass
class StartFound:
    """One start of an instance of a service.

    `release` and `settings` are None if it recorded none, as releases before 0.2 did. `first` and
    `end` are where its observations are in `partition`; empty without any.
    """

    service: str
    start: str
    instance: str = ""
    release: str | None = None
    settings: Mapping[str, Any] | None = None
    partition: str = ""
    first: int = 0
    end: int = 0
    decisions: list[Due] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    @property
    def name(self) -> StartName:
        """The service and the start."""
        return self.service, self.start


@dataclass
class Found:
    """What the topic of decisions has: its starts, what is lost, and what nobody can read."""

    starts: dict[StartName, StartFound] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    observations: dict[str, int] = field(default_factory=dict)

    def start_of(self, service: str, start: str) -> StartFound:
        """A start, by its names."""
        return self.starts.setdefault((service, start), StartFound(service, start))


async def find_starts(
    source: Source, bounds: Mapping[str, Bounds], is_wanted: Callable[[Decided], bool]
) -> Found:
    """Read the topic of decisions; decisions that are not wanted are left out."""
    found = Found()
    for partition in _decision_partitions(bounds):
        async with aclosing(entries_in(source, partition, bounds[partition])) as entries:
            async for entry in entries:
                match entry:
                    case Decided() if is_wanted(entry):
                        _add_decision(found, entry)
                    case Observed():
                        _add_observation(found, entry)
                    case Gap():
                        found.gaps.append(entry)
                    case Unread():
                        found.unread.append(entry)
    for each in found.starts.values():
        each.decisions.sort()
    return found


def _decision_partitions(bounds: Mapping[str, Bounds]) -> list[str]:
    return sorted(name for name in bounds if name.startswith(DECISION_PARTITIONS))


def _add_decision(found: Found, entry: Decided) -> None:
    decision, position = entry.decision, entry.decision.position
    start = found.start_of(decision.service, position.start)
    start.instance = start.instance or position.instance
    start.decisions.append(Due(position.observation, position.facts, decision.now, entry.place))
    start.keys.add(decision.key)


def _add_observation(found: Found, entry: Observed) -> None:
    what = entry.observation.what
    found.observations[what] = found.observations.get(what, 0) + 1
    start = found.start_of(entry.service, entry.start)
    if not start.partition:
        start.partition, start.first = entry.place.partition, entry.place.offset
    if start.partition == entry.place.partition:
        start.end = entry.place.offset + 1
    start.instance = start.instance or entry.instance
    content = entry.observation.content
    if what == Kinds.STARTED and isinstance(content, Mapping) and start.settings is None:
        start.release = str(content.get("release", ""))
        settings = content.get("settings")
        start.settings = settings if isinstance(settings, Mapping) else {}


async def observations_of(
    source: Source, start: StartFound, bounds: Mapping[str, Bounds]
) -> AsyncGenerator[Any, None]:
    """The observations of a start, in the order of the log."""
    if not start.partition:
        return
    range_ = Bounds(start.first, start.end, bounds[start.partition].is_whole)
    async with aclosing(entries_in(source, start.partition, range_)) as entries:
        async for entry in entries:
            if isinstance(entry, Observed) and (entry.service, entry.start) == start.name:
                yield entry.observation


class DecisionsAt:
    """Gives wanted decisions by their places, each once, and keeps those that it passes."""

    def __init__(
        self, source: Source, bounds: Mapping[str, Bounds], found: Found, open_ones: AsyncExitStack
    ) -> None:
        self._source, self._bounds, self._open_ones = source, bounds, open_ones
        self._wanted = {due.place for start in found.starts.values() for due in start.decisions}
        self._readings: dict[str, AsyncGenerator[Any, None]] = {}
        self._passed: dict[Place, Decided] = {}

    async def take(self, place: Place) -> Decided:
        """The decision at a place; KeyError if it is not there, or was taken."""
        if place in self._passed:
            return self._passed.pop(place)
        reading = self._readings.get(place.partition)
        if reading is None:
            entries = entries_in(self._source, place.partition, self._bounds[place.partition])
            reading = self._readings[place.partition] = entries
            self._open_ones.push_async_callback(reading.aclose)
        async for entry in reading:
            if not isinstance(entry, Decided):
                continue
            if entry.place == place:
                return entry
            if entry.place in self._wanted:
                self._passed[entry.place] = entry
        raise KeyError(str(place))
