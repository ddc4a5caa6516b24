"""Files and folders that only their owner may use: 0600 and 0700, whatever the umask is.

The folder of `--state` is one of them: it holds credentials, logs and the store. The module that
writes a file decides its name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from cli.failing import Misused

FILE_MODE = 0o600
FOLDER_MODE = 0o700
OTHERS = 0o077
"""The mode bits of group and others; as a umask it makes files private to their owner."""
TEMPORARY_FILE = "temporary"
"""In a state folder that `up` made for itself, and that goes at its end."""
PID_FILE = "pid"
"""In a state folder: the process id of the `up` that took it last."""
_ELSE = "Say another --state."


def write_private(path: Path, text: str) -> None:
    """Write a file atomically; only its owner may read it."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


def private_log(path: Path) -> IO[bytes]:
    """Open a file for appending; only its owner may read it."""
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags, FILE_MODE))


def private_folder(path: Path) -> None:
    """Create a folder that only its owner may enter, or restrict one. Raises OSError."""
    path.mkdir(parents=True, mode=FOLDER_MODE, exist_ok=True)
    path.chmod(FOLDER_MODE)


def private_state(path: Path, ours: Sequence[str]) -> None:
    """Create the folder of a `--state`, or restrict an existing one and our files in it.

    `ours` are glob patterns of our names. A folder that others may enter and that holds any other
    file is refused, since other people may use it. Raises Misused, and OSError.
    """
    refuse_foreign(path)
    if path.exists() and path.stat().st_mode & OTHERS:
        others = sorted(set(path.iterdir()).difference(*map(path.glob, ours)))
        if others:
            raise Misused(
                f"others may enter {path}, and it holds {others[0].name}, which is not millrace's: "
                f"say another --state, or `chmod 700 {path}`."
            )
    private_folder(path)  # first: from here on nobody else can add a file
    for pattern in ours:
        for found in path.glob(pattern):
            _close(found)


@contextlib.contextmanager
def locked(logs: Path) -> Iterator[None]:
    """Keep other `up` out of a `--state` while this one runs, however it ends. Raises Misused.

    `logs` is a folder in it: the services lock the state itself when they create their log.
    """
    folder = os.open(logs, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misused(_in_use(logs.parent)) from None
        write_private(logs.parent / PID_FILE, f"{os.getpid()}\n")
        yield
    finally:
        os.close(folder)


def is_locked(logs: Path) -> bool:
    """Whether an `up` runs with this folder; True if that cannot be found out."""
    try:
        folder = os.open(logs, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


def holder_of(state: Path) -> str:
    """The process id of the `up` that took a state folder last; empty if it is not known."""
    try:
        pid = (state / PID_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # it has taken the lock just now
        return ""
    return pid if pid.isdecimal() else ""


def remove_left(folder: Path, prefix: str) -> list[Path]:
    """Remove temporary states that an `up` left when it was killed; returns them.

    Only a folder of ours that is marked, with a process id and a free lock: one without them is
    somebody's --state, or has just been made.
    """
    removed = []
    for state in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            found = state.lstat()
            is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            is_left = (state / TEMPORARY_FILE).is_file() and holder_of(state)
            if is_ours and is_left and not is_locked(state / "logs"):
                shutil.rmtree(state)
                removed.append(state)
    return removed


def _in_use(state: Path) -> str:
    pid = holder_of(state)
    if not pid:
        return f"--state {state} is in use: a `millrace up` starts there now. {_ELSE}"
    what = f"--state {state} is in use: a `millrace up` runs there (pid {pid})."
    return f"{what} {_ELSE} Or end that one: kill {pid}"


def refuse_foreign(path: Path) -> None:
    """Refuse a link, a file, and the folder of another user. Raises Misused, and OSError.

    The owner of a folder or a link can change what is written there.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise Misused(f"{path} is a link to {path.readlink()}: name the folder itself. {_ELSE}")
    if not stat.S_ISDIR(found.st_mode):
        raise Misused(f"{path} is not a folder. {_ELSE}")
    _refuse_owner(path, found)


def _close(path: Path) -> None:
    """Remove the rights of group and others from a file, or from a folder and its content."""
    _close_one(path)
    if path.is_dir() and not path.is_symlink():
        for found in path.iterdir():
            _close(found)


def _close_one(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # SQLite removes files at the last close
        found = path.lstat()
        _refuse_owner(path, found)
        if found.st_mode & OTHERS and not stat.S_ISLNK(found.st_mode):
            path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def _refuse_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise Misused(f"{path} belongs to another user (uid {found.st_uid}). {_ELSE}")
