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
        assert self.checker is not None, "an aggregate gives tuples"
        try:
            result = self._function(items)
            self.checker.check((result,))
        except BaseException as problem:  # noqa: BLE001 - code of the author, even SystemExit
            self.failed(items[-1], problem)
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
        size, every = int(self._window.size), int(self._window.every)
        for item in batch:
            window = self.windows.get(self._key(item))
            window.items.append(item)
            window.since += 1
            if len(window.items) > size:
                del window.items[0]
            if window.since == every:
                window.since = 0
                self._give(list(window.items), given)
                if self._window.is_tumbling:
                    window.items.clear()
        return given

    def finish(self) -> list[Any]:
        """The results of windows that are open: tuples came since their last result."""
        given: list[Any] = []
        for window in self.windows.values.values():
            if window.since:
                self._give(list(window.items), given)
        self.windows.values.clear()
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
        given = self.on_time(now)
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
        kept: dict[Key, Any] = {}
        for key, window in self.windows.values.items():
            if window.ended >= end:
                kept[key] = window
                continue
            inside = [each for each in window.items if begin <= each[0] < end]
            if inside:
                self._give([item for _, item in inside], given)
            window.ended = end
            window.items = [e for e in window.items if e[0] >= begin + self._window.every]
            if window.items:
                kept[key] = window
        self.windows.values = kept
        self._changed = False

    def finish(self) -> list[Any]:
        """The results of windows that are open, if tuples came since their last results."""
        given: list[Any] = []
        if self._changed and self.due is not None:
            self._end(self.due, given)
        self.windows.values.clear()
        self.due = None
        return given
