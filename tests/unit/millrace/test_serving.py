"""What a PE serves: each answer at once, and no reader that holds up others for good."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import ClientSession

from millrace.runtime import serving as module
from millrace.runtime.nodes import Node
from millrace.runtime.observing import TAPPED_MAX, TAPS_MAX, Taps
from millrace.runtime.pe import Pe
from millrace.runtime.serving import Handler, Reply, Request, Server
from tests.patience import patient

GET = b"GET %b HTTP/1.1\r\nHost: pe\r\n\r\n"


@asynccontextmanager
async def served(**handlers: Handler) -> AsyncIterator[int]:
    server = Server({f"/{name}": each for name, each in handlers.items()})
    await server.start("127.0.0.1", 0)
    try:
        yield server.port
    finally:
        await server.stop()


def a_pe(*nodes: Node) -> Pe:
    """As much of a PE as taps look at."""
    placed = [
        SimpleNamespace(
            node=each,
            operator=SimpleNamespace(gives=int),
            instance=SimpleNamespace(name=each.name, path=each.path),
        )
        for each in nodes
    ]
    begun = SimpleNamespace(made=SimpleNamespace(placed=placed))
    return cast("Pe", SimpleNamespace(has_begun=True, begun=begun))


async def until_tapped(node: Node, taps: int = 1) -> None:
    while len(node.targets) != taps:  # noqa: ASYNC110 - the PE tells nobody
        await asyncio.sleep(0)


async def test_a_tap_without_tuples_answers_its_headers_at_once() -> None:
    node = Node("Words")
    async with served(tap=Taps(a_pe(node)).serve) as port, asyncio.timeout(patient(5)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET % b"/tap?stream=Words")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await until_tapped(node)
        await node.send([1])
        assert await reader.readuntil(b"1\n\r\n") == b"2\r\n1\n\r\n"
        writer.close()


async def test_a_slot_is_free_when_its_reader_goes_while_the_stream_is_quiet() -> None:
    node = Node("Words")
    async with served(tap=Taps(a_pe(node)).serve) as port, asyncio.timeout(patient(10)):
        writers = []
        for each in range(TAPS_MAX):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET % b"/tap?stream=Words")
            writers.append(writer)
            await until_tapped(node, each + 1)
        async with ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/tap?stream=Words") as answer:
                assert answer.status == 503
            for writer in writers:
                writer.close()
            await until_tapped(node, 0)
            async with session.get("/tap?stream=Words") as answer:
                assert answer.status == 200


async def test_a_reader_who_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNREAD_S", 0.01)
    ended = asyncio.Event()

    async def endless(_: Request) -> Reply:
        async def chunks() -> AsyncGenerator[bytes, None]:
            try:
                while True:
                    yield bytes(1_000_000)
            finally:
                ended.set()

        return Reply(chunks())

    async with served(endless=endless) as port, asyncio.timeout(patient(10)):
        with socket.create_connection(("127.0.0.1", port)) as idle:
            idle.sendall(GET % b"/endless")
            await ended.wait()


async def test_a_reader_sees_how_many_tuples_were_left_out() -> None:
    node = Node("Words")
    async with (
        asyncio.timeout(patient(10)),
        served(tap=Taps(a_pe(node)).serve) as port,
        ClientSession(f"http://127.0.0.1:{port}") as session,
        session.get("/tap?stream=Words") as answer,
    ):
        await until_tapped(node)
        await node.send(list(range(TAPPED_MAX + 7)))
        for each in range(TAPPED_MAX):
            assert await answer.content.readline() == b"%d\n" % each
        assert await answer.content.readline() == b"# 7 tuples were left out\n"
        await node.send([8])
        assert await answer.content.readline() == b"8\n"


async def test_a_limit_ends_the_answer_and_a_stream_that_ended_has_no_more() -> None:
    node = Node("Words")
    async with (
        served(tap=Taps(a_pe(node)).serve) as port,
        asyncio.timeout(patient(10)),
        ClientSession(f"http://127.0.0.1:{port}") as session,
    ):

        async def read(query: str) -> str:
            async with session.get(f"/tap?stream=Words{query}") as answer:
                return await answer.text()

        reading = asyncio.create_task(read("&limit=2"))
        await until_tapped(node)
        await node.send([1, 2, 3])
        assert await reading == "1\n2\n"
        assert await read("&limit=many") == "limit is 'many', and has to be a number\n"
        node.has_ended = True
        assert await read("") == ""
        async with session.get("/tap?stream=Other") as answer:
            assert (answer.status, await answer.text()) == (404, "this PE has the streams Words\n")


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405), (GET % b"/b", 404)],
)
async def test_what_is_not_served_is_refused(sent: bytes, status: int) -> None:
    async def answer(_: Request) -> Reply:
        return Reply(b"a")

    async with served(a=answer) as port, asyncio.timeout(patient(5)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent + GET % b"/a")
        assert (await reader.readline()).split()[1] == b"%d" % status
        assert b"HTTP/1.1 200" in await reader.readuntil(b"\r\n\r\na")
        writer.close()


async def test_what_is_no_http_closes_its_connection_only() -> None:
    async def answer(request: Request) -> Reply:
        return Reply(request.query["x"].encode())

    async with served(a=answer) as port, asyncio.timeout(patient(5)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01 hello\r\n\r\n" + bytes(100_000))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(1)
        writer.close()
        async with (
            ClientSession(f"http://127.0.0.1:{port}") as session,
            session.get("/a", params={"x": "ü&"}) as found,
        ):
            assert await found.text() == "ü&"


async def test_one_connection_too_many_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTIONS_MAX", 1)
    taps: dict[str, Any] = {"tap": Taps(a_pe(Node("Words"))).serve}
    async with served(**taps) as port, asyncio.timeout(patient(5)):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET % b"/tap?stream=Words")
        await reader.readline()
        late, other = await asyncio.open_connection("127.0.0.1", port)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await late.readexactly(1)
        for each in (writer, other):
            each.close()
