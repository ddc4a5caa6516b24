"""Entries of all partitions come in one order, filtered, and few of them are held at a time."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from contracts.decisions import Observation
from history.entries import Decided, Entry, Gap, Observed, Place, Seen, Unread
from history.merging import EVERYTHING, Sought, followed, history
from history.sources import LogSource
from services.chassis.log.bus import NewRecord
from services.chassis.log.memory_log import MemoryLog
from tests.patience import patient
from tests.unit.history.logs import LAYOUT, FewRecords, decisions_of, partition_of_job
from tests.virtual_time import run_virtually


async def read(source: FewRecords, sought: Sought = EVERYTHING) -> list[Entry]:
    return [entry async for entry in history(source, sought)]


def places(found: list[Entry]) -> list[str]:
    return [str(entry.place) for entry in found]


async def test_entries_are_in_order_of_time_then_partition_then_offset() -> None:
    source = FewRecords()
    source.see(3.0, "late", "a")
    source.decide(1.0, "a", "Early")
    source.decide(3.0, "a", "SameTime")
    source.see(3.0, "later", "a")
    facts, decided = partition_of_job("a"), decisions_of("a")
    assert places(await read(source)) == [
        f"{decided}@0",
        f"{decided}@1",
        f"{facts}@0",
        f"{facts}@1",
    ]


async def test_no_entry_comes_before_one_that_its_partition_has_first() -> None:
    source = FewRecords()
    source.see(9.0, "clock-ahead", "a")
    source.see(2.0, "next", "a")
    source.decide(5.0, "a", "Between")
    facts, decided = partition_of_job("a"), decisions_of("a")
    assert places(await read(source)) == [f"{decided}@0", f"{facts}@0", f"{facts}@1"]


async def test_observations_of_one_record_stay_in_order() -> None:
    source = FewRecords()
    source.observe(1.0, Observation(1, "slept", {}, {}), Observation(2, "leads", {}, {}))
    found = await read(source)
    assert [each.observation.number for each in found if isinstance(each, Observed)] == [1, 2]


async def test_what_is_held_does_not_grow_with_the_log() -> None:
    source, held, count = FewRecords(batch=10), 0, 0
    for number in range(500):
        source.see(float(number), f"p-{number}", "a")
        source.decide(float(number), "b", "R")
        source.decide(float(number), "a", "R")
    async with aclosing(history(source)) as entries:
        async for _ in entries:
            count += 1
            held = max(held, source.read_records - count)
    assert count == 1500
    assert held < 10 * len(source.kept)


async def test_only_one_job_is_read_and_shown() -> None:
    source = FewRecords()
    jobs = [f"j{number}" for number in range(8)]
    for time_s, job in enumerate(jobs, start=1):
        source.see(float(time_s), f"{job}-pod", job)
        source.decide(float(time_s), job, "R")
    found = await read(source, Sought("default", "j3"))
    assert [type(each) for each in found] == [Decided, Seen]
    in_partition = len(source.kept[partition_of_job("j3")])
    of_decisions = sum(len(source.kept[decisions_of(job)]) for job in {*jobs[:2], "j3"})
    assert source.read_records <= in_partition + 2 * of_decisions


@pytest.mark.parametrize(
    ("sought", "count"),
    [
        (Sought(services=frozenset({"fusion-backend"})), 1),
        (Sought(services=frozenset({"watch-ingest"})), 1),
        (Sought(namespace="other"), 0),
        (Sought(namespace="default"), 2),
        (Sought(since_s=2.0), 1),
        (Sought(until_s=1.5), 1),
        (Sought(job="a"), 2),
        (Sought(job="x"), 0),
    ],
)
async def test_entries_are_filtered(sought: Sought, count: int) -> None:
    source = FewRecords()
    source.see(1.0, "p", "a")
    source.decide(2.0, "a", "R")
    assert len(await read(source, sought)) == count


@pytest.mark.parametrize(
    "sought", [Sought("default", "b"), Sought(services=frozenset({"node-tainter"})), Sought()]
)
async def test_a_record_that_nobody_can_read_may_be_what_is_wanted(sought: Sought) -> None:
    source = FewRecords()
    source.see(1.0, "p", "b")
    name = partition_of_job("b")
    source.kept[name] = [replace(source.kept[name][0], value=b"{broken")]
    assert [type(each) for each in await read(source, sought)] == [Unread]


async def test_following_what_has_an_end_ends() -> None:
    source = FewRecords()
    source.see(1.0, "p", "a")
    firsts = dict.fromkeys((partition_of_job("a"), decisions_of("a")), 0)
    async with aclosing(followed(source, firsts)) as entries, asyncio.timeout(patient(5)):
        assert [type(each) async for each in entries] == [Seen]


async def test_what_was_written_long_before_is_not_read() -> None:
    source = FewRecords(batch=1)
    for number in range(1000):
        source.see(number * 100.0, "p", "a")
    assert len(await read(source, Sought(since_s=99_800.0))) == 2
    assert source.read_records < 20


async def test_records_that_are_missing_are_a_gap() -> None:
    source = FewRecords()
    for number in range(4):
        source.see(float(number), "p", "a")
    name = partition_of_job("a")
    del source.kept[name][1:3]
    gaps = [each for each in await read(source) if isinstance(each, Gap)]
    assert [(each.place, each.end) for each in gaps] == [(Place(name, 1), 3)]


def test_a_reader_that_follows_gets_what_is_written_later() -> None:
    async def test() -> None:
        few = FewRecords()
        few.see(1.0, "before", "a")
        few.see(2.0, "after", "a")
        log = MemoryLog(now=asyncio.get_running_loop().time)
        await log.ensure_topics(LAYOUT.counts())
        (records,) = few.kept.values()
        new = [NewRecord(each.partition, each.key, each.value, each.headers) for each in records]
        await log.produce(new[:1])
        found = []
        async with aclosing(history(LogSource(log, LAYOUT), follow=True)) as entries:
            async for entry in entries:
                found.append(entry)
                if len(found) == 2:
                    break
                asyncio.get_running_loop().call_later(
                    5.0, asyncio.ensure_future, log.produce(new[1:])
                )
        assert [each.fact.name for each in found if isinstance(each, Seen)] == ["before", "after"]  # type: ignore[union-attr]

    run_virtually(test())
