"""Processes of containers: started in a group of their own, ended with everything they started."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

EXIT_OF_SIGNAL = 128
EXIT_NOT_STARTED = 128
_PR_SET_PDEATHSIG = 1
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class NotStarted(Exception):
    """A command that cannot be run; the message says why, as a container runtime does."""


class Groups:
    """Tells the reaper which process groups there are; without one it does nothing."""

    def __init__(self) -> None:
        self._reaper: subprocess.Popen[bytes] | None = None

    def open(self, folder: Path) -> None:
        """Start the reaper, which removes what is in `folder` when this process ends."""
        command = [sys.executable, "-m", "sandbox.containers.reaper", str(folder)]
        self._reaper = subprocess.Popen(  # noqa: S603  our own module
            command, stdin=subprocess.PIPE, start_new_session=True, bufsize=0
        )

    def close(self) -> None:
        """Let the reaper end, and wait for it."""
        reaper, self._reaper = self._reaper, None
        if reaper is not None and reaper.stdin is not None:
            reaper.stdin.close()
            reaper.wait()

    def add(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def discard(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        if self._reaper is not None and self._reaper.stdin is not None:
            with contextlib.suppress(OSError):
                self._reaper.stdin.write(line.encode())


async def start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, groups: Groups
) -> asyncio.subprocess.Process:
    """Start a process whose output and errors come by one pipe. Raises NotStarted."""
    if not command:
        raise NotStarted("no command specified")
    path = environment.get("PATH", os.defpath)
    program = shutil.which(command[0], path=path)
    if program is None:
        where = "no such file or directory" if "/" in command[0] else "not found in $PATH"
        raise NotStarted(f'exec: "{command[0]}": {where}')
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            env=dict(environment),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    except (OSError, ValueError) as problem:
        raise NotStarted(f'exec: "{command[0]}": {problem}') from None
    groups.add(process.pid)
    return process


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a process and everything in its group, which may have outlived it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def exit_code_of(returned: int) -> int:
    """The exit code as a container runtime says it: 128 and the signal, if one ended it."""
    return EXIT_OF_SIGNAL - returned if returned < 0 else returned


def _die_with_parent() -> None:
    """On Linux the kernel kills the process when the sandbox ends, even by SIGKILL."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
