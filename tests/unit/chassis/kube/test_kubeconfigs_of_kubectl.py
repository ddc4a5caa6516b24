"""Kubeconfigs are read as kubectl reads them: merged, with relative paths, in every field."""

from __future__ import annotations

import base64
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.kubeconfig_files import Access, access_of, read_kubeconfig
from services.chassis.process.errors import Misconfigured, Transient

SERVER = "https://127.0.0.1:1"


def written(
    path: Path,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    *,
    current: str = "x",
    context: dict[str, Any] | None = None,
) -> Path:
    """A kubeconfig with the context x, the cluster c and the user u."""
    path.parent.mkdir(exist_ok=True)
    content = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "current-context": current,
    }
    path.write_text(yaml.safe_dump(content))
    return path


def access(*files: Path) -> Access:
    return access_of(read_kubeconfig(*files))


def test_of_several_files_the_first_that_has_an_entry_gives_the_whole_of_it(
    tmp_path: Path,
) -> None:
    """The rule of kubectl; the loader of the client lets the last current-context win."""
    first = written(tmp_path / "1", user={"token": "one"}, context={"namespace": "a"})
    second = written(tmp_path / "2", user={"token": "two", "username": "n"}, current="y")
    more = yaml.safe_load(second.read_text())
    more["contexts"].append({"name": "y", "context": {"cluster": "c", "user": "u"}})
    second.write_text(yaml.safe_dump(more))
    found = access(first, second)
    assert (found.context, found.namespace, found.user) == ("x", "a", {"token": "one"})
    assert access(second, first).context == "y"
    assert access(second, first).user == {"token": "two", "username": "n"}


def test_files_that_do_not_exist_are_left_out_and_empty_ones_add_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    there = written(tmp_path / "there")
    assert access(tmp_path / "gone", tmp_path / "empty", there).context == "x"
    with pytest.raises(Misconfigured, match=r"there is no kubeconfig at \S+/gone:\S+/away"):
        access(tmp_path / "gone", tmp_path / "away")


def test_the_parts_of_a_context_may_be_in_different_files(tmp_path: Path) -> None:
    """Each path is relative to the file that has it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "ca.crt").touch()
    (tmp_path / "b" / "token").touch()
    clusters = written(tmp_path / "a" / "config", {"certificate-authority": "ca.crt"}, current="")
    users = written(tmp_path / "b" / "config", user={"tokenFile": "token"})
    only = yaml.safe_load(clusters.read_text())
    clusters.write_text(yaml.safe_dump({"clusters": only["clusters"]}))
    found = access(clusters, users)
    assert found.cluster["certificate-authority"] == str(tmp_path / "a" / "ca.crt")
    assert found.user["tokenFile"] == str(tmp_path / "b" / "token")


@pytest.mark.parametrize("given", ["", None])
def test_an_empty_field_is_no_field(tmp_path: Path, given: str | None) -> None:
    """A tool that writes client-certificate-data: "" beside a file means the file."""
    (tmp_path / "crt").touch()
    user = {"client-certificate": "crt", "client-certificate-data": given, "token": given}
    assert access(written(tmp_path / "k", user=user)).user == {
        "client-certificate": str(tmp_path / "crt")
    }


@pytest.mark.parametrize(
    ("cluster", "user", "context", "sentence"),
    [
        ({"server": None}, {}, {}, r"clusters\[c\].cluster.server is missing"),
        ({}, {}, {"cluster": "d"}, r"contexts\[x\].context.cluster names 'd', which is not in cl"),
        ({}, {}, {"user": "v"}, r"contexts\[x\].context.user names 'v', which is not in users"),
        ({}, {"token": 123456}, {}, r"users\[u\].user.token must be text, and is a number"),
        ({"certificate-authority": "no.crt"}, {}, {}, r"certificate-authority names \S+/no.crt"),
        ({}, {"tokenFile": "no"}, {}, r"users\[u\].user.tokenFile names \S+/no, and there is no"),
        ({}, {"client-key-data": "%%%"}, {}, r"users\[u\].user.client-key-data is not base64"),
        ({}, {"token": "123456\n"}, {}, r"users\[u\].user.token must be one line"),
        ({}, {"as-groups": "dev"}, {}, r"users\[u\].user.as-groups must be a list of texts"),
        ({}, {"as-groups": ["a\nb"]}, {}, r"users\[u\].user.as-groups must be a list of texts"),
        ({}, {"as-user-extra": ["a"]}, {}, r"users\[u\].user.as-user-extra must be a mapping"),
        ({}, {"as-user-extra": {"a": "b"}}, {}, r"users\[u\].user.as-user-extra must be a mapp"),
        ({"proxy-url": "socks5://h:1"}, {}, {}, "proxy-url has the scheme socks5: millrace can"),
        ({"proxy-url": "h:1"}, {}, {}, "proxy-url is not the URL of a proxy"),
    ],
)
async def test_what_cannot_be_used_is_named_by_file_and_field(
    tmp_path: Path,
    cluster: dict[str, Any],
    user: dict[str, Any],
    context: dict[str, Any],
    sentence: str,
) -> None:
    file = written(tmp_path / "k", cluster, user, context=context)
    with pytest.raises(Misconfigured, match=sentence) as refused:
        await load_configuration(str(file))
    assert str(file) in str(refused.value)
    assert "123456" not in str(refused.value), "a token"


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        ("[{name: u, user: {token: s3cret: x}}]", "mapping values|expected ',' or '}'"),
        ("[{name: u, user: {password: *s3cret}}]", "an alias, an anchor or a tag that means no"),
        ("[{name: u, user: {password: !s3cret a}}]", "an alias, an anchor or a tag that means no"),
        ("[{name: u, user: s3cret}]", r"users\[0\].user: it must be a mapping, and is text"),
        ("[s3cret]", r"users\[0\]: it must be a mapping, and is text"),
        ("s3cret", "users: it must be a list, and is text"),
    ],
)
def test_a_kubeconfig_that_cannot_be_read_is_refused_without_what_is_in_it(
    tmp_path: Path, users: str, sentence: str
) -> None:
    """The line at which YAML ends was shown, with the token in it."""
    file = tmp_path / "k"
    file.write_text(f"current-context: x\nusers: {users}\n")
    with pytest.raises(Misconfigured, match=sentence) as refused:
        read_kubeconfig(file)
    assert "s3cret" not in str(refused.value)


async def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    configuration = await load_configuration(str(written(tmp_path / "k", user=None)))
    assert await configuration.get_api_key_with_prefix("BearerToken") is None
    file = written(tmp_path / "k")
    content = yaml.safe_load(file.read_text())
    del content["contexts"][0]["context"]["user"], content["users"]
    file.write_text(yaml.safe_dump(content))
    assert (await load_configuration(str(file))).host == SERVER


async def test_a_certificate_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """It ended with a traceback of ssl."""
    data = base64.b64encode(b"no certificate").decode()
    for cluster, user, sentence in (
        ({"certificate-authority-data": data}, {}, "certificate-authority cannot be used"),
        (
            {},
            {"client-certificate-data": data, "client-key-data": data},
            "client-certificate and client-key cannot be used",
        ),
    ):
        configuration = await load_configuration(str(written(tmp_path / "k", cluster, user)))
        with pytest.raises(Misconfigured, match=sentence):
            HttpTransport(configuration)


@pytest.fixture
async def echo() -> AsyncIterator[RawTestServer]:
    """A server that answers with the headers of a request, also where it is a proxy."""

    async def answer(request: web.BaseRequest) -> web.Response:
        headers = [[name.lower(), value] for name, value in request.headers.items()]
        return web.json_response({"target": request.raw_path, "headers": headers})

    server = RawTestServer(answer)
    async with server:
        yield server


async def answered(file: Path) -> dict[str, Any]:
    transport = HttpTransport(await load_configuration(str(file)))
    try:
        answer = await transport.request("GET", "/api", body=None, headers={})
    finally:
        await transport.close()
    found = yaml.safe_load(answer.body)
    assert isinstance(found, dict)
    return found


async def test_a_user_acts_as_another_one(tmp_path: Path, echo: RawTestServer) -> None:
    user = {
        "token": "t",
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"acme.com/team": ["a", "b"]},
    }
    file = written(tmp_path / "k", {"server": str(echo.make_url(""))}, user)
    headers = (await answered(file))["headers"]
    for wanted in (
        ["authorization", "Bearer t"],
        ["impersonate-user", "jane"],
        ["impersonate-uid", "7"],
        ["impersonate-group", "dev"],
        ["impersonate-group", "ops"],
        ["impersonate-extra-acme.com%2fteam", "a"],
        ["impersonate-extra-acme.com%2fteam", "b"],
    ):
        assert wanted in headers


async def test_user_and_password_are_sent(tmp_path: Path, echo: RawTestServer) -> None:
    user = {"username": "jane", "password": "p:q"}
    file = written(tmp_path / "k", {"server": str(echo.make_url(""))}, user)
    basic = base64.b64encode(b"jane:p:q").decode()
    assert ["authorization", f"Basic {basic}"] in (await answered(file))["headers"]


async def test_requests_take_the_proxy_of_the_cluster(tmp_path: Path, echo: RawTestServer) -> None:
    """`proxy-url` was read and not used. Its user and password are for the proxy."""
    proxy = str(echo.make_url("")).replace("http://", "http://jane:pw@")
    file = written(tmp_path / "k", {"server": "http://kube.invalid", "proxy-url": proxy})
    found = await answered(file)
    assert found["target"] == "http://kube.invalid/api"
    basic = base64.b64encode(b"jane:pw").decode()
    assert ["proxy-authorization", f"Basic {basic}"] in found["headers"]


async def test_requests_take_the_proxy_of_the_environment(
    tmp_path: Path, echo: RawTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", str(echo.make_url("")))
    file = written(tmp_path / "k", {"server": "http://kube.invalid"})
    assert (await answered(file))["target"] == "http://kube.invalid/api"


async def test_the_name_in_the_certificate_may_be_another_one(tmp_path: Path) -> None:
    """`tls-server-name` was read and not used: a cluster behind a tunnel did not answer."""
    file = written(tmp_path / "k", {"tls-server-name": "kube.internal"})
    transport = HttpTransport(await load_configuration(str(file)))
    seen: list[Any] = []

    def request(*_: Any, **options: Any) -> Any:
        seen.append(options.get("server_hostname"))
        raise OSError

    transport._session.request = request  # type: ignore[method-assign]
    with pytest.raises(Exception, match="GET /"):
        await transport.request("GET", "/", body=None, headers={})
    await transport.close()
    assert seen == ["kube.internal"]


async def test_no_message_shows_the_password_of_a_proxy(tmp_path: Path) -> None:
    async def refuse(_: web.BaseRequest) -> web.Response:
        return web.Response(status=407)

    async with RawTestServer(refuse) as proxy:
        url = str(proxy.make_url("")).replace("http://", "http://jane:secret@")
        file = written(tmp_path / "k", {"server": "https://kube.invalid", "proxy-url": url})
        transport = HttpTransport(await load_configuration(str(file)))
        with pytest.raises(Transient, match="407 Proxy Authentication Required") as refused:
            await transport.request("GET", "/", body=None, headers={})
        with pytest.raises(Transient, match="407 Proxy Authentication Required") as cut:
            async with transport.stream("/", headers={}, silence_s=1):
                pass
        await transport.close()
    for each in (refused, cut):
        assert "secret" not in "".join(traceback.format_exception(each.value))
