"""That a launch ends: since when, until when, and whether another PE needs what it has."""

from __future__ import annotations

import asyncio
from typing import Final

from millrace.runtime.endings import Ending
from millrace.runtime.racing import first_of

GIVEN_UP_S: Final = 2.0
"""How long a launch of a deleted job may take to process what it has taken in, without a store."""
BYE_S: Final = 1.0
"""How long a launch may take at least to tell its peers how far it got."""


class Stopping:
    """The end of one launch. `requested`: it comes to rest, and has `within_s` for that.

    `late`: its hand-over is over without it. `job_deleted`: its job is deleted. `job_ended`: its
    job has ended, so that nothing of it is left to do.
    """

    def __init__(self, within_s: float, *, saves: bool) -> None:
        """Nobody has requested it yet. `saves`: it saves its state, which outlives its job."""
        self.requested, self.late = asyncio.Event(), asyncio.Event()
        self.job_deleted, self.job_ended = asyncio.Event(), asyncio.Event()
        self.is_saved = False
        """Whether what this launch has is saved, so that nothing of it can be late any more."""
        self.deadline = 0.0
        """When the launch has to have ended, on the clock of the event loop."""
        self._within_s = within_s
        self._saves = saves

    def request(self) -> None:
        """Let the launch end. Once it is requested, a second request changes nothing."""
        if not self.requested.is_set():
            self.deadline = asyncio.get_running_loop().time() + self._within_s
            self.requested.set()

    @property
    def left_s(self) -> float:
        """How many seconds are left; negative after the deadline."""
        return self.deadline - asyncio.get_running_loop().time()

    @property
    def is_cut_short(self) -> bool:
        """Whether nobody takes any more what this launch has."""
        return self.late.is_set() or self.job_deleted.is_set() or self.job_ended.is_set()

    @property
    def ending(self) -> Ending:
        """How the launch ends that was requested to."""
        if self.job_ended.is_set():
            return Ending.COMPLETED
        return Ending.STOPPED_LATE if self.late.is_set() else Ending.STOPPED

    @property
    def bye_s(self) -> float:
        """How long it may take to tell its peers how far it got (seconds)."""
        return BYE_S if self.job_deleted.is_set() else max(self.left_s, BYE_S)

    async def until_deadline(self) -> None:
        """Return when it is requested and its time is over."""
        await self.requested.wait()
        await asyncio.sleep(self.left_s)

    async def until_cut_short(self) -> None:
        """Return when nobody takes any more what this launch has, and its time is over."""
        await first_of(self.late.wait(), self.job_ended.wait(), self.until_given_up())

    async def until_given_up(self) -> None:
        """Return when the job is deleted and the launch has had its time to end.

        Without a store it has GIVEN_UP_S: its peers end as well, and take nothing. With a store it
        has the time of every other launch, because the saved state outlives the job.
        """
        await self.job_deleted.wait()
        await asyncio.sleep(self.left_s if self._saves else GIVEN_UP_S)
