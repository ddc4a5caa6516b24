"""The file under the embedded log: who opens it, who notices that it is another, and what then.

SQLite goes on reading and writing a file that was deleted or replaced, and so would each process
with a file of its own. Therefore every use of a connection looks first whether the path still names
the file that was opened, with its -wal and -shm, and a thread looks all the time
(`sqlite_threads.py`).

* Deleted, or another log in its place: the connection is opened again, on a new file where there is
  none. What the new file remembers as committed offsets is forgotten, once a process: watch-ingest
  sees that, says everything again, and readers begin at the start.
* Its -wal or -shm deleted, shorter than it was, or no database any more: what is left cannot be
  used by several processes. The file is removed, which is the case above for everybody.
* No file that a log can be (a directory, another program's file, the disk full, no folder): raises
  LogRefused with the sentence for people, and the service ends.

What the tables hold is not known here. Not noticed: another content in the very same file, as long
as it is as long and SQLite can read it. A -shm that is made shorter while it is mapped ends the
process with SIGBUS; it is started again and makes a new one.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from services.chassis.process.errors import LogRefused
from services.chassis.process.log_lines import log_of

LOCK_WAIT_S = 20.0
LOCK_RETRY_S = 0.01
OPENING_ATTEMPTS_MAX = 20
"""How often the file may be replaced while it is being opened."""
MODE = 0o600
FIRST_FILE = 1
"""The number of the file that a process finds at the path first."""
_OTHERS = 0o077
_PARTS = ("", "-wal", "-shm")
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_ERROR,  # a table is missing
        sqlite3.SQLITE_CONSTRAINT,  # an offset that was given before
    }
)
"""What SQLite says of a file that is not as it was."""

Prepare = Callable[[sqlite3.Connection], None]
"""Makes the tables where they are missing."""
Forget = Callable[[sqlite3.Connection], None]
"""Forgets the committed offsets of a file that came in the place of another."""
_NO_FILE = (-1, -1)
_Seen = tuple[tuple[int, int, int], ...]
"""(device, inode, bytes) of the file, its -wal and its -shm."""


@dataclass(slots=True)
class Opened:
    """A connection and the files that it works on; `number` counts the openings of its file."""

    connection: sqlite3.Connection
    seen: _Seen
    number: int


class LogFile:
    """The file of one process' log; `prepare` and `forget` are what `sqlite_log.py` knows.

    `reads_only`: the log is of others, so that no file is made, changed or removed. What they put
    in its place is opened; a damaged one is refused.
    """

    def __init__(
        self, path: Path, *, prepare: Prepare, forget: Forget, reads_only: bool = False
    ) -> None:
        self.path = path.resolve()  # SQLite puts -wal and -shm beside the target of a link
        self._reads_only = reads_only
        self._prepare = prepare
        self._forget = forget
        self._lock = threading.Lock()
        self._current: tuple[int, int] | None = None
        self._openings = 0
        self._log = log_of("log")

    def open(self) -> Opened:
        """A connection to the file of the path, which is created if it does not exist."""
        with self._refusing():
            for attempt in range(1, OPENING_ATTEMPTS_MAX + 1):
                try:
                    opened = self._opened_once()
                except (sqlite3.DatabaseError, FileNotFoundError) as problem:
                    # Another process may have noticed already, and be about to remove it.
                    if attempt == OPENING_ATTEMPTS_MAX or not _is_passing(problem):
                        raise
                    opened = None
                if opened is not None:
                    return opened
                time.sleep(LOCK_RETRY_S)
        raise LogRefused(f"the log {self.path} is replaced all the time")

    def usable(self, opened: Opened) -> Opened:
        """The same connection if its file is still that of the path, else another one."""
        with self._refusing():  # the folder itself may not let itself be read any more
            problem = self._problem(opened)
        if problem is None:
            return opened
        return self._reopened(opened, problem)

    def reopened(self, opened: Opened, problem: sqlite3.DatabaseError) -> Opened:
        """Another connection after a failure that the file is to blame for; else raises."""
        code = _code_of(problem)
        if code == sqlite3.SQLITE_FULL:
            raise LogRefused(
                f"the log {self.path} cannot grow: the disk is full. Make room on it"
            ) from problem
        if code not in _DAMAGED:
            raise LogRefused(f"the log {self.path} cannot be used: {problem}") from problem
        return self._reopened(opened, f"is damaged: {problem}")

    # ------------------------------------------------------------------ noticing

    def _problem(self, opened: Opened) -> str | None:
        now = _look(self.path)
        for part, before, there in zip(_PARTS, opened.seen, now, strict=True):
            if there is None:
                return f"has no {part or 'file'} any more"
            if there[:2] != before[:2]:
                return f"has another {part or 'file'}"
            if there[2] < before[2]:
                return f"has a {part or 'file'} of {there[2]} bytes after {before[2]}"
        opened.seen = tuple(each for each in now if each is not None)
        return None

    def _reopened(self, opened: Opened, problem: str) -> Opened:
        self._log.warning("log_file_replaced", file=str(self.path), problem=problem)
        try:
            with self._refusing():
                if self._reads_only:
                    self._require_another(opened.seen, problem)
                else:
                    self._remove_unusable(opened.seen)
            return self.open()
        except BaseException:
            with self._lock:
                self._current = _NO_FILE
            raise
        finally:
            # Only now: its inode would be given to the new file, and the last one to close a file
            # that is still at its path writes and removes its -wal.
            opened.connection.close()

    def _require_another(self, seen: _Seen, problem: str) -> None:
        """Refuse the file that we had: who owns it replaces it, and a reader leaves it alone."""
        if _identity(self.path) == seen[0][:2]:
            raise LogRefused(
                f"the log {self.path} {problem}. It was not changed: to have a new one made,"
                " remove it, or start the services that write it"
            )

    def _remove_unusable(self, seen: _Seen) -> None:
        """Remove what is left of the file that we had; what others made since stays.

        Its -wal beside another file would be read as what was written to that one.
        """
        with _locked(self.path.parent):
            now = _look(self.path)
            for part, before, there in zip(_PARTS, seen, now, strict=True):
                is_left = there is not None and there[:2] == before[:2]
                if is_left or _identity(self.path) is None:
                    with suppress(FileNotFoundError):
                        os.unlink(f"{self.path}{part}")

    # ------------------------------------------------------------------ opening

    def _opened_once(self) -> Opened | None:
        """None where the file was replaced meanwhile."""
        before = _identity(self.path) or self._make()
        if not self._reads_only:
            _keep_private(self.path)
        connection = connected(self.path, reads_only=self._reads_only)
        try:
            self._prepare(connection)
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            seen = _look(self.path)
            if any(each is None for each in seen) or seen[0][:2] != before:  # type: ignore[index]
                connection.close()
                return None
            number = self._number_of(before, connection)
        except BaseException:
            connection.close()
            raise
        return Opened(connection, tuple(each for each in seen if each is not None), number)

    def _make(self) -> tuple[int, int]:
        """A new, empty file; what is left of one that was there would be taken for its own."""
        if self._reads_only:
            raise FileNotFoundError(2, "there is no file any more", str(self.path))
        with _locked(self.path.parent):
            there = _identity(self.path)
            if there is not None:
                return there
            for part in _PARTS[1:]:
                with suppress(FileNotFoundError):
                    os.unlink(f"{self.path}{part}")
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, MODE))
            made = _identity(self.path)
        if made is None:
            raise FileNotFoundError(2, "deleted while it was made", str(self.path))
        return made

    def _number_of(self, identity: tuple[int, int], connection: sqlite3.Connection) -> int:
        """How many files this process has seen at the path, up to this one."""
        with self._lock:
            if identity != self._current:
                if self._current is not None:
                    self._forget(connection)
                self._current = identity
                self._openings += 1
            return self._openings

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Where no log can be at the path, say which and why."""
        try:
            yield
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise LogRefused(f"the log {self.path} cannot be used: {why}") from problem
        except sqlite3.DatabaseError as problem:
            raise LogRefused(
                f"the log {self.path} cannot be used: {problem}. If it is no log of millrace, or "
                "damaged, remove it: a new one is made"
            ) from problem


# --------------------------------------------------------------------------- files


def _is_passing(problem: sqlite3.DatabaseError | FileNotFoundError) -> bool:
    """Whether another attempt to open the file may find another one."""
    if isinstance(problem, FileNotFoundError):
        return True
    return _code_of(problem) in {*_DAMAGED, sqlite3.SQLITE_CANTOPEN}


def _code_of(problem: sqlite3.DatabaseError) -> int:
    """SQLite's primary code; 0 for an error of the Python module itself."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def _look(path: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """(device, inode, bytes) of the file, its -wal and its -shm; None for what is not there."""
    return tuple(_stat_of(f"{path}{part}") for part in _PARTS)


def _stat_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_size


def _identity(path: Path) -> tuple[int, int] | None:
    found = _stat_of(str(path))
    return None if found is None else found[:2]


def _keep_private(path: Path) -> None:
    """What the log says is its owner's; SQLite gives -wal and -shm the mode of the file."""
    if stat.S_ISREG(os.stat(path).st_mode):
        for part in _PARTS:
            with suppress(FileNotFoundError):
                if os.stat(f"{path}{part}").st_mode & _OTHERS:
                    os.chmod(f"{path}{part}", MODE)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder: of several processes one makes, or removes, the file at a time."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(round(LOCK_WAIT_S / LOCK_RETRY_S)):
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield
                return
            time.sleep(LOCK_RETRY_S)
        raise TimeoutError(110, f"another process held {folder} for {LOCK_WAIT_S:g} s")
    finally:
        os.close(descriptor)


def connected(path: Path, *, reads_only: bool = False) -> sqlite3.Connection:
    """A connection in WAL mode, for one thread at a time.

    One that only reads leaves the -wal as it is, also where it is the last that closes the file.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={'ro' if reads_only else 'rw'}",  # only `_make` makes one
        uri=True,
        timeout=LOCK_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    if reads_only:
        return connection
    try:
        _enter_wal(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _enter_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for its lock here, and several processes open a new file at once."""
    for _ in range(round(LOCK_WAIT_S / LOCK_RETRY_S)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem):
                raise
            time.sleep(LOCK_RETRY_S)
        else:
            return
    raise TimeoutError(110, f"the log was locked for {LOCK_WAIT_S:g} s")
