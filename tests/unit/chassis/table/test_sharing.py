"""Instances of a service that share partitions: each works on its part, and lets go of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from contracts.topics import CLUSTER, PARTITIONS, RESOURCES, TopicLayout, partition_of
from services.chassis.log.bus import Partition
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.clock import LoopClock
from services.chassis.running.reconciling import StageRunner
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import gone, present, record, synced
from tests.unit.chassis.running.staging import (
    EVERYWHERE,
    CarryOut,
    Decide,
    Do,
    SmallStage,
    commit_resync,
    idle,
    new_runtime,
    succeed,
)
from tests.virtual_time import virtually

SHARING = "fusion-backend"
CLUSTER_0 = Partition(CLUSTER.name(), 0)


def home(name: str) -> Partition:
    """The partition of everything about a subject."""
    return Partition(RESOURCES.name(), partition_of("ns", name, PARTITIONS))


MINE, OTHERS = home("a"), home("b")


class AssigningLog(MemoryLog):
    """A log whose group has as many members as a test says."""

    def __init__(self) -> None:
        super().__init__(now=LoopClock().now)
        self.assigned: asyncio.Queue[frozenset[Partition]] = asyncio.Queue()
        self.groups: list[str] = []

    async def assignment(
        self, group: str, topics: Sequence[str]
    ) -> AsyncIterator[frozenset[Partition]]:
        """What the test assigns, one after the other."""
        self.groups.append(group)
        while True:
            yield await self.assigned.get()


@dataclass
class SharingStage(SmallStage):
    """Every Service is a subject of its own; all instances read Nodes."""

    name: str = SHARING
    kinds: frozenset[str] = field(default=frozenset({"Service", "Node"}))

    def subject(self, key: str) -> tuple[str, str]:
        return "ns", key


@dataclass
class Instance:
    """One instance of the service."""

    log: AssigningLog
    runner: StageRunner
    stage: SharingStage

    async def assign(self, *partitions: Partition) -> None:
        """The group decides that this instance has these partitions."""
        self.log.assigned.put_nowait(frozenset(partitions))
        await asyncio.sleep(0.1)

    def names(self) -> list[str]:
        """The Services that the instance knows of."""
        return [entry.name for entry in self.runner.table.of_kind("Service")]


@asynccontextmanager
async def instance(decide: Decide = idle, carry_out: CarryOut = succeed) -> AsyncIterator[Instance]:
    """An instance whose log holds a complete resync of the Services `a` and `b`."""
    log = AssigningLog()
    await log.ensure_topics(TopicLayout().counts())
    for name in ("a", "b"):
        await log.produce([record(present(name), home(name))])
    await log.produce([record(synced(), each) for each in EVERYWHERE])
    await log.produce([record(synced("Node"), CLUSTER_0)])
    runtime = new_runtime(log, shares=(RESOURCES,))
    runner = StageRunner(lambda wiring: SharingStage(wiring, decide, carry_out), runtime)
    stage = runner.stage
    assert isinstance(stage, SharingStage)
    task = asyncio.create_task(runner.run())
    await asyncio.sleep(0.1)
    try:
        yield Instance(log, runner, stage)
    finally:
        runtime.stopping.set()
        await task


@pytest.fixture(autouse=True)
def _two_parts() -> None:
    assert MINE != OTHERS


@virtually
async def test_nothing_is_read_or_decided_before_a_part_is_assigned() -> None:
    async with instance() as it:
        assert it.log.groups == [f"millrace.{SHARING}"]
        assert not it.runner.is_live
        assert it.names() == []


@virtually
async def test_an_instance_knows_and_decides_its_own_part_only() -> None:
    async with instance() as it:
        await it.assign(MINE)
        assert it.runner.is_live
        assert it.names() == ["a"]
        assert it.stage.decided == ["a"]


@virtually
async def test_a_new_part_is_decided_when_it_is_complete_and_the_old_one_is_not_disturbed() -> None:
    async with instance() as it:
        await it.assign(MINE)
        await it.assign(MINE, OTHERS)
        assert it.stage.decided == ["a", "b"]
        await it.log.produce([record(present("a", version=2, size=1), MINE)])
        await asyncio.sleep(0.1)
        assert it.stage.decided == ["a", "b", "a"]


@virtually
async def test_a_part_waits_for_what_all_instances_read() -> None:
    async with instance() as it:
        await it.log.empty()
        await it.log.produce([record(present("a"), MINE), record(synced(), MINE)])
        await it.assign(MINE)
        assert it.stage.decided == []
        await it.log.produce([record(synced("Node"), CLUSTER_0)])
        await asyncio.sleep(0.1)
        assert it.stage.decided == ["a"]


@virtually
async def test_a_part_without_its_completion_is_not_decided_while_others_are() -> None:
    async with instance() as it:
        await it.assign(MINE)
        began_at = await it.log.end_offsets([OTHERS])
        await commit_resync(it.log, began_at)
        await it.log.produce([record(present("b", version=2, size=1), OTHERS)])
        await it.assign(MINE, OTHERS)
        await it.log.produce([record(present("a", version=2, size=1), MINE)])
        await asyncio.sleep(0.1)
        assert it.stage.decided == ["a", "a"]
        assert not it.runner.is_live
        await it.log.produce([record(synced(), OTHERS)])
        await asyncio.sleep(0.1)
        assert it.stage.decided == ["a", "a", "b"]


@virtually
async def test_what_is_left_to_another_leaves_the_table_and_nobody_sees_a_deletion() -> None:
    async with instance() as it:
        await it.assign(MINE, OTHERS)
        it.stage.decided.clear()
        await it.assign(MINE)
        assert it.names() == ["a"]
        assert it.stage.decided == []
        await it.log.produce([record(gone("b", version=2), OTHERS)])
        await asyncio.sleep(0.1)
        assert it.stage.decided == []


@virtually
async def test_a_part_that_comes_back_is_read_again() -> None:
    async with instance() as it:
        await it.assign(MINE, OTHERS)
        await it.assign(MINE)
        await it.assign(MINE, OTHERS)
        assert it.names() == ["a", "b"]
        assert sorted(it.stage.decided) == ["a", "b", "b"]


@virtually
async def test_a_part_that_goes_and_comes_back_in_one_moment_is_read_again() -> None:
    """The reader of the assignment in between was cancelled before it had begun."""
    async with instance() as it:
        await it.assign(MINE, OTHERS)
        it.log.assigned.put_nowait(frozenset({MINE}))
        await it.assign(MINE, OTHERS)
        assert it.names() == ["a", "b"]


@virtually
async def test_effects_of_a_part_that_was_lost_are_not_begun_any_more() -> None:
    going_on = asyncio.Event()

    async def carry_out(_key: str, _effect: Do) -> str:
        await going_on.wait()
        return "done"

    def decide(key: str, _entry: Entry | None) -> Decision[Do]:
        wanted = tuple(Do("make", n) for n in range(100)) if key == "b" else ()
        return Decision(wanted, "Working", requeue_at=LoopClock().now() + 5)

    async with instance(decide, carry_out) as it:
        await it.assign(MINE, OTHERS)
        await it.assign(MINE)
        it.stage.decided.clear()
        going_on.set()
        await asyncio.sleep(60)
        assert len(it.stage.carried_out) == 32, "those in flight end, the others do not begin"
        assert set(it.stage.decided) == {"a"}, "nor does a timer wake a key that was left"


@virtually
async def test_an_own_write_that_crashes_the_stage_does_not_stop_the_reassignment() -> None:
    """The reader ended, and the instance decided nothing from then on."""

    def crash(_entry: Entry, _table: object) -> list[str]:
        raise RuntimeError("a defect of the stage")

    async with instance() as it:
        await it.assign(MINE, OTHERS)
        it.runner.table.observe("Service", "ns", "b", uid="new-b", resource_version=9, data={})
        it.stage.keys = crash  # type: ignore[assignment, method-assign]
        await it.assign(MINE)
        del it.stage.keys
        await it.assign(MINE, OTHERS)
        assert it.stage.decided[-1] == "b"


@virtually
async def test_own_writes_that_no_fact_has_confirmed_leave_with_their_part() -> None:
    async with instance() as it:
        await it.assign(MINE, OTHERS)
        for name in ("a", "b"):
            it.runner.table.observe(
                "Service", "ns", f"{name}", uid=f"new-{name}", resource_version=9, data={}
            )
        await it.assign(MINE)
        assert it.names() == ["a"]
