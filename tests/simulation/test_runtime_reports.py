"""What our runtime reports and waits for, with every service at work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.pe_gateway.core.answers import Answer
from tests.simulation.applications import with_example
from tests.simulation.calling import (
    call,
    connectivity_of,
    report,
    report_runtime,
    runtime_of,
    token_of,
)
from tests.simulation.hands import fail
from tests.simulation.world import World, simulate

COVERS = ("services/pe_gateway/core/*", "services/pe_gateway/adapters/runtime_answers.py")

SERVICE = "pe-gateway"
STARTED = {"started": {"runtime": "millrace 0.1", "handsOver": True}}
SEALED = {"sealed": {"generation": 1}}
LOST = {"lost": {"tuples": 17, "why": "Killed"}}


async def _running(world: World) -> None:
    world.start(SERVICE)
    await with_example(world, "j", width=2)


def _patches(world: World, since: int) -> int:
    return sum(
        each.service == SERVICE and each.path.endswith("/status") for each in world.writes(since)
    )


async def read(world: World, pe: str, query: str) -> Answer:
    """What a PE is answered that has a token of its pod."""
    job, _, number = pe.rpartition("-")
    token = token_of(world, world.live_pods(job)[pe])
    path = f"/api/runtime/job/{job}/pe/{number}"
    return await call(world.folder, "GET", path, token=token, query=query)


def test_a_pe_that_starts_and_connects_within_two_seconds_costs_one_write(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        since = len(world.requests)
        assert await report_runtime(world, "j-1", STARTED) == 202
        assert await report(world, "j-1", "Partial") == 204
        assert await report(world, "j-1", "Full") == 204
        await world.settle()
        assert connectivity_of(world, "j-1") == "Full"
        expected = {"launch": 1, "name": "millrace 0.1", "handsOver": True}
        assert runtime_of(world, "j-1") == expected
        assert _patches(world, since) == 1

    simulate(tmp_path, life)


def test_a_pe_learns_which_pes_the_job_does_not_have_any_more(tmp_path: Path) -> None:
    """A PE without a pod is one that the job has: it may wait for a node."""

    async def life(world: World) -> None:
        await _running(world)
        known = sorted(int(name.rpartition("-")[2]) for name in world.objects("streamspes"))
        without_pod = known[-1]
        fail(world, f"j-{without_pod}")
        former = ",".join(map(str, [*known, 98, 99]))
        answer = await read(world, "j-1", f"former={former}")
        assert (answer.status, json.loads(answer.body)["left"]) == (200, [98, 99])

    simulate(tmp_path, life)


def test_a_report_that_a_gateway_took_along_at_its_end_is_recorded_when_it_comes_again(
    tmp_path: Path,
) -> None:
    """What is taken only (202) is reported until it is recorded (204)."""

    async def life(world: World) -> None:
        await _running(world)
        for _ in range(2):
            assert await report_runtime(world, "j-1", STARTED) == 202
            await world.kill(SERVICE)
            world.start(SERVICE)
            await world.settle()
        assert runtime_of(world, "j-1") == {}
        assert await report_runtime(world, "j-1", STARTED) == 202
        await world.settle()
        assert runtime_of(world, "j-1")["name"] == "millrace 0.1"
        assert await report_runtime(world, "j-1", STARTED) == 204

    simulate(tmp_path, life)


def test_how_long_a_pe_has_waited_counts_once_pe_gateway_has_heard_others(tmp_path: Path) -> None:
    """What they reported to the instance before may be lost: they are not silent."""

    def resting(seconds: int) -> Mapping[str, Any]:
        return {"resting": {"generation": 1, "waitsFor": [2], "seconds": seconds}}

    async def life(world: World) -> None:
        await _running(world)
        assert await report_runtime(world, "j-1", resting(8)) == 202
        await world.settle()
        assert runtime_of(world, "j-1")["waitsFor"] == [2]
        assert "restsSeconds" not in runtime_of(world, "j-1")
        await asyncio.sleep(12)
        assert await report_runtime(world, "j-1", resting(20)) == 202
        await world.settle()
        assert runtime_of(world, "j-1")["restsSeconds"] == 20
        await world.kill(SERVICE)
        world.start(SERVICE)
        await world.settle()
        assert await report_runtime(world, "j-1", resting(24)) == 202
        await world.settle()
        assert "restsSeconds" not in runtime_of(world, "j-1")

    simulate(tmp_path, life)


def test_a_saved_state_is_in_the_status_when_it_is_answered(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        assert await report_runtime(world, "j-1", STARTED) == 202
        assert await report_runtime(world, "j-1", SEALED) == 204
        assert runtime_of(world, "j-1")["sealed"] == 1
        assert runtime_of(world, "j-1")["handsOver"] is True
        assert await report_runtime(world, "j-1", SEALED) == 204

    simulate(tmp_path, life)


def test_lost_tuples_are_counted_and_people_read_of_them(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        assert await report_runtime(world, "j-1", LOST) == 202
        assert await report_runtime(world, "j-1", {"lost": {"tuples": 20}}) == 202
        assert await report_runtime(world, "j-1", LOST) == 202
        await world.settle()
        assert runtime_of(world, "j-1")["lostTuples"] == 20
        (event,) = (
            each for each in world.objects("events").values() if each["reason"] == "TuplesLost"
        )
        assert event["type"] == "Warning"
        assert event["involvedObject"]["name"] == "j-1"
        assert event["message"].startswith("At most 20 tuples are lost so far, as launch 1 reports")

    simulate(tmp_path, life)


def test_trouble_comes_and_goes(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        trouble = {"trouble": {"reason": "PeerMissing", "message": "PE 2 does not answer"}}
        assert await report_runtime(world, "j-1", trouble) == 202
        await world.until("shown", lambda: "reason" in runtime_of(world, "j-1"))
        assert runtime_of(world, "j-1")["message"] == "PE 2 does not answer"
        assert await report_runtime(world, "j-1", {"trouble": None}) == 202
        await world.until("over", lambda: "reason" not in runtime_of(world, "j-1"))
        assert runtime_of(world, "j-1") == {"launch": 1, "handsOver": False}

    simulate(tmp_path, life)


def test_an_older_launch_learns_that_its_reports_do_not_count(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        old = world.live_pods("j")["j-1"]
        token = token_of(world, old)
        assert await report_runtime(world, "j-1", SEALED) == 204
        fail(world, "j-1")
        await world.until(
            "again", lambda: world.live_pods("j").get("j-1", old) != old and world.is_running("j")
        )
        await world.settle()
        assert await report_runtime(world, "j-1", {"launch": 1, **LOST}) == 409
        assert runtime_of(world, "j-1")["launch"] == 1
        assert await report_runtime(world, "j-1", STARTED) == 202
        await world.until("started", lambda: runtime_of(world, "j-1")["launch"] == 2)
        assert "sealed" not in runtime_of(world, "j-1")
        assert (await call(world.folder, "GET", "/api/state", token=token)).status == 401

    simulate(tmp_path, life)


def test_a_report_of_a_launch_that_the_status_does_not_have_yet_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without tokens a launch is believed what it says."""
    monkeypatch.setenv("MILLRACE_ANONYMOUS", "true")

    async def life(world: World) -> None:
        await _running(world)
        body = json.dumps({"launch": 2, **STARTED}).encode()
        path = "/api/runtime/job/j/pe/1"
        assert (
            await call(world.folder, "PUT", path, body, host="streams-api.default")
        ).status == 202
        await world.settle()
        assert runtime_of(world, "j-1") == {}
        fail(world, "j-1")
        await world.until("started", lambda: runtime_of(world, "j-1").get("launch") == 2)

    simulate(tmp_path, life)


def test_a_pe_waits_until_its_peer_is_elsewhere(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        first = _body(await read(world, "j-1", "peers=0,99"))
        pod = world.live_pods("j")["j-0"]
        assert first["peers"] == {"0": {"address": pod["status"]["podIP"], "launch": 1}}
        assert first["launch"] == 1
        assert first["handOver"] is None
        assert first["jobUid"] == world.objects("streamsjobs")["j"]["metadata"]["uid"]
        query = f"peers=0,99&seen={first['version']}"
        assert (await read(world, "j-1", query)).status == 304
        assert (await read(world, "j-1", f"{query}&wait=3")).status == 304
        waiting = asyncio.create_task(read(world, "j-1", f"{query}&wait=30"))
        fail(world, "j-0")
        gone = _body(await waiting)
        assert gone["peers"] == {}
        query = f"peers=0,99&seen={gone['version']}&wait=30"
        again = _body(await read(world, "j-1", query))
        assert again["peers"]["0"]["launch"] == 2

    simulate(tmp_path, life)


def test_every_pe_of_a_job_learns_of_a_hand_over_at_once(tmp_path: Path) -> None:
    """And a resize waits until those that hand over have saved their state."""

    async def life(world: World) -> None:
        await _running(world)
        for pe in world.live_pods("j"):
            assert await report_runtime(world, pe, STARTED) == 202
        await world.until(
            "known", lambda: all(runtime_of(world, pe) for pe in world.live_pods("j"))
        )
        await world.settle()
        seen = {pe: _body(await read(world, pe, ""))["version"] for pe in world.live_pods("j")}
        waiting = {
            pe: asyncio.create_task(read(world, pe, f"seen={version}&wait=30"))
            for pe, version in seen.items()
        }
        world.resize("j", "Counted", 3)
        found = {pe: _body(await each)["handOver"] for pe, each in waiting.items()}
        (named,) = {json.dumps(each["pes"]) for each in found.values()}
        affected = [f"j-{number}" for number in json.loads(named)]
        assert affected
        await world.clock.sleep(1.0)
        assert {pe: _launch_of(world, pe) for pe in affected} == dict.fromkeys(affected, 1)
        for pe in affected:
            assert await report_runtime(world, pe, SEALED) == 204
        await world.until(
            "resized", lambda: all(_launch_of(world, pe) == 2 for pe in affected), wait_s=20
        )

    simulate(tmp_path, life)


def _launch_of(world: World, pe: str) -> int:
    return int(world.objects("streamspes")[pe]["status"]["launchCount"])


def test_healthy_says_which_pe_waits_for_which_until_it_is_connected(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        trouble = {"reason": "PeerMissing", "message": "waits for PE 5"}
        assert await report_runtime(world, "j-1", STARTED) == 202
        assert await report_runtime(world, "j-1", {"trouble": trouble}) == 202
        assert await report(world, "j-1", "Partial") == 204
        await world.until("unwell", lambda: _healthy(world)["status"] == "False")
        message = "1 of 6 PEs lacks connections: PE 1 reports: waits for PE 5"
        assert _healthy(world)["message"] == message
        assert await report_runtime(world, "j-1", {"trouble": None}) == 202
        assert await report(world, "j-1", "Full") == 204
        await world.until("well", lambda: _healthy(world)["status"] == "True")

    simulate(tmp_path, life)


def _healthy(world: World) -> Mapping[str, Any]:
    conditions = world.objects("streamsjobs")["j"]["status"]["conditions"]
    found: Mapping[str, Any] = next(each for each in conditions if each["type"] == "Healthy")
    return found


def test_a_pe_reads_and_reports_for_itself_only(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        token = token_of(world, world.live_pods("j")["j-1"])
        path = "/api/runtime/job/j/pe/0"
        body = json.dumps({"launch": 1, **SEALED}).encode()
        assert (await call(world.folder, "PUT", path, body, token=token)).status == 403
        assert (await call(world.folder, "GET", path, token=token)).status == 403
        assert (await call(world.folder, "GET", path)).status == 401
        bundle = "/api/runtime/job/j/bundle"
        assert (await call(world.folder, "GET", bundle, token=token)).status == 404

    simulate(tmp_path, life)


def test_the_bundle_of_a_job_is_given_to_its_pes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "elsewhere"
    store.mkdir()
    monkeypatch.setenv("MILLRACE_BUNDLE_STORE", str(store))

    async def life(world: World) -> None:
        await _running(world)
        digest = world.objects("streamsjobs")["j"]["status"]["bundleDigest"]
        (store / f"{digest}.sab").write_bytes(b"bundle")
        token = token_of(world, world.live_pods("j")["j-1"])
        path = "/api/runtime/job/j/bundle"
        found = await call(world.folder, "GET", path, token=token)
        assert (found.status, found.file) == (200, str(store / f"{digest}.sab"))
        assert found.etag == f'"{digest}"'
        seen = await call(world.folder, "GET", path, token=token, tag=found.etag)
        assert (seen.status, seen.file) == (304, "")

    simulate(tmp_path, life)


def _body(answer: Answer) -> Mapping[str, Any]:
    assert answer.status == 200, answer
    found: Mapping[str, Any] = json.loads(answer.body)
    return found
