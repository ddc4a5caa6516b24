"""Windows by time against integer arithmetic: borders, odd sizes, clocks that jump both ways."""

from __future__ import annotations

import asyncio
import math
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from millrace import App, ManualClock, Window, sliding, tumbling
from millrace.errors import GraphError
from millrace.runtime.executing import execution_of
from millrace.runtime.operators import Execution
from millrace.runtime.stores import Keyed
from millrace.state import KEY_GROUPS

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
TUPLES = 100_000
SIZES: list[tuple[float, int]] = [
    (0.1, 100_000_000),
    (0.3, 300_000_000),
    (1 / 3, 333_333_333),
    (0.7, 700_000_000),
    (1e-6, 1_000),
    (0.001, 1_000_000),
    (1.1, 1_100_000_000),
    (1, SECOND),
    (2.5, 2_500_000_000),
    (7, 7 * SECOND),
    (59.999999999, 59_999_999_999),
    (3_600, 3_600 * SECOND),
    (86_400, DAY),
    (100_000.1, 100_000_100_000_000),
]
"""Seconds as an author writes them, and the same in nanoseconds."""


def windows() -> Iterator[tuple[Window, int, int]]:
    """Forty of them, with their sizes and `every` in nanoseconds."""
    for seconds, size in SIZES:
        yield tumbling(seconds=seconds), size, size
        yield (
            sliding(seconds=seconds * 3, every=seconds),
            round(Fraction(seconds * 3) * SECOND),
            size,
        )
    for (seconds, every), factor in zip(SIZES[:12], (1.5, 2.25, 7, 1.01) * 3, strict=True):
        larger = seconds * factor
        yield sliding(seconds=larger, every=seconds), round(Fraction(larger) * SECOND), every


FORTY = list(windows())


@dataclass
class Event:
    key: str
    number: int


@dataclass
class Numbers:
    numbers: list[int]


def numbers(events: list[Event]) -> Numbers:
    return Numbers([each.number for each in events])


class SetClock:
    """A clock that shows what a test sets, as nanoseconds."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def now(self) -> float:
        return self.now_ns / SECOND

    async def wait_until(self, moment: float) -> None:
        raise NotImplementedError


def execution(window: Window, clock: SetClock | ManualClock) -> Execution:
    app = App("demo::Windows")
    stream = app.import_(Event, subscription="true")
    stream.key_by("key").window(window).aggregate(numbers).sink(print)
    return execution_of(app.graph.operator("numbers"), {}, clock)


class Oracle:
    """The windows that integer arithmetic says: for each end and key the numbers to be given."""

    def __init__(self, size: int, every: int) -> None:
        self.size, self.every = size, every
        self.open: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))

    def take(self, now_ns: int, event: Event) -> None:
        """It is in each window whose end is above its time, and at most `size` above."""
        above = now_ns - now_ns % self.every + self.every
        for end in range(above, now_ns + self.size + 1, self.every):
            self.open[end][event.key].append(event.number)

    def results(self, until: int | None = None) -> list[list[int]]:
        """All that is due then, each window of a key apart; None: the end of the stream."""
        ends = sorted(each for each in self.open if until is None or each <= until)
        return [numbers for end in ends for numbers in self.open.pop(end).values()]


def moves(rng: random.Random, now: int, every: int, unit: int) -> int:
    """The next time: equal, a bit later, at and around a border, or after a jump of the clock."""
    border = -(-(now // every * every + every) // unit) * unit
    step = rng.randrange(every // unit * 2 + 1) * unit
    jump = rng.randint(-DAY // unit, DAY // unit) * unit
    choices = (now, now + step, border, border - unit, border + unit, now + jump, now - step)
    return rng.choices(choices, (6, 4, 3, 3, 1, 0.5, 0.5))[0]


@pytest.mark.parametrize("number", range(len(FORTY)))
def test_each_tuple_is_in_the_windows_that_integer_arithmetic_says(number: int) -> None:
    """By key, whatever the clock does, with restarts between, and at the end of the stream."""
    window, size, every = FORTY[number]
    rng = random.Random(number)
    now, unit = 1_700_000_000 * SECOND, 1_000
    if every <= SECOND and number % 2:
        now, unit = 0, 1  # as fine as a float can show it
    clock, oracle = SetClock(now), Oracle(size, every)
    running = execution(window, clock)
    taken = 0
    while taken < TUPLES // len(FORTY):
        now = max(moves(rng, now, every, unit), 0)
        clock.now_ns = now
        if rng.random() < 0.5:
            given_out = running.on_time(clock.now())
            assert sorted(shown(given_out)) == sorted(oracle.results(now))
        events = [Event(rng.choice("abc"), taken + each) for each in range(rng.randint(1, 9))]
        taken += len(events)
        given_out = running.process(events)
        assert sorted(shown(given_out)) == sorted(oracle.results(now))
        for event in events:
            oracle.take(now, event)
        assert running.due is not None
        assert abs(Fraction(running.due) * SECOND - min(oracle.open)) < 1_000
        if rng.random() < 0.02:
            running = restarted(running, execution(window, clock))
    assert sorted(shown(running.finish())) == sorted(oracle.results())
    assert running.due is None


def test_there_are_forty_windows() -> None:
    assert len(FORTY) == 40


def shown(given_out: list[Numbers]) -> list[list[int]]:
    return [each.numbers for each in given_out]


def restarted(before: Execution, after: Execution) -> Execution:
    """The next launch, with the saved state of the former."""
    assert isinstance(before.store, Keyed)
    assert isinstance(after.store, Keyed)
    for data in before.store.save(KEY_GROUPS).values():
        after.store.load(data)
    after.resume()
    return after


@dataclass
class Older:
    """What earlier releases saved of the windows of a key."""

    items: list[tuple[float, Event]]
    ended: float


def test_windows_that_an_earlier_release_saved_go_on_where_they_were() -> None:
    older = Older(
        [(0.25, Event("a", 1)), (0.30000000000000004, Event("a", 2))], 0.30000000000000004
    )
    running = execution(sliding(seconds=0.2, every=0.1), SetClock(SECOND))
    assert isinstance(running.store, Keyed)
    running.store.load(msgspec.msgpack.encode([("a", older)]))
    running.resume()
    assert running.due == 0.4
    assert shown(running.on_time(0.4)) == [[1, 2]]
    assert shown(running.on_time(0.5)) == [[2]]
    assert running.due is None


def test_windows_of_this_release_are_refused_by_earlier_ones() -> None:
    """They would go on without the tuples."""
    running = execution(tumbling(seconds=1), SetClock(0))
    running.process([Event("a", 1)])
    assert isinstance(running.store, Keyed)
    (data,) = running.store.save(KEY_GROUPS).values()
    with pytest.raises(msgspec.ValidationError, match="Expected `array`, got `None`"):
        msgspec.msgpack.decode(data, type=list[tuple[str, Older]])


def test_a_stream_is_in_its_windows_once_whatever_its_clock_does() -> None:
    """In a running application, where results are given by the time as well."""
    rng, clock, found = random.Random(7), ManualClock(1_700_000_000), list[Numbers]()
    steps = (0, 0.1, 0.1, 0.1, 0.05, -0.3, 86_400, -86_400)

    async def moving() -> AsyncIterator[Event]:
        for number in range(2_000):
            clock.advance(rng.choice(steps))
            yield Event("a", number)
            if number % 3 == 0:
                await asyncio.sleep(0)  # others run

    app = App("demo::Jumps")
    app.source(moving).window(tumbling(seconds=0.1)).aggregate(numbers).sink(found.append)
    app.run(clock=clock)
    assert sorted(each for result in found for each in result.numbers) == list(range(2_000))


def test_a_window_that_gets_tuples_after_it_was_given_gives_them_alone() -> None:
    clock = SetClock(5 * SECOND)
    running = execution(tumbling(seconds=10), clock)
    running.process([Event("a", 1)])
    assert shown(running.on_time(10)) == [[1]]
    clock.now_ns = 7 * SECOND
    assert running.process([Event("a", 2)]) == []
    assert shown(running.on_time(10)) == [[2]]


def test_a_clock_that_jumps_a_day_ahead_gives_each_result_once() -> None:
    clock = SetClock(0)
    running = execution(tumbling(seconds=0.000001), clock)
    running.process([Event("a", 1)])
    clock.now_ns = DAY
    assert shown(running.process([Event("a", 2)])) == [[1]]
    assert shown(running.finish()) == [[2]]


def test_at_the_end_of_a_stream_a_tuple_is_in_all_of_its_sliding_windows() -> None:
    running = execution(sliding(seconds=3, every=1), SetClock(0))
    running.process([Event("a", 1)])
    assert shown(running.finish()) == [[1], [1], [1]]


@pytest.mark.parametrize("seconds", [0.1, 1 / 3, 1e-9, 59.999999999])
def test_a_result_is_due_when_the_clock_shows_what_a_window_waits_for(seconds: float) -> None:
    """Else its node would wait for a time that has come, without an end."""
    clock = SetClock(1_700_000_000_123_456_789)
    running = execution(tumbling(seconds=seconds), clock)
    running.process([Event("a", 1)])
    assert running.due is not None
    assert shown(running.on_time(running.due)) == [[1]]


def test_a_clock_that_a_test_sets_adds_tenths_exactly() -> None:
    clock = ManualClock(1_700_000_000)
    for _ in range(1_000):
        clock.advance(0.1)
    assert clock.now() == 1_700_000_100


NO_SECONDS = [0, -1, 4e-10, math.nan, math.inf, True, "1", Decimal(1), 4e9, 10**400]
NO_COUNTS = [0, -1, 1.5, math.nan, math.inf, True, "1", 10**400]


@pytest.mark.parametrize("size", NO_SECONDS)
def test_a_window_by_time_has_a_size_of_a_nanosecond_or_more(size: Any) -> None:
    makers: list[Callable[[], Window]] = [
        lambda: tumbling(seconds=size),
        lambda: sliding(seconds=size, every=1e-9),
        lambda: sliding(seconds=3_000_000_000, every=size),
        lambda: Window("time", size, size),
    ]
    for make in makers:
        with pytest.raises(GraphError, match=r"a window by time: its (size|every) is .*: use sec"):
            make()


@pytest.mark.parametrize("size", NO_COUNTS)
def test_a_window_by_count_has_a_whole_number_of_tuples(size: Any) -> None:
    makers: list[Callable[[], Window]] = [
        lambda: tumbling(count=size),
        lambda: sliding(count=9, every=size),
    ]
    for make in makers:
        with pytest.raises(
            GraphError, match=r"a window by count: its (size|every) is .*: use a wh"
        ):
            make()


def test_a_window_is_not_looked_at_less_often_than_its_size() -> None:
    with pytest.raises(GraphError, match=r"every is 1, and its size 0\.5: use at most the size"):
        sliding(seconds=0.5)


def test_a_window_has_a_known_kind() -> None:
    with pytest.raises(GraphError, match="by 'count' or by 'time', and not by 'tuples'"):
        Window("tuples", 1, 1)  # type: ignore[arg-type]
