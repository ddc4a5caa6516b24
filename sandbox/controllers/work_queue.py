"""Work by key: what is dirty, what comes back later, what failed.

A controller adds keys; `run` calls its plain function for one key after the other. The same key
added twice is worked on once. A function that raises delays only its own key. Nothing here knows
the store or what a key means. The services' keyed work is another: it runs coroutines side by side
for as long as their effects take, while a controller here is done when its function returns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sandbox.controllers.settings import Settings

KEYS_IN_A_ROW_MAX = 25  # then others of the same event loop get their turn

logger = logging.getLogger(__name__)
Key = TypeVar("Key", bound=Hashable)


class Pace:
    """A token bucket: at most `per_s` requests a second on average, `burst` at once."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._tokens = float(burst)
        self._counted_s: float | None = None

    def spend(self) -> None:
        """Take one token; the bucket may go into debt, which `wait_s` tells."""
        self._tokens -= 1.0

    def wait_s(self, loop_s: float) -> float:
        """Seconds until another request may be made, at the loop's time `loop_s`."""
        if self._counted_s is not None:
            earned = (loop_s - self._counted_s) * self._per_s
            self._tokens = min(self._burst, self._tokens + earned)
        self._counted_s = loop_s
        return max(0.0, (1.0 - self._tokens) / self._per_s)


class WorkQueue(Generic[Key]):
    """A queue of keys for one function, which is called again until it does not raise."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[Key], None],
        settings: Settings,
        pace: Pace | None = None,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._settings = settings
        self._pace = pace
        self._dirty: dict[Key, None] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._wake = asyncio.Event()

    def add(self, key: Key) -> None:
        """Have the key looked at soon."""
        self._dirty[key] = None
        self._wake.set()

    def add_after(self, key: Key, delay_s: float) -> None:
        """Have the key looked at in `delay_s`; an earlier appointment stays."""
        loop = asyncio.get_running_loop()
        at_s = loop.time() + max(0.0, delay_s)
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= at_s:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(at_s, self._add_due, key)

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._work_off()
        finally:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    async def _work_off(self) -> None:
        in_a_row = 0
        while self._dirty:
            await self._keep_pace()
            key = next(iter(self._dirty))
            del self._dirty[key]
            self._attempt(key)
            in_a_row += 1
            if in_a_row % KEYS_IN_A_ROW_MAX == 0:
                await asyncio.sleep(0)

    async def _keep_pace(self) -> None:
        if self._pace is None:
            return
        wait_s = self._pace.wait_s(asyncio.get_running_loop().time())
        if wait_s > 0.0:
            await asyncio.sleep(wait_s)

    def _attempt(self, key: Key) -> None:
        try:
            self._reconcile(key)
        except Exception:
            # One bad object must not stop the others: it alone is tried again, ever more rarely.
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            longest_s = self._settings.retry_max_s
            delay_s = min(self._settings.retry_min_s * 2.0 ** min(failures, 30), longest_s)
            logger.exception("%s failed for %s; again in %.1f s", self.name, key, delay_s)
            self.add_after(key, delay_s)
        else:
            self._failures.pop(key, None)

    def _add_due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)
