"""Finds places in a log: the first record at a time, where a resync begins, starts of instances."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.facts import KINDS, Epoch, Fact, SyncCompleted
from history.entries import Decided, Entry, Gap, Observed, Place, Seen
from history.sources import Bounds, Source

READING = "reading"
STARTED = "started"
"""Observations of a start: where it reads partitions from, its release and settings."""

StartKey = tuple[str, str]
"""A service, and one start of it."""


async def offset_at(source: Source, partition: str, bounds: Bounds, time_s: float) -> int:
    """The offset of the first record of a partition that was written at a time or later.

    `time_s` is unix seconds. A partition is taken to be in order of time.
    """
    if time_s == -math.inf:
        return bounds.first
    if time_s == math.inf:
        return bounds.end
    first, end = bounds.first, bounds.end
    while first < end:
        middle = (first + end) // 2
        if await _is_before(source, partition, Bounds(middle, end), time_s):
            first = middle + 1
        else:
            end = middle
    return first


async def _is_before(source: Source, partition: str, range_: Bounds, time_s: float) -> bool:
    """Whether a record was written before a time; one that is not there any more was."""
    async for batch in source.read(partition, range_.first, range_.first + 1):
        return batch[0].timestamp_s < time_s
    return True


# --------------------------------------------------------------------------- resyncs


@dataclass
class _Resyncs:
    """Notes the epochs of the facts of one partition, in order."""

    kinds: frozenset[str]
    newest: int | None = None
    _begins: dict[Epoch, int] = field(default_factory=dict)
    _done: dict[Epoch, set[str]] = field(default_factory=dict)

    def note(self, place: Place, fact: Fact | SyncCompleted) -> None:
        epoch = fact.epoch
        if epoch not in self._begins:
            self._begins = {each: at for each, at in self._begins.items() if each > epoch}
            self._begins[epoch] = place.offset
            self._done = {each: self._done[each] for each in self._begins if each in self._done}
        if isinstance(fact, SyncCompleted) and fact.full:
            done = self._done.setdefault(epoch, set())
            done.add(fact.kind)
            if done >= self.kinds:
                self.newest = self._begins[epoch]


async def resync_before(entries: AsyncIterator[Entry], partition: str, time_s: float) -> int | None:
    """Where the newest complete resync before a time begins in a partition of facts, if any does.

    `entries` are those of the partition from its begin on.
    """
    topic = partition.partition("/")[0]
    kinds = (each.kind for each in KINDS.values() if each.topic.suffix == topic)
    resyncs = _Resyncs(frozenset(kinds))
    async for entry in entries:
        if entry.time_s > time_s:
            break
        if isinstance(entry, Seen):
            resyncs.note(entry.place, entry.fact)
    return resyncs.newest


# --------------------------------------------------------------------------- starts


@dataclass
class StartFound:
    """One start of an instance: what the decision topic has of it.

    `observations` are the numbers of the first and the last one that are there, `missing` those
    between that are not, as (first, last), with the place behind each. `places` has, of each
    partition, the first offset with a record of it.
    """

    service: str
    instance: str
    start: str
    release: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    observations: tuple[int, int] = (0, 0)
    reading: dict[str, int] = field(default_factory=dict)
    decisions: int = 0
    needs: int = 0
    places: dict[str, int] = field(default_factory=dict)
    missing: list[tuple[int, int, Place]] = field(default_factory=list)

    def note_observation(self, entry: Observed) -> None:
        """Note an observation; those of a start come in the order of their numbers."""
        self.places.setdefault(entry.place.partition, entry.place.offset)
        number, (first, last) = entry.observation.number, self.observations
        if number > last + 1:
            self.missing.append((last + 1, number - 1, entry.place))
        self.observations = first or number, max(number, last)
        content = entry.observation.content
        if not isinstance(content, Mapping):
            return
        if entry.observation.what == READING:
            offsets = content.get("offsets")
            for name, offset in (offsets if isinstance(offsets, Mapping) else {}).items():
                self.reading[name] = min(offset, self.reading.get(name, offset))
        elif entry.observation.what == STARTED:
            self.release = str(content.get("release") or "")
            settings = content.get("settings")
            self.settings = settings if isinstance(settings, Mapping) else {}

    def note_decision(self, entry: Decided) -> None:
        """Note a decision that is wanted."""
        self.places.setdefault(entry.place.partition, entry.place.offset)
        self.decisions += 1
        self.needs = max(self.needs, entry.decision.position.observation)
        self.release = self.release or entry.decision.release

    def gaps(self) -> list[Gap]:
        """What is missing to make the decisions again."""
        name = f"of {self.service} {self.start}"
        found = [
            Gap(place.partition, place.offset, place.offset, _missing_text(first, last, name))
            for first, last, place in self.missing
            if first <= self.needs
        ]
        last = self.observations[1]
        if last < self.needs:
            where = min(self.places.items(), default=("decisions/0", 0))
            found.append(
                Gap(where[0], where[1], where[1], _missing_text(last + 1, self.needs, name))
            )
        return found


def _missing_text(first: int, last: int, name: str) -> str:
    numbers = f"observation {first}" if first == last else f"observations {first} to {last}"
    return f"{numbers} {name} {'is' if first == last else 'are'} not in the log"


async def starts_in(
    entries: AsyncIterator[Entry], is_wanted: Callable[[Decided], bool]
) -> dict[StartKey, StartFound]:
    """The starts in entries of the decision topic that have a decision that is wanted."""
    found: dict[StartKey, StartFound] = {}
    async for entry in entries:
        if isinstance(entry, Observed):
            key = entry.service, entry.start
            known = found.setdefault(key, StartFound(entry.service, entry.instance, entry.start))
            known.note_observation(entry)
        elif isinstance(entry, Decided) and is_wanted(entry):
            position, service = entry.decision.position, entry.decision.service
            known = found.setdefault(
                (service, position.start), StartFound(service, position.instance, position.start)
            )
            known.note_decision(entry)
    return {key: each for key, each in found.items() if each.decisions}
