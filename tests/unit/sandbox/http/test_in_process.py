"""The transport without sockets: requests, streams and faults on demand."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from sandbox.http.api import Api
from sandbox.http.in_process import ConnectionCut, Fault, InProcess, When
from sandbox.store.errors import ApiError
from sandbox.store.watching import Watch
from tests.unit.sandbox.http.asking import CONFIG_MAPS, Asker, config_map

BODY = orjson.dumps(config_map("a"))
WATCH = f"{CONFIG_MAPS}?watch=1"


@pytest.fixture
def opened(api: Api, monkeypatch: pytest.MonkeyPatch) -> list[Watch]:
    """Every watch that the API opens."""
    watches: list[Watch] = []
    watch_of_store = api.store.watch

    def watch(*args: Any, **options: Any) -> Watch:
        watches.append(watch_of_store(*args, **options))
        return watches[-1]

    monkeypatch.setattr(api.store, "watch", watch)
    return watches


def faulty(api: Api, fault: Fault) -> InProcess:
    return InProcess(api, faults=lambda method, path: fault)


async def post(transport: InProcess) -> int:
    headers = {"Content-Type": "application/json"}
    answer = await transport.request("POST", CONFIG_MAPS, body=BODY, headers=headers)
    return answer.status


def exists(asker: Asker) -> bool:
    return asker.ask("GET", f"{CONFIG_MAPS}/a").status == 200


async def test_a_request_is_answered_with_status_headers_and_body(api: Api) -> None:
    transport = InProcess(api)
    assert await post(transport) == 201
    answer = await transport.request("GET", f"{CONFIG_MAPS}/a", body=None, headers={})
    assert answer.headers["content-type"] == "application/json"
    assert orjson.loads(answer.body)["metadata"]["name"] == "a"


async def test_a_request_lost_before_its_effect_changes_nothing(api: Api, asker: Asker) -> None:
    with pytest.raises(ConnectionCut):
        await post(faulty(api, Fault(lost=When.BEFORE)))
    assert not exists(asker)


async def test_a_request_lost_after_its_effect_has_changed_the_cluster(
    api: Api, asker: Asker
) -> None:
    with pytest.raises(ConnectionCut):
        await post(faulty(api, Fault(lost=When.AFTER)))
    assert exists(asker)


async def test_a_server_that_refuses_answers_a_status_and_does_nothing(
    api: Api, asker: Asker
) -> None:
    assert await post(faulty(api, Fault(status=503))) == 503
    assert not exists(asker)


@pytest.mark.looptime
async def test_a_delayed_request_takes_effect_late(api: Api, asker: Asker) -> None:
    sent = asyncio.create_task(post(faulty(api, Fault(delay_s=30))))
    await asyncio.sleep(29)
    assert not exists(asker)
    await asyncio.sleep(2)
    assert await sent == 201


async def test_a_lost_connection_is_reported_in_the_words_of_the_client(api: Api) -> None:
    transport = InProcess(api, faults=lambda *_: Fault(lost=When.BEFORE), lost=KeyError)
    with pytest.raises(KeyError):
        await post(transport)


async def test_a_stream_gives_one_line_at_a_time_and_ends_the_watch_when_left(
    api: Api, opened: list[Watch]
) -> None:
    transport = InProcess(api)
    async with transport.stream(WATCH, headers={}, silence_s=60) as lines:
        await post(transport)
        line = orjson.loads(await anext(lines))
    assert line["object"]["metadata"]["name"] == "a"
    assert [watch.closed for watch in opened] == [True]


async def test_a_stream_that_is_refused_raises_what_the_client_wants(api: Api) -> None:
    with pytest.raises(ApiError) as raised:
        async with InProcess(api).stream("/api/v1/unheard?watch=1", headers={}, silence_s=60):
            pass
    assert raised.value.code == 404


@pytest.mark.looptime
async def test_a_stream_in_silence_is_given_up(api: Api, opened: list[Watch]) -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    with pytest.raises(ConnectionCut):
        async with InProcess(api).stream(WATCH, headers={}, silence_s=45) as lines:
            await anext(lines)
    assert loop.time() - began_s == pytest.approx(45)
    assert [watch.closed for watch in opened] == [True]


@pytest.mark.looptime
@pytest.mark.parametrize("fault", [Fault(cut_after_s=10), Fault(cut_after_lines=1)])
async def test_a_stream_can_be_cut(api: Api, asker: Asker, fault: Fault) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    loop = asyncio.get_running_loop()
    loop.call_later(5, asker.ask, "POST", CONFIG_MAPS, config_map("b"))
    seen: list[bytes] = []

    async def read() -> None:
        async with faulty(api, fault).stream(WATCH, headers={}, silence_s=60) as lines:
            async for line in lines:
                seen.append(line)  # noqa: PERF401 - what came before the cut has to be kept

    with pytest.raises(ConnectionCut):
        await read()
    assert len(seen) == (1 if fault.cut_after_lines else 2)
