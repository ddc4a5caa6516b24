"""Connections to pe-gateway: kept, replaced, cut off, and those of something else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace.runtime.gateway import Gateway

SEEN = {"version": "v1", "jobId": 7, "jobUid": "uid", "launch": 3}


@contextlib.asynccontextmanager
async def raw_gateway(*answers: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """Answers each request with bytes, and then closes the connection; its URL and what came."""
    connections: list[int] = []
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            connections[-1] += 1
            writer.write(left.pop(0) if left else b"")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", connections


async def test_requests_one_after_the_other_use_one_connection(tmp_path: Path) -> None:
    transports: set[object] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        transports.add(request.transport)
        return web.json_response(SEEN)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with (
        TestServer(app) as server,
        Gateway(str(server.make_url("")), "shop", 4, 3, tmp_path / "token") as gateway,
    ):
        watching = gateway.watch()
        for _ in range(5):
            await anext(watching)
    assert len(transports) == 1


async def test_a_kept_connection_that_the_gateway_closed_is_replaced_at_once(
    tmp_path: Path,
) -> None:
    body = msgspec.json.encode(SEEN)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with (
        raw_gateway(answer, answer, answer) as (url, connections),
        Gateway(url, "shop", 4, 3, tmp_path / "token", pause=_no_pause) as gateway,
    ):
        watching = gateway.watch()
        for _ in range(3):
            await anext(watching)
    assert connections == [1, 1, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    ],
)
async def test_an_answer_that_is_cut_off_or_no_http_is_tried_again(
    wrong: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pauses = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise asyncio.CancelledError

    async with (
        raw_gateway(wrong, wrong) as (url, connections),
        Gateway(url, "shop", 4, 3, tmp_path / "token", pause=pause) as gateway,
    ):
        with pytest.raises(asyncio.CancelledError):
            await anext(gateway.watch())
    assert connections == [1, 1]
    assert "cannot be reached" in caplog.text


async def _no_pause(_: float) -> None:
    raise AssertionError("nothing is tried again")


async def test_a_pe_that_left_is_one_that_the_gateway_says_the_job_does_not_have(
    tmp_path: Path,
) -> None:
    """Without an answer, none has left."""
    answers = [web.json_response(SEEN | {"left": [8]}), *map(_status, (503, 409))]
    queries = []

    async def answer(request: web.Request) -> web.StreamResponse:
        queries.append(request.query_string)
        return answers.pop(0)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with (
        TestServer(app) as server,
        Gateway(str(server.make_url("")), "shop", 4, 3, tmp_path / "token") as gateway,
    ):
        assert await gateway.left([8, 7]) == {8}
        assert await gateway.left([8, 7]) == frozenset()
        assert await gateway.left([8, 7]) == frozenset()
    assert queries == ["former=7,8"] * 3


def _status(number: int) -> web.Response:
    return web.Response(status=number)
