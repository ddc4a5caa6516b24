"""A bounded queue before a node: who brings tuples waits, or tuples are dropped and counted.

It is bounded by tuples, and by their bytes: 2,048 tuples of 2 MB would be 4 GB.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from millrace.runtime.barriers import Barrier
from millrace.runtime.operators import Batch
from millrace.runtime.weighing import WAITING_BYTES, Scale

QUEUE_TUPLES: Final = 2048


class Queue:
    """A queue before a node, bounded by tuples and bytes; a batch may exceed it once.

    `scale` weighs tuples; None: they weigh nothing. `congestion` is what happens to tuples when it
    is full: who brings them waits, or the first or the last ones are dropped and counted. Barriers
    are never dropped.
    """

    def __init__(
        self, tuples: int = QUEUE_TUPLES, congestion: str = "wait", *, scale: Scale | None = None
    ) -> None:
        """An empty queue."""
        self.limit = tuples
        self.bytes = 0
        self.dropped = 0
        self.waits = 0
        self.tuples = 0
        self.most = 0
        self._congestion = congestion
        self._scale = scale
        self._items: deque[Batch | Barrier] = deque()
        self._sizes: deque[int] = deque()
        """The bytes of each item."""
        self._filled = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, item: Batch | Barrier) -> None:
        """Put a batch or a barrier, as the policy says."""
        size = 0
        if not isinstance(item, Barrier):
            size = 0 if self._scale is None else self._scale.bytes_of(item)
            if self._congestion == "wait":
                while self.tuples >= self.limit or self.bytes >= WAITING_BYTES:
                    self.waits += 1
                    self._room.clear()
                    await self._room.wait()
            else:
                item, size = self._cut(item, size)
                if not item:
                    return
            self.tuples += len(item)
            self.bytes += size
            self.most = max(self.most, self.tuples)
        self._items.append(item)
        self._sizes.append(size)
        self._filled.set()

    def _cut(self, batch: Batch, size: int) -> tuple[Batch, int]:
        """What of a batch fits, and its bytes; with `dropFirst` older tuples make room.

        Into a queue without tuples at least one fits, however large it is.
        """
        count = len(batch)
        if self._congestion == "dropFirst":
            self._drop_older(count, size)
        over = self._over(count, size)
        self.dropped += over
        rest = batch[over:] if self._congestion == "dropFirst" else batch[: count - over]
        return rest, size * len(rest) // max(count, 1)

    def _drop_older(self, count: int, size: int) -> None:
        """Make room for a batch. One that has none left goes, or it would stay in memory."""
        index = 0
        while index < len(self._items):
            tuples_over = self.tuples + count - self.limit
            bytes_over = self.bytes + size - WAITING_BYTES
            if tuples_over <= 0 and bytes_over <= 0:
                return
            old = self._items[index]
            if old and not isinstance(old, Barrier):
                each = max(self._sizes[index] // len(old), 1)
                self._drop(index, old, max(tuples_over, -(-bytes_over // each)))
            if self._items[index]:
                index += 1
            else:
                del self._items[index], self._sizes[index]

    def _drop(self, index: int, old: Batch, gone: int) -> None:
        gone = min(gone, len(old))
        bytes_gone = self._sizes[index] * gone // len(old)
        self._items[index] = old[gone:]
        self._sizes[index] -= bytes_gone
        self.tuples -= gone
        self.bytes -= bytes_gone
        self.dropped += gone

    def _over(self, count: int, size: int) -> int:
        """How many tuples of so many more are too many, by their number or their bytes."""
        over = self.tuples + count - self.limit
        if (bytes_over := self.bytes + size - WAITING_BYTES) > 0:
            each = max(size // count, 1)
            fit = max((size - bytes_over) // each, 0 if self.tuples else 1)
            over = max(over, count - fit)
        return max(over, 0)

    async def get(self) -> Batch | Barrier:
        """The next batch or barrier."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        item, size = self._items.popleft(), self._sizes.popleft()
        if not isinstance(item, Barrier):
            self.tuples -= len(item)
            self.bytes -= size
            self._room.set()
        return item
