"""The log of a running system on the pair, as a stranger writes into it."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contracts.topics import CLUSTER, RESOURCES, TopicLayout
from services.chassis.log.bus import NewRecord, Partition, Record
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.process.settings import KAFKA_SCHEME
from tests.e2e.watching import System
from tests.fuzz.records import Scribe

TRUE_MAX = 5_000
"""True records that lies are made of; more would teach a liar nothing."""


class Log:
    """A connection to the topics of one system."""

    def __init__(self, bus: KafkaLog, prefix: str) -> None:
        self._bus = bus
        self._prefix = prefix

    @classmethod
    @asynccontextmanager
    async def of(cls, system: System) -> AsyncIterator[Log]:
        """The log of a system, until the end of the block."""
        servers = system.bus.removeprefix(KAFKA_SCHEME)
        bus = KafkaLog(servers, now=time.time, client_id="fuzz")
        try:
            yield cls(bus, system.prefix)
        finally:
            await bus.close()

    async def scribe(self, dice: random.Random) -> Scribe:
        """Who lies about what the log says now."""
        return Scribe(dice, await self._facts(), prefix=self._prefix)

    async def append(self, record: NewRecord) -> None:
        """Append a record."""
        await self._bus.produce([record])

    async def _facts(self) -> list[Record]:
        partitions = [
            Partition(topic.name(self._prefix), number)
            for topic in (RESOURCES, CLUSTER)
            for number in range(TopicLayout().count(topic))
        ]
        start = await self._bus.start_offsets(partitions)
        ends = await self._bus.end_offsets(partitions)
        wanted = min(sum(ends.values()) - sum(start.values()), TRUE_MAX)
        found: list[Record] = []
        async for batch in self._bus.read(start):
            found += batch
            if len(found) >= wanted:
                break
        return found
