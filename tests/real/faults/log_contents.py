"""What the log of a running system says, whole, for tests that look for what is lost or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from contracts.facts import Fact
from contracts.topics import PARTITIONS, RESOURCES
from services.chassis.log.bus import Bus, Partition
from services.chassis.process.clock import SystemClock
from services.chassis.process.settings import KAFKA_SCHEME
from services.chassis.running.hosting import open_bus
from services.chassis.table.reading import FactRecord, decode

Ref = tuple[str, str, str]


@asynccontextmanager
async def log_at(servers: str) -> AsyncIterator[Bus]:
    """A client of the brokers."""
    bus = open_bus(f"{KAFKA_SCHEME}{servers}", SystemClock())
    try:
        yield bus
    finally:
        await bus.close()


def resource_partitions(prefix: str) -> list[Partition]:
    """The partitions with the facts of jobs."""
    return [Partition(RESOURCES.name(prefix), number) for number in range(PARTITIONS)]


async def everything_said(bus: Bus, prefix: str) -> list[FactRecord]:
    """All facts of jobs, in order within each partition."""
    ends = await bus.end_offsets(resource_partitions(prefix))
    missing = {partition: end for partition, end in ends.items() if end}
    said: list[FactRecord] = []
    async with aclosing(bus.read(dict.fromkeys(missing, 0))) as batches:  # type: ignore[type-var]
        while missing:
            for record in await anext(batches):
                said.append(decode(record))
                if record.offset + 1 >= missing.get(record.partition, record.offset + 2):
                    del missing[record.partition]
    return said


def said_twice(said: list[FactRecord]) -> list[str]:
    """Events that are in the log more than once."""
    counts = Counter((each.envelope.id, each.partition) for each in said)
    return [event_id for (event_id, _), count in counts.items() if count > 1]


def out_of_order(said: list[FactRecord]) -> list[str]:
    """Objects whose version fell in the order of the log, within one saying of everything."""
    newest: dict[tuple[Ref, object], int] = {}
    found = []
    for each in said:
        fact = each.fact
        if not isinstance(fact, Fact):
            continue
        ref = ((fact.kind, fact.namespace, fact.name), fact.epoch)
        if fact.resource_version < newest.get(ref, 0):
            found.append(each.envelope.id)
        newest[ref] = fact.resource_version
    return found


def last_said(said: list[FactRecord], kind: str) -> dict[str, Fact]:
    """What was reported last of each object of a kind, by name."""
    return {
        each.fact.name: each.fact
        for each in said
        if isinstance(each.fact, Fact) and each.fact.kind == kind
    }
