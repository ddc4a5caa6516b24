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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox.containers.pipes import reader_of

EXIT_OF_SIGNAL = 128
EXIT_NOT_STARTED = 128
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS = 0x20000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
"""Of <linux/prctl.h>, <linux/sched.h> and <linux/mount.h>."""
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


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


class Child:
    """A process that leads a group of its own."""

    def __init__(self, process: asyncio.subprocess.Process, groups: Groups) -> None:
        self.group = process.pid
        self.process = process
        self._groups = groups

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None

    def terminate(self) -> None:
        """Send SIGTERM to the process, not to what it started: a container runtime does so."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()

    def kill(self) -> None:
        """Kill the process and everything in its group, which may have outlived it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)

    async def ended(self) -> int:
        """Wait for the end of the process, and end its group; returns the exit code."""
        try:
            returned = await self.process.wait()
        finally:
            self.kill()
        self._groups.discard(self.group)
        return exit_code_of(returned)


class LoggedChild(Child):
    """A child whose group writes to one pipe, `output`.

    The pipe is not one of asyncio's: there a process has not ended while somebody else, which it
    started, has the pipe open.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        groups: Groups,
        output: asyncio.StreamReader,
        transport: asyncio.BaseTransport,
    ) -> None:
        super().__init__(process, groups)
        self.output = output
        self._transport = transport

    async def last_output(self, bytes_max: int) -> bytes:
        """Read the output to its end; the last `bytes_max` bytes of it."""
        kept = b""
        while data := await self.output.read(bytes_max):
            kept = (kept + data)[-bytes_max:]
        return kept

    def close(self) -> None:
        """Read no more of the output."""
        self._transport.close()


@dataclass(frozen=True)
class Streams:
    """File descriptors of a process; the caller closes them."""

    stdin: int
    stdout: int
    stderr: int


async def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    groups: Groups,
    streams: Streams,
    read_only: Sequence[str] = (),
) -> Child:
    """Start a process. Raises NotStarted.

    It cannot write below the paths of `read_only`, where the system allows mounts of its own.
    """
    program = _found(command, environment, folder)
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            env=dict(environment),
            cwd=folder,
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            start_new_session=True,
            preexec_fn=partial(_before_exec, read_only),
        )
    except (OSError, ValueError) as problem:
        raise NotStarted(f'exec: "{command[0]}": {problem}') from None
    groups.add(process.pid)
    return Child(process, groups)


async def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    groups: Groups,
    read_only: Sequence[str] = (),
) -> LoggedChild:
    """Start a process whose output and errors come by one pipe. Raises NotStarted."""
    reading, writing = os.pipe()
    streams = Streams(asyncio.subprocess.DEVNULL, writing, writing)
    try:
        child = await spawn(command, environment, folder, groups, streams, read_only)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    output, transport = await reader_of(reading)
    return LoggedChild(child.process, groups, output, transport)


def _found(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> str:
    """The path of the program of a command. Raises NotStarted."""
    if not command:
        raise NotStarted("no command specified")
    word = str(folder / command[0]) if "/" in command[0] else command[0]
    program = shutil.which(word, path=environment.get("PATH", os.defpath))
    if program is None:
        where = "no such file or directory" if "/" in command[0] else "not found in $PATH"
        raise NotStarted(f'exec: "{command[0]}": {where}')
    return program


def exit_code_of(returned: int) -> int:
    """The exit code as a container runtime says it: 128 and the signal, if one ended it."""
    return EXIT_OF_SIGNAL - returned if returned < 0 else returned


def _before_exec(read_only: Sequence[str]) -> None:
    """On Linux the kernel kills the process when the sandbox ends, even by SIGKILL."""
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if read_only and not _LIBC.unshare(_CLONE_NEWNS):
        _LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
        for path in map(os.fsencode, read_only):
            _LIBC.mount(path, path, None, _MS_BIND, None)
            _LIBC.mount(None, path, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY, None)
