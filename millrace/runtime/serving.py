"""A small server of HTTP/1.1 in the event loop of the PE: metrics, and tuples as they pass.

It answers GET. An answer is bytes, or a stream of them: its headers are sent at once, and it ends
when its reader goes or has read nothing for `UNREAD_S`. Why not aiohttp: see `requesting.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import h11

LOG = logging.getLogger("millrace.runtime.serving")
CONNECTIONS_MAX: Final = 64
"""One more is closed at once."""
IDLE_S: Final = 75.0
"""A connection without a whole request for so long is closed."""
UNREAD_S: Final = 30.0
"""A reader who takes nothing of an answer for so long is cut off."""
HEADERS_BYTES_MAX: Final = 16 * 1024
READ_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A GET; of a parameter that comes twice the last one counts."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. A body that is a stream is closed when its reader goes."""

    body: bytes | AsyncGenerator[bytes, None]
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


Handler = Callable[[Request], Awaitable[Reply]]


class Server:
    """Serves paths from `start` until `stop`."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        """`handlers` by path."""
        self._handlers = handlers
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError."""
        self._server = await asyncio.start_server(self._connected, host, port)

    async def stop(self) -> None:
        """Serve no more; connections are closed."""
        if self._server is not None:
            self._server.close()
        for each in self._serving:
            each.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    @property
    def port(self) -> int:
        """The port that is served: another than requested if that was 0."""
        assert self._server is not None, "it was started"
        return int(self._server.sockets[0].getsockname()[1])

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        connection = _Connection(reader, writer, self._answer)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _answer(self, request: Request) -> Reply:
        handler = self._handlers.get(request.path)
        if handler is None:
            return Reply(b"404 page not found\n", 404)
        try:
            return await handler(request)
        except Exception:
            LOG.exception("%s cannot be answered", request.path)
            return Reply(b"it cannot be answered: the log of the PE has the reason\n", 500)


class _Connection:
    """One connection, and its requests one after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Handler
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._answer = answer
        self._state = h11.Connection(h11.SERVER, max_incomplete_event_size=HEADERS_BYTES_MAX)

    async def serve(self) -> None:
        _notice_peers_that_vanish(self._writer)
        try:
            while (event := await self._request()) is not None:
                await self._send(await self._reply(event))
                if self._state.our_state is not h11.DONE:
                    break
                self._state.start_next_cycle()
        except (OSError, h11.ProtocolError):
            self._writer.transport.abort()  # also who reads nothing: there is nobody to tell
        finally:
            self._writer.close()

    async def _request(self) -> h11.Request | None:
        """The next request, without its body; None if the peer is done. Raises TimeoutError."""
        async with asyncio.timeout(IDLE_S):
            event = await self._next()
            if not isinstance(event, h11.Request):
                return None
            while isinstance(await self._next(), h11.Data):
                pass
            return event

    async def _next(self) -> object:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            self._state.receive_data(await self._reader.read(READ_BYTES))
        return event

    async def _reply(self, event: h11.Request) -> Reply:
        if event.method != b"GET":
            return Reply(b"only GET is answered\n", 405)
        target = urlsplit(event.target.decode("ascii", "replace"))
        return await self._answer(Request(target.path, dict(parse_qsl(target.query))))

    async def _send(self, reply: Reply) -> None:
        headers = [("Content-Type", reply.content_type)]
        if isinstance(reply.body, bytes):
            headers.append(("Content-Length", str(len(reply.body))))
            self._write(h11.Response(status_code=reply.status, headers=headers))
            if reply.body:
                self._write(h11.Data(data=reply.body))
            await self._end()
            return
        headers.append(("Connection", "close"))
        self._write(h11.Response(status_code=reply.status, headers=headers))
        await self._stream(reply.body)

    async def _stream(self, body: AsyncGenerator[bytes, None]) -> None:
        """Send what comes, until its end; or until the reader goes, who has nothing to send."""
        gone = asyncio.ensure_future(self._reader.read(1))
        sending = asyncio.ensure_future(self._send_all(body))
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            for each in (gone, sending):
                each.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    async def _send_all(self, body: AsyncGenerator[bytes, None]) -> None:
        async with aclosing(body):
            async for chunk in body:
                self._write(h11.Data(data=chunk))
                await self._drained()
        await self._end()

    def _write(self, event: h11.Event) -> None:
        if data := self._state.send(event):
            self._writer.write(data)

    async def _end(self) -> None:
        self._write(h11.EndOfMessage())
        await self._drained()

    async def _drained(self) -> None:
        async with asyncio.timeout(UNREAD_S):
            await self._writer.drain()


def _notice_peers_that_vanish(writer: asyncio.StreamWriter) -> None:
    """A machine that is gone says nothing: its connection ends after two minutes."""
    found = writer.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
