"""Checkpoints of a PE that runs: one that cannot be kept is reported and tried again.

So is one with a state that does not fit into its type: the last good one stays.

Nothing depends on a checkpoint while its PE runs, so a store that is full or away costs only what a
kill would cost: the PE goes back further then. What others or later launches begin with has to be
kept. A seal is tried again until the hand-over no longer waits for it. The first state of a launch
and the state of a stop end the PE where they are not kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from millrace.protocol import Trouble
from millrace.runtime.endings import StateUnfit, StoreFailed
from millrace.runtime.state_stores import StateDiffers

LOG = logging.getLogger("millrace.runtime.checkpointing")
REASON: Final = "CheckpointFailed"
"""The reason of the trouble that a PE reports whose newest checkpoint is not kept."""

TRY_AGAIN_S: Final = 10.0
"""Where no period says it."""

SEAL_AGAIN_S: Final = 1.0
"""Between two attempts to keep a seal: a hand-over does not wait for long."""

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

    def next(self) -> int:
        """The number of the next one."""
        self._number += 1
        return self._number

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

    async def keep_seal(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write a seal until it is kept, or cancelled as its hand-over does not wait any more.

        Raises StateDiffers.
        """
        try:
            await self._until_kept(write)
        finally:
            if self._period_s is None:
                self.trouble = Trouble()  # or it stays for good: no checkpoint is tried later

    async def _until_kept(self, write: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await write()
            except StateDiffers:
                raise
            except StoreFailed as problem:
                self._failed(problem)
            else:
                self._kept()
                return
            await asyncio.sleep(SEAL_AGAIN_S)

    async def _is_kept(self, take: Take) -> bool:
        try:
            is_taken = await take(self.next())
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
            LOG.error("a state is not kept, and is tried again: %s", problem)
            self.trouble = Trouble(REASON, str(problem))

    def _kept(self) -> None:
        if self.trouble.reason:
            LOG.warning("states are kept again")
        self.trouble = Trouble()
