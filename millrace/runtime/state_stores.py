"""Where states are kept: a folder that every node reaches, or none. `redis_store.py` has another.

A state is written to a temporary file, flushed to the disk, and linked to its name, which fails if
the name exists: nothing is ever overwritten, and a name never shows half of a state.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from millrace.protocol import HandOver
from millrace.runtime.choosing import removable
from millrace.runtime.endings import StoreFailed
from millrace.runtime.state_names import StateName, parsed, pes_in

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_TEMPORARY: Final = ".tmp"


class StoreFull(StoreFailed):
    """There is no room. `path` names the state, `size` how many bytes it has."""

    def __init__(self, path: str, size: int, why: str) -> None:
        """The message names all of it."""
        super().__init__(f"{path} cannot be written ({size} bytes): {why}")
        self.path = path
        self.size = size


class StateDiffers(StoreFailed):
    """A state of this name exists and has other bytes."""


class StateMissing(StoreFailed):
    """There is no state of this name."""


class StateStore(Protocol):
    """Keeps the states of one job. All methods raise StoreFailed."""

    async def write(self, name: StateName, data: bytes) -> None:
        """Keep a state for good. The same bytes again are fine. Raises StateDiffers, StoreFull."""
        ...

    async def read(self, name: StateName) -> bytes:
        """The bytes of a state. Raises StateMissing."""
        ...

    async def names(self, pe: int) -> tuple[StateName, ...]:
        """The states of a PE, from the oldest."""
        ...

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        """Remove the states of a PE that nobody needs (`choosing.removable`); returns how many."""
        ...

    async def pes(self) -> tuple[int, ...]:
        """The PEs that have states, in order."""
        ...

    async def remove_all(self, pe: int) -> None:
        """Remove all states of a PE."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class NoStore:
    """Keeps nothing: a launch begins without state."""

    async def write(self, name: StateName, data: bytes) -> None:
        """Does nothing."""

    async def read(self, name: StateName) -> bytes:
        """Raises StateMissing."""
        raise StateMissing(f"{name.path} is not kept: the job has no checkpoint store")

    async def names(self, pe: int) -> tuple[StateName, ...]:
        """()."""
        return ()

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        """0."""
        return 0

    async def pes(self) -> tuple[int, ...]:
        """()."""
        return ()

    async def remove_all(self, pe: int) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""


class FileStore:
    """A folder for one job. Files are read and written in threads."""

    def __init__(self, folder: Path) -> None:
        """`folder`: that of the job, which is made when something is written."""
        self._folder = folder

    async def write(self, name: StateName, data: bytes) -> None:
        """Write, flush, and link. Raises StateDiffers, StoreFull or StoreFailed."""
        await asyncio.to_thread(self._write, name, data)

    async def read(self, name: StateName) -> bytes:
        """Raises StateMissing or StoreFailed."""
        return await asyncio.to_thread(self._read, name)

    async def names(self, pe: int) -> tuple[StateName, ...]:
        """Raises StoreFailed."""
        return await asyncio.to_thread(self._names, pe)

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        """Raises StoreFailed."""
        return await asyncio.to_thread(self._remove_older, pe, hand_over)

    async def pes(self) -> tuple[int, ...]:
        """Raises StoreFailed."""
        return await asyncio.to_thread(self._pes)

    async def remove_all(self, pe: int) -> None:
        """Raises StoreFailed."""
        await asyncio.to_thread(self._remove_all, pe)

    async def close(self) -> None:
        """Does nothing."""

    def _write(self, name: StateName, data: bytes) -> None:
        target = self._folder / name.path
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_TEMPORARY}")
        try:
            _make_folder(target.parent)
            try:
                _write_flushed(temporary, data)
                is_new = _link(temporary, target)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    temporary.unlink()
            _flush_folder(target.parent)
        except OSError as problem:
            why = problem.strerror or str(problem)
            if problem.errno in _FULL:
                raise StoreFull(str(target), len(data), why) from None
            raise StoreFailed(f"{target} cannot be written: {why}") from None
        if not is_new and self._read(name) != data:
            raise StateDiffers(f"{target} exists with other content, and is never overwritten")

    def _read(self, name: StateName) -> bytes:
        path = self._folder / name.path
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise StateMissing(f"{path} is not there") from None
        except OSError as problem:
            raise StoreFailed(f"{path} cannot be read: {problem.strerror}") from None

    def _names(self, pe: int) -> tuple[StateName, ...]:
        with self._reading(pe) as folder:
            found = [parsed(path.relative_to(self._folder).as_posix()) for path in _files(folder)]
        return tuple(sorted((name for name in found if name), key=lambda name: name.age))

    def _remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        found = self._names(pe)
        gone = removable(hand_over, pe, found)
        newest = max((name.launch for name in found), default=0)
        with self._reading(pe) as folder:
            for name in gone:
                (self._folder / name.path).unlink(missing_ok=True)
            for path in _files(folder):
                is_old = path.parent.name != f"launch-{newest}"
                if path.name.endswith(_TEMPORARY) and is_old:
                    path.unlink(missing_ok=True)
            for launch in {name.launch for name in gone}:
                with contextlib.suppress(OSError):  # it has other states
                    (folder / f"launch-{launch}").rmdir()
        return len(gone)

    def _pes(self) -> tuple[int, ...]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return ()
        except OSError as problem:
            raise StoreFailed(f"{self._folder} cannot be read: {problem.strerror}") from None
        return pes_in(names)

    def _remove_all(self, pe: int) -> None:
        folder = self._folder / f"pe-{pe}"
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise StoreFailed(f"{folder} cannot be removed: {problem.strerror}") from None

    @contextlib.contextmanager
    def _reading(self, pe: int) -> Iterator[Path]:
        folder = self._folder / f"pe-{pe}"
        try:
            yield folder
        except OSError as problem:
            raise StoreFailed(f"{folder} cannot be read: {problem.strerror}") from None


def _files(folder: Path) -> Iterator[Path]:
    """The files of all launches; there may be no folder yet."""
    for launch in _listed(folder):
        yield from _listed(launch)


def _listed(folder: Path) -> list[Path]:
    """What is in a folder, by name; nothing where somebody has just removed it."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it; each is flushed, so that a crash does not take it back."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # no such thing on this file system
            raise
    finally:
        os.close(number)


def _write_flushed(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _link(temporary: Path, target: Path) -> bool:
    """Give a file its name, unless that exists: then False."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        if target.exists():  # only this launch writes this name
            return False
        temporary.rename(target)
    return True
