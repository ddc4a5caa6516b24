"""Keyed work: which key runs when. What running a key means is `reconciling.py`.

1. A dirty key waits in the queue once, however often it is marked (coalescing).
2. Different keys run side by side, up to `keys_in_flight_max`; one key runs once at a time.
3. A key that is marked while it runs is in line again when it is done, and not before.
4. The work says when the key wants to be woken without being marked; the newest word counts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from services.chassis.process.clock import Clock

K = TypeVar("K", bound=Hashable)

KEYS_IN_FLIGHT_MAX = 256
"""Many more than effects in flight: keys with patient effects must not keep out the others."""
WAKE_DELAY_MIN_S = 0.01
"""A time that is over already must not become an endless loop."""
WAKE_DELAY_MAX_S = 60.0
"""A requeue time is wall time and a sleep is not: a wall clock that jumps costs at most this."""


class WorkQueue(Generic[K]):
    """Runs `work(key)` for dirty keys; `work` returns when to wake the key (unix seconds)."""

    def __init__(
        self,
        work: Callable[[K], Awaitable[float | None]],
        *,
        clock: Clock,
        keys_in_flight_max: int = KEYS_IN_FLIGHT_MAX,
    ) -> None:
        self._work = work
        self._clock = clock
        self._keys_in_flight_max = keys_in_flight_max
        self._queue: deque[K] = deque()
        self._waiting: set[K] = set()
        self._running: set[K] = set()
        self._dirty_again: set[K] = set()
        self._abandoned: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._wakeup = asyncio.Event()

    def add(self, key: K) -> None:
        """Make a key dirty."""
        if key in self._running:
            self._dirty_again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._queue.append(key)
            self._wakeup.set()

    def is_dirty(self, key: K) -> bool:
        """Whether the key became dirty since its run began."""
        return key in self._dirty_again or key in self._waiting

    def abandon(self, is_left: Callable[[K], bool]) -> None:
        """Run the keys that are left to others no more, unless they are added again."""
        self._queue = deque(key for key in self._queue if not is_left(key))
        self._waiting = set(self._queue)
        self._dirty_again = {key for key in self._dirty_again if not is_left(key)}
        self._abandoned |= {key for key in self._running if is_left(key)}
        for key in [key for key in self._timers if is_left(key)]:
            self._timers.pop(key).cancel()

    def is_abandoned(self, key: K) -> bool:
        """Whether the key was left to others while it runs."""
        return key in self._abandoned

    @property
    def is_idle(self) -> bool:
        """Whether no key runs or waits in the queue (timers may be set)."""
        return not self._running and not self._queue

    @property
    def dirty_count(self) -> int:
        """How many keys wait in the queue."""
        return len(self._queue)

    async def run(self, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set; returns when no key runs any more."""
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch_for_stop(stopping))
            while not stopping.is_set():
                self._wakeup.clear()
                while self._queue and len(self._running) < self._keys_in_flight_max:
                    key = self._queue.popleft()
                    self._waiting.discard(key)
                    self._running.add(key)
                    group.create_task(self._run_one(key))
                await self._wakeup.wait()
            watching.cancel()
        self._cancel_timers()

    async def _watch_for_stop(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._wakeup.set()

    async def _run_one(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        wake_at = await self._work(key)
        self._running.discard(key)
        is_left = key in self._abandoned
        self._abandoned.discard(key)
        if key in self._dirty_again:
            self._dirty_again.discard(key)
            self.add(key)
        elif wake_at is not None and not is_left:
            self._set_timer(key, wake_at)
        self._wakeup.set()

    def _set_timer(self, key: K, wake_at: float) -> None:
        delay_s = min(max(wake_at - self._clock.now(), WAKE_DELAY_MIN_S), WAKE_DELAY_MAX_S)
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(delay_s, self._wake, key)

    def _wake(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
