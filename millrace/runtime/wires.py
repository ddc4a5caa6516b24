"""One connection between two PEs, as frames: written in pieces, read one by one.

A wire notices a dead peer: both sides write a heartbeat when they have nothing else to write, and a
peer of whom nothing is heard for `SILENT_TICKS` ticks is given up. Ticks are counted, not seconds,
so that a process that was stopped for a minute does not blame its peers when it goes on.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from millrace.errors import ConnectionBroken, TransportError
from millrace.runtime.frames import (
    CONTROL_BYTES_MAX,
    HEARTBEAT,
    PREAMBLE,
    Bytes,
    Frame,
    Kind,
    Reader,
    Refusal,
    RefusalReason,
)

TICK_S: Final = 2.0
SILENT_TICKS: Final = 5
"""Ticks without a byte: the peer is given up after 8 to 10 s."""
READ_BYTES_MAX: Final = 1 << 20
"""Complete frames that wait to be taken; then the socket is not read."""
WRITE_BYTES_MAX: Final = 256 << 10
"""Bytes that wait in front of the socket; then nothing more is written."""
CLOSE_S: Final = 5.0
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


def _nothing() -> None:
    """Nobody waits."""


class Stopped(TransportError):
    """This PE takes nothing any more."""


class Superseded(TransportError):
    """Another connection of the same origin took the place of this one."""


class Refused(TransportError):
    """What a hello is answered with."""

    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(reason, message)


class Wire(asyncio.Protocol):
    """Reads frames from a transport and writes to it. `made` is called when it is connected."""

    def __init__(self, made: Callable[[Wire], None] | None = None) -> None:
        """A wire that nothing is connected to yet."""
        self.on_room: Callable[[], None] = _nothing
        self.is_full = False
        self.peer = "?"
        self._made = made
        self._loop = asyncio.get_running_loop()
        self._reader = Reader(CONTROL_BYTES_MAX)
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._is_paused = False
        self._passes: Callable[[Frame], bool] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._problem: TransportError | None = None
        self._is_silent_side = False
        self._silent_ticks = 0
        self._tick: asyncio.TimerHandle | None = None
        self.transport: Any = None
        self.closed: asyncio.Future[None] = self._loop.create_future()

    # ------------------------------------------------------------ life

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else str(peer)
        _keep_alive(transport.get_extra_info("socket"))
        if self._made is not None:
            self._made(self)

    def greet(self) -> None:
        """Write the preamble, and from now on heartbeats."""
        self.transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self.transport.write(PREAMBLE)
        self._tick = self._loop.call_later(TICK_S, self._on_tick)

    def open_for(self, bytes_max: int) -> None:
        """Accept frames with payloads of up to so many bytes."""
        self._reader.limit = bytes_max

    def _on_tick(self) -> None:
        if self._problem is not None or self.transport.is_closing():
            return
        self._tick = self._loop.call_later(TICK_S, self._on_tick)
        if self._is_silent_side and not self.is_full:
            self.transport.write(HEARTBEAT)
        self._is_silent_side = True
        if not self._is_paused and not self._frames:
            self._silent_ticks += 1
        if self._silent_ticks >= SILENT_TICKS:
            self._fail(ConnectionBroken(f"nothing was heard for {SILENT_TICKS * TICK_S:.0f} s"))
            self.transport.abort()

    def stop_taking(self, problem: TransportError) -> None:
        """Forget the frames that nobody has taken; `frame` raises this from now on."""
        self._frames.clear()
        self._bytes = 0
        self._problem = problem
        self._read_on()
        self._wake()

    async def ended(self, within_s: float) -> None:
        """Wait until the peer has closed it, and read until then.

        A socket that is closed with unread bytes may take with it what was written last.
        """
        self.stop_taking(ConnectionBroken("nothing is taken any more"))
        await asyncio.wait({self.closed}, timeout=within_s)

    def close(self) -> None:
        """Close it when all that was written has left, or after `CLOSE_S`."""
        if self._tick is not None:
            self._tick.cancel()
        if self.transport is not None and not self.closed.done():
            self.transport.close()
            self._tick = self._loop.call_later(CLOSE_S, self.transport.abort)

    def abort(self) -> None:
        """Close it at once."""
        if self._tick is not None:
            self._tick.cancel()
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        if self._tick is not None:
            self._tick.cancel()
        is_inside = self._reader.is_inside
        where = " in the middle of a frame" if is_inside else ""
        why = f"the connection ended{where}{f': {exc}' if exc else ''}"
        self._fail(ConnectionBroken(why, is_clean=not is_inside and exc is None))
        if not self.closed.done():
            self.closed.set_result(None)

    def _fail(self, problem: TransportError) -> None:
        if self._problem is None:
            self._problem = problem
        self._wake()

    # ------------------------------------------------------------ reading

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        self._silent_ticks = 0
        if self._problem is not None:
            return
        try:
            frames = self._reader.feed(data)
        except TransportError as problem:
            self._fail(problem)
            self.transport.close()
            return
        for frame in frames:
            if frame.kind != Kind.HEARTBEAT:
                self._frames.append(frame)
                self._bytes += len(frame.payload)
        if self._bytes > READ_BYTES_MAX and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        if self._frames:
            self._wake()

    @property
    def has_frame(self) -> bool:
        """Whether `frame` would not wait."""
        if not self._frames:
            return False
        return self._passes is None or self._passes(self._frames[0])

    async def frame(self) -> Frame:
        """The next frame, except for heartbeats.

        Raises ConnectionBroken, ProtocolError, or what `stop_taking` was given: when all frames
        before are taken, or at once if it is held.
        """
        while not self.has_frame:
            if self._problem is not None:
                raise self._problem
            self._waiter = self._loop.create_future()
            await self._waiter
        frame = self._frames.popleft()
        self._bytes -= len(frame.payload)
        self._read_on()
        return frame

    def _read_on(self) -> None:
        if self._is_paused and self._bytes <= READ_BYTES_MAX // 2:
            self._is_paused = False
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def hold(self, passes: Callable[[Frame], bool] | None) -> None:
        """Let `frame` wait, but for frames that pass; with None all do."""
        self._passes = passes
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # ------------------------------------------------------------ writing

    def write(self, *parts: Bytes) -> None:
        """Write these bytes, in one call, unless the connection has ended."""
        self.write_all(parts)

    def write_all(self, parts: Sequence[Bytes]) -> None:
        """As `write`. A wire with `is_full` takes more, but a writer should wait for `on_room`."""
        self._is_silent_side = False
        if not self.transport.is_closing():
            self.transport.writelines(parts)

    def pause_writing(self) -> None:
        """Called by the event loop."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Called by the event loop."""
        self.is_full = False
        self.on_room()


def _keep_alive(sock: Any) -> None:
    """A peer whose machine is gone ends the connection, though nothing is read or written."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
