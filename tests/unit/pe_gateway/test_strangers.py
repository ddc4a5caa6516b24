"""Connections without a token never keep those of PEs out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus

import pytest

from cli.ports import free_ports
from services.pe_gateway.adapters import serving
from services.pe_gateway.adapters.gateway import Sent
from services.pe_gateway.core.answers import Answer, Refused, text
from tests.patience import patient

LOOPBACK, ELSEWHERE = "127.0.0.1", "127.0.0.2"
TOKEN = b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n\r\n"
STRANGE = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Server:
    """A server that knows one token, and connections to it."""

    def __init__(self) -> None:
        self.port = 0
        self.answers_later = asyncio.Event()
        self.ends = AsyncExitStack()

    async def respond(self, sent: Sent) -> Answer:
        if sent.authorization != "Bearer good":
            raise Refused(HTTPStatus.UNAUTHORIZED, "no token")
        sent.on_known()
        if sent.path == "/later":
            await self.answers_later.wait()
        return text("fine")

    async def connected(self, address: str = LOOPBACK) -> Ends:
        """A connection from an address."""
        ends = await asyncio.open_connection(LOOPBACK, self.port, local_addr=(address, 0))
        self.ends.callback(ends[1].close)
        return ends


@asynccontextmanager
async def served() -> AsyncIterator[Server]:
    server = Server()
    (server.port,) = free_ports(1, random.SystemRandom())
    async with serving.serving(server.port, LOOPBACK)(server.respond), server.ends:
        yield server


async def status_of(ends: Ends, request: bytes) -> bytes:
    """The status code of the answer to a request; empty: the connection was closed."""
    reader, writer = ends
    writer.write(request)
    async with asyncio.timeout(patient(5)):
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
    return head[9:12]


async def is_closed(ends: Ends) -> bool:
    """Whether the server closes a connection; waits a while for it."""
    try:
        async with asyncio.timeout(patient(0.3)):
            return await ends[0].read(1) == b""
    except TimeoutError:
        return False


async def test_a_connection_is_closed_after_401() -> None:
    async with served() as server:
        ends = await server.connected()
        assert await status_of(ends, STRANGE) == b"401"
        assert await is_closed(ends)


async def test_a_connection_of_a_pe_stays_open_until_it_sends_no_token_any_more() -> None:
    async with served() as server:
        ends = await server.connected()
        assert await status_of(ends, TOKEN) == b"200"
        assert await status_of(ends, TOKEN) == b"200"
        assert await status_of(ends, STRANGE) == b"401"
        assert await is_closed(ends)


@pytest.mark.parametrize("address", [LOOPBACK, ELSEWHERE])
async def test_a_new_pe_comes_in_where_strangers_hold_all_connections(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its own address, and behind one that it shares with them."""
    monkeypatch.setattr(serving, "CONNECTIONS_MAX", 20)
    async with served() as server:
        strangers = [await server.connected(ELSEWHERE) for _ in range(40)]
        pes = [await server.connected(address) for _ in range(5)]
        for each in pes:
            assert await status_of(each, TOKEN) == b"200"
        assert await is_closed(strangers[0])
        for each in pes:
            assert await status_of(each, TOKEN) == b"200"


async def test_a_stranger_of_an_address_with_few_stays_where_another_has_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be a PE whose token is still looked at."""
    monkeypatch.setattr(serving, "CONNECTIONS_MAX", 20)
    async with served() as server:
        pe = await server.connected(LOOPBACK)
        strangers = [await server.connected(ELSEWHERE) for _ in range(60)]
        assert await is_closed(strangers[0])
        assert await status_of(pe, TOKEN) == b"200"


async def test_a_pe_that_waits_for_its_answer_is_never_closed_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS_MAX", 1)
    async with served() as server:
        pe = await server.connected()
        later = asyncio.ensure_future(status_of(pe, TOKEN.replace(b"GET /", b"GET /later")))
        await asyncio.sleep(patient(0.1))
        assert await is_closed(await server.connected(ELSEWHERE)), "all places are those of PEs"
        server.answers_later.set()
        assert await later == b"200"
