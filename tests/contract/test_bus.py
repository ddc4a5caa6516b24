"""The bus contract: one suite, run against every adapter."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from services.chassis.log.bus import Bus, NewRecord, Partition, Record
from services.chassis.log.kafka_connecting import Brokers
from services.chassis.log.kafka_log import KafkaLog
from services.chassis.log.kafka_offsets import see_topics
from services.chassis.log.kafka_topics import Wanted, create, look_patiently
from services.chassis.log.memory_log import MemoryLog
from services.chassis.log.sqlite_log import SqliteLog
from services.chassis.process.errors import TopicDiffers
from tests.patience import patient

SERVERS = os.environ.get("MILLRACE_BOOTSTRAP_SERVERS", "")
RETENTION_S = 3600
PATIENCE_S = patient(20.0)


class Hands:
    """A clock that a test moves by hand."""

    def __init__(self, now_s: float = 1000.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        """Unix seconds."""
        return self.now_s


def record(value: str, partition: Partition) -> NewRecord:
    """A record with a key, a value and two headers."""
    return NewRecord(
        partition, b"k", value.encode(), (("ce_id", value.encode()), ("raw", b"\xff\x00"))
    )


async def take(bus: Bus, start: dict[Partition, int], count: int) -> list[Record]:
    """The next `count` records; hangs (and times out) if there are fewer."""
    reader = bus.read(start)
    return await take_from(reader, count)


async def take_from(reader: AsyncIterator[Sequence[Record]], count: int) -> list[Record]:
    """The next records of a reader, at least `count` of them."""
    taken: list[Record] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(taken) < count:
            taken += await anext(reader)
    return taken


def values(records: Sequence[Record]) -> list[str]:
    """The values of records as text."""
    return [each.value.decode() for each in records]


Make = Callable[[], Bus]
"""Opens the same log once more, as another process would."""

Outlive = Callable[[Partition, int], Awaitable[None]]
"""Makes the records of a partition up to an offset older than the log keeps them."""


class BusContract:
    """What every adapter promises; its subclass says what `make` is."""

    @pytest.fixture
    def hands(self) -> Hands:
        return Hands()

    @pytest.fixture
    def outlive(self, hands: Hands) -> Outlive:
        async def outlive(_partition: Partition, _offset: int) -> None:
            hands.now_s += RETENTION_S + 1

        return outlive

    @pytest.fixture
    def topic(self) -> str:
        return f"t{uuid.uuid4().hex[:12]}.resources"

    @pytest.fixture
    def p0(self, topic: str) -> Partition:
        return Partition(topic, 0)

    @pytest.fixture
    def p1(self, topic: str) -> Partition:
        return Partition(topic, 1)

    @pytest.fixture
    async def bus(self, make: Make, topic: str) -> Bus:
        bus = make()
        await bus.ensure_topics({topic: 2})
        return bus

    async def test_records_come_back_as_they_went_in_with_offsets_from_zero(
        self, bus: Bus, hands: Hands, p0: Partition, p1: Partition
    ) -> None:
        await bus.produce([record("a", p0), record("b", p0), record("c", p1)])
        taken = await take(bus, {p0: 0, p1: 0}, 3)
        in_p0 = [each for each in taken if each.partition == p0]
        assert [(each.offset, each.value) for each in in_p0] == [(0, b"a"), (1, b"b")]
        assert in_p0[0].key == b"k"
        assert in_p0[0].headers == (("ce_id", b"a"), ("raw", b"\xff\x00"))
        assert in_p0[0].timestamp_s == hands.now_s

    async def test_a_reader_begins_at_its_offset(self, bus: Bus, p0: Partition) -> None:
        await bus.produce([record(each, p0) for each in "abcd"])
        assert values(await take(bus, {p0: 2}, 2)) == ["c", "d"]

    async def test_a_waiting_reader_is_woken_by_a_producer(self, bus: Bus, p0: Partition) -> None:
        reading = asyncio.create_task(take(bus, {p0: 0}, 1))
        await asyncio.sleep(0)
        await bus.produce([record("late", p0)])
        assert values(await reading) == ["late"]

    async def test_a_waiting_reader_is_woken_by_a_producer_of_another_process(
        self, bus: Bus, make: Make, p0: Partition
    ) -> None:
        reading = asyncio.create_task(take(bus, {p0: 0}, 1))
        await asyncio.sleep(0)
        await make().produce([record("from afar", p0)])
        assert values(await reading) == ["from afar"]

    async def test_order_holds_within_a_partition_with_producers_side_by_side(
        self, bus: Bus, p0: Partition
    ) -> None:
        batches = [[record(f"{who}{i}", p0) for i in range(20)] for who in "xyz"]
        await asyncio.gather(*(bus.produce(batch) for batch in batches))
        taken = await take(bus, {p0: 0}, 60)
        assert [each.offset for each in taken] == list(range(60))
        for who in "xyz":
            mine = [v for v in values(taken) if v[0] == who]
            assert mine == [f"{who}{i}" for i in range(20)]

    async def test_batches_are_no_larger_than_requested(
        self, bus: Bus, p0: Partition, p1: Partition
    ) -> None:
        await bus.produce([record(str(i), p) for i in range(25) for p in (p0, p1)])
        reader = bus.read({p0: 0, p1: 0}, batch_max=10)
        sizes, total = [], 0
        async with asyncio.timeout(PATIENCE_S):
            while total < 50:
                batch = await anext(reader)
                sizes.append(len(batch))
                total += len(batch)
        assert max(sizes) <= 10
        assert total == 50

    async def test_ends_and_starts_are_known(self, bus: Bus, p0: Partition, p1: Partition) -> None:
        await bus.produce([record("a", p0), record("b", p0)])
        assert await bus.end_offsets([p0, p1]) == {p0: 2, p1: 0}
        assert await bus.start_offsets([p0, p1]) == {p0: 0, p1: 0}

    async def test_offsets_are_kept_for_each_group(
        self, bus: Bus, make: Make, p0: Partition, p1: Partition
    ) -> None:
        await bus.commit("g", {p0: 7})
        await bus.commit("g", {p0: 8})
        assert await make().committed("g", [p0, p1]) == {p0: 8, p1: None}
        assert await bus.committed("other", [p0]) == {p0: None}

    async def test_old_records_are_forgotten_and_offsets_go_on(
        self, bus: Bus, outlive: Outlive, p0: Partition
    ) -> None:
        await bus.produce([record("old", p0)])
        await outlive(p0, 1)
        await bus.produce([record("new", p0)])
        assert await bus.start_offsets([p0]) == {p0: 1}
        assert await bus.end_offsets([p0]) == {p0: 2}
        taken = await take(bus, {p0: 0}, 1)
        assert [(each.offset, each.value) for each in taken] == [(1, b"new")]

    async def test_an_offset_beyond_the_end_begins_at_the_start(
        self, bus: Bus, p0: Partition
    ) -> None:
        await bus.produce([record("a", p0)])
        assert values(await take(bus, {p0: 99}, 1)) == ["a"]

    async def test_topics_are_created_once_and_never_with_other_partitions(
        self, bus: Bus, p0: Partition, topic: str
    ) -> None:
        await bus.produce([record("a", p0)])
        await bus.ensure_topics({topic: 2})
        assert await bus.end_offsets([p0]) == {p0: 1}
        with pytest.raises(TopicDiffers, match=f"topic {topic} has 2 partitions, not 3"):
            await bus.ensure_topics({topic: 3})

    async def test_a_batch_with_an_unknown_partition_appends_nothing(
        self, bus: Bus, p0: Partition
    ) -> None:
        with pytest.raises(KeyError):
            await bus.produce([record("a", p0), record("b", Partition("nobody", 0))])
        assert await bus.end_offsets([p0]) == {p0: 0}

    async def test_a_reader_ends_when_the_log_is_closed(self, bus: Bus, p0: Partition) -> None:
        reader = bus.read({p0: 0})
        reading = asyncio.ensure_future(anext(reader, None))
        await asyncio.sleep(0)
        await bus.close()
        async with asyncio.timeout(PATIENCE_S):
            assert await reading is None

    async def test_readers_of_an_emptied_log_begin_again(
        self, bus: Bus, empty: Callable[[], Awaitable[None]], p0: Partition
    ) -> None:
        """Even where the new offsets have grown beyond the reader's."""
        await bus.commit("g", {p0: 1})
        await bus.produce([record("before", p0), record("before too", p0)])
        reader = bus.read({p0: 0})
        assert values(await take_from(reader, 2)) == ["before", "before too"]
        await empty()
        assert await bus.end_offsets([p0]) == {p0: 0}
        assert await bus.committed("g", [p0]) == {p0: None}
        await bus.produce([record(each, p0) for each in "abc"])
        taken = await take_from(reader, 3)
        while len(taken) < 3 or values(taken[-3:]) != ["a", "b", "c"]:
            taken += await take_from(reader, 1)
        assert [each.offset for each in taken[-3:]] == [0, 1, 2]

    async def test_the_only_member_of_a_group_has_all_partitions(
        self, bus: Bus, p0: Partition, p1: Partition
    ) -> None:
        assignments = bus.assignment(f"{p0.topic}.readers", [p0.topic])
        async with asyncio.timeout(PATIENCE_S):
            assert await anext(assignments) == {p0, p1}

    async def test_a_log_that_was_sent_says_that_it_answers(self, bus: Bus) -> None:
        assert bus.is_answering


class TestMemoryLog(BusContract):
    """The log in memory; another process is the same object."""

    @pytest.fixture
    async def make(self, hands: Hands, tmp_path: Path) -> AsyncIterator[Make]:
        log = MemoryLog(now=hands, retention_s=RETENTION_S)
        yield lambda: log
        await log.close()

    @pytest.fixture
    def empty(self, bus: Bus) -> Callable[[], Awaitable[None]]:
        assert isinstance(bus, MemoryLog)
        return bus.empty


class TestSqliteLog(BusContract):
    """The log in a file; another process is another object on the same file."""

    @pytest.fixture
    async def make(self, hands: Hands, tmp_path: Path) -> AsyncIterator[Make]:
        opened: list[SqliteLog] = []

        def open_log() -> Bus:
            opened.append(SqliteLog(tmp_path / "log.sqlite", now=hands, retention_s=RETENTION_S))
            return opened[-1]

        yield open_log
        for log in opened:
            await log.close()

    @pytest.fixture
    def empty(self, bus: Bus) -> Callable[[], Awaitable[None]]:
        assert isinstance(bus, SqliteLog)
        return bus.empty


@pytest.mark.real
class TestKafkaLog(BusContract):
    """The log on Kafka; another process is another connection to the same brokers."""

    @pytest.fixture
    def hands(self) -> Hands:
        return Hands(float(int(time.time())))

    @pytest.fixture
    async def admin(self, topic: str) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
        await admin.start()
        yield admin
        await admin.delete_topics([topic])
        await admin.close()

    @pytest.fixture
    async def brokers(self) -> AsyncIterator[Brokers]:
        brokers = Brokers(SERVERS)
        yield brokers
        await brokers.close()

    @pytest.fixture
    async def make(
        self, hands: Hands, topic: str, brokers: Brokers, admin: AIOKafkaAdminClient
    ) -> AsyncIterator[Make]:
        opened: list[KafkaLog] = []
        await create(brokers, [Wanted(topic, 2, RETENTION_S)], replication=1)

        def open_log() -> Bus:
            opened.append(KafkaLog(SERVERS, now=hands, retention_s=RETENTION_S))
            return opened[-1]

        yield open_log
        for log in opened:
            await log.close()

    async def test_a_reader_after_a_rebalance_begins_again_where_the_topic_is_another(
        self, bus: Bus, empty: Callable[[], Awaitable[None]], p0: Partition
    ) -> None:
        """Its offset is one of the topic that was, though the new one has grown beyond it."""
        await bus.produce([record("before", p0), record("before too", p0)])
        assert values(await take(bus, {p0: 0}, 2)) == ["before", "before too"]
        await empty()
        await bus.produce([record(each, p0) for each in "abc"])
        assert values(await take(bus, {p0: 2}, 3)) == ["a", "b", "c"]
        assert values(await take(bus, {p0: 2}, 1)) == ["c"]

    @pytest.fixture
    def outlive(self, admin: AIOKafkaAdminClient) -> Outlive:
        """Kafka forgets by its own clock; here it is reported to."""

        async def outlive(partition: Partition, offset: int) -> None:
            there = TopicPartition(partition.topic, partition.number)
            await admin.delete_records({there: RecordsToDelete(offset)})

        return outlive

    @pytest.fixture
    def empty(
        self, topic: str, brokers: Brokers, admin: AIOKafkaAdminClient
    ) -> Callable[[], Awaitable[None]]:
        async def topic_id() -> bytes | None:
            seen = await brokers.ask("topics", lambda client: see_topics(client, [topic]))
            return seen[topic].topic_id if topic in seen else None

        async def empty() -> None:
            """A broker may show the deleted topic for a while: the new one has another id."""
            wanted = [Wanted(topic, 2, RETENTION_S)]
            before = await topic_id()
            await admin.delete_topics([topic])
            async with asyncio.timeout(PATIENCE_S):
                while (found := await topic_id()) in (None, before):
                    if found is None:
                        await create(brokers, wanted, replication=1)
            await look_patiently(brokers, wanted)

        return empty
