"""Measures event hops: from a watch event until another process has read its fact.

The probe changes an object that no service acts on, and reads the fact as a service does, in this
process. For comparison, the bare round trip is one record of the same size through aiokafka only,
one in flight. Both take turns, so that they see the same load.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from contracts.envelope import from_headers
from contracts.resources import API_VERSION
from contracts.topics import CLUSTER, DEFAULT_PREFIX
from loadtest.api import MERGE, STREAMS, Api
from services.chassis.log.bus import Partition
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_topics import Wanted, create
from services.chassis.table.reading import decode

HOPS = 200
WARM_UP = 20
RECORD_BYTES = 500
TOPIC = "millrace-bench"
RETENTION_S = 3600.0
PROBE = "bench-hop"
PAUSE_S = 0.01


@dataclass(slots=True)
class Hops:
    """Samples in seconds, in the order of the stages; `hop` is from the event to the consumer."""

    seen: list[float] = field(default_factory=list)
    produced: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    hop: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


async def measure_hops(api: Api, bootstrap_servers: str, count: int = HOPS) -> Hops:
    """The probe and the bare round trip, `count` times each."""
    hops = Hops()
    async with AsyncExitStack() as stack:
        bare = await stack.enter_async_context(aclosing(_Bare(bootstrap_servers)))
        await bare.start()
        probe = await stack.enter_async_context(aclosing(_Probe(api, bootstrap_servers)))
        await probe.start()
        for number in range(WARM_UP + count):
            sample = hops if number >= WARM_UP else Hops()
            await probe.once(number, sample)
            sample.bare.append(await bare.once())
            await asyncio.sleep(PAUSE_S)
    return hops


class _Probe:
    def __init__(self, api: Api, servers: str) -> None:
        self._api = api
        self._log = KafkaLog(servers, now=time.time)
        self._path = f"{STREAMS}/streamshostpools"

    async def start(self) -> None:
        partition = Partition(CLUSTER.name(DEFAULT_PREFIX), 0)
        end = await self._log.end_offsets([partition])
        self._batches = self._log.read(end)
        body = {
            "apiVersion": API_VERSION,
            "kind": "HostPool",
            "metadata": {"name": PROBE},
            "spec": {"hostpool": {"name": PROBE, "size": 100_000}},
        }
        await self._api.call("POST", self._path, body)

    async def once(self, number: int, into: Hops) -> None:
        patch = {"spec": {"hostpool": {"size": number}}}
        answer = await self._api.call("PATCH", f"{self._path}/{PROBE}", patch, MERGE)
        answered_s = time.time()
        version = int(answer["metadata"]["resourceVersion"])
        async for batch in self._batches:
            for record in batch:
                if not record.key.endswith(PROBE.encode()):
                    continue
                fact = decode(record).fact
                read_s = time.time()
                if getattr(fact, "resource_version", 0) != version:
                    continue
                seen_s = from_headers(record.headers).time_s
                into.seen.append(max(0.0, seen_s - answered_s))
                into.produced.append(max(0.0, record.timestamp_s - seen_s))
                into.read.append(read_s - max(seen_s, record.timestamp_s))
                into.hop.append(read_s - seen_s)
                return

    async def aclose(self) -> None:
        await self._api.call("DELETE", f"{self._path}/{PROBE}")
        await self._log.close()


class _Bare:
    """Plain aiokafka with the guarantees of our services: idempotent, no linger."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._producer = AIOKafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, acks="all", linger_ms=0
        )
        self._consumer = AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False)

    async def start(self) -> None:
        brokers = Brokers(self._servers)
        await create(brokers, [Wanted(TOPIC, 1, RETENTION_S)], None)
        await brokers.close()
        await self._producer.start()
        await self._consumer.start()
        partition = TopicPartition(TOPIC, 0)
        self._consumer.assign([partition])
        await self._consumer.seek_to_end(partition)

    async def once(self) -> float:
        """Seconds from sending a record until it is read."""
        start = time.monotonic()
        sending = asyncio.ensure_future(
            self._producer.send_and_wait(TOPIC, b"x" * RECORD_BYTES, partition=0)
        )
        await self._consumer.getone()
        took_s = time.monotonic() - start
        await sending
        return took_s

    async def aclose(self) -> None:
        await self._consumer.stop()
        await self._producer.stop()
