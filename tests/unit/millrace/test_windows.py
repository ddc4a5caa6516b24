"""Windows by count and time, tumbling and sliding, against a plain computation of the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace import App, ManualClock, Window, sliding, tumbling
from millrace.runtime.barriers import STOP, Barrier
from millrace.runtime.executing import execution_of
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Execution
from millrace.runtime.stores import Keyed
from millrace.runtime.windowing import TimeWindows
from millrace.state import KEY_GROUPS


@dataclass
class Event:
    key: str
    value: int


@dataclass
class Values:
    values: list[int]


def values(events: list[Event]) -> Values:
    return Values([each.value for each in events])


def execution(window: Window, clock: ManualClock, *key: str) -> Execution:
    app = App("demo::Windows")
    stream = app.import_(Event, subscription="true")
    if key:
        stream.key_by(*key).window(window).aggregate(values).sink(print)
    else:
        stream.window(window).aggregate(values).sink(print)
    return execution_of(app.graph.operator("values"), {}, clock)


def shown(given_out: Sequence[Values]) -> list[list[int]]:
    return [each.values for each in given_out]


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 9), st.integers(1, 7))
def test_windows_by_count_are_the_last_tuples_at_each_step(
    count: int, size: int, every: int, batch: int
) -> None:
    every = min(size, every)
    running = execution(sliding(count=size, every=every), ManualClock())
    events = [Event("a", each) for each in range(count)]
    found: list[Values] = []
    for begin in range(0, count, batch):
        found += running.process(events[begin : begin + batch])
    found += running.finish()
    ends = [*range(every, count + 1, every), *([count] if count % every else [])]
    expected = [list(range(max(0, end - size), end)) for end in ends]
    if size == every:  # a tumbling window forgets its tuples
        expected = [list(range(end - (end % size or size), end)) for end in ends]
    assert shown(found) == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab")), max_size=30),
    st.integers(1, 6),
    st.integers(1, 4),
)
def test_windows_by_time_are_the_tuples_of_that_time_for_each_key(
    arrivals: list[tuple[int, str]], every: int, factor: int
) -> None:
    """Each multiple of `every` ends a window of `size`; empty ones give nothing."""
    size, clock = every * factor, ManualClock()
    running = execution(sliding(seconds=size, every=every), clock, "key")
    events = [(at, Event(key, n)) for n, (at, key) in enumerate(sorted(arrivals))]
    found: list[Values] = []
    for at, each in groupby(events, key=lambda event: event[0]):
        clock.advance(at - clock.now())
        found += running.process([event for _, event in each])
    clock.advance(size + every)
    found += running.on_time(clock.now())
    expected = [
        [event.value for at, event in events if end - size <= at < end and event.key == key]
        for end in range(every, int(clock.now()) + 1, every)
        for key in "ab"
    ]
    assert sorted(shown(found)) == sorted(each for each in expected if each)
    assert running.due is None
    assert running.finish() == []


def test_a_window_of_time_ends_without_further_tuples() -> None:
    clock, found = ManualClock(), list[Values]()

    async def source() -> AsyncIterator[Event]:
        yield Event("a", 1)
        await clock.wait_until(9)
        yield Event("a", 2)
        await clock.wait_until(20)
        assert shown(found) == [[1, 2]]

    def tick() -> Iterator[Event]:
        yield from ()

    async def moving() -> AsyncIterator[Event]:
        for second in range(30):
            await asyncio.sleep(0.001)
            clock.advance(1)
            if second > 30:
                yield Event("a", second)

    app = App("demo::Time")
    stream = app.source(source).union(app.source(moving)).union(app.source(tick))
    stream.window(tumbling(seconds=10)).aggregate(values).sink(found.append)
    app.run(clock=clock)
    assert shown(found) == [[1, 2]]


def test_windows_of_time_begin_at_multiples_of_their_size() -> None:
    clock = ManualClock(1_007)
    running = execution(tumbling(seconds=10), clock)
    assert running.process([Event("a", 1)]) == []
    assert running.due == 1_010
    clock.advance(3)
    assert shown(running.process([Event("a", 2)])) == [[1]]
    assert shown(running.finish()) == [[2]]


def test_a_clock_that_jumps_gives_every_window_that_it_passed() -> None:
    clock = ManualClock()
    running = execution(sliding(seconds=3, every=1), clock)
    running.process([Event("a", 1)])
    assert shown(running.on_time(1_000_000)) == [[1], [1], [1]]


@pytest.mark.parametrize("window", [tumbling(count=3), sliding(count=3, every=2)])
def test_windows_by_count_go_on_where_they_were_saved(window: Window) -> None:
    events = [Event("ab"[each % 2], each) for each in range(11)]
    whole = execution(window, ManualClock(), "key").process(events)
    before, after = (execution(window, ManualClock(), "key") for _ in range(2))
    found = before.process(events[:5])
    move(before, after)
    assert found + after.process(events[5:]) == whole


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(1, 9), st.sets(st.integers(1, 29), max_size=6))
def test_restarts_between_change_no_window_by_count(size: int, every: int, at: set[int]) -> None:
    """Whether `every` divides the size or not, at the end of the stream as well."""
    window = sliding(count=size, every=min(size, every))
    events = [Event("abb"[each % 3], each) for each in range(30)]
    running = execution(window, ManualClock(), "key")
    whole = [*running.process(events), *running.finish()]
    found: list[Values] = []
    running = execution(window, ManualClock(), "key")
    for place, event in enumerate(events):
        if place in at:
            before, running = running, execution(window, ManualClock(), "key")
            move(before, running)
        found += running.process([event])
    assert sorted(shown([*found, *running.finish()])) == sorted(shown(whole))


def test_windows_by_time_go_on_where_they_were_saved() -> None:
    clock = ManualClock(5)
    before, after = (execution(sliding(seconds=4, every=2), clock, "key") for _ in range(2))
    before.process([Event("a", 1)])
    assert shown(before.on_time(6)) == [[1]]
    move(before, after)
    assert after.due == 8
    assert shown(after.on_time(8)) == [[1]]
    assert after.due is None


def move(before: Execution, after: Execution) -> None:
    """Save the keys of one and load them into the other, group by group."""
    assert isinstance(before.store, Keyed)
    assert isinstance(after.store, Keyed)
    for data in before.store.save(128).values():
        after.store.load(data)
    after.resume()
    assert isinstance(after, type(before))
    assert not isinstance(after, TimeWindows) or after.due is not None


@pytest.mark.parametrize("barrier", [Barrier("checkpoint", 1), Barrier("hand-over", 4), STOP])
async def test_a_window_that_is_due_while_its_node_rests_is_given_when_it_goes_on(
    barrier: Barrier,
) -> None:
    """Else it is in the saved state, and given as well."""
    clock = ManualClock(1_000)
    node = Node("values", execution(tumbling(seconds=10), clock), groups=KEY_GROUPS)
    given_out: list[Values | Barrier] = []

    class Kept:
        async def take(self, batch: Sequence[Values]) -> None:
            given_out.extend(batch)

        async def take_barrier(self, barrier: Barrier) -> None:
            given_out.append(barrier)

    node.inputs = 1
    node.targets.append(Kept())
    keeping_time = asyncio.create_task(node.keep_time(clock))
    await node.take([Event("a", 1)])
    await node.take_barrier(barrier)
    clock.advance(10)
    await _turns()
    assert given_out == [barrier]
    node.go_on(barrier)
    await _turns()
    assert given_out == [barrier, Values([1])]
    keeping_time.cancel()


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
