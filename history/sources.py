"""Where a history is read from: a log (Kafka, the embedded one), or a recording of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Protocol

from contracts.topics import CATALOGUE, TopicLayout, sync_group
from history.entries import partition_name, partition_named
from services.chassis.log.bus import Bus, Partition, Record

LOOK_EVERY_S: Final = 1.0
LOOKS_MAX: Final = 10
"""After so many looks at a silent log its records are missing."""
"""How often a reader that waits for records looks whether the log still has them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which records a partition has: from offset `first` on, below `end`.

    Not `is_whole`: a recording left some of them out, which is no gap.
    """

    first: int
    end: int
    is_whole: bool = True


class Source(Protocol):
    """Records by partition; partitions go by their names (`history.entries.partition_name`)."""

    @property
    def layout(self) -> TopicLayout:
        """The names and sizes of the topics."""
        ...

    async def bounds(self) -> Mapping[str, Bounds]:
        """What each partition has now."""
        ...

    def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of a partition, from an offset on, below `end`; None: for ever.

        A recording has an end: it ends there where `end` is None.
        """
        ...

    async def synced(self) -> Mapping[str, int]:
        """Where the newest complete resync begins in each partition; nothing before the first."""
        ...


async def _batch_of(batches: AsyncIterator[Sequence[Record]]) -> Sequence[Record]:
    return await anext(batches, ())


def manifest_of(source: Source) -> Any:
    """The manifest of a recording; None of a log, which has none."""
    return getattr(source, "manifest", None)


class LogSource:
    """A log as a source. It produces and commits nothing, and is a member of no group."""

    def __init__(self, bus: Bus, layout: TopicLayout) -> None:
        self._bus = bus
        self._layout = layout

    @property
    def layout(self) -> TopicLayout:
        """The names and sizes of the topics."""
        return self._layout

    async def bounds(self) -> Mapping[str, Bounds]:
        """What each partition has now."""
        partitions = self._partitions()
        firsts = await self._bus.start_offsets(partitions)
        ends = await self._bus.end_offsets(partitions)
        return {self._name(each): Bounds(firsts[each], ends[each]) for each in partitions}

    async def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of a partition, from an offset on, below `end`; None: for ever.

        It ends early where the log is emptied meanwhile.
        """
        if end is not None and first >= end:
            return
        named = partition_named(partition, self._layout)
        async with aclosing(self._bus.read({named: first})) as batches:  # type: ignore[type-var]
            if end is None:
                async for batch in batches:
                    yield batch
                return
            at = first
            while at < end:
                batch = await self._next(batches, named, end)
                if not batch or batch[0].offset < at:
                    return  # the log was emptied: these records are of another life
                kept = [each for each in batch if each.offset < end]
                if kept:
                    yield kept
                at = batch[-1].offset + 1

    async def _next(
        self, batches: AsyncIterator[Sequence[Record]], partition: Partition, end: int
    ) -> Sequence[Record]:
        """The next batch; empty where the log has no records below `end` any more.

        A log may have lost records and not know it: its file was damaged, or restored.
        """
        coming = asyncio.ensure_future(_batch_of(batches))
        try:
            for _ in range(LOOKS_MAX):
                if (await asyncio.wait({coming}, timeout=LOOK_EVERY_S))[0]:
                    return coming.result()
                firsts = await self._bus.start_offsets([partition])
                ends = await self._bus.end_offsets([partition])
                if ends[partition] < end or firsts[partition] >= end:
                    break
            return ()
        finally:
            coming.cancel()
            await asyncio.wait({coming})

    async def synced(self) -> Mapping[str, int]:
        """Where the newest complete resync begins in each partition; nothing before the first."""
        group = sync_group(self._layout.prefix)
        committed = await self._bus.committed(group, self._partitions())
        return {self._name(each): at for each, at in committed.items() if at is not None}

    def _partitions(self) -> list[Partition]:
        counts = self._layout.counts()
        names = [self._layout.name(topic) for topic in CATALOGUE]
        return [Partition(name, number) for name in names for number in range(counts[name])]

    def _name(self, partition: Partition) -> str:
        return partition_name(partition, self._layout.prefix)
