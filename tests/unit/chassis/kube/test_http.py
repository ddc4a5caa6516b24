"""The transport's credentials; its requests are the contract suite's business."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from services.chassis.kube.http import TOKEN_REREAD_S, HttpTransport, load_configuration
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Away, Rejected, TooLarge
from tests.virtual_time import virtually


def write_kubeconfig(folder: Path, user: dict[str, str]) -> Path:
    file = folder / "kubeconfig"
    content = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "other", "user": {}}, {"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(content))
    return file


@virtually
async def test_a_token_in_a_file_is_read_again_every_minute(tmp_path: Path) -> None:
    """Whoever runs us renews it before it ends; nobody starts us again for that."""
    clock, token = LoopClock(), tmp_path / "token"
    token.write_text("first\n")
    configuration = await load_configuration(
        str(write_kubeconfig(tmp_path, {"tokenFile": "token"}))
    )
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer first"
    token.write_text("second")
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer first"
    await clock.sleep(TOKEN_REREAD_S)
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer second"
    token.unlink()
    await clock.sleep(TOKEN_REREAD_S)
    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer second"


async def test_a_token_that_is_not_known_any_more_is_read_again_at_once(tmp_path: Path) -> None:
    """Another cluster stands behind the address; the token that it gave lies in the file."""

    async def answer(request: web.Request) -> web.Response:
        known = request.headers["authorization"] == "Bearer second"
        return web.Response(text="{}\n", status=200 if known else 401)

    app = web.Application()
    app.router.add_get("/plain", answer)
    app.router.add_get("/watch", answer)
    token = tmp_path / "token"
    token.write_text("first")
    async with TestServer(app) as server:
        transports = []
        for _ in range(2):
            configuration = await load_configuration(
                str(write_kubeconfig(tmp_path, {"tokenFile": "token"}))
            )
            configuration.host = str(server.make_url(""))
            transports.append(HttpTransport(configuration))
        asking, watching = transports
        try:
            assert (await asking.request("GET", "/plain", body=None, headers={})).status == 401
            with pytest.raises(Rejected):
                await anext(_lines_of(watching))
            token.write_text("second")
            assert (await asking.request("GET", "/plain", body=None, headers={})).status == 200
            assert await anext(_lines_of(watching)) == b"{}"
        finally:
            for each in transports:
                await each.close()


async def test_a_request_that_nobody_listens_to_was_never_sent(tmp_path: Path) -> None:
    """It may be sent again without asking what became of it."""
    transport = HttpTransport(await load_configuration(str(write_kubeconfig(tmp_path, {}))))
    try:
        with pytest.raises(Away) as caught:
            await transport.request("POST", "/api/v1/pods", body=b"{}", headers={})
    finally:
        await transport.close()
    assert not caught.value.outcome_unknown


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hostile objects in one list would fill the memory of whoever asks."""
    monkeypatch.setattr("services.chassis.kube.http.RESPONSE_BYTES_MAX", 1_000)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * int(request.query["bytes"]))

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app) as server:
        configuration = await load_configuration(str(write_kubeconfig(tmp_path, {})))
        configuration.host = str(server.make_url("")).rstrip("/")
        transport = HttpTransport(configuration)
        try:
            found = await transport.request("GET", "/?bytes=1000", body=None, headers={})
            assert len(found.body) == 1_000
            with pytest.raises(TooLarge, match="more than 1000 bytes"):
                await transport.request("GET", "/?bytes=1001", body=None, headers={})
        finally:
            await transport.close()


async def _lines_of(transport: HttpTransport) -> AsyncIterator[bytes]:
    async with transport.stream("/watch", headers={}, silence_s=5.0) as lines:
        async for line in lines:
            yield line


@pytest.mark.parametrize(
    ("user", "header"), [({"token": "fixed"}, "Bearer fixed"), ({}, None)], ids=["token", "none"]
)
async def test_a_kubeconfig_without_a_token_file_is_as_it_was(
    tmp_path: Path, user: dict[str, str], header: str | None
) -> None:
    configuration = await load_configuration(str(write_kubeconfig(tmp_path, user)))
    assert await configuration.get_api_key_with_prefix("BearerToken") == header
