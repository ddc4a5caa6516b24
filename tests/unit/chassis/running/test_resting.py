"""A decision that costs much and leads to nothing is not repeated for every fact."""

from __future__ import annotations

import asyncio

import pytest

from services.chassis.process.clock import LoopClock
from services.chassis.running.reconciling import REST_S_MAX
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from tests.unit.chassis.running.saying import RESOURCES_0, present, record
from tests.unit.chassis.running.staging import Bench, Do, bench, idle
from tests.virtual_time import virtually

FACTS = 40
APART_S = 0.001


class Costs:
    """Lets every decision take a time on the clock, which otherwise stands still meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each_s: float) -> None:
        self._each_s = each_s
        self._spent_s = 0.0
        monkeypatch.setattr(
            LoopClock,
            "monotonic",
            lambda _clock: asyncio.get_running_loop().time() + self._spent_s,
        )

    def decide(self, key: str, entry: Entry | None) -> Decision[Do]:
        self._spent_s += self._each_s
        if entry is not None and entry.data.get("size") == FACTS:
            return Decision((Do("last"),), "Working")
        return idle(key, entry)


async def hear(it: Bench) -> int:
    """The number of decisions that many facts in a row lead to."""
    await it.say(present("a"))
    await it.sync()
    await it.settle(2 * REST_S_MAX)
    it.forget()
    for number in range(1, FACTS + 1):
        fact = present("a", version=10 + number, spec={"n": 1}, size=number)
        await it.log.produce([record(fact, RESOURCES_0)])
        await it.settle(APART_S)
    await it.settle(2 * REST_S_MAX)
    return len(it.stage.decided)


@virtually
async def test_news_gathers_while_a_costly_decision_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the last of it is decided on: nothing is missed."""
    async with bench(Costs(monkeypatch, 0.02).decide) as it:
        assert await hear(it) < FACTS / 4
        assert it.stage.carried_out[-1] == Do("last")


@virtually
async def test_a_decision_rests_for_many_times_its_own_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that one key takes a twentieth of a core, and not half of it."""
    async with bench(Costs(monkeypatch, 0.001).decide) as it:
        assert await hear(it) <= 2 + FACTS * APART_S / (19 * 0.001)


@virtually
async def test_a_cheap_decision_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(Costs(monkeypatch, 0.0001).decide) as it:
        assert await hear(it) >= FACTS


@virtually
async def test_the_gauge_of_waiting_keys_falls_when_they_are_decided() -> None:
    """It was set when facts came only, so an idle service seemed to have work left for ever."""
    async with bench() as it:
        await it.say(*(present(name) for name in "abc"))
        await it.sync()
        await it.settle()
        assert it.runner.is_idle
        assert it.runtime.metrics.value("millrace_keys_waiting") == 0


@virtually
async def test_the_gauge_of_waiting_keys_falls_although_the_last_decision_crashes() -> None:
    """The health check of a container would find work that lies still."""

    def crash(_key: str, _entry: Entry | None) -> Decision[Do]:
        raise RuntimeError("a defect")

    async with bench(crash) as it:
        await it.say(present("a"))
        await it.sync()
        await it.settle()
        assert it.stage.decided == ["a"]
        assert it.runtime.metrics.value("millrace_keys_waiting") == 0
