"""The HTTP server for PEs: bounded in what it reads, how long it waits, and how many it serves.

Who is not known holds a connection for a short time, and never one that a PE needs (strangers.py).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from services.chassis.process.log_lines import log_of
from services.chassis.running.hosting import Main
from services.pe_gateway.adapters.gateway import Sent
from services.pe_gateway.adapters.stage import Respond, Serve, gateway_main
from services.pe_gateway.adapters.strangers import Strangers
from services.pe_gateway.core.answers import Answer, Refused, bad_request, text
from services.pe_gateway.settings import PeGatewaySettings

OFF: Final = 0
BODY_BYTES_MAX: Final = 64 * 1024
BODY_S_MAX: Final = 5.0
HEAD_S_MAX: Final = 5.0
"""How long a connection may take to its first request."""
IDLE_S_MAX: Final = 75.0
CONNECTIONS_MAX: Final = 10_000
PIECE_BYTES: Final = 256 * 1024
PIECE_S_MAX: Final = 30.0
"""How long a client may take nothing of a file that is sent."""


def serving(port: int, host: str) -> Serve:
    """Serves on one address or on all of them while a context lasts; port 0 serves nothing."""
    return partial(_serve, port, host)


def main_of(settings: PeGatewaySettings) -> Main:
    """The main of the service, with its ports."""
    return gateway_main(settings, serving(settings.gateway_port, settings.gateway_host))


@asynccontextmanager
async def _serve(port: int, host: str, respond: Respond) -> AsyncIterator[None]:
    if port == OFF:
        yield
        return
    server = _BoundedServer(respond)
    listening = await asyncio.get_running_loop().create_server(
        server.connection, host or None, port, backlog=1024
    )
    log_of("serving").info("serving", port=port)
    try:
        yield
    finally:
        listening.close()
        await server.close()


class _BoundedServer:
    """aiohttp's server, whose connections have to send something and are not too many."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._strangers = Strangers(HEAD_S_MAX)
        self._server = web.Server(
            self._handle,
            keepalive_timeout=IDLE_S_MAX,
            access_log=None,
            lingering_time=0,
            auto_decompress=False,
        )

    def connection(self) -> RequestHandler:
        """The protocol of a new connection."""
        handler = self._server()
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._arrived, handler)  # it has a transport then
        return handler

    def _arrived(self, handler: RequestHandler) -> None:
        if handler.transport is None:
            return  # it has ended
        peer = handler.transport.get_extra_info("peername")
        self._strangers.add(handler, str(peer[0]) if peer else "")
        if len(self._server.connections) > CONNECTIONS_MAX:
            self._strangers.make_room()

    async def close(self) -> None:
        """Close every connection."""
        await self._server.shutdown(timeout=1.0)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._strangers.sends(request.protocol)
        response = await self._response(request)
        if self._strangers.has(request.protocol) or response.status == HTTPStatus.UNAUTHORIZED:
            self._strangers.forget(request.protocol)
            response.force_close()
        return response

    async def _response(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            answer = await self._answer(request)
        except Refused as refused:
            answer = refused.answer()
        except Exception:  # noqa: BLE001 - a defect concerns this request only
            log_of("serving").exception("request_crashed", method=request.method)
            answer = text("a defect of millrace: the log of pe-gateway has the traceback", 500)
        headers = {"ETag": answer.etag} if answer.etag else {}
        if answer.file:
            return await _send_file(request, answer, headers)
        return web.Response(
            status=answer.status,
            body=answer.body or None,
            content_type=answer.content_type if answer.body else None,
            headers=headers,
        )

    async def _answer(self, request: web.BaseRequest) -> Answer:
        path, _, query = request.raw_path.partition("?")
        return await self._respond(
            Sent(
                request.method,
                path,
                await _body_of(request),
                request.headers.get("Authorization", ""),
                request.headers.get("Host", ""),
                query,
                request.headers.get("If-None-Match", ""),
                partial(self._strangers.forget, request.protocol),
            )
        )


async def _send_file(
    request: web.BaseRequest, answer: Answer, headers: Mapping[str, str]
) -> web.StreamResponse:
    """Send a file piece by piece: it may be larger than what a process of ours may hold."""
    with await asyncio.to_thread(Path(answer.file).open, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_type, response.content_length = answer.content_type, size
        await response.prepare(request)
        try:
            while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
                async with asyncio.timeout(PIECE_S_MAX):
                    await response.write(piece)
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()  # to close it would wait for the client
            return response
        await response.write_eof()
    return response


async def _body_of(request: web.BaseRequest) -> bytes:
    """The body. Raises Refused: 413 for a long one, 408 for a late one, 400 for a half."""
    too_long = Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {BODY_BYTES_MAX} bytes"
    )
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise too_long
    chunks, size = list[bytes](), 0
    try:
        async with asyncio.timeout(BODY_S_MAX):
            async for chunk in request.content.iter_any():
                chunks.append(chunk)
                size += len(chunk)
                if size > BODY_BYTES_MAX:
                    raise too_long
    except TimeoutError:
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the body did not come in time") from None
    except ConnectionError:
        raise bad_request("the connection ended before the body") from None
    return b"".join(chunks)
