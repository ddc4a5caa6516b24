"""The facts of a source for several replays at once: each is read and decoded once.

Replays of services move on together in time, so they read the same part of a partition one after
the other. Of each partition a few batches are kept; a reader that is further behind begins a
reading of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from contracts.envelope import MalformedRecord
from contracts.facts import Fact, SyncCompleted
from history.entries import DECISION_PARTITIONS
from history.sources import Bounds, Source
from services.chassis.log.bus import Record
from services.chassis.process.collecting import Freezing
from services.chassis.running.replaying import KeptFact
from services.chassis.table.reading import decode, kind_of

BATCHES_KEPT = 8
FROZEN_AT_ONCE = 500_000
"""Nobody waits for the event loop of a replay. A fact that replaces another leaves nothing for the
collector, which looks at all that was kept since the last time."""

_UNKNOWN = object()


class LazyFact:
    """A record of facts; `kind` is that of its key."""

    __slots__ = ("_found", "_record", "kind", "offset", "partition")

    def __init__(self, record: Record) -> None:
        self._record = record
        self._found: object = _UNKNOWN
        self.kind = kind_of(record)
        self.offset, self.partition = record.offset, record.partition

    def decoded(self) -> Fact | SyncCompleted | None:
        """Its fact; None if it cannot be read, so that every service skipped it."""
        if self._found is _UNKNOWN:
            try:
                self._found = decode(self._record).fact
            except MalformedRecord:
                self._found = None
        return self._found  # type: ignore[return-value]


@runtime_checkable
class HasFacts(Protocol):
    """A source that has a shorter way to facts than by their records."""

    def read_facts(self, partition: str, first: int, end: int) -> AsyncIterator[Sequence[KeptFact]]:
        """Batches of facts of a partition, from an offset on, below `end`."""
        ...


async def _lazy(records: AsyncIterator[Sequence[Record]]) -> AsyncGenerator[list[KeptFact], None]:
    async for batch in records:
        yield [LazyFact(each) for each in batch]


@dataclass
class _Reading:
    """A partition from `first` on; `kept` are its newest batches, `next` is the offset behind."""

    batches: AsyncIterator[Sequence[KeptFact]]
    next: int
    kept: deque[Sequence[KeptFact]] = field(default_factory=lambda: deque(maxlen=BATCHES_KEPT))
    is_over: bool = False

    @property
    def first(self) -> int:
        """The lowest offset that is still here or comes."""
        return self.kept[0][0].offset if self.kept else self.next


class SourceFacts:
    """The facts of a source between its bounds, as replays read them."""

    def __init__(
        self,
        source: Source,
        bounds: Mapping[str, Bounds],
        open_ones: AsyncExitStack,
        freeze: Callable[[], None],
    ) -> None:
        self._source, self._freezing = source, Freezing(freeze, FROZEN_AT_ONCE)
        self._bounds = {
            name: each for name, each in bounds.items() if not name.startswith(DECISION_PARTITIONS)
        }
        self._open_ones = open_ones
        self._readings: dict[str, _Reading] = {}

    @property
    def partitions(self) -> Mapping[str, bool]:
        """The partitions of facts, and whether a recording left nothing of them out."""
        return {name: each.is_whole for name, each in self._bounds.items()}

    def note_kept(self, count: int) -> None:
        """Take in that as much was kept as so many facts are."""
        self._freezing.note_kept(count)

    async def read(
        self, partition: str, first: int, end: int
    ) -> AsyncGenerator[Sequence[KeptFact], None]:
        """Batches of records, from offset `first` on, below `end`, in order of their offsets."""
        bounds = self._bounds.get(partition)
        if bounds is None:
            return
        at, end = max(first, bounds.first), min(end, bounds.end)
        while at < end:
            batch = await self._batch(partition, at)
            if not batch:
                return
            if batch[0].offset < at or batch[-1].offset >= end:
                at_now = at
                wanted = [each for each in batch if at_now <= each.offset < end]
            else:
                wanted = list(batch)
            if wanted:
                yield wanted
            at = batch[-1].offset + 1

    async def _batch(self, partition: str, at: int) -> Sequence[KeptFact]:
        """The batch that has the first record from an offset on; empty if no record follows."""
        reading = self._readings.get(partition)
        if reading is None or at < reading.first:
            reading = await self._begin(partition, at)
        for batch in reading.kept:
            if batch[-1].offset >= at:
                return batch
        while not reading.is_over:
            found: Sequence[KeptFact] | None = await anext(reading.batches, None)
            if found is None:
                reading.is_over = True
                break
            batch = found
            self._freezing.note_kept(len(batch))
            reading.kept.append(batch)
            reading.next = batch[-1].offset + 1
            if batch[-1].offset >= at:
                return batch
        return ()

    async def _begin(self, partition: str, at: int) -> _Reading:
        end = self._bounds[partition].end
        batches: AsyncIterator[Sequence[KeptFact]]
        if isinstance(self._source, HasFacts):
            batches = self._source.read_facts(partition, at, end)
        else:
            batches = _lazy(self._source.read(partition, at, end))
        if isinstance(batches, AsyncGenerator):
            self._open_ones.push_async_callback(batches.aclose)
        reading = self._readings[partition] = _Reading(batches, at)
        return reading
