"""Executes aggregates: which tuples are in a window, and when its result is due.

The content of windows is state as any other: by key, or one for the operator and channel, so that
it is saved and loaded by the same stores.

A window by time is named by its end, a multiple of `every` in whole nanoseconds. A tuple is in the
windows whose end is above the time at which it came, and at most `size` above it:

1. Tuples of a key that came one after the other into the same windows are one slice. It has the
   next end at which they are due, and the last.
2. The result of an end has the tuples of all slices that have it next. Then their next end is one
   `every` later; behind their last end they are forgotten.
3. A slice knows what of it was given, so it needs no clock that only goes forward: each tuple is in
   each of its windows once. A window that was given before the clock went back, and gets tuples
   again, gives a second result, of these alone.
4. Only ends of slices are looked at: a time without tuples costs nothing, however long it is.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, make_dataclass
from typing import Any

from millrace.graph import Operator
from millrace.runtime.checking import shown
from millrace.runtime.clock import Clock
from millrace.runtime.failing import Stuck, Take
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.splitting import Key, key_reader
from millrace.runtime.stores import Keyed
from millrace.runtime.weighing import Load
from millrace.windows import nanoseconds, seconds_of


def _no_key(_: Any) -> Key:
    return 0


class _Windows(Execution):
    """Windows of each key; without a key all tuples have the key 0."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance without tuples."""
        super().__init__(operator, values)
        assert operator.window is not None
        assert operator.takes is not None
        self._window = operator.window
        self._key: Callable[[Any], Key] = (
            key_reader(operator.key, operator.takes.access) if operator.key else _no_key
        )

        self._load = Load(self.checker.type if self.checker else None)
        """Results are given in rounds, or all that are due at once would be in memory."""

    def _name(self, key: Key) -> str:
        """The name of a window for its author."""
        return f"its window of key {shown(key)}" if self.operator.key else "its window"

    def _give(self, items: list[Any], given: list[Any]) -> None:
        """Add the result of a window. Raises Stuck with what was given before."""
        assert self.checker is not None, "an aggregate gives tuples"
        try:
            result = self._function(items)
            self.checker.check((result,))
        except BaseException as problem:  # noqa: BLE001 - code of the author, even SystemExit
            if failure := self.failure_at(items[-1], problem):
                raise Stuck(given, (), failure) from None
        else:
            given.append(result)
            self._load.add((result,))


def _counted(tuples: Any) -> Any:
    """A dataclass of what a window by count has to remember: `since` its last result so many."""
    fields = [("items", tuples, field(default_factory=list)), ("since", float, 0)]
    return make_dataclass("Window", fields)


def _timed(tuples: Any, of_old: Any) -> Any:
    """A dataclass of what windows by time have to remember of a key.

    `items` and `ended`: earlier releases saved tuples with their times, in seconds. They refuse an
    `items` without a list, and would forget the slices otherwise.
    """
    slice_ = types.GenericAlias(tuple, (int, int, tuples))
    fields: list[Any] = [
        ("slices", types.GenericAlias(list, slice_), field(default_factory=list)),
        ("items", of_old | None, None),
        ("ended", float, 0),
    ]
    return make_dataclass("Window", fields)


class CountWindows(_Windows):
    """Windows by count, tumbling and sliding."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance without tuples."""
        super().__init__(operator, values)
        assert operator.takes is not None
        type_ = _counted(types.GenericAlias(list, operator.takes.python))
        self.windows: Keyed[Any] = Keyed(type_, type_, self._name)
        self.store = self.windows

    def process(self, batch: Batch) -> list[Any]:
        """The results of the windows that these tuples fill."""
        given: list[Any] = []
        self.unprocessed = ()
        self._load.begin()
        for place, item in enumerate(batch):
            try:
                self._take(item, given)
            except Stuck as stuck:
                raise Stuck(stuck.done, (Take(batch[place:]),), stuck.failure) from None
            if self._load.is_full:
                self.unprocessed = batch[place + 1 :]
                break
        return given

    def _take(self, item: Any, given: list[Any]) -> None:
        """Take a tuple into its window, once the result that it makes due is given."""
        window, size = self.windows.get(self._key(item)), int(self._window.size)
        is_due = window.since + 1 == int(self._window.every)
        if is_due:
            self._give([*window.items, item][-size:], given)
        window.since = 0 if is_due else window.since + 1
        window.items.append(item)
        if len(window.items) > size:
            del window.items[0]
        if is_due and self._window.is_tumbling:
            window.items.clear()

    def finish(self) -> list[Any]:
        """The results of windows that are open: tuples came since their last result."""
        given: list[Any] = []
        self._load.begin()
        for key, window in list(self.windows.values.items()):
            if window.since:
                self._give(list(window.items), given)
            del self.windows.values[key]
            if self._load.is_full:
                break
        return given


class TimeWindows(_Windows):
    """Windows by time, tumbling and sliding; results are due at multiples of `every`."""

    def __init__(self, operator: Operator, values: Mapping[str, Any], clock: Clock) -> None:
        """An instance without tuples."""
        super().__init__(operator, values)
        assert operator.takes is not None
        self._clock = clock
        self._size_ns = nanoseconds(self._window.size)
        self._every_ns = nanoseconds(self._window.every)
        self._next_ns: int | None = None
        """The first end at which a result is due."""
        self._round: Iterator[tuple[Key, Any]] | None = None
        """The windows that have yet to give their results: those of others were heavy."""
        pair = types.GenericAlias(tuple, (float, operator.takes.python))
        tuples = types.GenericAlias(list, operator.takes.python)
        type_ = _timed(tuples, types.GenericAlias(list, pair))
        self.windows: Keyed[Any] = Keyed(type_, type_, self._name)
        self.store = self.windows

    def process(self, batch: Batch) -> list[Any]:
        """The results that were due before these tuples came."""
        now_ns = nanoseconds(self._clock.now())
        self.unprocessed = ()
        try:
            given = self._give_until(now_ns)
        except Stuck as stuck:
            raise Stuck(stuck.done, (Take(batch),), stuck.failure) from None
        if self._load.is_full:
            self.unprocessed = batch  # behind all results that were due before it came
            return given
        first, last = self._ends(now_ns)
        for item in batch:
            _add(self.windows.get(self._key(item)).slices, first, last, item)
        if self._next_ns is None or first < self._next_ns:
            self._expect(first)
        return given

    def _ends(self, time_ns: int) -> tuple[int, int]:
        """The first and the last end of the windows that a time is in."""
        size, every = self._size_ns, self._every_ns
        return time_ns // every * every + every, (time_ns + size) // every * every

    def on_time(self, now: float) -> list[Any]:
        """The results of windows that are due at a time; those that are left are due still."""
        return self._give_until(nanoseconds(now))

    def finish(self) -> list[Any]:
        """The results of windows that are open."""
        return self._give_until(None)

    def _give_until(self, now_ns: int | None) -> list[Any]:
        """The results that are due at a time, or all, until they are heavy. Raises Stuck."""
        given: list[Any] = []
        self._load.begin()
        while self._next_ns is not None and (now_ns is None or self._next_ns <= now_ns):
            self._end(self._next_ns, given)
            if self._load.is_full:
                break
        return given

    def _end(self, end: int, given: list[Any]) -> None:
        """Give the results of an end, and find the next. Raises Stuck: the rest is given later."""
        windows = self._round or iter(list(self.windows.values.items()))
        self._round = None  # where one fails, the next round begins with the first again
        for key, window in windows:
            items = [item for each in window.slices if each[0] == end for item in each[2]]
            if not items or not self._has(key, window):
                continue  # given before one of another key failed, due later, or moved away
            self._give(items, given)
            window.slices = [
                (next_, last, tuples)
                for due, last, tuples in window.slices
                if (next_ := due + self._every_ns if due == end else due) <= last
            ]
            if not window.slices:
                del self.windows.values[key]
            if self._load.is_full:
                self._round = windows
                return
        self._expect(self._next_end())

    def _has(self, key: Key, window: Any) -> bool:
        return self.windows.values.get(key) is window

    def _next_end(self) -> int | None:
        windows = self.windows.values.values()
        return min((each[0] for window in windows for each in window.slices), default=None)

    def _expect(self, end: int | None) -> None:
        self._next_ns = end
        self.due = None if end is None else seconds_of(end)

    def resume(self) -> None:
        """Find out when the next result of windows that were loaded is due."""
        for window in self.windows.values.values():
            self._take_over(window)
        self._expect(self._next_end())

    def _take_over(self, window: Any) -> None:
        """Make slices of what an earlier release saved: the end that was given last, and tuples."""
        every = self._every_ns
        given_until = (nanoseconds(window.ended) + every // 2) // every * every  # it was a sum
        for came, item in window.items or ():
            first, last = self._ends(nanoseconds(came))
            if window.ended:
                first = max(first, given_until + every)
            if first <= last:
                _add(window.slices, first, last, item)
        window.items, window.ended = None, 0


def _add(slices: list[Any], first: int, last: int, item: Any) -> None:
    if slices and slices[-1][0] == first and slices[-1][1] == last:
        slices[-1][2].append(item)
    else:
        slices.append((first, last, [item]))
