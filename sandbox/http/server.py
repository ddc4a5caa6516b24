"""The API server on a socket: HTTP/1.1 by uvicorn, one catch-all ASGI endpoint.

Lives here: reading bodies, sending answers and streams, starting and draining. What is answered
is decided in api.py. There is no TLS, so it listens on loopback; in a container it listens to the
containers beside it. Who may send requests is decided in authenticating.py.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from aiohttp import web
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from sandbox.http.answers import Answer, StreamAnswer, WatchAnswer, refusal
from sandbox.http.api import AnyAnswer, Api
from sandbox.http.authenticating import Gate
from sandbox.http.executing import Executing
from sandbox.http.pod_proxy import ProxyAnswer, passed_on
from sandbox.http.requests import BODY_BYTES_MAX
from sandbox.http.watching import chunks
from sandbox.store.errors import internal_error, too_large
from sandbox.store.watching import Watch

KEEP_ALIVE_S = 3_600  # clients keep connections for long; closing one under a request is a race
DRAIN_S = 5
BACKLOG = 1_024
LOOPBACK = "127.0.0.1"
logger = logging.getLogger(__name__)
_HEADERS_READ = frozenset({b"accept", b"content-type", b"origin", b"user-agent"})


class ClusterEndpoint:
    """The ASGI face of an `Api`. `close_streams` ends every watch, so that a server can drain."""

    def __init__(self, api: Api, gate: Gate | None = None) -> None:
        self._api = api
        self._gate = gate or Gate()
        self._watches: set[Watch] = set()
        self._streams: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        body = await _body(receive) if method != "GET" else b""
        if body is None:
            await _send(send, refusal(too_large("Request entity too large: limit is 3145728")))
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        query = scope["query_string"]
        path = (raw + b"?" + query if query else raw).decode("latin-1")
        headers = _headers(scope)
        refused = self._gate.refused(headers.get("origin", ""))
        answer = refused or self._answer(method, path, headers, body)
        if isinstance(answer, ProxyAnswer):
            async with passed_on(answer) as passed:
                await self._respond(passed, receive, send)
        else:
            await self._respond(answer, receive, send)

    async def _respond(
        self, answer: Answer | StreamAnswer | WatchAnswer, receive: Receive, send: Send
    ) -> None:
        if isinstance(answer, Answer):
            await _send(send, answer)
        elif isinstance(answer, StreamAnswer):
            await self._send_parts(answer, receive, send)
        else:
            await self._stream(answer, receive, send)

    def _answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> AnyAnswer:
        try:
            return self._api.answer(method, path, headers, body)
        except Exception as problem:
            logger.exception("%s %s failed", method, path)
            return refusal(internal_error(f"{type(problem).__name__}: {problem}"))

    def close_streams(self) -> None:
        for watch in tuple(self._watches):
            watch.close()
        for task in self._streams:
            task.cancel()

    async def _send_parts(self, answer: StreamAnswer, receive: Receive, send: Send) -> None:
        """Send a body part by part, until it ends, its client goes or the server drains."""
        await send(_start(answer.status, answer.headers))

        async def send_all() -> None:
            async for part in answer.parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})

        sending = asyncio.create_task(send_all())
        self._streams.add(sending)
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(sending)
            sending.cancel()
            gone.cancel()
            await asyncio.wait({sending, gone})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, answer: WatchAnswer, receive: Receive, send: Send) -> None:
        watch = answer.watch
        self._watches.add(watch)
        await send(_start(answer.status, answer.headers))
        gone = asyncio.create_task(_close_when_gone(receive, watch))
        try:
            async for chunk in chunks(answer):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            watch.close()
            self._watches.discard(watch)


def application(endpoint: ClusterEndpoint) -> Starlette:
    """The ASGI application: everything goes to one endpoint."""
    return Starlette(routes=[Mount("/", app=endpoint)])


@asynccontextmanager
async def serving(
    api: Api,
    *,
    port: int = 0,
    host: str = LOOPBACK,
    executing: Executing | None = None,
    gate: Gate | None = None,
) -> AsyncIterator[int]:
    """Serve while the context lasts; yields the port. Drains streams at the end.

    `executing` answers requests for a WebSocket; without it they are requests like others. `gate`
    refuses requests of pages in a browser.
    """
    sockets = web.Server(executing.answer, access_log=None) if executing is not None else None
    listener = socket.create_server((host, port), backlog=BACKLOG)
    endpoint = ClusterEndpoint(api, gate)
    server = _Server(
        uvicorn.Config(
            application(endpoint),
            http="httptools",
            ws="none" if sockets is None else _handing_over(sockets),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=DRAIN_S,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.wait_started(task)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        endpoint.close_streams()
        if sockets is not None:
            await sockets.shutdown(DRAIN_S)
        await task
        listener.close()


def _handing_over(sockets: web.Server) -> Any:
    """What uvicorn makes for a connection that wants to be a WebSocket: a protocol of aiohttp."""

    def protocol(**_: Any) -> asyncio.Protocol:
        return sockets()

    return protocol


class _Server(uvicorn.Server):
    """uvicorn that leaves the signals to the process it runs in."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._running = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._running.set()

    async def wait_started(self, task: asyncio.Task[None]) -> None:
        """Return when requests are answered; raises what kept the server from starting."""
        started = asyncio.create_task(self._running.wait())
        await asyncio.wait({started, task}, return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        if task.done():
            task.result()
            raise RuntimeError("the HTTP server stopped before it was ready")


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None when it is over the limit."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts, length = [body], len(body)
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            length += len(parts[-1])
            if length > BODY_BYTES_MAX:
                return None
        body = b"".join(parts)
    return body


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close_when_gone(receive: Receive, watch: Watch) -> None:
    await _disconnected(receive)
    watch.close()


async def _send(send: Send, answer: Answer) -> None:
    await send(_start(answer.status, answer.headers, len(answer.body), answer.warnings))
    await send({"type": "http.response.body", "body": answer.body})


def _start(
    status: int,
    headers: Mapping[str, str],
    length: int | None = None,
    warnings: Sequence[str] = (),
) -> Message:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    pairs += [(b"warning", text.encode()) for text in warnings]
    if length is not None:
        pairs.append((b"content-length", b"%d" % length))
    return {"type": "http.response.start", "status": status, "headers": pairs}


def _headers(scope: Scope) -> dict[str, str]:
    """The headers that the API looks at."""
    found: list[tuple[bytes, bytes]] = scope["headers"]
    return {
        name.decode(): value.decode("latin-1") for name, value in found if name in _HEADERS_READ
    }
