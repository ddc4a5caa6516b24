"""The adapter for Kafka against real brokers: what its stand-in in memory plays."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import aiokafka
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.records_to_delete import RecordsToDelete

from millrace import App, OperatorFailed
from millrace.adapters import kafka
from millrace.channels import Channel, within
from tests.patience import patient

SERVERS = os.environ.get("MILLRACE_BOOTSTRAP_SERVERS", "")
PARTS = ("", "_connecting", "_positions", "_reading", "_records", "_writing")
COVERS = tuple(f"millrace/adapters/kafka{each}.py" for each in PARTS)

pytestmark = [pytest.mark.real]


@dataclass
class Number:
    value: int


def numbered(number: int) -> bytes:
    return b'{"value":%d}' % number


@pytest.fixture
async def admin() -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
    await admin.start()
    yield admin
    await admin.close()


@pytest.fixture
async def topic(admin: AIOKafkaAdminClient) -> AsyncIterator[str]:
    name = f"t{uuid.uuid4().hex[:12]}"
    await create(admin, name)
    yield name
    await admin.delete_topics([name])


async def create(admin: AIOKafkaAdminClient, name: str, **configs: str) -> None:
    """A topic of two partitions, which each broker knows."""
    await admin.create_topics([NewTopic(name, 2, 1, topic_configs=configs)])

    async def is_known() -> bool:
        return name in await admin.list_topics()

    await until(is_known)


async def grow(
    admin: AIOKafkaAdminClient, producer: aiokafka.AIOKafkaProducer, topic: str, count: int
) -> None:
    """Add partitions up to that number, and wait until the producer knows them."""

    async def is_grown() -> bool:
        return len(await producer.partitions_for(topic)) == count

    await admin.create_partitions({topic: NewPartitions(count)})
    await until(is_grown)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until brokers or sources got so far: they set no event."""
    async with asyncio.timeout(patient(60)):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.fixture
async def producer() -> AsyncIterator[aiokafka.AIOKafkaProducer]:
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=SERVERS, transactional_id=uuid.uuid4().hex, metadata_max_age_ms=500
    )
    await producer.start()
    yield producer
    await producer.stop()


async def write(
    producer: aiokafka.AIOKafkaProducer, topic: str, *values: bytes | None, partition: int = 0
) -> None:
    """Write these in one transaction."""
    async with producer.transaction():
        for value in values:
            await producer.send(topic, value, key=b"k", partition=partition)


def reading(topic: str, offsets: kafka.Offsets | None = None, **more: Any) -> Any:
    channel = more.pop("channel", Channel())
    type_ = more.pop("type_", Number)
    given: dict[str, Any] = {"begin": "earliest", "until_end": True, **more}
    reader: Any = kafka.topic(topic, type_, servers=SERVERS, **given)
    with within(channel):
        return reader.function(offsets or kafka.Offsets(), **reader.fn_kwargs)


async def values(source: AsyncIterator[Any]) -> list[int]:
    return sorted([each.value async for each in source])


async def test_aborted_records_are_not_given_and_the_end_is_found_behind_markers(
    topic: str, producer: aiokafka.AIOKafkaProducer
) -> None:
    await write(producer, topic, numbered(1), numbered(2))
    await producer.begin_transaction()
    await producer.send(topic, numbered(3), partition=0)
    await producer.abort_transaction()
    offsets = kafka.Offsets()
    async with asyncio.timeout(patient(60)):
        assert await values(reading(topic, offsets)) == [1, 2]
    assert offsets.next == {0: 5, 1: 0}


async def test_a_position_that_was_removed_goes_on_with_the_oldest(
    topic: str,
    producer: aiokafka.AIOKafkaProducer,
    admin: AIOKafkaAdminClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await write(producer, topic, *map(numbered, range(10)))
    place = aiokafka.TopicPartition(topic, 0)
    await admin.delete_records({place: RecordsToDelete(before_offset=5)})
    assert await values(reading(topic, kafka.Offsets({0: 2, 1: 0}))) == [5, 6, 7, 8, 9]
    assert f"up to 3 records of {topic}/0 are lost, from offset 2 to 4" in caplog.text


async def test_a_position_of_a_former_topic_goes_on_with_the_oldest(
    topic: str, producer: aiokafka.AIOKafkaProducer
) -> None:
    await write(producer, topic, numbered(1))
    assert await values(reading(topic, kafka.Offsets({0: 1_000, 1: 0}))) == [1]


async def test_each_record_of_partitions_that_are_added_comes_once(
    topic: str,
    producer: aiokafka.AIOKafkaProducer,
    admin: AIOKafkaAdminClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("millrace.adapters.kafka_reading.LOOK_S", 0.2)
    found: Counter[int] = Counter()

    async def read(source: Any) -> None:
        async for each in source:
            found[each.value] += 1

    sources = [
        reading(topic, channel=Channel(index, 3), begin="latest", until_end=False)
        for index in range(3)
    ]
    tasks = [asyncio.create_task(read(each)) for each in sources]

    async def is_assigned() -> bool:
        return all(each._assigned is not None for each in sources)

    async def is_read() -> bool:
        return len(found) == 100

    await until(is_assigned)
    await write(producer, topic, *map(numbered, range(50)))
    await grow(admin, producer, topic, 5)
    for partition in range(5):
        more = [numbered(50 + 5 * number + partition) for number in range(10)]
        await write(producer, topic, *more, partition=partition)
    await until(is_read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for source in sources:
        await source.aclose()
    assert found == Counter(range(100))


async def test_records_pass_with_key_headers_and_timestamp(topic: str) -> None:
    sent = [
        kafka.Record(b"v", b"\xff", {"h": b"1"}, datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)),
        kafka.Record(None, b"k", {}, datetime(2026, 1, 2, tzinfo=UTC)),
    ]
    app = App("demo::Write")
    app.source(lambda: sent, returns=kafka.Record).sink(kafka.writer(topic, servers=SERVERS))
    await app.run_async()
    found = {each.key: each async for each in reading(topic, type_=kafka.Record)}
    for each in sent:
        read = found[each.key]
        assert (read.value, read.headers, read.timestamp) == (
            each.value,
            each.headers,
            each.timestamp,
        )
        assert (read.topic, read.offset >= 0, read.partition in (0, 1)) == (topic, True, True)


async def test_what_brokers_refuse_under_skip_leaves_the_others(admin: AIOKafkaAdminClient) -> None:
    """An idempotent producer that was refused once is refused for good."""
    name = f"t{uuid.uuid4().hex[:12]}"
    await create(admin, name, **{"max.message.bytes": "20000"})
    writer = kafka.writer(name, servers=SERVERS).step(None, "skip")
    made: Any = writer.function(**writer.fn_kwargs)
    refused = 0
    for number in range(100):
        item = {"value": number} if number % 10 else {"value": number, "text": "x" * 50_000}
        try:
            await made(item)
        except ValueError as problem:
            refused += "'text': 'xxx" in str(problem)
    await made.close()
    wanted = [each for each in range(100) if each % 10]
    assert await values(reading(name)) == wanted
    assert refused
    await admin.delete_topics([name])


async def test_a_topic_that_does_not_exist_is_named() -> None:
    app = App("demo::None")
    app.source(kafka.topic("none-of-these", Number, servers=SERVERS)).sink(print)
    with pytest.raises(OperatorFailed, match="topic none-of-these does not exist"):
        await app.run_async()
