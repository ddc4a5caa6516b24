"""Files that are being written into the bundle store, and what is left of those nobody writes.

A file gets its name when all of it is written. Until then its writer holds a lock on it, which ends
with the writer, however it ends: what can be locked was left by a process that was killed. Several
instances may have one volume. On a file system without locks nothing is swept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

FIRST_BYTES: Final = 4
INCOMING: Final = ".incoming-"
LEAVING: Final = ".leaving-"
"""What is looked at once more before it is removed (`unused.py`)."""
FETCHED: Final = "fetched"
"""The folder of what was fetched from where."""


class Incoming:
    """A file that is being written, counted and hashed."""

    def __init__(self, folder: Path) -> None:
        self._file = _locked(folder)
        self._digest = hashlib.sha256()
        self.written_bytes = 0
        self.first_bytes = b""

    def write(self, chunk: bytes) -> None:
        """The next bytes."""
        self.written_bytes += len(chunk)
        self.first_bytes = (self.first_bytes + chunk[:FIRST_BYTES])[:FIRST_BYTES]
        self._digest.update(chunk)
        self._file.write(chunk)

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._digest.hexdigest()

    def keep(self, path: Path, *, now: float) -> None:
        """Have the file under this name, used now (unix seconds)."""
        self._file.flush()
        os.fsync(self._file.fileno())
        os.utime(self._file.name, (now, now))
        os.replace(self._file.name, path)
        self._file.close()

    def discard(self) -> None:
        """Leave nothing of what was not kept."""
        if not self._file.closed:
            Path(self._file.name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # what was not flushed has no room
                self._file.close()


def _locked(folder: Path) -> IO[bytes]:
    """A new file with a lock on it."""
    while True:
        file = tempfile.NamedTemporaryFile(dir=folder, prefix=INCOMING, delete=False)  # noqa: SIM115 - closed by keep and discard
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(file.name):
            return file
        file.close()  # it was swept before it had its lock


def sweep(store: Path) -> int:
    """Remove what a process left that was killed while it wrote; how many files that were.

    What another was about to remove when it was killed is as it was.
    """
    swept = 0
    for path in (*store.glob(f"{INCOMING}*"), *(store / FETCHED).glob(f"{INCOMING}*")):
        with contextlib.suppress(OSError), _unlocked(path):
            path.unlink()
            swept += 1
    for leaving in store.glob(f"{LEAVING}*"):
        with contextlib.suppress(OSError):
            back = store / leaving.name.removeprefix(LEAVING)
            leaving.unlink() if back.exists() else os.replace(leaving, back)
    return swept


@contextlib.contextmanager
def _unlocked(path: Path) -> Iterator[None]:
    """With the lock of a file that no living process writes; OSError where one does."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
