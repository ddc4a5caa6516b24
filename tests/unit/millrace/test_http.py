"""HTTP as servers and networks have it: busy servers, proxies, redirects, empty answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace import App, GraphError, OperatorFailed
from millrace.adapters import http, http_requests
from millrace.adapters.http_requests import headers_of, is_tried_again, shown, waits_s, way_to

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class Number:
    number: int
    value: float = 0.0


def three() -> Iterator[Number]:
    yield from map(Number, range(3))


class Site:
    """A server that answers as a test lists it; after that with 200 and `body`."""

    def __init__(self, *answers: web.Response, body: str = '{"number":7}') -> None:
        self.answers, self.body = list(answers), body
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[Any] = []
        site = web.Application()
        site.router.add_route("*", "/{path:.*}", self.answer)
        self.server = TestServer(site)

    async def answer(self, request: web.Request) -> web.Response:
        sent = await request.json() if request.method == "POST" else None
        self.requests.append((request.method, request.raw_path, sent))
        self.headers.append(request.headers)
        if self.answers:
            return self.answers.pop(0)
        return web.Response(text=self.body, content_type="application/json")

    async def __aenter__(self) -> str:
        await self.server.start_server()
        return str(self.server.make_url("/q"))

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "RETRY_S", 0.0)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def polled(url: str, **options: Any) -> list[int]:
    app, found = App("tests::Poll"), list[Number]()
    app.source(http.poll(url, Number, seconds=0, count=1, **options)).sink(found.append)
    await app.run_async()
    return [each.number for each in found]


async def post(url: str, **options: Any) -> None:
    app = App("tests::Post")
    app.source(three).sink(http.post(url, **options))
    await app.run_async()


def busy(status: int, **headers: str) -> web.Response:
    return web.Response(status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_a_request_to_a_busy_server_is_tried_again(status: int) -> None:
    site = Site(busy(status, Retry_After="0"), busy(status))
    async with site as url:
        assert await polled(url) == [7]
        site.answers = [busy(status), busy(status, Retry_After="0")]
        await post(url)
    assert [sent["number"] for _, _, sent in site.requests[3:]] == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("status", [400, 401, 404, 413, 501])
async def test_what_stays_as_it_is_is_refused_at_once_with_what_the_server_says(
    status: int,
) -> None:
    site = Site(web.Response(status=status, text="no\n such thing"))
    async with site as url:
        with pytest.raises(OperatorFailed, match=rf"GET {url}: status {status} .*: no such thing"):
            await polled(url)
    assert len(site.requests) == 1


async def test_it_gives_up_after_its_retries() -> None:
    site = Site(*(busy(503) for _ in range(9)))
    async with site as url:
        with pytest.raises(OperatorFailed, match=rf"POST {url}: status 503 Service Unavailable"):
            await post(url, retries=2)
        assert len(site.requests) == 3
        with pytest.raises(OperatorFailed, match="status 503"):
            await polled(url, retries=0)
    assert len(site.requests) == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 4.0),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("99999999999999999999", 300.0),
        (format_datetime(NOW + timedelta(seconds=30), usegmt=True), 30.0),
        (format_datetime(NOW - timedelta(seconds=30), usegmt=True), 0.0),
        (format_datetime(NOW + timedelta(days=30), usegmt=True), 300.0),
        ("soon", 4.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 4.0),
        ("-5", 4.0),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", 4.0),
        (f"Wed, 21 Oct 2026 07:28:00 +{'9' * 30}", 4.0),
    ],
)
def test_it_waits_as_long_as_the_server_says_and_never_too_long(
    text: str | None, seconds: float
) -> None:
    assert waits_s(text, 4.0, NOW) == seconds


def test_a_status_is_tried_again_where_that_can_help() -> None:
    assert [each for each in range(400, 512) if is_tried_again(each)] == [
        408, 425, 429, 500, 502, 503, 504, *range(506, 512),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "url", "way"),
    [
        ({}, "http://a", {"trust_env": True}),
        ({"http_proxy": "http://p:1"}, "http://a", {"trust_env": True}),
        ({"HTTP_PROXY": "u:s@p:1"}, "http://a", {"trust_env": True, "proxy": "http://u:s@p:1"}),
        ({"HTTP_PROXY": "p:1", "NO_PROXY": "a"}, "http://a", {"trust_env": True}),
        ({"HTTP_PROXY": "p:1", "NO_PROXY": "*"}, "http://a", {"trust_env": True}),
        ({"HTTPS_PROXY": "http://p:1"}, "http://a", {"trust_env": True}),
    ],
)
def test_a_proxy_may_be_named_without_its_scheme(
    variables: dict[str, str],
    url: str,
    way: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_proxies(monkeypatch, variables)
    assert way_to(url) == way


@pytest.mark.parametrize(
    ("excepted", "url", "takes_it"),
    [
        ("10.0.0.0/8", "http://10.1.2.3/x", False),
        ("x, 10.0.0.0/8 ,y", "http://10.1.2.3:8080", False),
        ("fd00::/8", "http://[fd00::5]:80", False),
        ("10.0.0.0/8", "http://11.1.2.3", True),
        ("10.0.0.0/8", "http://a.b", True),
        ("a/b", "http://10.1.2.3", True),
        ("a.b:8080", "http://a.b:8080", False),
        ("a.b:80", "http://a.b", False),
        (".b:80", "http://a.b", False),
        ("[fd00::5]:80", "http://[fd00::5]", False),
        ("a.b:8080", "http://a.b", True),
        ("c:80", "http://a.b", True),
        (":80", "http://a.b", True),
    ],
)
def test_no_proxy_may_name_networks_and_ports(
    excepted: str,
    url: str,
    *,
    takes_it: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_proxies(monkeypatch, {"HTTP_PROXY": "http://p:1", "NO_PROXY": excepted})
    assert way_to(url) == {"trust_env": takes_it}


def set_proxies(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


async def test_requests_go_by_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    async with site as url:
        monkeypatch.setenv("http_proxy", url)
        assert await polled("http://example.invalid/quotes") == [7]
        await post("http://example.invalid/sink")
        assert [path for _, path, _ in site.requests] == [
            "http://example.invalid/quotes",
            *["http://example.invalid/sink"] * 3,
        ]
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert await polled(url) == [7]
    assert site.requests[-1][1] == "/q"


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_that_keeps_the_body_is_followed(status: int) -> None:
    site = Site(web.Response(status=status, headers={"Location": "/other"}))
    async with site as url:
        await post(url)
    assert site.requests[1] == ("POST", "/other", {"number": 0, "value": 0.0})


@pytest.mark.parametrize("status", [301, 302])
async def test_a_redirect_that_drops_the_tuple_is_refused(status: int) -> None:
    """The request became a GET, its answer was 200, and the tuple was nowhere."""
    site = Site(web.Response(status=status, headers={"Location": "/other"}))
    async with site as url:
        with pytest.raises(OperatorFailed, match=rf"status {status} redirects to .*/other: post"):
            await post(url)
        site.answers = [web.Response(status=status, headers={"Location": "/other"})]
        assert await polled(url) == [7]


@pytest.mark.parametrize("body", ["", " \n"])
async def test_an_empty_answer_has_no_tuples(body: str) -> None:
    async with Site(body=body) as url:
        assert await polled(url) == []
    async with Site(web.Response(status=204)) as url:
        assert await polled(url) == []
    async with Site(body="[]") as url:
        assert await polled(url) == []


async def test_an_answer_that_is_no_such_json_is_skipped_and_counted() -> None:
    app, found = App("tests::Poll"), list[Number]()
    deep = '{"number":1,"more":' + "[" * 100_000 + "]" * 100_000 + "}"
    async with Site(web.Response(text=deep)) as url:
        with pytest.raises(OperatorFailed, match=rf"GET {url}: RecursionError"):
            await polled(url)
    async with Site(web.Response(text="<html>")) as url:
        reader = http.poll(f"{url}?token=secret", Number, seconds=0, count=2)
        app.source(reader, on_error="skip", name="In").sink(found.append)
        assert (await app.run_async())["In"].skipped == 1
    assert found == [Number(7)]


async def test_a_server_that_gives_no_answer_is_given_up() -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    site = web.Application()
    site.router.add_get("/q", slow)
    async with TestServer(site) as server:
        with pytest.raises(OperatorFailed, match=r"no answer in 0\.05 s"):
            await polled(
                str(server.make_url("/q")), timeout=0.05, retries=1
            )  # unstretched: the server never answers


async def test_headers_come_from_a_function_and_are_shown_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    site = Site(*(web.Response(status=401, text="who?") for _ in range(2)))
    made: list[int] = []

    def headers() -> dict[str, str]:
        made.append(1)
        return {"Authorization": "Bearer geheim\n", "content-type": "application/x-own"}

    async with site as url:
        with pytest.raises(OperatorFailed, match="status 401") as failed:
            await post(f"{url}?key=geheim", headers=headers)
        assert made == [1]
        with pytest.raises(OperatorFailed, match="status 401"):
            await polled(url, headers=headers)
    assert site.headers[0]["Authorization"] == "Bearer geheim"
    assert site.headers[0]["Content-Type"] == "application/x-own"
    assert "geheim" not in f"{failed.value} {failed.value.__cause__!r} {caplog.text}"
    assert "geheim" not in repr(http.post("http://x", headers={"a": "b"}).function)
    assert http.post("http://x", headers=headers).fn_kwargs["headers"] == {}


def test_a_url_is_shown_without_login_and_query() -> None:
    assert shown("https://me:pw@host:1/a/b?token=x#y") == "https://host:1/a/b?…"


@pytest.mark.parametrize(
    "url",
    [
        "htp://me:geheim@host/?token=geheim",
        "http://me:gehe/geheim@host/",
        "http://me:geheim@host:99999/?token=geheim",
        "http://me:geheim@[host/",
        "http://..geheim/",
        "http://host:geheim/",
    ],
)
async def test_a_url_that_is_not_one_is_not_shown(url: str) -> None:
    """Before, the error was that of the client: the URL, with its login and query."""
    with pytest.raises(OperatorFailed, match=r"GET: the URL, .* is not one of HTTP") as failed:
        await polled(url)
    assert "geheim" not in f"{failed.value} {failed.value.__cause__!r}"


@pytest.mark.parametrize(
    "place",
    ["ftp://me:geheim@host/", "http://me:geheim@host:99999/", "http://[::1?token=geheim"],
)
async def test_a_redirect_to_no_url_of_http_is_refused_without_it(place: str) -> None:
    site = Site(*(web.Response(status=302, headers={"Location": place}) for _ in range(3)))
    async with site as url:
        with pytest.raises(OperatorFailed, match=rf"GET: {url} redirects to what is no") as failed:
            await polled(f"{url}")
    assert "geheim" not in str(failed.value)
    assert len(site.requests) == 1


async def test_a_pause_after_no_answer_is_never_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the bound was for what answers have, and the 13th pause was longer than an hour."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("millrace.adapters.http_requests.asyncio.sleep", sleep)
    client = http_requests.Client(http_requests.Options(retries=20))
    with pytest.raises(http.RequestRefused):
        await client.body_of("GET", "http://127.0.0.1:1/")
    await client.close()
    assert pauses[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert max(pauses) == 300


@pytest.mark.parametrize("options", [{"retries": -1}, {"retries": 1.5}, {"timeout": 0}])
def test_options_that_mean_nothing_are_refused_when_the_graph_is_built(
    options: dict[str, Any],
) -> None:
    with pytest.raises(GraphError, match=f"http: {next(iter(options))} is"):
        http.poll("http://x", Number, seconds=1, **options)
    with pytest.raises(GraphError, match=f"http: {next(iter(options))} is"):
        http.post("http://x", **options)


def test_usual_headers_give_way_whatever_their_case() -> None:
    assert headers_of({"content-TYPE": "a"}, {"Content-Type": "b", "X": "c"}) == {
        "X": "c",
        "content-TYPE": "a",
    }


async def test_a_file_of_certificates_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorFailed, match=r"No such file.*gone\.pem"):
        await polled("https://127.0.0.1:1/", ca=str(tmp_path / "gone.pem"))


async def test_a_number_that_json_does_not_have_is_not_posted() -> None:
    def bad() -> Iterator[Number]:
        yield Number(1, float("nan"))
        yield Number(2)

    app = App("tests::Post")
    site = Site()
    async with site as url:
        app.source(bad).sink(http.post(url), on_error="skip", name="Out")
        assert (await app.run_async())["Out"].skipped == 1
    assert [sent["number"] for _, _, sent in site.requests] == [2]
