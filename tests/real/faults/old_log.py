"""A log as a system leaves it that has run for a week: many facts, of things that are long gone.

The facts are real ones, with timestamps as old as the log keeps anything. Of the newest complete
resync the offsets are committed, as every hourly resync does.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType
from contracts.topics import CATALOGUE, PARTITIONS, RETENTION_S, sync_group
from services.chassis.log.bus import Partition
from tests.real.faults.log_contents import log_at, resource_partitions

AGE_S = RETENTION_S - 3600
BATCH_BYTES = 900 * 1024
_EPOCH = Epoch(1, 1, "a-cluster-of-last-week")


@asynccontextmanager
async def topics_of_last_week(servers: str, records: int) -> AsyncIterator[str]:
    """The prefix of topics with so many old facts; the topics are deleted at the end."""
    prefix = f"t{uuid.uuid4().hex[:12]}"
    await apply_topics(TopicsOptions(servers, prefix), Screen(quiet=True))
    try:
        await _fill(servers, prefix, records)
        async with log_at(servers) as bus:
            partitions = resource_partitions(prefix)
            await bus.commit(sync_group(prefix), await bus.end_offsets(partitions))
        yield prefix
    finally:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        await admin.delete_topics([topic.name(prefix) for topic in CATALOGUE])
        await admin.close()


async def _fill(servers: str, prefix: str, records: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=servers, max_batch_size=BATCH_BYTES)
    await producer.start()
    each = records // PARTITIONS
    try:
        await asyncio.gather(
            *(_fill_one(producer, partition, each) for partition in resource_partitions(prefix))
        )
    finally:
        await producer.stop()


async def _fill_one(producer: AIOKafkaProducer, partition: Partition, records: int) -> None:
    """Facts about one object, each in a version of its own."""
    at_ms = int((time.time() - AGE_S) * 1000)
    version = 0
    while version < records:
        batch = producer.create_batch()
        while version < records:
            key, value, headers = _record(partition, version + 1)
            if batch.append(timestamp=at_ms, key=key, value=value, headers=headers) is None:
                break
            version += 1
        batch.close()
        await (await producer.send_batch(batch, partition.topic, partition=partition.number))


def _record(partition: Partition, version: int) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    fact = Fact(
        type=FactType.MODIFICATION,
        kind="ConfigMap",
        namespace="default",
        name=f"old-{partition.number}",
        uid=f"uid-{partition.number}",
        resource_version=version,
        epoch=_EPOCH,
        job="old",
        data={"metadata": {"labels": {}}, "generation": str(version)},
    )
    envelope = Envelope(
        id=f"{fact.uid}@{version}",
        source="watch-ingest",
        type=fact.type.value,
        subject=fact.key,
        time_s=time.time() - AGE_S,
        trace_id="0" * 32,
    )
    return fact.key.encode(), orjson.dumps(fact.to_json()), [*to_headers(envelope)]
