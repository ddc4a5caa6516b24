"""Checkpoints of a PE that runs: one that cannot be kept is reported and tried again.

Nothing depends on a checkpoint while its PE runs, so a store that is full or away costs only what a
kill would cost: the PE goes back further then. What others or later launches begin with has to be
kept: the first state of a launch, seals and the state of a stop end the PE where they are not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from millrace.runtime.endings import StoreFailed
from millrace.runtime.reports import Trouble

LOG = logging.getLogger("millrace.runtime.checkpointing")
REASON: Final = "CheckpointFailed"
"""Of the trouble that a PE reports whose newest checkpoint is not kept."""


class Checkpoints:
    """Keeps one each period. `trouble`: why the newest is not kept; empty where it is."""

    def __init__(self, period_s: float | None) -> None:
        """None is due yet; without a period none ever is."""
        self.trouble = Trouble()
        self._period_s = period_s

    async def keep(self, take: Callable[[int], Awaitable[None]]) -> None:
        """Take one each period, with its number; for ever. A period passes between two tries."""
        number = 0
        while self._period_s is not None:
            await asyncio.sleep(self._period_s)
            number += 1
            try:
                await take(number)
            except StoreFailed as problem:
                self._failed(problem)
            else:
                self._kept()

    def _failed(self, problem: StoreFailed) -> None:
        if not self.trouble.reason:  # each has another number in its message
            LOG.error("a checkpoint is not kept, and the PE goes on: %s", problem)
            self.trouble = Trouble(REASON, str(problem))

    def _kept(self) -> None:
        if self.trouble.reason:
            LOG.warning("checkpoints are kept again")
        self.trouble = Trouble()
