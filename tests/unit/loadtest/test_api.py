"""The bare client leaves nothing open behind it, and reads objects of any size."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from loadtest.api import LINE_BYTES_MAX, Api, Refused
from tests.stubborn import dialled, stubborn_server

__all__ = ["dialled"]


async def test_a_watch_that_is_cut_is_closed_at_once(dialled: list[socket.socket]) -> None:
    """Not when the server closes it: a loop that ends before would leave it open."""
    async with stubborn_server() as (server, authority):
        api = Api(server, authority=authority)
        async with api, aclosing(api.watch("/pods", "1")) as events:
            assert await anext(events) == {}
        await asyncio.sleep(0)
        assert [each.fileno() for each in dialled] == [-1]


async def test_a_watch_event_may_be_as_large_as_an_object_may_be() -> None:
    """A plan record in a ConfigMap, for one."""
    large = {"data": "x" * (LINE_BYTES_MAX // 2)}

    async def watch(_request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(large) + b"\n")

    app = web.Application()
    app.router.add_get("/configmaps", watch)
    async with TestServer(app) as server:
        api = Api(str(server.make_url("")).rstrip("/"))
        async with api, aclosing(api.watch("/configmaps", "1")) as events:
            assert await anext(events) == large


async def test_a_refused_watch_raises() -> None:
    """A server that has too much to do, or has just started; a Status is no event."""

    async def watch(_request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 429}, status=429)

    app = web.Application()
    app.router.add_get("/pods", watch)
    async with TestServer(app) as server:
        api = Api(str(server.make_url("")).rstrip("/"))
        async with api, aclosing(api.watch("/pods", "1")) as events:
            with pytest.raises(Refused, match="429"):
                await anext(events)
