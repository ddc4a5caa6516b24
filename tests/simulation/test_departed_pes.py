"""Launches whose PE or job is deleted learn it from pe-gateway while their pods end."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from pathlib import Path

import pytest

from sandbox.controllers.settings import Settings
from sandbox.store.deleting import DeleteOptions
from tests.simulation.applications import with_example
from tests.simulation.calling import call, token_of
from tests.simulation.world import World, simulate

PATH = "/api/runtime/job/j/pe/1"
LOST = {"launch": 1, "lost": {"tuples": 17, "why": "StoppedLate"}}
SLOW = Settings(stop_delay_s=20.0)


async def _read(world: World, token: str) -> int:
    return (await call(world.folder, "GET", PATH, token=token)).status


async def _report(world: World, token: str) -> int:
    body = json.dumps(LOST).encode()
    return (await call(world.folder, "PUT", PATH, body, token=token)).status


async def _token(world: World) -> str:
    world.start("pe-gateway")
    await with_example(world, "j", width=2)
    await world.settle()
    return token_of(world, world.live_pods("j")["j-1"])


async def _ends(world: World) -> None:
    """Its pod is being deleted, and stays for some seconds."""
    await world.until("it ends", lambda: "j-1" not in world.live_pods("j"))
    await asyncio.sleep(1)


def _losses(world: World) -> list[str]:
    events = world.objects("events").values()
    return [each["message"] for each in events if each["reason"] == "TuplesLost"]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_launch_of_a_deleted_job_learns_that_nobody_needs_it(tmp_path: Path, policy: str) -> None:
    async def life(world: World) -> None:
        token = await _token(world)
        options = DeleteOptions(propagation=policy)
        world.store.delete(world.kind("streamsjobs"), "default", "j", options)
        await _ends(world)
        assert await _read(world, token) == HTTPStatus.GONE
        assert await _report(world, token) == HTTPStatus.GONE
        assert not _losses(world)

    simulate(tmp_path, life, settings=SLOW)


def test_a_launch_of_a_deleted_pe_reports_what_it_lost(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        token = await _token(world)
        world.store.delete(world.kind("streamspes"), "default", "j-1", DeleteOptions())
        await _ends(world)
        assert await _read(world, token) == HTTPStatus.CONFLICT
        assert await _report(world, token) == HTTPStatus.NO_CONTENT
        (loss,) = _losses(world)
        assert loss.startswith("At most 17 tuples are lost so far, as launch 1 reports")

    simulate(tmp_path, life, settings=SLOW)
