"""The logs of pods that are processes, as kubectl and the command read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import orjson
import pytest

from sandbox.containers.log_files import LogFile
from sandbox.http.answers import Answer
from sandbox.http.api import Api
from sandbox.http.server import serving
from sandbox.store.resources import POD
from sandbox.store.store import Store
from tests.patience import patient
from tests.unit.sandbox.http.asking import NOW_S

PODS = "/api/v1/namespaces/default/pods"


class Kept:
    """An API with the logs of a pod `p` of the containers `pe` and, if wanted, `other`."""

    def __init__(self, folder: Path) -> None:
        self.now_s = NOW_S
        self.logs: dict[tuple[str, bool], LogFile] = {}
        self.store = Store(now=lambda: self.now_s, new_uid=lambda: "u")
        self.api = Api(self.store, now=lambda: self.now_s, logs=self._find)
        self._folder = folder

    def pod(self, *containers: str, waiting: str = "") -> None:
        spec = {"containers": [{"name": each, "image": "i"} for each in containers]}
        self.store.create(POD, "default", {"metadata": {"name": "p"}, "spec": spec})
        if waiting:
            state = {"waiting": {"reason": waiting}}
            status = {"containerStatuses": [{"name": containers[0], "state": state}]}
            kind = "application/merge-patch+json"
            self.store.patch(POD, "default", "p", {"status": status}, kind, subresource="status")

    def log(self, container: str, *, previous: bool = False) -> LogFile:
        path = self._folder / container / f"{previous}.log"
        made = self.logs[container, previous] = LogFile(path, lambda: self.now_s)
        return made

    def get(self, query: str = "") -> str:
        answer = self.api.answer("GET", f"{PODS}/p/log{query}", {})
        assert isinstance(answer, Answer)
        if answer.status == 200:
            return answer.body.decode()
        return f"{answer.status} {orjson.loads(answer.body)['message']}"

    def _find(self, uid: str, container: str, *, previous: bool = False) -> LogFile | None:
        return self.logs.get((container, previous)) if uid == "u" else None


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    for log in made.logs.values():
        log.close()


def test_all_lines_the_last_ones_or_the_first_bytes(kept: Kept) -> None:
    kept.pod("pe")
    kept.log("pe").write(b"one\ntwo\nthree\n")
    assert kept.get() == "one\ntwo\nthree\n"
    assert kept.get("?tailLines=2") == "two\nthree\n"
    assert kept.get("?tailLines=0") == ""
    assert kept.get("?limitBytes=5") == "one\nt"
    assert kept.get("?tailLines=-1") == "400 tailLines: -1 is not a number that is not negative"


def test_lines_since_a_time_and_with_their_times(kept: Kept) -> None:
    kept.pod("pe")
    log = kept.log("pe")
    log.write(b"old\n")
    kept.now_s += 100
    log.write(b"new\n")
    kept.now_s += 5
    assert kept.get("?sinceSeconds=10") == "new\n"
    assert kept.get("?sinceTime=2026-09-21T14:14:30Z") == "new\n"
    assert kept.get("?sinceTime=2026-09-21T14:14:30Z&timestamps=true") == (
        "2026-09-21T14:15:00.000000000Z new\n"
    )
    assert kept.get("?sinceTime=noon").startswith("400 sinceTime")


def test_a_long_line_is_whole_again_and_counts_as_one(kept: Kept) -> None:
    kept.pod("pe")
    kept.log("pe").write(b"a\n" + b"x" * 40_000 + b"\n")
    assert kept.get("?tailLines=1") == "x" * 40_000 + "\n"
    assert kept.get("?tailLines=1&timestamps=1").count("stdout") == 0
    assert kept.get("?timestamps=1").count("Z ") == 2


def test_the_log_of_the_run_before_or_that_there_is_none(kept: Kept) -> None:
    kept.pod("pe")
    kept.log("pe").write(b"now\n")
    missing = '400 previous terminated container "pe" in pod "p" not found'
    assert kept.get("?previous=true") == missing
    kept.log("pe", previous=True).write(b"before\n")
    assert kept.get("?previous=true") == "before\n"


def test_of_several_containers_one_has_to_be_named(kept: Kept) -> None:
    kept.pod("pe", "other")
    kept.log("other").write(b"hi\n")
    assert kept.get() == (
        "400 a container name must be specified for pod p, choose one of: [pe other]"
    )
    assert kept.get("?container=other") == "hi\n"
    assert kept.get("?container=none") == "400 container none is not valid for pod p"


def test_a_container_that_has_not_started_says_what_it_waits_for(kept: Kept) -> None:
    kept.pod("pe", waiting="ContainerCreating")
    assert kept.get() == '400 container "pe" in pod "p" is waiting to start: ContainerCreating'


def test_a_pod_that_is_played_has_the_log_that_is_played(kept: Kept) -> None:
    kept.pod("pe")
    assert kept.get() == ""


async def test_a_followed_log_streams_until_its_container_ends(kept: Kept) -> None:
    kept.pod("pe")
    log = kept.log("pe")
    log.write(b"one\ntwo\n")
    async with (
        serving(kept.api) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{PODS}/p/log?follow=true&tailLines=1") as stream,
    ):
        assert await stream.content.readline() == b"two\n"
        log.write(b"three\n")
        assert await stream.content.readline() == b"three\n"
        log.close()
        assert await stream.content.read() == b""


async def test_the_server_drains_although_logs_are_followed(kept: Kept) -> None:
    kept.pod("pe")
    kept.log("pe").write(b"one\n")
    async with asyncio.timeout(patient(5)), aiohttp.ClientSession() as session:
        async with serving(kept.api) as port:
            stream = await session.get(f"http://127.0.0.1:{port}{PODS}/p/log?follow=true")
            assert await stream.content.readline() == b"one\n"
        assert await stream.content.read() == b""
        stream.close()
