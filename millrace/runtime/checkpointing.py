"""Checkpoints of a PE that runs: one that cannot be kept is reported and tried again.

So is one with a state that does not fit into its type: the last good one stays.

Nothing depends on a checkpoint while its PE runs, so a store that is full or away costs only what a
kill would cost: the PE goes back further then. What others or later launches begin with has to be
kept: the first state of a launch, seals and the state of a stop end the PE where they are not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from millrace.runtime.endings import StateUnfit, StoreFailed
from millrace.runtime.reports import Trouble

LOG = logging.getLogger("millrace.runtime.checkpointing")
REASON: Final = "CheckpointFailed"
"""Of the trouble that a PE reports whose newest checkpoint is not kept."""

TRY_AGAIN_S: Final = 10.0
"""Where no period says it."""
Take = Callable[[int], Awaitable[bool]]
"""Takes the checkpoint of a number; false where a hand-over has its place, or a flush fails."""


class Checkpoints:
    """Keeps one each period. `trouble`: why the newest is not kept; empty where it is."""

    def __init__(self, period_s: float | None) -> None:
        """None is due yet; without a period none ever is."""
        self.trouble = Trouble()
        self._is_unfit = False
        self._period_s = period_s
        self._number = 0

    async def keep(self, take: Take) -> None:
        """Take one each period, with its number; for ever. A period passes between two tries."""
        while self._period_s is not None:
            await asyncio.sleep(self._period_s)
            await self._is_kept(take)

    async def keep_last(self, take: Take) -> None:
        """Take one now, and again until it is kept."""
        while True:
            if await self._is_kept(take):
                return
            await asyncio.sleep(self._period_s or TRY_AGAIN_S)

    async def _is_kept(self, take: Take) -> bool:
        self._number += 1
        try:
            is_taken = await take(self._number)
        except StoreFailed as problem:
            self._failed(problem)
            return False
        if is_taken:
            self._kept()
        return is_taken

    def _failed(self, problem: StoreFailed) -> None:
        was_unfit, self._is_unfit = self._is_unfit, isinstance(problem, StateUnfit)
        # Each has another number or value in its message, and each report is a write.
        if not self.trouble.reason or was_unfit != self._is_unfit:
            LOG.error("a checkpoint is not kept, and the PE goes on: %s", problem)
            self.trouble = Trouble(REASON, str(problem))

    def _kept(self) -> None:
        if self.trouble.reason:
            LOG.warning("checkpoints are kept again")
        self.trouble = Trouble()
