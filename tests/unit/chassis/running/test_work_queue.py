"""Keyed work: side by side, but one key at a time; coalescing; waking."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from services.chassis.process.backoff import Backoffs
from services.chassis.process.clock import LoopClock
from services.chassis.running.work_queue import WorkQueue
from tests.virtual_time import virtually


@asynccontextmanager
async def running(work: WorkQueue[str]) -> AsyncIterator[asyncio.Event]:
    """Run until the block ends, then drain."""
    stopping = asyncio.Event()
    task = asyncio.create_task(work.run(stopping))
    try:
        yield stopping
    finally:
        stopping.set()
        await task


def keyed(
    work: Callable[[str], Awaitable[float | None]], *, keys_in_flight_max: int = 64
) -> WorkQueue[str]:
    return WorkQueue(work, clock=LoopClock(), keys_in_flight_max=keys_in_flight_max)


@virtually
async def test_a_key_marked_often_before_it_runs_runs_once() -> None:
    ran: list[str] = []

    async def note(key: str) -> None:
        ran.append(key)

    work = keyed(note)
    async with running(work):
        for _ in range(5):
            work.add("a")
        await asyncio.sleep(1)
    assert ran == ["a"]


@virtually
async def test_a_key_marked_often_while_it_runs_runs_once_more_and_not_beside_itself() -> None:
    spans: list[tuple[float, float]] = []
    loop = asyncio.get_running_loop()

    async def take_long(_key: str) -> None:
        began = loop.time()
        await asyncio.sleep(10)
        spans.append((began, loop.time()))

    work = keyed(take_long)
    async with running(work):
        work.add("a")
        await asyncio.sleep(1)
        assert not work.is_dirty("a")
        for _ in range(5):
            work.add("a")
        assert work.is_dirty("a")
        await asyncio.sleep(60)
    assert len(spans) == 2
    assert spans[1][0] >= spans[0][1]


@virtually
async def test_different_keys_run_side_by_side_up_to_the_bound() -> None:
    now, most = 0, 0

    async def count(_key: str) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(1)
        now -= 1

    work = keyed(count, keys_in_flight_max=3)
    async with running(work):
        for key in "abcdefgh":
            work.add(key)
        await asyncio.sleep(10)
        assert work.is_idle
    assert most == 3


@virtually
async def test_a_key_is_woken_when_it_asked_to_be() -> None:
    clock = LoopClock()
    ran_at: list[float] = []

    async def once_more(_key: str) -> float | None:
        ran_at.append(clock.now())
        return clock.now() + 30 if len(ran_at) == 1 else None

    work = WorkQueue(once_more, clock=clock)
    async with running(work):
        work.add("a")
        await asyncio.sleep(100)
    assert len(ran_at) == 2
    assert ran_at[1] - ran_at[0] == pytest.approx(30, abs=0.1)


@virtually
async def test_the_newest_request_to_be_woken_replaces_older_ones() -> None:
    clock = LoopClock()
    wishes = iter((50.0, 5.0, None, None))
    ran: list[float] = []

    async def wish(_key: str) -> float | None:
        ran.append(clock.monotonic())
        delay_s = next(wishes)
        return None if delay_s is None else clock.now() + delay_s

    work = WorkQueue(wish, clock=clock)
    async with running(work):
        work.add("a")
        await asyncio.sleep(1)
        work.add("a")
        await asyncio.sleep(100)
    assert len(ran) == 3, "the wish for 50 seconds was given up"


@virtually
async def test_a_request_that_is_over_already_is_no_circle() -> None:
    ran = 0

    async def wish(_key: str) -> float:
        nonlocal ran
        ran += 1
        return 0.0

    work = keyed(wish)
    async with running(work):
        work.add("a")
        await asyncio.sleep(1)
    assert 2 <= ran <= 101


@virtually
async def test_a_stop_waits_for_what_runs_and_starts_nothing_new() -> None:
    ended: list[str] = []

    async def take_long(key: str) -> None:
        await asyncio.sleep(10)
        ended.append(key)

    work = keyed(take_long, keys_in_flight_max=1)
    async with running(work) as stopping:
        work.add("a")
        work.add("b")
        await asyncio.sleep(1)
        stopping.set()
    assert ended == ["a"]


class TestBackoffs:
    """Failures in a row wait longer and longer."""

    def test_delays_grow_to_the_cap_and_are_jittered_below_it(self) -> None:
        backoffs: Backoffs[str] = Backoffs(random.Random(1), base_s=1, cap_s=10)
        delays = [backoffs.mark_failed("a", 0.0) for _ in range(8)]
        for delay, full in zip(delays, (1, 2, 4, 8, 10, 10, 10, 10), strict=True):
            assert full / 2 <= delay <= full
        assert len(set(delays[4:])) == 4

    def test_success_and_long_peace_forget(self) -> None:
        backoffs: Backoffs[str] = Backoffs(random.Random(1), base_s=1, cap_s=10)
        for _ in range(5):
            backoffs.mark_failed("a", 0.0)
        assert backoffs.waiting_until("a", 1.0) is not None
        assert backoffs.waiting_until("b", 1.0) is None
        backoffs.mark_succeeded("a")
        assert backoffs.waiting_until("a", 1.0) is None
        for _ in range(5):
            backoffs.mark_failed("a", 0.0)
        assert backoffs.mark_failed("a", 1000.0) <= 1001.0

    def test_a_server_that_says_when_is_believed(self) -> None:
        backoffs: Backoffs[str] = Backoffs(random.Random(1), base_s=1, cap_s=10)
        assert backoffs.mark_failed("a", 100.0, at_least_s=30) == 130

    def test_the_first_supersession_waits_for_nothing_and_the_second_does(self) -> None:
        backoffs: Backoffs[str] = Backoffs(random.Random(1), base_s=1, cap_s=10)
        assert backoffs.mark_superseded("a", 5.0) == 5.0
        assert backoffs.mark_superseded("a", 5.0) > 5.0


@virtually
async def test_a_wall_clock_that_steps_back_for_a_moment_costs_a_minute_at_most() -> None:
    """A wish made while the clock is an hour slow is looked at again before the hour is over."""
    clock, ran = LoopClock(), list[float]()
    wish = clock.now() + 5.0

    async def wait_for_wish(_key: str) -> float | None:
        ran.append(clock.monotonic())
        return wish if clock.now() < wish else None

    work: WorkQueue[str] = WorkQueue(wait_for_wish, clock=clock)
    async with running(work):
        clock.skew_s = -3600.0
        work.add("a")
        await asyncio.sleep(1)
        clock.skew_s = 0.0
        await asyncio.sleep(60)
        assert len(ran) == 2
