"""A bounded queue before a node: who brings tuples waits, or tuples are dropped and counted."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from millrace.runtime.marks import Mark
from millrace.runtime.operators import Batch

QUEUE_TUPLES: Final = 2048


class Queue:
    """A queue before a node, bounded by its number of tuples; a batch may exceed it once.

    `congestion` is what happens to tuples when it is full: who brings them waits, or the first or
    the last ones are dropped and counted. Marks are never dropped.
    """

    def __init__(self, tuples: int = QUEUE_TUPLES, congestion: str = "wait") -> None:
        """An empty queue."""
        self.limit = tuples
        self.dropped = 0
        self.waits = 0
        self.tuples = 0
        self.most = 0
        self._congestion = congestion
        self._items: deque[Batch | Mark] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, item: Batch | Mark) -> None:
        """Put a batch or a mark, as the policy says."""
        if not isinstance(item, Mark):
            if self._congestion == "wait":
                while self.tuples >= self.limit:
                    self.waits += 1
                    self._room.clear()
                    await self._room.wait()
            else:
                item = self._cut(item)
                if not item:
                    return
            self.tuples += len(item)
            self.most = max(self.most, self.tuples)
        self._items.append(item)
        self._filled.set()

    def _cut(self, batch: Batch) -> Batch:
        """What of a batch fits; with `dropFirst` older tuples make room."""
        over = self.tuples + len(batch) - self.limit
        if over <= 0:
            return batch
        self.dropped += over
        if self._congestion == "dropLast":
            return batch[: len(batch) - over]
        for index, old in enumerate(self._items):
            if over and not isinstance(old, Mark):
                gone = min(over, len(old))
                self._items[index] = old[gone:]
                self.tuples -= gone
                over -= gone
        return batch[over:]

    async def get(self) -> Batch | Mark:
        """The next batch or mark."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        item = self._items.popleft()
        if not isinstance(item, Mark):
            self.tuples -= len(item)
            self._room.set()
        return item
