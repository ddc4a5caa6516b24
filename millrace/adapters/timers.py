"""Timers: a tuple every so many seconds, by the clock of the machine.

>>> ticks = app.source(timers.every(seconds=10))
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from millrace.adapters.kinds import Reader
from millrace.parameters import Parameter


@dataclass(slots=True)
class Tick:
    """A tick: its number from 0, and the time in seconds since 1970."""

    number: int
    time: float


@dataclass(slots=True)
class Ticked:
    """The number of the next tick."""

    next: int = 0


def every(seconds: float | Parameter[float], *, count: int | None = None) -> Reader[Tick]:
    """A tick every so many seconds, the first at once; `count`: how many, None without an end.

    Ticks that are late are not made up for: a pause leaves no burst behind.
    """
    return Reader("Timer", _ticks, Tick, {"seconds": seconds, "count": count}, Ticked)


async def _ticks(ticked: Ticked, seconds: float, count: int | None) -> AsyncIterator[Tick]:
    due = time.monotonic()
    while count is None or ticked.next < count:
        tick = Tick(ticked.next, time.time())
        ticked.next += 1
        yield tick
        due = max(due + seconds, time.monotonic())
        await asyncio.sleep(due - time.monotonic())
