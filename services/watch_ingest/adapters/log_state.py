"""What the log itself says about the facts in it: incarnations, where a resync began, its loss."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import orjson

from contracts.facts import Epoch, epoch_from_json
from contracts.topics import CLUSTER, RESOURCES, TopicLayout, sync_group
from services.chassis.log.bus import Bus, Partition, Record

TAIL_RECORDS = 50
_WATCHED_TOPICS = (RESOURCES, CLUSTER)


async def ensure_topics(bus: Bus, topics: TopicLayout) -> None:
    """Create the topics of the catalogue that are missing."""
    await bus.ensure_topics(topics.counts())


def fact_partitions(topics: TopicLayout) -> list[Partition]:
    """Every partition that facts are written to."""
    return [
        Partition(topics.name(topic), number)
        for topic in _WATCHED_TOPICS
        for number in range(topics.count(topic))
    ]


async def highest_incarnation(bus: Bus, topics: TopicLayout) -> int:
    """The highest incarnation near the ends of the partitions; 0 in an empty log.

    Incarnations rise, so the newest records carry the highest; a few more are read in case a
    leader that lost its Lease wrote last.
    """
    partitions = fact_partitions(topics)
    ends = await bus.end_offsets(partitions)
    starts = await bus.start_offsets(partitions)
    tails = {
        partition: max(starts[partition], ends[partition] - TAIL_RECORDS)
        for partition in partitions
    }
    epochs = await epochs_in(bus, tails, ends)
    return max((epoch.incarnation for epoch in epochs), default=0)


async def epochs_in(
    bus: Bus, starts: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> set[Epoch]:
    """The epochs of the records from the starts to the ends, as far as they can be read."""
    unread = {each: ends[each] - 1 for each, start in starts.items() if ends[each] > start}
    found: set[Epoch] = set()
    if not unread:
        return found
    batches = bus.read({partition: starts[partition] for partition in unread})
    while unread:
        for record in await anext(batches):
            epoch = _epoch(record)
            if epoch is not None:
                found.add(epoch)
            if record.offset >= unread.get(record.partition, record.offset + 1):
                del unread[record.partition]
    if isinstance(batches, AsyncGenerator):
        await batches.aclose()
    return found


def _epoch(record: Record) -> Epoch | None:
    """The epoch of a record; None for one that readers cannot read either."""
    try:
        return epoch_from_json(orjson.loads(record.value)["epoch"])
    except (ValueError, KeyError, TypeError):
        return None


async def commit_resync(bus: Bus, topics: TopicLayout, began_at: Mapping[Partition, int]) -> None:
    """Say where the newest complete resync began: readers restore from there."""
    await bus.commit(sync_group(topics.prefix), began_at)


async def newest_resync(bus: Bus, topics: TopicLayout) -> dict[Partition, int]:
    """Where the newest complete resync began; where the log begins if there was none."""
    partitions = fact_partitions(topics)
    starts = await bus.start_offsets(partitions)
    committed = await bus.committed(sync_group(topics.prefix), partitions)
    return {each: max(start, committed.get(each) or 0) for each, start in starts.items()}


async def log_was_emptied(bus: Bus, topics: TopicLayout, began_at: Mapping[Partition, int]) -> bool:
    """Whether the log lost what a complete resync wrote: its offsets, or what they point to."""
    partitions = fact_partitions(topics)
    committed = await bus.committed(sync_group(topics.prefix), partitions)
    ends = await bus.end_offsets(partitions)
    return any(
        committed.get(partition) is None or ends[partition] < offset
        for partition, offset in began_at.items()
    )
