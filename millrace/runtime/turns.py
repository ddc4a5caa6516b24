"""A task that has much to do lets others run: heartbeats, acknowledgements, writes to peers.

Taking what is there already waits for nothing. So a task goes on without this until all of it is
done: a function of 20 ms behind a megabyte of small frames would hold up its process for minutes.
So would one of 0.5 s with a single batch of 256 tuples: a slow function takes a part of it at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

TURN_S: Final = 0.01
"""How long a task works until others run."""
FIRST_TUPLES: Final = 16
"""What a function takes at once, as long as nobody knows how slow it is."""
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
        self.tuples = FIRST_TUPLES
        self._begun = 0.0

    def parts(self, batch: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The parts of a batch, one after the other; the batch itself if it takes all at once."""
        begin, most = 0, len(batch)
        while begin < most:
            end = begin + self.tuples
            yield batch if not begin and end >= most else batch[begin:end]
            begin = end

    def begin(self) -> None:
        """It begins to process tuples."""
        self._begun = asyncio.get_running_loop().time()

    def end(self, tuples: int) -> None:
        """It has processed so many."""
        seconds = asyncio.get_running_loop().time() - self._begun
        if seconds > TURN_S:
            self.tuples = max(1, int(tuples * TURN_S / seconds))
        elif tuples >= self.tuples and seconds < TURN_S / 2:
            self.tuples = tuples * 2
