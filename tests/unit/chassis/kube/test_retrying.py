"""A server that is away is tried by one request at a time, and by all as soon as it is back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from services.chassis.kube.port import Response
from services.chassis.kube.retrying import PatientTransport
from services.chassis.process.backoff import AWAY_MAX_S
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Away, Transient
from tests.virtual_time import virtually

ANSWER_S = 0.01


class Server:
    """A server that can be away; `asked` are the times at which somebody tried it."""

    def __init__(self) -> None:
        self.is_away = False
        self.breaks = False
        self.asked: list[float] = []
        self.answered: list[str] = []
        self.in_flight_most = 0
        self._in_flight = 0

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        self.asked.append(asyncio.get_running_loop().time())
        self._in_flight += 1
        self.in_flight_most = max(self.in_flight_most, self._in_flight)
        await asyncio.sleep(ANSWER_S)
        self._in_flight -= 1
        if self.is_away:
            raise Away("connection refused")
        if self.breaks:
            raise Transient("reset")
        self.answered.append(path)
        return Response(200, b"{}", {})

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError


class Scene:
    """Many who ask at once."""

    def __init__(self) -> None:
        self.server = Server()
        self._transport = PatientTransport(self.server, clock=LoopClock(), random=random.Random(1))

    def ask(self, path: str) -> asyncio.Task[Response]:
        return asyncio.create_task(self._transport.request("GET", path, body=None, headers={}))

    def ask_often(self, count: int) -> list[asyncio.Task[Response]]:
        return [self.ask(f"/{number}") for number in range(count)]


@virtually
async def test_requests_wait_for_a_server_that_is_away_and_are_all_answered() -> None:
    scene = Scene()
    scene.server.is_away = True
    asking = scene.ask_often(50)
    await asyncio.sleep(120)
    assert not any(task.done() for task in asking)
    scene.server.is_away = False
    await asyncio.sleep(AWAY_MAX_S + 1)
    assert sorted(scene.server.answered) == sorted(f"/{number}" for number in range(50))
    assert {task.result().status for task in asking} == {200}


@virtually
async def test_one_request_at_a_time_tries_a_server_that_is_away() -> None:
    scene = Scene()
    scene.server.is_away = True
    asking = scene.ask_often(50)
    await asyncio.sleep(1)
    scene.server.asked.clear()
    scene.server.in_flight_most = 0
    await asyncio.sleep(120)
    assert scene.server.in_flight_most == 1
    assert 120 / AWAY_MAX_S <= len(scene.server.asked) <= 2 * 120 / AWAY_MAX_S + 1
    for task in asking:
        task.cancel()
    await asyncio.wait(asking)


@virtually
async def test_any_gives_up_trying_leaves_it_to_the_next() -> None:
    scene = Scene()
    scene.server.is_away = True
    asking = scene.ask_often(3)
    await asyncio.sleep(10)
    for task in asking[:2]:
        task.cancel()
    scene.server.is_away = False
    await asyncio.wait(asking)
    assert asking[2].result().status == 200


@virtually
async def test_a_request_whose_outcome_is_unknown_is_never_sent_twice() -> None:
    scene = Scene()
    scene.server.breaks = True
    with pytest.raises(Transient):
        await scene.ask("/a")
    assert len(scene.server.asked) == 1


@virtually
async def test_a_server_that_comes_back_with_a_broken_answer_is_back() -> None:
    """The one who tried learns what became of its request, and the others go on."""
    scene = Scene()
    scene.server.is_away = True
    first = scene.ask("/a")
    await asyncio.sleep(5)
    scene.server.is_away, scene.server.breaks = False, True
    with pytest.raises(Transient):
        await first
    scene.server.breaks = False
    began_s = asyncio.get_running_loop().time()
    await scene.ask("/b")
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(ANSWER_S)
