"""Time as a port: no service reads a clock but through this.

In simulation the event loop's own time is virtual, so timers of asyncio follow; `LoopClock` makes
the wall clock follow it, too.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What services know of time."""

    def now(self) -> float:
        """Wall-clock time in unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some start; never falls."""
        ...

    async def sleep(self, duration_s: float) -> None:
        """Return after `duration_s` seconds."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Wall-clock time in unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some start; never falls."""
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        """Return after `duration_s` seconds."""
        await asyncio.sleep(duration_s)


class LoopClock:
    """A clock that follows the running event loop's time from `epoch_s` on; may be made to lie."""

    def __init__(self, epoch_s: float = 1_700_000_000.0) -> None:
        self._epoch_s = epoch_s
        self.skew_s = 0.0

    def now(self) -> float:
        """Wall-clock time in unix seconds, off by `skew_s`."""
        return self._epoch_s + self.skew_s + asyncio.get_running_loop().time()

    def monotonic(self) -> float:
        """The loop's time in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, duration_s: float) -> None:
        """Return after `duration_s` seconds of the loop's time."""
        await asyncio.sleep(duration_s)
