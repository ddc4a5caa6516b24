"""Clients of redis get a bundle, and cost what they may cost."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from cli.ports import free_ports
from services.pe_gateway.adapters import redis_serving
from services.pe_gateway.core.answers import Answer, file, not_found, text
from tests.patience import patient

LOOPBACK = "127.0.0.1"
HGET = b"*3\r\n$4\r\nHGET\r\n$4\r\napps\r\n$5\r\na.sab\r\n"
CONTENT = b"\r\n0123456789" * 100_000


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "a.sab"
    path.write_bytes(CONTENT)
    return path


@asynccontextmanager
async def served(bundle: Path, requests: list[tuple[str, str]] | None = None) -> AsyncIterator[int]:
    """A server that has one bundle and refuses another; the port."""

    async def find(name: str, address: str) -> Answer:
        if requests is not None:
            requests.append((name, address))
        if name == "refused.sab":
            return text("no PE has\nthis address", 403)
        return file(str(bundle), "") if name == "a.sab" else not_found("no").answer()

    (port,) = free_ports(1, random.SystemRandom())
    async with asyncio.timeout(patient(20)), redis_serving.redis_serving(port, LOOPBACK)(find):
        yield port


async def replies(port: int, sent: bytes) -> bytes:
    """Everything that is answered until the server closes the connection."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(sent)
        return await reader.read()
    finally:
        writer.close()


def connected(port: int, protocol: int = 2) -> Redis:
    """A client of redis."""
    return Redis(host=LOOPBACK, port=port, protocol=protocol)


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_client_of_redis_gets_the_bundle(bundle: Path, protocol: int) -> None:
    requests: list[tuple[str, str]] = []
    async with served(bundle, requests) as port, connected(port, protocol) as client:
        assert await client.hget("apps", "a.sab") == CONTENT
        assert await client.hget("apps", "other.sab") is None
        assert await client.hget("others", "a.sab") is None
        assert await client.hexists("apps", "a.sab")
        assert not await client.hexists("apps", "other.sab")
        assert await client.ping()
        with pytest.raises(ResponseError, match="no PE has this address"):
            await client.hget("apps", "refused.sab")
        with pytest.raises(ResponseError, match="unknown command 'HSET'"):
            await client.hset("apps", "a.sab", b"mine")
    assert requests[0] == ("a.sab", LOOPBACK)
    assert [name for name, _ in requests].count("a.sab") == 2


async def test_what_the_original_sends_is_answered_byte_by_byte(bundle: Path) -> None:
    sent = HGET.replace(b"HGET", b"hget") + b"*1\r\n$4\r\nQUIT\r\n"
    async with served(bundle) as port:
        found = await replies(port, sent)
    assert found == b"$%d\r\n%s\r\n+OK\r\n" % (len(CONTENT), CONTENT)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"*99\r\n",
        b"*-1\r\n",
        b"*1\r\n$99999\r\n",
        b"*1\r\n+PING\r\n",
        b"*" + b"1" * 100,
        b"*1\r\n$x\r\n",
    ],
)
async def test_what_is_no_command_ends_the_connection(bundle: Path, sent: bytes) -> None:
    requests: list[tuple[str, str]] = []
    async with served(bundle, requests) as port:
        found = await replies(port, sent)
    assert found.startswith(b"-ERR Protocol error: ")
    assert found.count(b"\r\n") == 1
    assert requests == []


@pytest.mark.parametrize(("limit", "sent"), [("IDLE_S_MAX", b""), ("COMMAND_S_MAX", b"*1\r\n$4")])
async def test_a_client_that_says_nothing_or_stops_is_left(
    bundle: Path, limit: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_serving, limit, 0.05)
    async with served(bundle) as port:
        assert await replies(port, sent) == b""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.sab"
    path.write_bytes(bytes(20_000_000))
    return path


async def test_a_client_that_takes_nothing_gives_its_place_to_the_next(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_serving, "SENDS_MAX", 1)
    monkeypatch.setattr(redis_serving, "PIECE_S_MAX", 0.2)
    async with served(large) as port:
        _, stuck = await asyncio.open_connection(LOOPBACK, port)
        stuck.write(HGET)
        await asyncio.sleep(patient(0.05))
        found = await replies(port, HGET + b"*1\r\n$4\r\nQUIT\r\n")
        stuck.close()
    assert len(found) == len(b"$20000000\r\n") + 20_000_000 + len(b"\r\n+OK\r\n")


async def test_a_client_that_takes_nothing_costs_no_socket_in_the_end(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_serving, "PIECE_S_MAX", 0.1)
    async with served(large) as port:
        before = len(os.listdir("/proc/self/fd"))
        stuck = [await asyncio.open_connection(LOOPBACK, port) for _ in range(5)]
        for _, writer in stuck:
            writer.write(HGET)
        await asyncio.sleep(patient(1.0))
        open_now = len(os.listdir("/proc/self/fd"))
        for _, writer in stuck:
            writer.transport.abort()
    assert open_now == before + len(stuck)


async def test_more_connections_than_there_may_be_are_closed(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_serving, "CONNECTIONS_MAX", 0)
    async with served(bundle) as port:
        assert await replies(port, b"") == b""


async def test_a_file_that_is_gone_is_an_error_and_no_empty_bundle(tmp_path: Path) -> None:
    async with served(tmp_path / "gone.sab") as port, connected(port) as client:
        with pytest.raises(ResponseError, match="cannot be opened"):
            await client.hget("apps", "a.sab")


async def test_without_a_port_nothing_is_served() -> None:
    async def find(_name: str, _address: str) -> Answer:
        raise AssertionError("nobody can ask")

    async with redis_serving.redis_serving(0, LOOPBACK)(find):
        pass


async def test_a_server_that_ends_says_nothing_of_its_connections(bundle: Path) -> None:
    problems: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: problems.append(str(context["message"])))
    async with served(bundle) as port:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        await asyncio.sleep(0.05)
    await asyncio.sleep(0)
    writer.close()
    assert problems == []
