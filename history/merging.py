"""All entries of a log in one order: by time, then by partition, then by offset.

The order never goes against that of a partition: an entry whose time is before that of the entry
ahead of it comes right behind that one. Entries are streamed: each partition is read once, and
holds one batch of records at a time.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

from contracts.topics import CLUSTER, RESOURCES, TopicLayout, partition_of
from history.belonging import is_of_job, namespace_of, service_of
from history.entries import DECISION_PARTITIONS, Entry, Gap, Unread, entries_of
from history.finding import offset_at
from history.sources import Bounds, Source

GATHER_S = 0.25
"""How long a reader that follows waits for entries of other partitions, to sort them by time."""
QUEUED_MAX = 1_000
CLOCKS_S = 60.0
"""A record may be this much older than what it says: clocks of machines differ."""
EFFECTS_S = 600.0
"""A decision is recorded after its effects, with the time before them."""
HELD_MAX = 2_000
HELD_S = 60.0
LOST = "these records are not in the log any more"


@dataclass(frozen=True, slots=True)
class Sought:
    """Which entries are wanted; an empty field admits all. Times are unix seconds.

    `services` name who decided or observed; facts are those of watch-ingest. A gap and a record
    that nobody can read are admitted whenever they are not after the end: what is wanted may be
    in them.
    """

    namespace: str = ""
    job: str = ""
    services: frozenset[str] = frozenset()
    since_s: float = -math.inf
    until_s: float = math.inf

    def admits(self, entry: Entry) -> bool:
        """Whether an entry is wanted."""
        if isinstance(entry, Gap | Unread):
            return entry.time_s <= self.until_s
        if not self.since_s <= entry.time_s <= self.until_s:
            return False
        if self.services and service_of(entry) not in self.services:
            return False
        if self.namespace and namespace_of(entry) not in (self.namespace, None):
            return False
        return not self.job or is_of_job(entry, self.job)

    def concerns(self, partition: str, layout: TopicLayout) -> bool:
        """Whether a partition may have such entries; observations may be in any of theirs."""
        if partition.startswith(DECISION_PARTITIONS) or not (self.namespace and self.job):
            return True
        number = partition_of(self.namespace, self.job, layout.count(RESOURCES))
        return partition in (f"{CLUSTER.suffix}/0", f"{RESOURCES.suffix}/{number}")


EVERYTHING = Sought()


async def ranges_of(source: Source, sought: Sought = EVERYTHING) -> dict[str, Bounds]:
    """What has to be read of each partition, now, to find all that is wanted."""
    found = {}
    for name, bounds in sorted((await source.bounds()).items()):
        if not sought.concerns(name, source.layout):
            continue
        first = await offset_at(source, name, bounds, sought.since_s - CLOCKS_S)
        end = await offset_at(source, name, bounds, sought.until_s + EFFECTS_S)
        found[name] = Bounds(first, end, bounds.is_whole)
    return found


async def merged(source: Source, ranges: Mapping[str, Bounds]) -> AsyncGenerator[Entry, None]:
    """The entries of the ranges of partitions, in order."""
    heads: list[tuple[float, str, int, Entry, AsyncIterator[Entry]]] = []
    async with AsyncExitStack() as open_ones:

        async def advance(name: str, entries: AsyncIterator[Entry], time_s: float) -> None:
            entry = await anext(entries, None)
            if entry is not None:
                time_s = max(time_s, entry.time_s)
                heapq.heappush(heads, (time_s, name, entry.place.offset, entry, entries))

        for name, range_ in ranges.items():
            entries = entries_in(source, name, range_)
            await open_ones.enter_async_context(aclosing(entries))
            await advance(name, entries, -math.inf)
        while heads:
            time_s, name, _, entry, rest = heapq.heappop(heads)
            yield entry
            await advance(name, rest, time_s)


async def entries_in(source: Source, name: str, range_: Bounds) -> AsyncGenerator[Entry, None]:
    """The entries of a range of one partition, and a gap wherever records are missing."""
    prefix, expected = source.layout.prefix, range_.first
    if range_.first >= range_.end:
        return
    async with aclosing(source.read(name, range_.first, range_.end)) as batches:  # type: ignore[type-var]
        async for batch in batches:
            for record in batch:
                if record.offset > expected and range_.is_whole:
                    yield Gap(name, expected, record.offset, LOST, record.timestamp_s)
                expected = record.offset + 1
                for entry in entries_of(record, prefix):
                    yield entry
    if expected < range_.end and range_.is_whole:
        yield Gap(name, expected, range_.end, LOST)


async def followed(source: Source, firsts: Mapping[str, int]) -> AsyncGenerator[Entry, None]:
    """The entries from these offsets on, for as long as the source goes on.

    They are in order among those that come within a moment.
    """
    queue: asyncio.Queue[_Poured] = asyncio.Queue(QUEUED_MAX)
    tasks = [asyncio.create_task(_pour(source, name, at, queue)) for name, at in firsts.items()]
    left = len(tasks)
    try:
        while left:
            found = [await queue.get()]
            await asyncio.sleep(GATHER_S)
            while not queue.empty():
                found.append(queue.get_nowait())
            left -= found.count(None)
            for entry in _in_order([each for each in found if each is not None]):
                yield entry
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_Poured = Entry | BaseException | None
"""An entry of a partition, what its reading raised, or None at its end."""


async def _pour(source: Source, name: str, first: int, queue: asyncio.Queue[_Poured]) -> None:
    expected = first
    try:
        async for batch in source.read(name, first):
            for record in batch:
                if record.offset > expected:
                    await queue.put(Gap(name, expected, record.offset, LOST, record.timestamp_s))
                expected = record.offset + 1
                for entry in entries_of(record, source.layout.prefix):
                    await queue.put(entry)
    except Exception as problem:  # noqa: BLE001 - raised by the reader of the queue
        await queue.put(problem)
    await queue.put(None)


def _in_order(found: list[Entry | BaseException]) -> list[Entry]:
    """The entries in the order of `merged`; raises what a partition's reading raised."""
    keyed, newest = [], dict[str, float]()
    for number, entry in enumerate(found):
        if isinstance(entry, BaseException):
            raise entry
        partition = entry.place.partition
        newest[partition] = max(newest.get(partition, -math.inf), entry.time_s)
        keyed.append((newest[partition], partition, number, entry))
    return [each[-1] for each in sorted(keyed, key=lambda each: each[:3])]


async def history(
    source: Source, sought: Sought = EVERYTHING, *, follow: bool = False
) -> AsyncGenerator[Entry, None]:
    """What is wanted of a source, in order; with `follow` what is written later, for ever."""
    ranges = await ranges_of(source, sought)
    async with aclosing(merged(source, ranges)) as entries:
        async for entry in entries:
            if sought.admits(entry):
                yield entry
    if not follow:
        return
    async with aclosing(followed(source, ends_of(ranges))) as entries:
        async for entry in entries:
            if sought.admits(entry):
                yield entry


def ends_of(ranges: Mapping[str, Bounds]) -> dict[str, int]:
    """Where a reader goes on that has read these ranges."""
    return {name: range_.end for name, range_ in ranges.items()}


async def by_time(entries: AsyncIterator[Entry]) -> AsyncGenerator[Entry, None]:
    """The entries by their own time, for people: decisions are recorded after their effects.

    At most HELD_MAX are held, and one that comes more than HELD_S late is not moved.
    """
    held: list[tuple[float, int, Entry]] = []
    number, newest = 0, -math.inf
    async for entry in entries:
        heapq.heappush(held, (entry.time_s, number, entry))
        number, newest = number + 1, max(newest, entry.time_s)
        while len(held) > HELD_MAX or (held and held[0][0] < newest - HELD_S):
            yield heapq.heappop(held)[-1]
    while held:
        yield heapq.heappop(held)[-1]
