"""A TLS server that never answers a goodbye, as a busy API server does not for a while."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme

_WATCH = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    b"3\r\n{}\n\r\n"
)


@asynccontextmanager
async def stubborn_server() -> AsyncIterator[tuple[str, str]]:
    """Its address and its authority (PEM); every request is a watch with one event, `{}`."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    served: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_WATCH)
        await writer.drain()
        transport = writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"https://{host}:{port}", authority.cert_pem.bytes().decode()
    finally:
        server.close()
        for writer in served:
            writer.transport.abort()
        await asyncio.sleep(0)


@pytest.fixture
async def dialled(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """The sockets that are connected from here on in this test's loop."""
    loop, sockets = asyncio.get_running_loop(), list[socket.socket]()
    connect = loop.sock_connect

    async def sock_connect(sock: socket.socket, address: Any) -> None:
        sockets.append(sock)
        await connect(sock, address)

    monkeypatch.setattr(loop, "sock_connect", sock_connect)
    return sockets
