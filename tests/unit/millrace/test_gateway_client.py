"""The client of pe-gateway on a gateway that is away, wrong, slow, or says that it is over."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from millrace.protocol import Connectivity, HandOver, Lost, Peer, Sealed, Seen, Started, Trouble
from millrace.runtime import gateway as module
from millrace.runtime.endings import BundleMissing, BundleRefused, LaunchOver
from millrace.runtime.gateway import PAUSE_S_MAX, Gateway
from millrace.runtime.tracing import TraceLevel, level_named

Answer = Callable[[web.Request], web.StreamResponse | Awaitable[web.StreamResponse]]
SEEN = {
    "version": "v1",
    "jobId": 7,
    "jobUid": "uid",
    "launch": 3,
    "peers": {"1": {"address": "10.0.0.7", "launch": 2}},
    "handOver": {
        "generation": 5,
        "pes": {"2": 1, "4": 2},
        "deadline": 1.5e9,
        "sealed": {"2": 1},
        "gone": [4],
        "complete": False,
    },
    "trace": {"app": "info", "runtime": "error"},
    "newer": ["fields", "are", "ignored"],
}


class Played:
    """A gateway that gives one answer after the other, then the last one again."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, str, dict[str, str], bytes, str]] = []

    async def reply(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(
            (
                request.method,
                request.path,
                dict(request.query),
                await request.read(),
                request.headers.get("Authorization", ""),
            )
        )
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        found = answer(request)
        return found if isinstance(found, web.StreamResponse) else await found

    @property
    def bodies(self) -> list[str]:
        return [body.decode() for _, _, _, body, _ in self.requests]


def status(number: int, text: str = "") -> Answer:
    return lambda _: web.Response(status=number, text=text)


def json(value: Any) -> Answer:
    return lambda _: web.json_response(value)


class Client:
    """A gateway client whose pauses take no time."""

    def __init__(self, gateway: Gateway, played: Played, token: Path, pauses: list[float]) -> None:
        self.gateway = gateway
        self.played = played
        self.token = token
        self.pauses = pauses


@contextlib.asynccontextmanager
async def client(tmp_path: Path, *answers: Answer) -> AsyncIterator[Client]:
    played = Played(*answers)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", played.reply)
    token = tmp_path / "token"
    token.write_text("first\n")
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        assert len(pauses) < 100
        await asyncio.sleep(0)

    async with TestServer(app) as server:
        url = str(server.make_url("")).rstrip("/")
        async with Gateway(url, "shop", 4, 3, token, pause=pause, chance=lambda: 1.0) as gateway:
            yield Client(gateway, played, token, pauses)


# ---------------------------------------------------------------- what is seen


async def test_what_the_gateway_shows_becomes_frozen_values(tmp_path: Path) -> None:
    async with client(tmp_path, json(SEEN)) as each:
        seen = await anext(each.gateway.watch([4, 1]))
    assert (seen.version, seen.job_id, seen.job_uid, seen.launch) == ("v1", 7, "uid", 3)
    assert seen.peers == {1: Peer(address="10.0.0.7", launch=2)}
    assert seen.hand_over == HandOver(
        generation=5, pes={2: 1, 4: 2}, deadline=1.5e9, sealed={2: 1}, gone=frozenset({4})
    )
    assert level_named(seen.trace.app) is TraceLevel.INFO
    assert level_named(seen.trace.runtime) is TraceLevel.ERROR
    method, path, query, _, token = each.played.requests[0]
    assert (method, path, query) == ("GET", "/api/runtime/job/shop/pe/4", {"peers": "1,4"})
    assert token == "Bearer first"


async def test_later_requests_wait_for_another_version(tmp_path: Path) -> None:
    newer = SEEN | {"version": "v2", "handOver": None, "trace": {"app": "loud"}}
    async with client(tmp_path, json(SEEN), status(304), json(newer)) as each:
        watching = each.gateway.watch()
        await anext(watching)
        seen = await anext(watching)
    assert (seen.version, seen.hand_over, level_named(seen.trace.app)) == ("v2", None, None)
    assert [query for _, _, query, _, _ in each.played.requests] == [
        {},
        {"seen": "v1", "wait": "25"},
        {"seen": "v1", "wait": "25"},
    ]
    assert each.pauses == []


async def test_the_token_is_read_again_for_each_request(tmp_path: Path) -> None:
    async with client(tmp_path, json(SEEN)) as each:
        watching = each.gateway.watch()
        await anext(watching)
        each.token.write_text("second")
        await anext(watching)
        each.token.unlink()
        await anext(watching)
    assert [token for *_, token in each.played.requests] == ["Bearer first", "Bearer second", ""]


@pytest.mark.parametrize(
    "wrong",
    [
        status(500, "no"),
        status(401),
        status(404, "unknown job"),
        status(302),
        json([]),
        json(SEEN | {"launch": "three"}),
        json(SEEN | {"peers": {"1": {"address": "evil.example", "launch": 2}}}),
        json(SEEN | {"peers": {"x": {"address": "10.0.0.1", "launch": 2}}}),
        lambda _: web.Response(body=b"\xff\x00{"),
        lambda _: web.Response(body=b"[" * 5_000_000),
    ],
)
async def test_a_wrong_answer_is_logged_once_and_the_request_is_tried_again(
    wrong: Answer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with client(tmp_path, wrong, wrong, wrong, json(SEEN)) as each:
        assert (await anext(each.gateway.watch())).version == "v1"
    assert len(each.pauses) == 3
    tried = [line for line in caplog.messages if "it is tried again" in line]
    assert len(tried) == 1
    assert len(tried[0]) < 1_000
    assert "answers again" in caplog.messages[-1]


async def test_pauses_grow_up_to_their_limit_and_begin_again_after_an_answer(
    tmp_path: Path,
) -> None:
    async with client(tmp_path, *[status(503)] * 9, json(SEEN), status(503), json(SEEN)) as each:
        watching = each.gateway.watch()
        await anext(watching)
        await anext(watching)
    assert each.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, PAUSE_S_MAX, 0.1]


async def test_a_gateway_that_is_not_there_is_tried_until_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enough = asyncio.Event()
    times = 0

    async def pause(_: float) -> None:
        nonlocal times
        times += 1
        if times == 5:
            enough.set()
        await asyncio.sleep(0)

    token = tmp_path / "token"
    async with Gateway("http://127.0.0.1:1", "shop", 4, 3, token, pause=pause) as gateway:

        async def first() -> Seen:
            return await anext(gateway.watch())

        task = asyncio.create_task(first())
        await enough.wait()
        task.cancel()
    assert len(caplog.messages) == 1
    assert "cannot be reached" in caplog.text


async def test_a_newer_launch_ends_this_one(tmp_path: Path) -> None:
    async with client(tmp_path, json(SEEN | {"launch": 4})) as each:
        with pytest.raises(LaunchOver, match="launch 4"):
            await anext(each.gateway.watch())


# ---------------------------------------------------------------- reports


async def test_reports_arrive_in_their_order_with_the_bodies_of_the_contract(
    tmp_path: Path,
) -> None:
    async with client(tmp_path, status(204)) as each:
        for report in (
            Started("millrace 0.1", hands_over=True),
            Connectivity("Partial"),
            Sealed(5),
            Lost(17, "Killed"),
            Trouble("PeerMissing", "PE 2 is not there"),
        ):
            each.gateway.report(report)
        await each.gateway.deliver(until_empty=True)
        each.gateway.report(Trouble())
        await each.gateway.deliver(until_empty=True)
    assert each.played.bodies == [
        '{"launch":3,"started":{"runtime":"millrace 0.1","handsOver":true}}',
        '{"launch":3,"connectivity":"Partial"}',
        '{"launch":3,"sealed":{"generation":5}}',
        '{"launch":3,"lost":{"tuples":17,"why":"Killed"}}',
        '{"launch":3,"trouble":{"reason":"PeerMissing","message":"PE 2 is not there"}}',
        '{"launch":3,"trouble":null}',
    ]
    assert {(method, path) for method, path, *_ in each.played.requests} == {
        ("PUT", "/api/runtime/job/shop/pe/4")
    }


async def test_a_report_is_sent_until_it_is_answered_and_the_next_one_waits(
    tmp_path: Path,
) -> None:
    async with client(tmp_path, status(503), status(404), status(204)) as each:
        each.gateway.report(Sealed(5))
        each.gateway.report(Sealed(6))
        await each.gateway.deliver(until_empty=True)
    assert [body[-3] for body in each.played.bodies] == ["5", "5", "5", "6"]


async def test_of_connectivity_only_the_newest_waits(tmp_path: Path) -> None:
    async with client(tmp_path, status(204)) as each:
        for state in ("None", "Partial", "Full"):
            each.gateway.report(Connectivity(state))
            each.gateway.report(Lost(3, "Killed"))
        assert each.gateway.reports_waiting == 2
        await each.gateway.deliver(until_empty=True)
    assert len(each.played.bodies) == 2
    assert each.played.bodies[0] == '{"launch":3,"connectivity":"Full"}'


async def test_a_report_that_comes_while_an_older_one_is_sent_is_not_lost(tmp_path: Path) -> None:
    async with client(tmp_path, status(204)) as each:

        def meanwhile(_: web.Request) -> web.StreamResponse:
            each.gateway.report(Connectivity("Full"))
            return web.Response(status=503)

        each.played.answers.insert(0, meanwhile)
        each.gateway.report(Connectivity("None"))
        await each.gateway.deliver(until_empty=True)
    states = [msgspec.json.decode(body)["connectivity"] for body in each.played.bodies]
    assert states == ["None", "None", "Full"]


async def test_a_report_that_is_taken_is_sent_again_until_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after it does not wait; of connectivity only the newest is sent again."""
    monkeypatch.setattr(module, "AGAIN_S", 0.01)
    recorded = asyncio.Event()

    def last(_: web.Request) -> web.StreamResponse:
        recorded.set()
        return web.Response(status=204)

    taken, done = status(202), status(204)
    answers = [taken, taken, taken, done, taken, done, taken, last]
    async with client(tmp_path, *answers) as each:
        each.gateway.report(Started("millrace 0.1", hands_over=True))
        each.gateway.report(Connectivity("None"))
        await each.gateway.deliver(until_empty=True)
        each.gateway.report(Connectivity("Partial"))
        each.gateway.report(Sealed(5))
        task = asyncio.create_task(each.gateway.deliver())
        await recorded.wait()
        await asyncio.sleep(0.05)
        task.cancel()
    bodies = [msgspec.json.decode(body) for body in each.played.bodies]
    kinds = [next(name for name in body if name != "launch") for body in bodies]
    first, again = ["started", "connectivity"], ["started", "connectivity", "started", "started"]
    assert kinds == [*first, "connectivity", "sealed", *again]
    assert bodies[5]["connectivity"] == "Partial"


@pytest.mark.parametrize(("code", "is_job_deleted"), [(409, False), (410, True)])
async def test_a_report_of_a_launch_that_is_over_raises(
    tmp_path: Path, code: int, is_job_deleted: bool
) -> None:
    async with client(tmp_path, status(code, "launch 4 runs")) as each:
        each.gateway.report(Sealed(5))
        with pytest.raises(LaunchOver, match="launch 4 runs") as over:
            await each.gateway.deliver()
        assert over.value.is_job_deleted == is_job_deleted


async def test_delivery_waits_for_reports(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    def answer(_: web.Request) -> web.StreamResponse:
        arrived.set()
        return web.Response(status=204)

    async with client(tmp_path, answer) as each:
        task = asyncio.create_task(each.gateway.deliver())
        await asyncio.sleep(0)
        each.gateway.report(Sealed(5))
        await arrived.wait()
        task.cancel()
    assert each.played.bodies == ['{"launch":3,"sealed":{"generation":5}}']


# ---------------------------------------------------------------- the bundle


def bundle(data: bytes, etag: str) -> Answer:
    return lambda _: web.Response(body=data, headers={"ETag": etag})


async def test_a_bundle_is_written_with_its_digest(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a bundle").hexdigest()
    path = tmp_path / "tmp" / "bundle.sab"
    async with client(tmp_path, bundle(b"a bundle", f'"{digest}"')) as each:
        assert await each.gateway.fetch_bundle(path) == digest
    assert path.read_bytes() == b"a bundle"
    assert each.played.requests[0][1] == "/api/runtime/job/shop/bundle"


async def test_a_bundle_that_comes_damaged_or_late_is_fetched_again(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a bundle").hexdigest()
    wrong, right = bundle(b"a bun", f'"{digest}"'), bundle(b"a bundle", f'W/"sha256:{digest}"')
    path = tmp_path / "bundle.sab"
    async with client(tmp_path, status(503), wrong, right) as each:
        assert await each.gateway.fetch_bundle(path) == digest
    assert path.read_bytes() == b"a bundle"


async def test_a_bundle_that_is_not_stored_is_missing(tmp_path: Path) -> None:
    async with client(tmp_path, status(404, "shop.sab is not stored")) as each:
        with pytest.raises(BundleMissing, match="is not stored"):
            await each.gateway.fetch_bundle(tmp_path / "bundle.sab")


async def test_a_bundle_is_not_larger_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUNDLE_BYTES_MAX", 1_000)
    async with client(tmp_path, bundle(bytes(2_000), "")) as each:
        with pytest.raises(BundleRefused, match="more than 1000 bytes"):
            await each.gateway.fetch_bundle(tmp_path / "bundle.sab")


async def test_a_bundle_that_cannot_be_written_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "tmp").write_text("a file")
    async with client(tmp_path, bundle(b"x", "")) as each:
        with pytest.raises(BundleRefused, match=r"tmp/bundle\.sab cannot be written"):
            await each.gateway.fetch_bundle(tmp_path / "tmp" / "bundle.sab")
