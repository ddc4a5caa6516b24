"""The large tuples that a source has given and nobody has taken: one thread reads, another takes.

Small tuples are not in it: their number is bounded (`feeding.py`), and so are their bytes.
"""

from __future__ import annotations

from collections import deque
from sys import maxsize
from typing import Any

from millrace.runtime.weighing import BATCH_BYTES, WAITING_BYTES, Scale


class Backlog:
    """Bytes of large tuples, by their numbers. Each side changes counters of its own alone."""

    def __init__(self, scale: Scale | None) -> None:
        """Nothing was read. `scale` weighs tuples; None: they weigh nothing."""
        self._scale = scale
        self._sizes: deque[tuple[int, int]] = deque()
        self._next = self._taken = 0
        self._bytes_read = self._bytes_taken = 0

    @property
    def bytes(self) -> int:
        """How many bytes wait."""
        return self._bytes_read - self._bytes_taken

    @property
    def is_full(self) -> bool:
        """Whether nothing more is to be read."""
        return self.bytes >= WAITING_BYTES

    @property
    def has_room(self) -> bool:
        """Whether reading may go on; as for tuples, at half of what may wait."""
        return self.bytes <= WAITING_BYTES // 2

    def weigh(self, item: Any) -> int:
        """Weigh a tuple, before it can be taken; how many come behind it that are not weighed."""
        if self._scale is None:
            return maxsize
        if size := self._scale.large(item):
            self._sizes.append((self._next, size))
            self._bytes_read += size
        stretch = self._scale.stretch
        self._next += 1 + stretch
        return stretch

    def take(self, count: int) -> int:
        """Take tuples, at most so many: as many as are handed on at once."""
        if self._sizes:
            count = self._light(count)
        self._taken += count
        return count

    def _light(self, count: int) -> int:
        size, end = 0, self._taken + count
        while self._sizes and self._sizes[0][0] < end:
            number, each = self._sizes[0]
            if size and size + each > BATCH_BYTES:
                end = number
                break
            size += each
            self._sizes.popleft()
        self._bytes_taken += size
        return end - self._taken
