"""An event loop without a clock, sockets or threads: one ready callback at a time.

1. The oldest ready callback runs; after it `after_each` is called (invariants, for example).
2. Time moves only when nothing is ready, and then at once to the next timer.
3. Callbacks of an instance that is paused are kept, in order, until it is resumed: SIGSTOP and
   SIGCONT. Whose a callback is says its context (`INSTANCE`), which tasks and timers inherit.

The same program therefore runs the same way each time, in no time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

INSTANCE: ContextVar[str] = ContextVar("instance", default="")
"""The service instance that a task or timer belongs to; empty: the cluster, or the test."""

CALLBACKS_AT_ONE_TIME_MAX = 500_000


class _Ready(asyncio.Handle):
    """What a loop knows of a callback."""

    _context: Context


class _Timer(_Ready, asyncio.TimerHandle):
    """What a loop knows of a timer."""

    _scheduled: bool


class OneAtATimeLoop(asyncio.BaseEventLoop):
    """Runs what is ready in order, and jumps to the next timer when nothing is."""

    _ready: deque[_Ready]
    _scheduled: list[_Timer]

    def __init__(self) -> None:
        super().__init__()
        self.after_each: Callable[[], None] = lambda: None
        self._now_s = 0.0
        self._ran_now = 0
        self._paused: dict[str, list[_Ready]] = {}

    def time(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now_s

    def pause(self, instance: str) -> None:
        """Run nothing of an instance from its next callback on."""
        self._paused.setdefault(instance, [])

    def resume(self, instance: str) -> None:
        """Let an instance go on with everything that was due meanwhile."""
        self._ready.extend(self._paused.pop(instance, ()))

    def _run_once(self) -> None:
        if not self._ready:
            self._move_on()
        while self._scheduled and self._scheduled[0].when() <= self._now_s:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            self._ready.append(timer)
        if not self._ready:
            return
        handle = self._ready.popleft()
        if handle.cancelled():
            return
        if self._paused and (whose := handle._context.get(INSTANCE, "")) in self._paused:
            self._paused[whose].append(handle)
            return
        self._ran_now += 1
        if self._ran_now > CALLBACKS_AT_ONE_TIME_MAX:
            raise RuntimeError(f"a circle: time stands still at {self._now_s:g} s")
        handle._run()
        self.after_each()

    def _move_on(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)._scheduled = False
        if not self._scheduled:
            raise RuntimeError("nothing is ready, and no timer is set: it would wait for ever")
        self._now_s = max(self._now_s, self._scheduled[0].when())
        self._ran_now = 0

    # BaseEventLoop calls these for sockets and threads, and there are none.

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, event_list: list[Any]) -> None:
        pass


def run_one_at_a_time(work: Coroutine[Any, Any, T], loop: OneAtATimeLoop) -> T:
    """Run a coroutine to its end; tasks that it leaves are cancelled."""
    try:
        return loop.run_until_complete(work)
    finally:
        loop.after_each = lambda: None
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
