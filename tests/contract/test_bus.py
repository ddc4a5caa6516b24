"""The bus contract: one suite, run against every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from services.chassis.bus import Bus, NewRecord, Partition, Record
from services.chassis.memory_log import MemoryLog
from services.chassis.sqlite_log import SqliteLog

TOPIC = "t.resources"
P0, P1 = Partition(TOPIC, 0), Partition(TOPIC, 1)
PATIENCE_S = 20.0


class Hands:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Unix seconds."""
        return self.now_s


def record(value: str, partition: Partition = P0) -> NewRecord:
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


class BusContract:
    """What every adapter promises; its subclass says what `make` is."""

    @pytest.fixture
    def hands(self) -> Hands:
        return Hands()

    @pytest.fixture
    async def bus(self, make: Make) -> Bus:
        bus = make()
        await bus.ensure_topics({TOPIC: 2})
        return bus

    async def test_records_come_back_as_they_went_in_with_offsets_from_zero(
        self, bus: Bus, hands: Hands
    ) -> None:
        await bus.produce([record("a"), record("b"), record("c", P1)])
        taken = await take(bus, {P0: 0, P1: 0}, 3)
        in_p0 = [each for each in taken if each.partition == P0]
        assert [(each.offset, each.value) for each in in_p0] == [(0, b"a"), (1, b"b")]
        assert in_p0[0].key == b"k"
        assert in_p0[0].headers == (("ce_id", b"a"), ("raw", b"\xff\x00"))
        assert in_p0[0].timestamp_s == hands.now_s

    async def test_a_reader_begins_at_its_offset(self, bus: Bus) -> None:
        await bus.produce([record(each) for each in "abcd"])
        assert values(await take(bus, {P0: 2}, 2)) == ["c", "d"]

    async def test_a_waiting_reader_is_woken_by_a_producer(self, bus: Bus) -> None:
        reading = asyncio.create_task(take(bus, {P0: 0}, 1))
        await asyncio.sleep(0)
        await bus.produce([record("late")])
        assert values(await reading) == ["late"]

    async def test_a_waiting_reader_is_woken_by_a_producer_of_another_process(
        self, bus: Bus, make: Make
    ) -> None:
        reading = asyncio.create_task(take(bus, {P0: 0}, 1))
        await asyncio.sleep(0)
        await make().produce([record("from afar")])
        assert values(await reading) == ["from afar"]

    async def test_order_holds_within_a_partition_with_producers_side_by_side(
        self, bus: Bus
    ) -> None:
        batches = [[record(f"{who}{i}") for i in range(20)] for who in "xyz"]
        await asyncio.gather(*(bus.produce(batch) for batch in batches))
        taken = await take(bus, {P0: 0}, 60)
        assert [each.offset for each in taken] == list(range(60))
        for who in "xyz":
            mine = [v for v in values(taken) if v[0] == who]
            assert mine == [f"{who}{i}" for i in range(20)]

    async def test_batches_are_no_larger_than_asked_for(self, bus: Bus) -> None:
        await bus.produce([record(str(i), p) for i in range(25) for p in (P0, P1)])
        reader = bus.read({P0: 0, P1: 0}, batch_max=10)
        sizes, total = [], 0
        async with asyncio.timeout(PATIENCE_S):
            while total < 50:
                batch = await anext(reader)
                sizes.append(len(batch))
                total += len(batch)
        assert max(sizes) <= 10
        assert total == 50

    async def test_ends_and_starts_are_known(self, bus: Bus) -> None:
        await bus.produce([record("a"), record("b")])
        assert await bus.end_offsets([P0, P1]) == {P0: 2, P1: 0}
        assert await bus.start_offsets([P0, P1]) == {P0: 0, P1: 0}

    async def test_offsets_are_kept_for_each_group(self, bus: Bus, make: Make) -> None:
        await bus.commit("g", {P0: 7})
        await bus.commit("g", {P0: 8})
        assert await make().committed("g", [P0, P1]) == {P0: 8, P1: None}
        assert await bus.committed("other", [P0]) == {P0: None}

    async def test_old_records_are_forgotten_and_offsets_go_on(
        self, bus: Bus, hands: Hands
    ) -> None:
        await bus.produce([record("old")])
        hands.now_s += 3601
        await bus.produce([record("new")])
        assert await bus.start_offsets([P0]) == {P0: 1}
        assert await bus.end_offsets([P0]) == {P0: 2}
        taken = await take(bus, {P0: 0}, 1)
        assert [(each.offset, each.value) for each in taken] == [(1, b"new")]

    async def test_an_offset_beyond_the_end_begins_at_the_start(self, bus: Bus) -> None:
        await bus.produce([record("a")])
        assert values(await take(bus, {P0: 99}, 1)) == ["a"]

    async def test_topics_are_created_once_and_never_with_other_partitions(self, bus: Bus) -> None:
        await bus.produce([record("a")])
        await bus.ensure_topics({TOPIC: 2})
        assert await bus.end_offsets([P0]) == {P0: 1}
        with pytest.raises(ValueError, match=r"t\.resources has 2 partitions, not 3"):
            await bus.ensure_topics({TOPIC: 3})

    async def test_a_batch_with_an_unknown_partition_appends_nothing(self, bus: Bus) -> None:
        with pytest.raises(KeyError):
            await bus.produce([record("a"), record("b", Partition("nobody", 0))])
        assert await bus.end_offsets([P0]) == {P0: 0}

    async def test_a_reader_ends_when_the_log_is_closed(self, bus: Bus) -> None:
        reader = bus.read({P0: 0})
        reading = asyncio.ensure_future(anext(reader, None))
        await asyncio.sleep(0)
        await bus.close()
        async with asyncio.timeout(PATIENCE_S):
            assert await reading is None


class EmbeddedContract(BusContract):
    """What the embedded log promises beyond: it can be emptied, and readers notice."""

    async def test_readers_of_an_emptied_log_begin_anew(self, bus: Bus) -> None:
        assert isinstance(bus, MemoryLog | SqliteLog)
        await bus.commit("g", {P0: 1})
        await bus.produce([record("before"), record("before too")])
        reader = bus.read({P0: 0})
        assert values(await take_from(reader, 2)) == ["before", "before too"]
        await bus.empty()
        assert await bus.end_offsets([P0]) == {P0: 0}
        assert await bus.committed("g", [P0]) == {P0: None}
        await bus.produce([record(each) for each in "abc"])
        assert values(await take_from(reader, 3)) == ["a", "b", "c"]


class TestMemoryLog(EmbeddedContract):
    """The log in memory; another process is the same object."""

    @pytest.fixture
    async def make(self, hands: Hands, tmp_path: Path) -> AsyncIterator[Make]:
        log = MemoryLog(now=hands, retention_s=3600)
        yield lambda: log
        await log.close()


class TestSqliteLog(EmbeddedContract):
    """The log in a file; another process is another object on the same file."""

    @pytest.fixture
    async def make(self, hands: Hands, tmp_path: Path) -> AsyncIterator[Make]:
        opened: list[SqliteLog] = []

        def open_log() -> Bus:
            opened.append(SqliteLog(tmp_path / "log.sqlite", now=hands, retention_s=3600))
            return opened[-1]

        yield open_log
        for log in opened:
            await log.close()
