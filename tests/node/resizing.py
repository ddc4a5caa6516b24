"""A job that is resized again and again while the services under it come and go."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.examples import OUTSIDE
from tests.e2e.following import Ordeal
from tests.patience import patient

WIDTHS = (7, 5, 8, 6)
WAIT_S = patient(90.0)


class Resizing:
    """Counts the resizes that converged; after each, the launches are those that plans demand."""

    def __init__(self, job: Ordeal) -> None:
        self.job = job
        self.count = 0
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    async def once(self, width: int) -> None:
        """One resize, from the change to the last pod, and every launch of the job checked."""
        await self.job.resize(width)
        await self.job.converge(f"resize {self.count + 1}", width, width + OUTSIDE, WAIT_S)
        async with self._changed:
            self.count += 1
            self._changed.notify_all()

    async def until(self, count: int) -> None:
        """Wait until so many resizes converged. Raises what ended the resizing, if it failed."""
        assert self._task is not None
        waiting = asyncio.ensure_future(self._reached(count))
        await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            await self._task

    def check(self) -> None:
        """Raise what ended the resizing, if it failed."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def _reached(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.count >= count)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Resize inside of the block, one after the other; the last converges before its end."""
        self._stopping = False
        self._task = asyncio.create_task(self._resize_again())
        try:
            yield
            self._stopping = True
            await self._task
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _resize_again(self) -> None:
        for width in itertools.cycle(WIDTHS):
            if self._stopping:
                return
            await self.once(width)
