"""The threads that use the embedded log's file: each has a connection of its own.

What they run is `sqlite_log.py`'s; how a connection is opened, and again, is in `sqlite_file.py`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from services.chassis.log.sqlite_file import LogFile, Opened
from services.chassis.process.errors import LogRefused

T = TypeVar("T")

POLL_ACTIVE_S = 0.005
POLL_IDLE_S = 0.05
POLL_GROWTH = 1.1


class SqlThread:
    """One connection and the only thread that uses it."""

    def __init__(self, file: LogFile, name: str) -> None:
        self._file = file
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._opened: Opened | None = None

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Call `function(connection, …)` in the thread; LogRefused where no log can be there."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._call, function, arguments)

    async def close(self) -> None:
        """Close the connection where it lives."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._disconnect)
        self._executor.shutdown()

    @property
    def file_number(self) -> int:
        """Which file of the path the last call worked on; called in the thread."""
        return self._opened.number if self._opened is not None else 0

    def _call(self, function: Callable[..., T], arguments: tuple[object, ...]) -> T:
        opened = self._usable()
        try:
            return function(opened.connection, *arguments)
        except sqlite3.DatabaseError as problem:
            self._opened = None
            self._opened = self._file.reopened(opened, problem)
            return function(self._opened.connection, *arguments)

    def _usable(self) -> Opened:
        opened, self._opened = self._opened, None
        self._opened = self._file.open() if opened is None else self._file.usable(opened)
        return self._opened

    def _disconnect(self) -> None:
        if self._opened is not None:
            self._opened.connection.close()
            self._opened = None


class Poller(threading.Thread):
    """Looks for commits of other connections: often while there are some, seldom when idle.

    And for another file, with every look. Where no log can be, readers are woken: they say so.
    """

    def __init__(
        self, file: LogFile, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]
    ) -> None:
        super().__init__(name="log-polling", daemon=True)
        self._file = file
        self._loop = loop
        self._wake = wake
        self._stopping = threading.Event()
        self._opened: Opened | None = None

    def begin(self) -> None:
        """Open the file, then poll; another file is noticed from now on."""
        self._version()
        self.start()

    def run(self) -> None:
        """Poll until stopped."""
        seen: tuple[int, int] | None = None
        interval_s = POLL_ACTIVE_S
        try:
            while not self._stopping.wait(interval_s):
                version = self._version()
                interval_s = min(interval_s * POLL_GROWTH, POLL_IDLE_S)
                if version is None or version != seen:
                    seen, interval_s = version, POLL_ACTIVE_S if version else POLL_IDLE_S
                    self._loop.call_soon_threadsafe(self._wake)
        finally:
            if self._opened is not None:
                self._opened.connection.close()

    def _version(self) -> tuple[int, int] | None:
        """The file and its version; None without a file."""
        opened, self._opened = self._opened, None
        try:
            opened = self._file.open() if opened is None else self._file.usable(opened)
            version = opened.connection.execute("PRAGMA data_version").fetchone()[0]
        except (LogRefused, sqlite3.DatabaseError):
            return None  # readers meet the same, and raise it
        self._opened = opened
        return opened.number, version

    def stop(self) -> None:
        """Stop and wait for the thread's end."""
        self._stopping.set()
        if self.is_alive():  # else it never began, or ends at once
            self.join()
