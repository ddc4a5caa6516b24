"""The clock of time windows and timers: that of the system, or one that a test sets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol


def pause_of(pauses_s: Sequence[float], failures: int) -> float:
    """The wait after so many failures before this one (seconds); the last one is repeated."""
    return pauses_s[min(failures, len(pauses_s) - 1)]


class Clock(Protocol):
    """Seconds since 1970."""

    def now(self) -> float:
        """The time."""
        ...

    async def wait_until(self, moment: float) -> None:
        """Return when it is that time or later."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """The time."""
        return time.time()

    async def wait_until(self, moment: float) -> None:
        """Sleep until then; a clock that is set back makes the wait longer."""
        while (rest := moment - time.time()) > 0:  # noqa: ASYNC110 - it may be set back
            await asyncio.sleep(rest)


async def until(clock: Clock, due: float, woken: asyncio.Event) -> None:
    """Return when it is that time, or when somebody wakes us."""
    woken.clear()
    waiting = asyncio.create_task(clock.wait_until(due))
    other = asyncio.create_task(woken.wait())
    try:
        await asyncio.wait((waiting, other), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        other.cancel()


class ManualClock:
    """A clock that only moves when it is set, by a test or by a source of the application.

    >>> clock = ManualClock()
    >>> clock.advance(10)
    >>> clock.now()
    10.0
    """

    def __init__(self, now: float = 0.0) -> None:
        """A clock that shows this time."""
        self._now = float(now)
        self._waiting: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """The time that was set last."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward. Call it in the thread of the event loop."""
        self._now += seconds
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait_until(self, moment: float) -> None:
        """Return when the clock was set to that time or later."""
        while self._now < moment:
            future = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            await future
