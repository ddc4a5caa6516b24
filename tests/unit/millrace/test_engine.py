"""Barriers of the engine: a node that has passed one has processed everything before it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millrace.runtime.barriers import FINAL, STOP, WINDOW, Barrier
from millrace.runtime.clock import ManualClock
from millrace.runtime.engine import Engine
from millrace.runtime.feeding import Feed
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.queues import Queue

HAND_OVER = Barrier("hand-over", 4)


@dataclass
class Read:
    upto: int = 0


class Kept:
    """A target that keeps what came."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def take(self, batch: Batch) -> None:
        self.items += batch

    async def take_barrier(self, barrier: Barrier) -> None:
        self.items.append(barrier)


def node(inputs: int = 1, queue: Queue | None = None) -> tuple[Node, Kept]:
    made, kept = Node("merged", queue=queue), Kept()
    made.inputs = inputs
    made.targets.append(kept)
    return made, kept


def test_a_node_passes_a_barrier_on_once_all_inputs_brought_it() -> None:
    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take([1])
        await merged.take_barrier(HAND_OVER)
        await merged.take([2])
        await merged.take_barrier(HAND_OVER)
        return kept.items

    assert asyncio.run(run()) == [1, 2, HAND_OVER]


def test_an_input_that_has_ended_counts_as_marked() -> None:
    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take_barrier(HAND_OVER)
        await merged.take_barrier(FINAL)
        return kept.items

    assert asyncio.run(run()) == [HAND_OVER]


def test_an_input_that_ends_completes_no_barrier_of_a_hand_over_that_is_over() -> None:
    """Else the node would rest, and nobody would have it go on."""

    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take_barrier(HAND_OVER)
        merged.go_on(HAND_OVER)
        await merged.take_barrier(FINAL)
        return kept.items

    assert asyncio.run(run()) == []


def test_a_node_whose_inputs_have_all_ended_passes_the_end_on_once() -> None:
    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take_barrier(FINAL)
        await merged.take_barrier(FINAL)
        await merged.take_barrier(FINAL)
        await merged.has_passed(STOP)  # one that has ended has nothing to pass on any more
        return kept.items

    assert asyncio.run(run()) == [FINAL]


def test_window_punctuation_waits_for_no_other_input() -> None:
    async def run() -> list[Any]:
        merged, kept = node(inputs=3)
        await merged.take_barrier(WINDOW)
        return kept.items

    assert asyncio.run(run()) == [WINDOW]


def test_a_barrier_of_a_hand_over_that_does_not_happen_does_not_count_for_the_next() -> None:
    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take_barrier(HAND_OVER)
        merged.go_on(HAND_OVER)
        await merged.take_barrier(HAND_OVER)
        return kept.items

    assert asyncio.run(run()) == []


def test_a_barrier_of_a_newer_hand_over_stays_when_an_older_one_does_not_happen() -> None:
    newer = Barrier("hand-over", 5)

    async def run() -> list[Any]:
        merged, kept = node(inputs=2)
        await merged.take_barrier(newer)
        merged.go_on(HAND_OVER)
        await merged.take_barrier(newer)
        return kept.items

    assert asyncio.run(run()) == [newer]


def test_an_engine_is_at_rest_when_what_waited_in_queues_is_processed() -> None:
    async def run() -> list[Any]:
        first, _ = node()
        second, kept = node(queue=Queue())
        first.targets = [second]
        engine = Engine([first, second], ManualClock())
        running = asyncio.create_task(engine.run())
        await first.take([1, 2])
        await first.take_barrier(STOP)
        await engine.at_rest(STOP)
        running.cancel()
        return kept.items

    assert asyncio.run(run()) == [1, 2, STOP]


def test_a_full_queue_makes_wait_who_brings_tuples() -> None:
    async def run() -> bool:
        queue = Queue(2)
        await queue.put([1, 2])
        putting = asyncio.create_task(queue.put([3]))
        await asyncio.sleep(0)
        was_waiting = not putting.done()
        await queue.get()
        await putting
        return was_waiting

    assert asyncio.run(run())


@pytest.mark.parametrize(("congestion", "left"), [("dropFirst", [3, 4]), ("dropLast", [1, 2])])
def test_a_full_queue_drops_and_counts_as_its_policy_says(congestion: str, left: list[int]) -> None:
    async def run() -> tuple[list[int], int]:
        queue = Queue(2, congestion)
        await queue.put([1, 2])
        await queue.put([3, 4])
        await queue.put(STOP)
        found: list[int] = []
        while not isinstance(item := await queue.get(), Barrier):
            found += item
        return found, queue.dropped

    assert asyncio.run(run()) == (left, 2)


async def taken_until(feed: Feed, barrier: Barrier) -> list[Any]:
    found: list[Any] = []
    async for item in feed.items():
        if item == barrier:
            break
        assert isinstance(item, list)
        found += item
    return found


def counted(read: Read, upto: int) -> Iterator[int]:
    while read.upto < upto:
        read.upto += 1
        yield read.upto


async def counted_later(read: Read, upto: int) -> AsyncIterator[int]:
    for value in counted(read, upto):
        yield value
        await asyncio.sleep(0)


@pytest.mark.parametrize("source", [counted, counted_later])
def test_the_state_of_a_held_source_counts_exactly_what_it_gave(source: Any) -> None:
    async def run() -> None:
        read = Read()
        feed = Feed(source(read, 10**9))
        asyncio.get_running_loop().call_later(0.02, feed.hold, STOP)
        found = await taken_until(feed, STOP)
        assert found
        assert read.upto == found[-1] == len(found)

    asyncio.run(run())


def test_a_source_that_waits_for_its_input_is_at_rest_after_a_moment() -> None:
    goes_on = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        goes_on.wait()
        yield 2

    async def run() -> list[Any]:
        feed = Feed(slow())
        feed.hold(STOP)
        found: list[Any] = []
        async for item in feed.items():
            found.append(item)
            if item == STOP:
                goes_on.set()
                feed.resume()
        return found

    assert asyncio.run(run()) == [[1], STOP, [2]]


def test_a_process_that_is_frozen_does_not_take_its_source_for_one_that_waits() -> None:
    """It is frozen between the change of the state and the tuple, while the source is held."""
    changed, thawed = threading.Event(), threading.Event()
    read = Read()

    def source() -> Iterator[int]:
        read.upto += 1
        changed.set()
        thawed.wait()
        yield read.upto

    async def run() -> list[Any]:
        feed = Feed(source())
        taking = asyncio.create_task(taken_until(feed, STOP))
        await asyncio.to_thread(changed.wait)
        feed.hold(STOP)
        time.sleep(0.3)  # noqa: ASYNC251 - frozen: nothing of this process runs
        await asyncio.sleep(0.03)  # only then its threads run again, the loop before the source
        thawed.set()
        return await taking

    assert asyncio.run(run()) == [1]


def test_a_held_list_goes_on_where_it_rested() -> None:
    async def run() -> list[Any]:
        feed = Feed(list(range(300)))
        found: list[Any] = []
        async for item in feed.items():
            found.append(item)
            if item == STOP:
                feed.resume()
            elif len(found) == 1:
                feed.hold(STOP)
        return found

    first, barrier, second = asyncio.run(run())
    assert barrier == STOP
    assert first + second == list(range(300))
