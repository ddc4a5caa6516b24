"""A task that has much to do lets others run: heartbeats, acknowledgements, writes to peers.

Taking what is there already waits for nothing. So a task goes on without this until all of it is
done: a function of 20 ms behind a megabyte of small frames would hold up its process for minutes.
So would one of 0.5 s with a single batch of 256 tuples: a slow function takes a part of it at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

TURN_S: Final = 0.01
"""How long a task works until others run."""
BATCH_MAX: Final = 256
"""Tuples that a source gives, and a function takes, at once at most: it may become slow at once.

Few live tuples, too: more of them start the garbage collector more often (`make bench-run`).
"""

PACE_BEGINS: Final = 16
"""Tuples that a function takes at once, as long as nobody knows how slow it is."""

PASSES: Final = 4
"""Passes of the event loop that others have then: what one of them wakes runs in the next pass."""


async def others_run() -> None:
    """Let all others that can run do so."""
    for _ in range(PASSES):
        await asyncio.sleep(0)


class Turns:
    """The turns of a task: it calls `give_way` between two pieces of its work."""

    def __init__(self) -> None:
        """The first turn begins."""
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + TURN_S

    async def give_way(self) -> None:
        """Let others run, and begin another turn, if this one is over."""
        if self._loop.time() < self._ends:
            return
        await others_run()
        self._ends = self._loop.time() + TURN_S


class Pace:
    """How many tuples a function takes at once: as many as it processes in about a turn."""

    def __init__(self) -> None:
        """Nobody knows how slow it is."""
        self.tuples = PACE_BEGINS
        self._begun = 0.0
        self._now: Callable[[], float] | None = None

    def parts(self, batch: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The parts of a batch, one after the other; the batch itself if it takes all at once."""
        begin, most = 0, len(batch)
        while begin < most:
            end = begin + self.tuples
            yield batch if not begin and end >= most else batch[begin:end]
            begin = end

    def begin(self) -> None:
        """It begins to process tuples."""
        if self._now is None:
            self._now = asyncio.get_running_loop().time
        self._begun = self._now()

    def end(self, tuples: int) -> None:
        """It has processed so many."""
        assert self._now is not None, "it has begun"
        seconds = self._now() - self._begun
        if seconds > TURN_S:
            self.tuples = max(1, int(tuples * TURN_S / seconds))
        elif tuples >= self.tuples and seconds < TURN_S / 2:
            self.tuples = min(tuples * 2, BATCH_MAX)
