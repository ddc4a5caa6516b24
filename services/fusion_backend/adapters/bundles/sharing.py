"""How those who want something at the same time share: a queue that is fair, and work done once.

Domain-free. A namespace whose bundles come from a slow server waits for itself, and others pass it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class FairSlots:
    """At most `total` at a time, and at most `share` of one party.

    A slot that is free goes to the party that has fewest, of those that wait and may have more;
    those that have as few take turns.
    """

    def __init__(self, total: int, share: int) -> None:
        self._total = total
        self._share = share
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def of(self, party: str) -> AsyncIterator[None]:
        """Hold a slot, once it is this party's turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(party, deque()).append(turn)
        self._hand_out()
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():
                self._held[party] -= 1
            self._drop(party, turn)
            self._hand_out()

    def _hand_out(self) -> None:
        while self._held.total() < self._total:
            able = [each for each in self._waiting if self._held[each] < self._share]
            if not able:
                return
            party = min(able, key=self._held.__getitem__)
            turns = self._waiting[party] = self._waiting.pop(party)  # behind the others
            turn = turns[0]
            self._drop(party, turn)
            if not turn.cancelled():
                self._held[party] += 1
                turn.set_result(None)

    def _drop(self, party: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(party, deque())
        if turn in queue:
            queue.remove(turn)
        if not queue:
            self._waiting.pop(party, None)
        if not self._held[party]:
            del self._held[party]


@dataclass
class Work(Generic[T]):
    """Something that is being done; who does it sets `has_begun` when it looks at the world."""

    has_begun: bool = False
    waiting: int = 0
    task: asyncio.Task[T] = field(init=False)


class SharedWork(Generic[K, T]):
    """Work that several ask for at once is done once, and stopped when nobody waits any more."""

    def __init__(self) -> None:
        self._works: dict[K, Work[T]] = {}

    async def of(
        self, key: K, do: Callable[[Work[T]], Coroutine[Any, Any, T]], *, may_be_begun: bool
    ) -> T:
        """The result of `do`, or of one that already runs under the same key.

        One that has begun may see the world as it was before this call: it is joined where that is
        no matter.
        """
        work = self._works.get(key)
        if work is None or (work.has_begun and not may_be_begun):
            work = self._works[key] = Work()
            work.task = asyncio.create_task(do(work))
            work.task.add_done_callback(_look_at)
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if not work.waiting:
                work.task.cancel()
            if self._works.get(key) is work and (work.task.done() or not work.waiting):
                del self._works[key]


def _look_at(task: asyncio.Task[Any]) -> None:
    """What nobody waits for any more may fail as it likes."""
    if not task.cancelled():
        task.exception()
