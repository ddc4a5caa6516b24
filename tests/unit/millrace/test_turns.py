"""A slow function does not hold up its process: between two pieces of work others run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App
from millrace.errors import OperatorFailed
from millrace.runtime.barriers import FINAL
from millrace.runtime.clock import SystemClock
from millrace.runtime.executing import execution_of
from millrace.runtime.failing import Give, Left, Raises, Take
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.queues import Queue
from millrace.runtime.turns import Pace
from tests.unit.millrace.wiring import MemoryNetwork, Pair

COUNT = 300
WORK_S = 0.02
LATE = 5
"""Tuples that may be processed before a timer is heard that is due."""


class Working:
    """Takes tuples, and needs time for each: the clock of the event loop moves meanwhile."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.taken: list[Any] = []
        self.heard_at: list[int] = []
        self._time, self._worked_s = loop.time, 0.0
        loop.time = lambda: self._time() + self._worked_s  # type: ignore[method-assign]

    def take_one(self, item: Any) -> None:
        self._worked_s += WORK_S
        self.taken.append(item)

    async def take(self, batch: Batch) -> None:
        for each in batch:
            self.take_one(each)

    async def take_barrier(self, _: object) -> None:
        """As a target of nodes."""

    async def listen(self) -> None:
        """Note each second how many tuples are processed."""
        while len(self.taken) < COUNT:
            await asyncio.sleep(1)
            self.heard_at.append(len(self.taken))

    def check(self) -> None:
        assert self.taken == list(range(COUNT))
        every = int(1 / WORK_S)
        for number, taken in enumerate(self.heard_at[:-1], 1):
            assert taken <= number * (every + LATE), self.heard_at
        assert len(self.heard_at) >= COUNT // (every + LATE)


def test_a_timer_is_heard_while_a_receiver_takes_what_has_come() -> None:
    async def run() -> None:
        async with Pair(MemoryNetwork()) as pair:
            await pair.send(1)
            await pair.settled()
            working = Working()
            pair.receivers._deliver = lambda _, batch: working.take(batch)
            working.taken.append(0)
            for _ in range(COUNT - 1):  # a frame each, all of them in one read
                await pair.send(1)
            await working.listen()
            working.check()

    asyncio.run(run())


def test_a_timer_is_heard_while_an_operator_takes_what_is_in_its_queue() -> None:
    async def run() -> None:
        working = Working()
        node = Node("slow", queue=Queue())
        node.inputs = 1
        node.targets.append(working)
        for each in range(COUNT):
            await node.take([each])
        await node.take_barrier(FINAL)
        await asyncio.gather(node.work(), working.listen())
        working.check()

    asyncio.run(run())


def test_a_timer_is_heard_while_an_operator_does_what_an_earlier_launch_left() -> None:
    async def run() -> None:
        working = Working()
        node = Node("slow")
        node.targets.append(working)
        left: Iterator[Left] = (Give((each,)) for each in range(COUNT))
        node.restore(left)
        await asyncio.gather(node.begin(), working.listen())
        working.check()

    asyncio.run(run())


async def test_a_function_that_becomes_slow_takes_fewer_tuples_at_once() -> None:
    pace, loop = Pace(), asyncio.get_running_loop()
    now = loop.time()
    loop.time = lambda: now  # type: ignore[method-assign]
    batch = list(range(256))

    def process(each_s: float) -> list[int]:
        nonlocal now
        parts = []
        for part in pace.parts(batch):
            pace.begin()
            now += len(part) * each_s
            pace.end(len(part))
            parts.append(len(part))
        assert sum(parts) == len(batch)
        return parts

    try:
        assert process(0.000_001) == [16, 32, 64, 128, 16]
        assert process(0.000_001) == [256]
        assert next(pace.parts(batch)) is batch
        assert process(1 / 512) == [256]
        assert process(1 / 512) == [5] * 51 + [1]
        assert process(1 / 2)[:2] == [5, 1]
        assert process(0.000_001) == [1, 2, 4, 8, 16, 32, 64, 128, 1]
        batch = list(range(1024))  # behind a flat_map
        assert process(0.000_001) == [256] * 4, "the next one may be slow"
    finally:
        del loop.time


def test_a_timer_is_heard_while_a_slow_function_takes_what_an_earlier_launch_left() -> None:
    """That may be a whole batch: nobody knows yet how slow the function is."""

    async def run() -> None:
        working = Working()
        app = App("tests::Slow")
        source = app.source(lambda: [Number(0)], returns=Number)
        source.sink(lambda number: working.take_one(number.n), name="Slow")
        operator = app.graph.operator("Slow")
        node = Node("slow", execution_of(operator, {}, SystemClock()))
        node.restore([Take([*map(Number, range(COUNT))])])
        await asyncio.gather(node.begin(), working.listen())
        working.check()

    asyncio.run(run())


@dataclass
class Number:
    n: int


class Stays(Raises):
    """A failing node keeps what it has, until it is tried again."""

    def __init__(self) -> None:
        self.has_failed = asyncio.Event()

    async def failed(self, name: str, failure: OperatorFailed) -> bool:
        self.has_failed.set()
        return False


class SlowTarget:
    """Takes a batch in many passes of the event loop, and the next one in fewer."""

    def __init__(self) -> None:
        self.took: list[int] = []
        self._passes = 60

    async def take(self, batch: Batch) -> None:
        self._passes -= 5
        for _ in range(self._passes):
            await asyncio.sleep(0)
        self.took += [each.n for each in batch]

    async def take_barrier(self, _: object) -> None:
        """As a target of nodes."""


async def test_what_is_tried_again_while_a_batch_is_taken_in_parts_keeps_its_order() -> None:
    failures = 1

    def fails_once(number: Number) -> Number:
        nonlocal failures
        if number.n == 5 and failures:
            failures = 0
            raise ValueError("not now")
        return number

    app = App("tests::Fails")
    source = app.source(lambda: [Number(0)], returns=Number)
    source.map(fails_once, name="Op").sink(print)
    operator, failing, target = app.graph.operator("Op"), Stays(), SlowTarget()
    node = Node("Op", execution_of(operator, {}, SystemClock()))
    node.inputs, node.targets, node.failing = 1, [target], failing
    trying = asyncio.create_task(node.try_again())
    taking = asyncio.create_task(node.take([*map(Number, range(160))]))
    await failing.has_failed.wait()
    node.again.set()
    await taking
    await node.take_barrier(FINAL)
    await node.has_passed(FINAL)
    trying.cancel()
    assert target.took == list(range(160))


@pytest.mark.parametrize("is_list", [True, False])
def test_a_timer_is_heard_while_a_source_gives_to_a_slow_function_of_its_process(
    is_list: bool,
) -> None:
    async def run() -> None:
        working = Working()
        app = App("tests::Slow")

        def numbers() -> list[Number]:
            return [Number(each) for each in range(COUNT)]

        def one_by_one() -> Iterator[Number]:
            yield from numbers()

        source = app.source(numbers if is_list else one_by_one)
        source.sink(lambda number: working.take_one(number.n))
        heard = asyncio.create_task(working.listen())
        await app.run_async()
        await heard
        working.check()

    asyncio.run(run())


async def test_a_timer_is_heard_while_a_source_gives_batches_of_less_than_a_turn() -> None:
    loop, taken, heard = asyncio.get_running_loop(), 0, list[int]()
    begun = loop.time()
    loop.time = lambda: begun + taken * 22e-6  # type: ignore[method-assign]
    app = App("tests::Steady")

    def numbers() -> list[Number]:
        return [Number(each) for each in range(60_000)]

    def take(_: Number) -> None:
        nonlocal taken
        taken += 1

    app.source(numbers).sink(take)
    loop.call_at(begun + 1, lambda: heard.append(taken))
    try:
        await app.run_async()
    finally:
        del loop.time
    assert 45_454 <= heard[0] < 50_000
