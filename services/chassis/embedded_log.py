"""The embedded log: `MemoryLog` in one process, `SqliteLog` in one file that processes share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

RETENTION_S = 7 * 24 * 3600.0


class MemoryLog:
    """A log in memory; `now` gives timestamps (unix seconds)."""

    def __init__(self, *, now: Callable[[], float], retention_s: float = RETENTION_S) -> None:
        raise NotImplementedError

    async def empty(self) -> None:
        """Lose every record and every committed offset, as an emptied log does."""
        raise NotImplementedError


class SqliteLog:
    """A log in one SQLite file in WAL mode, shared by processes of one machine."""

    def __init__(
        self, path: Path, *, now: Callable[[], float], retention_s: float = RETENTION_S
    ) -> None:
        raise NotImplementedError

    async def empty(self) -> None:
        """Lose every record and every committed offset, as an emptied log does."""
        raise NotImplementedError
