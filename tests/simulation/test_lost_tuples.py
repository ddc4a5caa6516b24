"""Lost tuples stay in the status of their Job, counted once, until somebody acknowledges them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from contracts import labels
from sandbox.controllers.settings import Settings
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example, with_example
from tests.simulation.calling import call, report, report_runtime, token_of
from tests.simulation.hands import fail
from tests.simulation.world import Obj, World, simulate

COVERS = (
    "contracts/losses.py",
    "services/pe_gateway/core/*",
    "services/pe_gateway/adapters/*",
    "services/fusion_backend/core/losing.py",
)
SERVICE = "pe-gateway"
SLOW = Settings(stop_delay_s=20.0)


def lost(tuples: int, why: str = "StoppedLate") -> dict[str, Any]:
    return {"lost": {"tuples": tuples, "why": why}}


async def running(world: World) -> None:
    world.start(SERVICE)
    await with_example(world, "j", width=2)
    assert await report(world, "j-1", "Full") == HTTPStatus.NO_CONTENT
    await world.settle()


def losses(world: World) -> Mapping[str, Any]:
    """What the status of the Job has of them."""
    found: Mapping[str, Any] = world.objects("streamsjobs")["j"]["status"].get("losses") or {}
    return found


def healthy(world: World) -> tuple[str, str]:
    """Status and reason of the condition."""
    found = {
        each["type"]: each for each in world.objects("streamsjobs")["j"]["status"]["conditions"]
    }["Healthy"]
    return found["status"], found["reason"]


def acknowledge(world: World, value: str) -> None:
    edit(world, {"metadata": {"annotations": {labels.LOSSES_ACKNOWLEDGED: value}}})


def edit(world: World, patch: Obj) -> None:
    """Change the Job as a person does."""
    world.store.patch(world.kind("streamsjobs"), "default", "j", patch, MERGE)


def job_writes(world: World, since: int) -> int:
    """How often pe-gateway wrote the status of the Job."""
    return sum(
        each.service == SERVICE and each.path.endswith("/streamsjobs/j/status")
        for each in world.writes(since)
    )


def test_a_loss_makes_a_job_unhealthy_until_it_is_acknowledged(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        assert await report_runtime(world, "j-1", lost(17)) == HTTPStatus.ACCEPTED
        await world.until("shown", lambda: healthy(world) == ("False", "TuplesLost"))
        (row,) = losses(world)["launches"]
        uid = world.objects("streamspes")["j-1"]["metadata"]["uid"]
        assert (losses(world)["tuples"], row["uid"], row["launch"]) == (17, uid, 1)
        assert (row["processingElement"], row["reason"]) == (1, "StoppedLate")
        acknowledge(world, "17")
        await world.until("well", lambda: healthy(world)[0] == "True")
        assert await report_runtime(world, "j-1", lost(20)) == HTTPStatus.ACCEPTED
        await world.until("again", lambda: healthy(world) == ("False", "TuplesLost"))

    simulate(tmp_path, life)


def test_a_loss_counts_once_however_often_the_gateway_dies(tmp_path: Path) -> None:
    """A report is answered with 204 when the PE and the Job have it; until then it comes again."""

    async def life(world: World) -> None:
        await running(world)
        for pause_s in (0.0, 0.3, 0.6, 0.9):
            assert await report_runtime(world, "j-1", lost(17)) in (202, 204)
            await asyncio.sleep(pause_s)
            await world.kill(SERVICE)
            world.start(SERVICE)
            await world.settle()
        await report_runtime(world, "j-1", lost(17))
        await world.settle()
        assert losses(world)["tuples"] == 17
        assert await report_runtime(world, "j-1", lost(17)) == HTTPStatus.NO_CONTENT
        assert await report_runtime(world, "j-1", lost(3)) == HTTPStatus.NO_CONTENT

    simulate(tmp_path, life)


def test_what_all_pes_lose_at_once_is_few_writes_of_the_job(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        since, pes = len(world.requests), sorted(world.live_pods("j"))
        for number, pe in enumerate(pes):
            assert await report_runtime(world, pe, lost(number + 1)) == HTTPStatus.ACCEPTED
        await world.settle()
        assert losses(world)["tuples"] == sum(range(len(pes) + 1))
        assert job_writes(world, since) == 1

    simulate(tmp_path, life)


def test_what_a_deleted_pe_lost_stays_known_with_what_it_lost_at_its_end(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        token = token_of(world, world.live_pods("j")["j-1"])
        assert await report_runtime(world, "j-1", lost(5)) == HTTPStatus.ACCEPTED
        await world.settle()
        world.store.delete(world.kind("streamspes"), "default", "j-1", DeleteOptions())
        await world.until("it ends", lambda: "j-1" not in world.live_pods("j"))
        await asyncio.sleep(1)
        body = json.dumps({"launch": 1, **lost(17)}).encode()
        path = "/api/runtime/job/j/pe/1"
        for _ in range(2):
            answer = await call(world.folder, "PUT", path, body, token=token)
            assert answer.status == HTTPStatus.NO_CONTENT
        assert losses(world)["tuples"] == 17

    simulate(tmp_path, life, settings=SLOW)


def test_a_launch_with_a_successor_and_the_successor_lose_together(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        assert await report_runtime(world, "j-1", lost(5)) == HTTPStatus.ACCEPTED
        await world.settle()
        old = world.live_pods("j")["j-1"]
        fail(world, "j-1")
        await world.until(
            "again", lambda: world.live_pods("j").get("j-1", old) != old and world.is_running("j")
        )
        await world.settle()
        assert await report_runtime(world, "j-1", lost(4, "InHand")) == HTTPStatus.ACCEPTED
        await world.settle()
        assert losses(world)["tuples"] == 9
        assert [each["launch"] for each in losses(world)["launches"]] == [1, 2]

    simulate(tmp_path, life)


def test_a_job_that_is_made_again_has_lost_nothing(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        assert await report_runtime(world, "j-1", lost(5)) == HTTPStatus.ACCEPTED
        await world.settle()
        assert losses(world)["tuples"] == 5
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: "j" not in world.objects("streamsjobs"))
        submit_example(world, "j", width=2)
        await world.until("runs", lambda: world.is_running("j"), wait_s=120)
        await world.until("well", lambda: healthy(world)[0] == "True", wait_s=120)
        assert losses(world) == {}

    simulate(tmp_path, life)


def test_all_services_forget_a_loss_after_its_time_and_not_before(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        assert await report_runtime(world, "j-1", lost(5)) == HTTPStatus.ACCEPTED
        await world.until("shown", lambda: healthy(world) == ("False", "TuplesLost"))
        edit(world, {"spec": {"lossRetentionSeconds": 120}})
        await asyncio.sleep(60)
        for service in (SERVICE, "fusion-backend"):
            await world.kill(service)
            world.start(service)
        await asyncio.sleep(30)
        assert healthy(world) == ("False", "TuplesLost")
        await world.until("forgotten", lambda: healthy(world)[0] == "True", wait_s=60)
        assert losses(world)["tuples"] == 5

    simulate(tmp_path, life)
