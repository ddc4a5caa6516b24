"""Requests to pods through the API server: passed on as they are, or refused as Kubernetes does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from sandbox.http.answers import Answer
from sandbox.http.api import Api
from sandbox.http.server import serving
from sandbox.store.resources import POD
from sandbox.store.store import Store
from tests.patience import patient
from tests.unit.sandbox.http.asking import NOW_S

PODS = "/api/v1/namespaces/default/pods"
LOOPBACK = "127.0.0.1"
PATIENCE_S = patient(10.0)


def an_api(address: str = LOOPBACK, ports: tuple[int, ...] = ()) -> Api:
    """With a pod `p` at an address."""
    store = Store(now=lambda: NOW_S, new_uid=lambda: "u")
    container: dict[str, Any] = {"name": "pe", "image": "i"}
    if ports:
        container["ports"] = [{"containerPort": each} for each in ports]
    store.create(POD, "default", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    if address:
        kind = "application/merge-patch+json"
        status = {"status": {"podIP": address}}
        store.patch(POD, "default", "p", status, kind, subresource="status")
    return Api(store, now=lambda: NOW_S)


@asynccontextmanager
async def a_listener() -> AsyncIterator[int]:
    """Answers with the path that it was requested with; `/slow` ends with the listener."""
    over = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path != "/slow":
            return web.Response(status=418, text=request.raw_path, content_type="text/teapot")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first\n")
        await over.wait()
        return response

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, LOOPBACK, 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        over.set()
        await runner.cleanup()


async def got(api: Api, path: str) -> tuple[int, str, str]:
    async with (
        serving(api) as port,
        aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as session,
        session.get(f"{PODS}/{path}") as response,
    ):
        return response.status, response.content_type, await response.text()


def refused(path: str, api: Api, method: str = "GET") -> str:
    answer = api.answer(method, f"{PODS}/{path}", {})
    assert isinstance(answer, Answer)
    return f"{answer.status} {orjson.loads(answer.body)['message']}"


async def test_path_and_query_reach_the_pod_and_its_answer_comes_back() -> None:
    async with a_listener() as port:
        shown = await got(an_api(), f"p:{port}/proxy/tap?stream=a%5B0%5D&limit=3")
    assert shown == (418, "text/teapot", "/tap?stream=a%5B0%5D&limit=3")


async def test_without_a_port_the_first_one_of_the_pod_is_meant() -> None:
    async with a_listener() as port:
        assert (await got(an_api(ports=(port,)), "p/proxy"))[2] == "/"


async def test_a_part_of_an_answer_comes_before_its_end() -> None:
    async with (
        a_listener() as there,
        serving(an_api()) as port,
        aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as session,
        session.get(f"{PODS}/p:{there}/proxy/slow") as response,
        asyncio.timeout(PATIENCE_S),
    ):
        assert await response.content.readline() == b"first\n"


async def test_a_port_that_nobody_listens_to_is_a_status_of_503() -> None:
    with socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
    status, _, text = await got(an_api(), f"p:{port}/proxy/tap")
    assert (status, orjson.loads(text)["reason"]) == (503, "ServiceUnavailable")
    assert orjson.loads(text)["message"] == (
        f"error trying to reach service: dial tcp 127.0.0.1:{port}: connect: connection refused"
    )


def test_a_pod_that_is_played_cannot_be_reached() -> None:
    assert refused("p:9696/proxy/tap", an_api("10.244.0.1")) == (
        "503 error trying to reach service: dial tcp 10.244.0.1:9696: connect: no route to host"
    )


@pytest.mark.parametrize(
    ("path", "method", "refusal"),
    [
        ("none:9696/proxy/", "GET", '404 pods "none" not found'),
        ("a:b:c:d/proxy/", "GET", '400 invalid pod request "a:b:c:d"'),
        ("p:9696/proxy/", "GET", "400 address not allowed"),
        ("p:9696/proxy/", "POST", "405 the sandbox passes on GET only"),
    ],
)
def test_requests_that_name_no_address_are_refused(path: str, method: str, refusal: str) -> None:
    assert refused(path, an_api(address=""), method) == refusal
