"""How a launch ends whose operator fails: once what it has is kept, and not before.

1. It comes to rest, and writes the state of a stop.
2. If that is kept, it ends; its next launch begins with the tuple.
3. If it is not, for certain, the PE goes on as one without a store: after a pause that grows the
   tuple is tried again. If it fails again, 1 follows.
4. If the store does not say whether it is, the PE stays at rest, and writes the same bytes again:
   the state may be there, and a later launch would take it for the last one. It stays at rest as
   well where much is left, or it would grow for as long as the store takes nothing.

A launch that is stopped writes again as long as it has time, unless a state does not fit: at rest
that never changes. One that is late for a hand-over does not: others have begun without its state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

from millrace.runtime.clock import pause_of
from millrace.runtime.endings import StateUnfit, StoreFailed
from millrace.runtime.engine import Engine
from millrace.runtime.failing import TRY_AGAIN_S, EndsInGoodOrder
from millrace.runtime.racing import unless
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateDiffers, StateMissing, StateStore
from millrace.runtime.stopping import BYE_S, Stopping

LOG = logging.getLogger("millrace.runtime.good_order")
STOPPED_S: Final = 2.0
"""A launch that is stopped tries at least so often to keep its state."""

LEFT_MAX: Final = 100_000
"""With more tuples left a PE stays at rest: each time that it goes on, some more come."""


class GoodOrder:
    """The end of a launch whose operator fails; `failing` keeps what fails."""

    def __init__(self, stopping: Stopping, store: StateStore) -> None:
        """Nothing has failed."""
        self._trying = asyncio.Lock()
        self._stopping, self._store = stopping, store
        self._wanted, self._hurries = asyncio.Event(), asyncio.Event()
        self.failing = EndsInGoodOrder(self._wanted.set)

    def hurry(self) -> None:
        """Try again without a pause: a hand-over has begun, which does not wait for long."""
        self._hurries.set()

    async def run(self, end_if_kept: Callable[[], Awaitable[bool]], engine: Engine) -> None:
        """End the launch once an operator fails; return when it is stopped."""
        while True:
            await self._wanted.wait()
            self._hurries.clear()  # before: a hand-over may begin as the state is not kept
            async with self._trying:
                if self._stopping.requested.is_set() or await end_if_kept():
                    return
            await unless(self._hurries.wait(), self._pause(self.failing.next_pause_s()))
            self._wanted.clear()  # who fails still asks again
            engine.try_again()

    async def settled(self) -> None:
        """Return when the launch is not at rest to end, or has saved its state."""
        async with self._trying:
            return

    async def keep(
        self, name: StateName, write: Callable[[], Awaitable[None]], left: int = 0
    ) -> bool:
        """Write the state of a stop until it is kept.

        Returns false where it is not kept: the launch may go on, or is late. `write` always writes
        the same bytes; `left`: how many tuples the state has that nobody has processed. Raises
        StoreFailed if the launch is stopped, and its time is over or a state does not fit.
        """
        may_go_on = left < LEFT_MAX
        for attempt in count():
            if self._stopping.late.is_set():
                return False
            try:
                await write()
                return True
            except StateDiffers:
                raise
            except StoreFailed as problem:
                self.failing.unkept = str(problem)
                if self._stopping.requested.is_set():
                    may_go_on = False
                if may_go_on and await self._is_missing(name):
                    return False
                if self._stopping.requested.is_set() and self._is_hopeless(problem):
                    raise
                LOG.error("the state of a stop is not kept, and is tried again: %s", problem)
            await self._pause(pause_of(TRY_AGAIN_S, attempt))
        raise AssertionError("it is tried for ever")

    def _is_hopeless(self, problem: StoreFailed) -> bool:
        """Whether a launch that is stopped need not try again."""
        return isinstance(problem, StateUnfit) or self._stopping.left_s <= BYE_S

    async def _is_missing(self, name: StateName) -> bool:
        try:
            await self._store.read(name)
        except StateMissing:
            return True
        except StoreFailed:
            return False
        return False

    async def _pause(self, seconds: float) -> None:
        """Wait; a launch that is stopped waits less."""
        requested = self._stopping.requested
        if not requested.is_set():
            await unless(requested.wait(), asyncio.sleep(seconds))
            return
        left_s = max(self._stopping.left_s - BYE_S, 0)
        await asyncio.sleep(min(seconds, STOPPED_S, left_s))
