"""The embedded log in memory: the bus of simulations and of a single process.

The log in one file that processes share is in `sqlite_log.py`. What both promise is the contract of
`bus.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.topics import RETENTION_S
from services.chassis.log.bus import NewRecord, Partition, Record
from services.chassis.process.errors import TopicDiffers


@dataclass(slots=True)
class _Kept:
    """The records of a partition from offset `start` on."""

    start: int = 0
    records: deque[Record] = field(default_factory=deque)

    @property
    def end(self) -> int:
        return self.start + len(self.records)


class MemoryLog:
    """A log in memory; `now` gives timestamps (unix seconds)."""

    def __init__(self, *, now: Callable[[], float], retention_s: float = RETENTION_S) -> None:
        self._now = now
        self._retention_s = retention_s
        self._partitions_of: dict[str, int] = {}
        self._kept: dict[Partition, _Kept] = {}
        self._committed: dict[tuple[str, Partition], int] = {}
        self._news: dict[asyncio.Event, None] = {}  # a set would wake in another order each run
        self._lives = 1
        self._closed = False

    @property
    def is_answering(self) -> bool:
        """Always: it is here."""
        return True

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        """Create what is missing; TopicDiffers for a topic that exists with other partitions."""
        for topic, count in partitions_of.items():
            known = self._partitions_of.setdefault(topic, count)
            if known != count:
                raise TopicDiffers(f"topic {topic} has {known} partitions, not {count}")
            for number in range(count):
                self._kept.setdefault(Partition(topic, number), _Kept())

    async def produce(self, records: Sequence[NewRecord]) -> None:
        """Append in order; readers of this process are woken at once."""
        now = self._now()
        kepts = [self._kept[record.partition] for record in records]
        for record, kept in zip(records, kepts, strict=True):
            kept.records.append(
                Record(record.partition, kept.end, now, record.key, record.value, record.headers)
            )
            self._retire(kept, now)
        self._wake()

    async def read(
        self, start: Mapping[Partition, int], *, batch_max: int = 500
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of the partitions from the offsets on, until the log is closed."""
        positions = dict(start)
        news = asyncio.Event()
        self._news[news] = None
        life = self._lives
        try:
            while not self._closed:
                news.clear()
                if life != self._lives:
                    life, positions = self._lives, dict.fromkeys(positions, 0)
                batch = self._take(positions, batch_max)
                if batch:
                    yield batch
                else:
                    await news.wait()
        finally:
            del self._news[news]

    async def assignment(
        self, group: str, topics: Sequence[str]
    ) -> AsyncIterator[frozenset[Partition]]:
        """All partitions, once: every group has one member."""
        yield frozenset(each for each in self._kept if each.topic in topics)

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset that the next record of each partition will get."""
        return {partition: self._kept[partition].end for partition in partitions}

    async def start_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset of the oldest record that each partition still keeps."""
        return {partition: self._kept[partition].start for partition in partitions}

    async def committed(
        self, group: str, partitions: Sequence[Partition]
    ) -> dict[Partition, int | None]:
        """The offsets that a group committed."""
        return {partition: self._committed.get((group, partition)) for partition in partitions}

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group."""
        for partition, offset in offsets.items():
            self._committed[(group, partition)] = offset

    async def empty(self) -> None:
        """Lose every record and every committed offset, as an emptied log does."""
        self._lives += 1
        self._committed.clear()
        for partition in self._kept:
            self._kept[partition] = _Kept()
        self._wake()

    async def close(self) -> None:
        """End every reader."""
        self._closed = True
        self._wake()

    def _take(self, positions: dict[Partition, int], batch_max: int) -> list[Record]:
        batch: list[Record] = []
        for partition, start in positions.items():
            kept = self._kept[partition]
            position = kept.start if not kept.start <= start <= kept.end else start
            taken = min(kept.end - position, batch_max - len(batch))
            first = position - kept.start
            batch += [kept.records[i] for i in range(first, first + taken)]
            positions[partition] = position + taken
        return batch

    def _retire(self, kept: _Kept, now: float) -> None:
        while kept.records and kept.records[0].timestamp_s < now - self._retention_s:
            kept.records.popleft()
            kept.start += 1

    def _wake(self) -> None:
        for news in self._news:
            news.set()
