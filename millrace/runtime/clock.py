"""The clock of time windows and timers: that of the system, or one that a test sets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Protocol

from millrace.windows import nanoseconds


def pause_of(pauses_s: Sequence[float], failures: int) -> float:
    """The wait after so many failures before this one (seconds); the last one is repeated."""
    return pauses_s[min(failures, len(pauses_s) - 1)]


LOOK_S: Final = 10.0
"""How soon a wait notices that the clock of the machine was set forward."""


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
        """Sleep until then, longer or shorter where the clock is set back or forward."""
        while (rest := moment - time.time()) > 0:  # noqa: ASYNC110 - it may be set meanwhile
            await asyncio.sleep(min(rest, LOOK_S))


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

    It counts whole nanoseconds, so that ten times 0.1 s are a second.

    >>> clock = ManualClock()
    >>> for _ in range(10):
    ...     clock.advance(0.1)
    >>> clock.now()
    1.0
    """

    def __init__(self, now: float = 0.0) -> None:
        """A clock that shows this time."""
        self._now_ns = nanoseconds(now)
        self._waiting: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """The time that was set last."""
        return self._now_ns / 1_000_000_000

    def advance(self, seconds: float) -> None:
        """Move the clock forward, or back. Call it in the thread of the event loop."""
        self._now_ns += nanoseconds(seconds)
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait_until(self, moment: float) -> None:
        """Return when the clock was set to that time or later."""
        while self.now() < moment:
            future = asyncio.get_running_loop().create_future()
            self._waiting.add(future)
            await future
