"""A command that somebody runs beside the process of a container, as `kubectl exec` does.

Input and outputs are pipes, or a terminal. What the words of the command mean is decided by the
container; who may run one is nobody's question here.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from sandbox.containers.children import Child, Groups, Streams, spawn
from sandbox.containers.pipes import reader_of, writer_of

STDOUT: Final = 1
STDERR: Final = 2
_TAKE_TERMINAL: Final = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""A new session takes the terminal; only its first process can, after it has become one."""


class Output(Protocol):
    """What a command writes; empty at the end."""

    async def read(self, n: int = -1, /) -> bytes: ...


class Terminal:
    """Our end of a terminal: read and written here, as pipes of uvloop take its output away."""

    def __init__(self, end: int) -> None:
        os.set_blocking(end, False)
        self._end = end

    async def read(self, n: int = 65_536, /) -> bytes:
        """At most `n` bytes, when there are some; empty when nobody has the other end open."""
        loop = asyncio.get_running_loop()
        while True:
            ready = asyncio.Event()
            loop.add_reader(self._end, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(self._end)
            with contextlib.suppress(BlockingIOError):
                try:
                    return os.read(self._end, n)
                except OSError as problem:
                    if problem.errno == errno.EIO:
                        return b""
                    raise

    async def write(self, data: bytes) -> None:
        """Write everything; raises OSError."""
        loop = asyncio.get_running_loop()
        while data:
            try:
                data = data[os.write(self._end, data) :]
            except BlockingIOError:
                ready = asyncio.Event()
                loop.add_writer(self._end, ready.set)
                try:
                    await ready.wait()
                finally:
                    loop.remove_writer(self._end)

    def resize(self, rows: int, columns: int) -> None:
        size = struct.pack("HHHH", rows & 0xFFFF, columns & 0xFFFF, 0, 0)
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        os.close(self._end)


@dataclass(eq=False)
class ExecSession:
    """A command that runs; `outputs` are by STDOUT and STDERR, a terminal has the first alone.

    It has a `terminal`, or a `writer` for its input.
    """

    child: Child
    outputs: Mapping[int, Output]
    writer: asyncio.StreamWriter | None = None
    terminal: Terminal | None = None
    transports: Sequence[asyncio.BaseTransport] = ()

    async def write(self, data: bytes) -> None:
        """Give the command input; it may have ended."""
        with contextlib.suppress(OSError):  # it reads no more
            if self.terminal is not None:
                await self.terminal.write(data)
            elif self.writer is not None and not self.writer.is_closing():
                self.writer.write(data)
                await self.writer.drain()

    def close_input(self) -> None:
        """No more input comes."""
        if self.writer is not None:
            self.writer.close()

    def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size."""
        if self.terminal is not None:
            self.terminal.resize(rows, columns)

    async def close(self) -> None:
        """Kill what runs, and give back what it took."""
        self.child.kill()
        await self.child.ended()
        self.close_input()
        for transport in self.transports:
            transport.close()
        if self.terminal is not None:
            self.terminal.close()


async def open_session(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    groups: Groups,
    *,
    has_terminal: bool,
) -> ExecSession:
    """Start a command. Raises NotStarted."""
    if has_terminal:
        return await _in_terminal(words, environment, folder, groups)
    (stdin, to_stdin), (from_out, stdout), (from_err, stderr) = os.pipe(), os.pipe(), os.pipe()
    try:
        streams = Streams(stdin, stdout, stderr)
        child = await spawn(words, environment, folder, groups, streams)
    except BaseException:
        for end in (to_stdin, from_out, from_err):
            os.close(end)
        raise
    finally:
        for end in (stdin, stdout, stderr):
            os.close(end)
    out, out_transport = await reader_of(from_out)
    err, err_transport = await reader_of(from_err)
    outputs: dict[int, Output] = {STDOUT: out, STDERR: err}
    return ExecSession(
        child, outputs, await writer_of(to_stdin), transports=[out_transport, err_transport]
    )


async def _in_terminal(
    words: Sequence[str], environment: Mapping[str, str], folder: Path, groups: Groups
) -> ExecSession:
    ours, theirs = os.openpty()
    taking = (sys.executable, "-c", _TAKE_TERMINAL, *words)
    try:
        streams = Streams(theirs, theirs, theirs)
        child = await spawn(taking, {"TERM": "xterm", **environment}, folder, groups, streams)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    terminal = Terminal(ours)
    return ExecSession(child, {STDOUT: terminal}, terminal=terminal)
