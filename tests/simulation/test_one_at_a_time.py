"""The loop of the simulation: one ready callback at a time, and instances that can be stopped."""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from tests.simulation.one_at_a_time import INSTANCE, OneAtATimeLoop, run_one_at_a_time


def test_time_jumps_to_the_next_timer_and_nothing_is_skipped() -> None:
    """An hour passes in no time; timers ring in order."""
    rung: list[tuple[str, float]] = []

    async def ring(name: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        rung.append((name, asyncio.get_running_loop().time()))

    async def test() -> None:
        await asyncio.gather(ring("late", 3600.0), ring("early", 1.5))

    run_one_at_a_time(test(), OneAtATimeLoop())
    assert rung == [("early", 1.5), ("late", 3600.0)]


def test_a_paused_instance_does_nothing_until_it_is_resumed() -> None:
    """Its timers ring late and in order; others go on meanwhile."""
    loop, said = OneAtATimeLoop(), list[tuple[str, float]]()

    async def count(name: str) -> None:
        for _ in range(3):
            await asyncio.sleep(1.0)
            said.append((name, loop.time()))

    async def test() -> None:
        tasks = []
        for name in ("a", "b"):
            context = contextvars.copy_context()
            context.run(INSTANCE.set, name)
            tasks.append(loop.create_task(count(name), context=context))
        await asyncio.sleep(1.5)
        loop.pause("a")
        await asyncio.sleep(10.0)
        loop.resume("a")
        await asyncio.gather(*tasks)

    run_one_at_a_time(test(), loop)
    assert [at for name, at in said if name == "b"] == [1.0, 2.0, 3.0]
    assert [at for name, at in said if name == "a"] == [1.0, 11.5, 12.5]


def test_a_program_that_waits_for_nothing_is_reported_so() -> None:
    """A wait without a timer would last for ever."""

    async def test() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="wait for ever"):
        run_one_at_a_time(test(), OneAtATimeLoop())


def test_after_each_callback_somebody_may_look() -> None:
    """What two tasks write in turn is seen between them."""
    loop, written, seen = OneAtATimeLoop(), list[str](), list[int]()

    async def write(name: str) -> None:
        for _ in range(2):
            written.append(name)
            await asyncio.sleep(0)

    async def test() -> None:
        await asyncio.gather(write("a"), write("b"))

    loop.after_each = lambda: seen.append(len(written))
    run_one_at_a_time(test(), loop)
    assert written == ["a", "b", "a", "b"]
    assert [*dict.fromkeys(seen)] == [0, 1, 2, 3, 4]
