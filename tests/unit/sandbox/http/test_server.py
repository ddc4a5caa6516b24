"""The API on a socket, and the file with which clients find it."""

from __future__ import annotations

import asyncio
import io
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import orjson
import pytest
import yaml

from sandbox.http.api import Api
from sandbox.http.authenticating import Gate
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.requests import BODY_BYTES_MAX
from sandbox.http.server import serving
from tests.patience import patient
from tests.unit.sandbox.http.asking import CONFIG_MAPS, config_map

JSON = {"content-type": "application/json"}


@pytest.fixture
async def client(api: Api) -> AsyncIterator[aiohttp.ClientSession]:
    async with serving(api) as port, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        yield session


async def test_objects_are_written_and_read_over_http(client: aiohttp.ClientSession) -> None:
    body = orjson.dumps(config_map("a", k="v"))
    async with client.post(CONFIG_MAPS, data=body, headers=JSON) as created:
        assert created.status == 201
    async with client.get(f"{CONFIG_MAPS}/a?x=%20") as found:
        assert found.headers["content-type"] == "application/json"
        assert (await found.json())["data"] == {"k": "v"}


async def test_a_watch_streams_lines_as_they_come(client: aiohttp.ClientSession) -> None:
    async with client.get(f"{CONFIG_MAPS}?watch=1") as stream:
        for name in ("a", "b"):
            body = orjson.dumps(config_map(name))
            async with client.post(CONFIG_MAPS, data=body, headers=JSON) as created:
                assert created.status == 201
            line = orjson.loads(await stream.content.readline())
            assert line["object"]["metadata"]["name"] == name


async def test_a_body_over_the_limit_is_413(client: aiohttp.ClientSession) -> None:
    body = io.BytesIO(b" " * (BODY_BYTES_MAX + 1))
    async with client.post(CONFIG_MAPS, data=body, headers=JSON) as answer:
        assert answer.status == 413


async def test_the_server_drains_although_watches_are_open(api: Api) -> None:
    async with aiohttp.ClientSession() as session:
        async with asyncio.timeout(patient(20)):
            async with serving(api) as port:
                url = f"http://127.0.0.1:{port}{CONFIG_MAPS}?watch=1"
                stream = await session.get(url)
            assert await stream.content.read() == b""
            stream.close()


def test_the_kubeconfig_is_private_and_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kubeconfig"
    write_kubeconfig(path, port=1)
    write_kubeconfig(path, port=4711)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:4711"}
    assert content["current-context"] == content["contexts"][0]["name"]
    assert [file.name for file in path.parent.iterdir()] == ["kubeconfig"]


async def test_a_fault_of_ours_is_a_status_of_500_and_the_server_lives_on(
    api: Api, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(api.store, "list", broken)
    async with client.get(CONFIG_MAPS) as answer:
        assert answer.status == 500
        assert (await answer.json())["reason"] == "InternalError"
    async with client.get("/healthz") as answer:
        assert answer.status == 200


async def test_a_closed_gate_refuses_pages_in_a_browser(api: Api) -> None:
    gate = Gate(is_closed=True)
    async with serving(api, gate=gate) as port, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{port}{CONFIG_MAPS}"
        body = orjson.dumps(config_map("a"))
        for headers, status in (({"origin": "http://page.test"}, 403), ({}, 201)):
            async with session.post(url, data=body, headers={**JSON, **headers}) as answer:
                assert answer.status == status
