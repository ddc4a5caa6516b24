"""Where tuples and barriers go, and what is counted of them on their way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from millrace.runtime.barriers import Barrier
from millrace.runtime.operators import Batch


@dataclass(slots=True)
class Counts:
    """How many tuples an instance took, gave, skipped and dropped before a full queue."""

    taken: int = 0
    given: int = 0
    skipped: int = 0
    dropped: int = 0
    windows: int = 0
    finals: int = 0


class Target(Protocol):
    """Where tuples and barriers go: a node, a splitter, or a connection to another process."""

    async def take(self, batch: Batch) -> None:
        """Take a batch; returns when there is room for more."""
        ...

    async def take_barrier(self, barrier: Barrier) -> None:
        """Take a barrier, after all batches before it."""
        ...
