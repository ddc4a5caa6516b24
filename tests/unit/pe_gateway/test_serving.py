"""Clients that send too much, too slowly or nothing cost what they may cost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from cli.ports import free_ports
from services.pe_gateway.adapters import serving
from services.pe_gateway.adapters.gateway import Sent
from services.pe_gateway.core.answers import Answer, file, text
from tests.patience import patient

LOOPBACK = "127.0.0.1"


@asynccontextmanager
async def connected(
    received: list[Sent], answer: Answer | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server that keeps the requests."""

    async def respond(sent: Sent) -> Answer:
        received.append(sent)
        return answer or text("fine")

    (port,) = free_ports(1, random.SystemRandom())
    async with serving.serving(port, LOOPBACK)(respond):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def status_after(request: bytes, received: list[Sent]) -> bytes:
    """The status code of the answer."""
    async with connected(received) as (reader, writer):
        writer.write(request)
        async with asyncio.timeout(patient(5)):
            return (await reader.readline())[9:12]


async def test_a_request_arrives_as_it_was_sent() -> None:
    received: list[Sent] = []
    request = b"PUT /a%2Fb?x=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n"
    assert await status_after(request + b"Content-Length: 2\r\n\r\nhi", received) == b"200"
    assert received == [Sent("PUT", "/a%2Fb", b"hi", "Bearer t", "h", "x=1")]


async def test_a_file_is_sent_whole_with_its_tag(tmp_path: Path) -> None:
    """Piece by piece."""
    content = b"0123456789" * 100_000
    (tmp_path / "a.sab").write_bytes(content)
    async with connected([], file(str(tmp_path / "a.sab"), '"tag"')) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(patient(5)):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert body == content
    assert b'ETag: "tag"' in head
    assert b"Content-Type: application/octet-stream" in head
    assert b"Content-Length: 1000000" in head


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (
            b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n"
            + b"x" * 0x20000
            + b"\r\n0\r\n\r\n",
            b"413",
        ),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", b"408"),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400"),
    ],
)
async def test_what_is_too_long_or_too_slow_is_refused(
    request_: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "BODY_S_MAX", patient(0.05))
    received: list[Sent] = []
    assert await status_after(request_, received) == status
    assert received == []


async def test_a_connection_that_sends_no_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "HEAD_S_MAX", 0.05)
    async with connected([]) as (reader, writer):
        writer.write(b"GET / HT")
        async with asyncio.timeout(patient(5)):
            assert await reader.read() == b""


async def test_more_connections_than_there_may_be_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS_MAX", 0)
    async with connected([]) as (reader, _):
        async with asyncio.timeout(patient(5)):
            assert await reader.read() == b""


async def test_a_client_that_takes_nothing_of_a_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep one of the connections, and an open file, for good."""
    monkeypatch.setattr(serving, "PIECE_S_MAX", 0.2)
    (tmp_path / "a.sab").write_bytes(bytes(20_000_000))
    async with connected([], file(str(tmp_path / "a.sab"), "")) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(patient(1.0))
        with suppress(ConnectionError):
            async with asyncio.timeout(patient(5)):
                assert len(await reader.read()) < 20_000_000


async def test_half_a_request_is_no_defect(capfd: pytest.CaptureFixture[str]) -> None:
    """A PE that is killed while it reports cuts its request."""
    async with connected([]) as (_, writer):
        writer.write(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
        await asyncio.sleep(0.1)
        writer.close()
        await asyncio.sleep(0.1)
    printed = capfd.readouterr()
    assert "request_crashed" not in printed.out + printed.err
