"""Executes aggregates: which tuples are in a window, and when its result is due.

The content of windows is state as any other: by key, or one for the operator and channel, so that
it is saved and loaded by the same stores.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import field, make_dataclass
from math import floor
from typing import Any

from millrace.graph import Operator
from millrace.runtime.clock import Clock
from millrace.runtime.failing import Stuck, Take
from millrace.runtime.operators import Batch, Execution
from millrace.runtime.splitting import Key, key_reader
from millrace.runtime.stores import Keyed


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


def _content(items: Any, number: str) -> Any:
    """A dataclass of what a window has to remember: its tuples, and a number beside them."""
    fields = [("items", items, field(default_factory=list)), (number, float, 0)]
    return make_dataclass("Content", fields)


class CountWindows(_Windows):
    """Windows by count, tumbling and sliding."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance without tuples."""
        super().__init__(operator, values)
        assert operator.takes is not None
        type_ = _content(types.GenericAlias(list, operator.takes.python), "since")
        self.windows: Keyed[Any] = Keyed(type_, type_)
        self.store = self.windows

    def process(self, batch: Batch) -> list[Any]:
        """The results of the windows that these tuples fill."""
        given: list[Any] = []
        for place, item in enumerate(batch):
            try:
                self._take(item, given)
            except Stuck as stuck:
                raise Stuck(stuck.done, (Take(batch[place:]),), stuck.failure) from None
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
        for key, window in list(self.windows.values.items()):
            if window.since:
                self._give(list(window.items), given)
            del self.windows.values[key]
        return given


class TimeWindows(_Windows):
    """Windows by time, tumbling and sliding; results are due at multiples of `every`."""

    def __init__(self, operator: Operator, values: Mapping[str, Any], clock: Clock) -> None:
        """An instance without tuples."""
        super().__init__(operator, values)
        assert operator.takes is not None
        self._clock = clock
        self._changed = False
        pair = types.GenericAlias(tuple, (float, operator.takes.python))
        type_ = _content(types.GenericAlias(list, pair), "ended")
        self.windows: Keyed[Any] = Keyed(type_, type_)
        self.store = self.windows

    def process(self, batch: Batch) -> list[Any]:
        """The results that were due before these tuples came."""
        now = self._clock.now()
        try:
            given = self.on_time(now)
        except Stuck as stuck:
            raise Stuck(stuck.done, (Take(batch),), stuck.failure) from None
        for item in batch:
            self.windows.get(self._key(item)).items.append((now, item))
        self._changed = True
        if self.due is None:
            self.due = (floor(now / self._window.every) + 1) * self._window.every
        return given

    def on_time(self, now: float) -> list[Any]:
        """The results of all windows that are due at a time."""
        given: list[Any] = []
        while self.due is not None and self.due <= now:
            self._end(self.due, given)
            self.due = self.due + self._window.every if self.windows.values else None
        return given

    def resume(self) -> None:
        """Find out when the next result of windows that were loaded is due."""
        moments = [self._after(each) for each in self.windows.values.values()]
        self.due = min(moments, default=None)
        self._changed = bool(moments)

    def _after(self, window: Any) -> float:
        moment: float = max(window.ended, window.items[0][0])
        return (floor(moment / self._window.every) + 1) * self._window.every

    def _end(self, end: float, given: list[Any]) -> None:
        begin = end - self._window.size
        for key, window in list(self.windows.values.items()):
            if window.ended >= end:
                continue  # given before one of another key failed
            inside = [each for each in window.items if begin <= each[0] < end]
            if inside:
                self._give([item for _, item in inside], given)
            window.ended = end
            window.items = [e for e in window.items if e[0] >= begin + self._window.every]
            if not window.items:
                del self.windows.values[key]
        self._changed = False

    def finish(self) -> list[Any]:
        """The results of windows that are open, if tuples came since their last results."""
        given: list[Any] = []
        if self._changed and self.due is not None:
            self._end(self.due, given)
        self.windows.values.clear()
        self.due = None
        return given
