"""A small client of HTTP/1.1: one request at a time on each connection, which is kept for the next.

aiohttp takes 0.15 s of a processor to load, in each launch of each PE; h11 takes a tenth of that.
There are no redirects, cookies, proxies or compressed bodies: pe-gateway has none of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import h11

KEPT_MAX: Final = 4
"""Connections that wait for the next request."""
READ_BYTES: Final = 256 * 1024
HEADERS_BYTES_MAX: Final = 64 * 1024


class AnswerBroken(ConnectionError):
    """The connection ended within an answer, or what came is no HTTP."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request. `target`: a path below that of the client's URL, with its query."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None


class Client:
    """Sends requests to one server, by a URL of http or https."""

    def __init__(self, url: str, *, connect_s: float) -> None:
        """`connect_s`: how long a connection may take to come up."""
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._is_secure = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_secure else 80)
        self._authority = parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/")
        self._connect_s = connect_s
        self._kept: list[_Connection] = []

    @contextlib.asynccontextmanager
    async def request(self, wanted: Wanted, *, within_s: float) -> AsyncIterator[Answer]:
        """The answer, as soon as its headers are there; within `within_s` it has to be read.

        Raises OSError, AnswerBroken and TimeoutError.
        """
        async with asyncio.timeout(within_s):
            answer = await self._answer(wanted)
            try:
                yield answer
                if answer.connection.is_free and len(self._kept) < KEPT_MAX:
                    self._kept.append(answer.connection)
                    return
            except BaseException:
                answer.connection.close()
                raise
            answer.connection.close()

    async def close(self) -> None:
        """Close the connections that are kept."""
        while self._kept:
            self._kept.pop().close()

    async def _answer(self, wanted: Wanted) -> Answer:
        """A server may close a connection that it kept just when it is used: then a new one."""
        while self._kept:
            kept = self._kept.pop()
            if not kept.has_ended:
                with contextlib.suppress(OSError):
                    return await self._answer_on(kept, wanted)
            kept.close()
        async with asyncio.timeout(self._connect_s):
            reader, writer = await asyncio.open_connection(
                self._host, self._port, ssl=True if self._is_secure else None
            )
        return await self._answer_on(_Connection(reader, writer), wanted)

    async def _answer_on(self, connection: _Connection, wanted: Wanted) -> Answer:
        body = wanted.body
        length = {} if body is None else {"Content-Length": str(len(body))}
        headers = {"Host": self._authority, **wanted.headers, **length}
        try:
            await connection.send(
                h11.Request(
                    method=wanted.method,
                    target=self._path + wanted.target,
                    headers=list(headers.items()),
                ),
                body or b"",
            )
            return await connection.answer()
        except BaseException:
            connection.close()
            raise


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADERS_BYTES_MAX)

    @property
    def has_ended(self) -> bool:
        return self._reader.at_eof() or self._writer.is_closing()

    @property
    def is_free(self) -> bool:
        """Take it for the next request, if nothing of the last answer is still to come."""
        try:
            while self._state.their_state is h11.SEND_BODY:
                if not isinstance(self._state.next_event(), h11.Data | h11.EndOfMessage):
                    return False
            self._state.start_next_cycle()
        except h11.ProtocolError:
            return False
        return not self.has_ended

    async def send(self, request: h11.Request, body: bytes) -> None:
        parts = [self._state.send(request)]
        if body:
            parts.append(self._state.send(h11.Data(data=body)))
        parts.append(self._state.send(h11.EndOfMessage()))
        self._writer.write(b"".join(each for each in parts if each))
        await self._writer.drain()

    async def answer(self) -> Answer:
        while isinstance(event := await self.next(), h11.InformationalResponse):
            pass
        if not isinstance(event, h11.Response):
            raise AnswerBroken("the connection was closed before an answer")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        return Answer(event.status_code, headers, self)

    async def next(self) -> object:
        """The next event. Raises AnswerBroken, OSError."""
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                self._state.receive_data(await self._reader.read(READ_BYTES))
        except h11.ProtocolError as problem:
            raise AnswerBroken(str(problem)) from None
        return event

    def close(self) -> None:
        self._writer.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose body is still to be read. The names of `headers` are in small letters."""

    status: int
    headers: Mapping[str, str]
    connection: _Connection

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, in pieces as they come. Raises AnswerBroken, OSError."""
        while isinstance(event := await self.connection.next(), h11.Data):
            yield bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            raise AnswerBroken("the connection was closed within an answer")

    async def begin(self, bytes_max: int) -> bytes:
        """The begin of the body: at least so many bytes, or all of it."""
        body = b""
        async for chunk in self.chunks():
            body += chunk
            if len(body) >= bytes_max:
                break
        return body
