"""Results of windows that are due at once are given in rounds: few of them are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App, ManualClock, Window, tumbling
from millrace.runtime.executing import execution_of
from millrace.runtime.failing import Stuck
from millrace.runtime.operators import Execution
from millrace.runtime.stores import Keyed
from millrace.runtime.weighing import BATCH_BYTES, MADE_MAX
from millrace.state import KEY_GROUPS

pytestmark = pytest.mark.looptime

KEYS = 40


@dataclass
class Event:
    key: int


@dataclass
class Blob:
    key: int
    count: int
    data: bytes


def heavy(events: list[Event]) -> Blob:
    return Blob(events[0].key, len(events), bytes(BATCH_BYTES // 2 + 1))


def light(events: list[Event]) -> Blob:
    return Blob(events[0].key, len(events), b"")


def execution(window: Window, clock: ManualClock, function: Any = heavy) -> Execution:
    app = App("demo::Windows")
    stream = app.import_(Event, subscription="true").key_by("key").window(window)
    stream.aggregate(function, name="Made").sink(print)
    return execution_of(app.graph.operator("Made"), {}, clock)


def events(keys: int = KEYS) -> list[Event]:
    return [Event(key) for key in range(keys)]


def on_time(running: Execution, now: float) -> Iterator[list[Blob]]:
    while running.due is not None and running.due <= now:
        if given := running.on_time(now):  # the last round finds out that there are no more
            yield given


def keys_of(rounds: list[list[Blob]]) -> list[int]:
    return sorted(each.key for given in rounds for each in given)


def test_heavy_results_that_are_due_at_once_are_given_in_rounds() -> None:
    running = execution(tumbling(seconds=1), ManualClock())
    running.process(events())
    rounds = list(on_time(running, 1))
    assert {len(each) for each in rounds} == {2}
    assert keys_of(rounds) == list(range(KEYS))


def test_many_small_results_that_are_due_at_once_are_given_in_rounds() -> None:
    running = execution(tumbling(seconds=1), ManualClock(), light)
    running.process(events(3 * MADE_MAX))
    rounds = list(on_time(running, 1))
    assert [len(each) for each in rounds] == 3 * [MADE_MAX]
    assert keys_of(rounds) == list(range(3 * MADE_MAX))


def test_tuples_come_behind_all_results_that_were_due_before() -> None:
    clock = ManualClock()
    running = execution(tumbling(seconds=1), clock)
    running.process(events())
    clock.advance(1)
    batch, rounds = [Event(0)], list[list[Blob]]()
    while True:
        rounds.append(running.process(batch))
        if not running.unprocessed:
            break
        assert running.unprocessed == batch
    assert keys_of(rounds) == list(range(KEYS))
    assert keys_of(list(on_time(running, 2))) == [0]


@pytest.mark.parametrize("window", [tumbling(seconds=9), tumbling(count=9)], ids=["time", "count"])
def test_windows_that_are_open_at_the_end_are_given_in_rounds(window: Window) -> None:
    running = execution(window, ManualClock())
    running.process(events())
    rounds = list(iter(running.finish, []))
    assert {len(each) for each in rounds} == {2}
    assert keys_of(rounds) == list(range(KEYS))


def test_heavy_results_of_full_windows_leave_the_tuples_behind_them() -> None:
    running = execution(tumbling(count=1), ManualClock())
    rest: Any = events()
    rounds = list[list[Blob]]()
    while rest:
        rounds.append(running.process(rest))
        rest = running.unprocessed
    assert {len(each) for each in rounds} == {2}
    assert keys_of(rounds) == list(range(KEYS))


def test_a_window_that_fails_in_a_later_round_doubles_and_forgets_none() -> None:
    fails = [True]

    def failing(window: list[Event]) -> Blob:
        if window[0].key == 7 and fails.pop():
            raise ValueError("the seventh")
        return heavy(window)

    failing.__annotations__ = {"window": list[Event], "return": Blob}
    running = execution(tumbling(seconds=1), ManualClock(), failing)
    running.process(events())
    rounds, fails[:] = list[list[Blob]](), [False, True]
    while running.due is not None:
        try:
            rounds.append(running.on_time(1))
        except Stuck as stuck:
            rounds.append(list(stuck.done))
    assert not fails
    assert keys_of(rounds) == list(range(KEYS))


def test_windows_that_move_away_between_two_rounds_are_given_elsewhere() -> None:
    running = execution(tumbling(seconds=1), ManualClock())
    running.process(events())
    rounds = [running.on_time(1)]
    assert isinstance(running.store, Keyed)
    running.store.drop(range(KEY_GROUPS), KEY_GROUPS)
    rounds += on_time(running, 1)
    assert keys_of(rounds) == [0, 1]


def test_a_clock_that_goes_back_between_two_rounds_doubles_and_forgets_none() -> None:
    clock = ManualClock()
    clock.advance(10)
    running = execution(tumbling(seconds=1), clock)
    running.process(events())
    rounds = [running.on_time(11)]
    clock.advance(-5)
    running.process(events())
    rounds += on_time(running, 11)
    assert keys_of(rounds) == sorted(2 * list(range(KEYS)))


async def test_few_results_are_in_memory_in_front_of_a_sink() -> None:
    """Before, all windows that were open at the end were, with what each is made into."""
    made, taken, most = [0], [0], [0]

    def counted(window: list[Event]) -> Blob:
        made[0] += 1
        most[0] = max(most[0], made[0] - taken[0])
        return heavy(window)

    def take(_: Blob) -> None:
        taken[0] += 1

    counted.__annotations__ = {"window": list[Event], "return": Blob}
    app = App("demo::Windows")
    stream = app.source(events, returns=Event).key_by("key").window(tumbling(seconds=3_600))
    stream.aggregate(counted, name="Made").sink(take)
    await app.run_async(clock=ManualClock())
    assert (made[0], taken[0]) == (KEYS, KEYS)
    assert most[0] <= 4
