"""A task that has much to do lets others run: heartbeats, acknowledgements, writes to peers.

Taking what is there already waits for nothing. So a task goes on without this until all of it is
done: a function of 20 ms behind a megabyte of small frames would hold up its process for minutes.
"""

from __future__ import annotations

import asyncio
from typing import Final

TURN_S: Final = 0.01
"""How long a task works until others run."""
PASSES: Final = 4
"""Passes of the event loop that others have then: what one of them wakes runs in the next pass."""


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
        for _ in range(PASSES):
            await asyncio.sleep(0)
        self._ends = self._loop.time() + TURN_S
