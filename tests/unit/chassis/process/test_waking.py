"""Who slept decides and writes nothing before it has read what was reported meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from services.chassis.kube.resources import resource_of
from services.chassis.log.bus import Partition
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Superseded
from services.chassis.process.waking import SLEPT_S, Wakefulness
from tests.unit.chassis.running.saying import present
from tests.unit.chassis.running.staging import Bench, bench, new_log
from tests.virtual_time import virtually

LONG_S = 60.0
SERVICE = {"metadata": {"name": "a", "namespace": "ns"}}


class Sleeper(LoopClock):
    """A clock that goes on while whoever reads it is stopped."""

    slept_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept_s


class HeldLog(MemoryLog):
    """A log that says its ends when it is let."""

    let: asyncio.Event | None = None
    asked = 0

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        self.asked += 1
        if self.let is not None:
            await self.let.wait()
        return await super().end_offsets(partitions)


async def live(scene: Bench) -> None:
    """Wait until the stage decides, and begin counting."""
    await scene.say(present("a"))
    await scene.sync()
    assert scene.is_live()
    scene.forget()


@virtually
async def test_a_sleep_is_reported_once_and_a_pause_is_none() -> None:
    clock = Sleeper()
    told: list[float] = []
    wakefulness = Wakefulness(clock, told.append)
    for pause_s in (0.0, SLEPT_S, LONG_S, 0.0):
        clock.slept_s += pause_s
        wakefulness.look()
    assert told == [LONG_S]


@virtually
async def test_nothing_is_decided_after_a_sleep_before_the_log_is_read_to_its_end() -> None:
    log = await new_log(HeldLog)
    assert isinstance(log, HeldLog)
    async with bench(log=log, clock=(clock := Sleeper())) as scene:
        await live(scene)
        log.let, clock.slept_s = asyncio.Event(), LONG_S
        await scene.settle(SLEPT_S)
        await scene.say(present("b"))
        assert (scene.is_live(), scene.stage.decided) == (False, [])
        log.let.set()
        await scene.settle(SLEPT_S)
        assert (scene.is_live(), sorted(scene.stage.decided)) == (True, ["a", "b"])


@virtually
async def test_what_was_decided_before_a_sleep_is_not_written_after_it() -> None:
    """The look right before a write finds the sleep that no other has found yet."""
    async with bench(clock=(clock := Sleeper())) as scene:
        await live(scene)
        clock.slept_s = LONG_S
        with pytest.raises(Superseded, match="slept"):
            await scene.stage.wiring.writer.create(resource_of("Service"), "ns", SERVICE)


@virtually
async def test_a_stage_that_slept_during_its_restore_waits_for_both() -> None:
    """A sleep neither ends a restore nor makes it forget what it waits for."""
    async with bench(clock=(clock := Sleeper())) as scene:
        await scene.say(present("a"))
        clock.slept_s = LONG_S
        await scene.settle(SLEPT_S)
        assert not scene.is_live()
        await scene.sync()
        assert scene.is_live()


@virtually
async def test_who_sleeps_again_while_the_ends_are_requested_asks_again() -> None:
    """The first answer may be as old as the first sleep."""
    log = await new_log(HeldLog)
    assert isinstance(log, HeldLog)
    async with bench(log=log, clock=(clock := Sleeper())) as scene:
        await live(scene)
        log.let, log.asked = asyncio.Event(), 0
        for _ in range(2):
            clock.slept_s += LONG_S
            await scene.settle(SLEPT_S)
        log.let.set()
        await scene.settle(SLEPT_S)
        assert (scene.is_live(), log.asked) == (True, 2)
