"""A PE that asks for its bundle by name, as the image of the original does at its start."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from pathlib import Path

import pytest

from sandbox.controllers.pod_addresses import PodAddresses
from services.pe_gateway.core.bundle_requests import POD_S_MAX
from tests.simulation.applications import submit_example, with_example
from tests.simulation.calling import ask_for_bundle
from tests.simulation.hands import fail
from tests.simulation.test_events import events_of
from tests.simulation.world import World, simulate

NAME = "wordcount.sab"
NOWHERE = "10.9.9.9"


@pytest.fixture(autouse=True)
def reads_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pe-gateway reads the store of fusion-backend."""
    monkeypatch.setenv("MILLRACE_BUNDLE_STORE", str(tmp_path / "store"))


def address_of(world: World, pe: str) -> str:
    """Where the pod of a PE is."""
    pods = world.live_pods(pe.rpartition("-")[0])
    return str(pods[pe]["status"].get("podIP", ""))


async def running(world: World) -> None:
    world.start("pe-gateway")
    await with_example(world, "j", width=2)


def test_a_pe_gets_the_bundle_of_its_plan_by_its_address(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await running(world)
        answer = await ask_for_bundle(world, NAME, address_of(world, "j-1"))
        assert answer.status == HTTPStatus.OK
        digest = world.objects("streamsjobs")["j"]["status"]["bundleDigest"]
        assert Path(answer.file).name == f"{digest}.sab"
        assert events_of(world, "j-1") == []
        other = await ask_for_bundle(world, "other.sab", address_of(world, "j-1"))
        assert other.status == HTTPStatus.NOT_FOUND

    simulate(tmp_path, life)


def test_a_question_that_comes_before_the_pod_is_seen_to_run_waits_for_that(
    tmp_path: Path,
) -> None:
    """The bootstrap asks once, when its container starts: before its kubelet says so."""
    first = PodAddresses().of("the first pod")

    async def life(world: World) -> None:
        world.start()
        world.start("pe-gateway")
        await world.settle()
        submit_example(world, "j", width=2)
        asking = asyncio.create_task(ask_for_bundle(world, NAME, first))
        await world.until("pods", lambda: bool(world.live_pods("j")))
        assert not asking.done()
        assert (await asking).status == HTTPStatus.OK
        await world.until("running", lambda: world.is_running("j"))

    simulate(tmp_path, life)


def test_an_address_of_no_pe_gets_nothing_and_an_older_launch_does_not_either(
    tmp_path: Path,
) -> None:
    async def life(world: World) -> None:
        await running(world)
        old = address_of(world, "j-1")
        began = asyncio.get_running_loop().time()
        assert (await ask_for_bundle(world, NAME, NOWHERE)).status == HTTPStatus.FORBIDDEN
        assert POD_S_MAX <= asyncio.get_running_loop().time() - began < POD_S_MAX + 2
        fail(world, "j-1")
        await world.until("again", lambda: address_of(world, "j-1") not in ("", old))
        await world.settle()
        assert (await ask_for_bundle(world, NAME, old)).status == HTTPStatus.FORBIDDEN

    simulate(tmp_path, life)


def test_where_anybody_is_believed_a_name_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ANONYMOUS", "true")

    async def life(world: World) -> None:
        await running(world)
        assert (await ask_for_bundle(world, NAME, NOWHERE)).status == HTTPStatus.OK
        missing = await ask_for_bundle(world, "other.sab", NOWHERE)
        assert missing.status == HTTPStatus.NOT_FOUND

    simulate(tmp_path, life)


def test_a_bundle_that_is_not_reached_is_an_event_of_the_pe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is on a volume of one node, for example; the PE does not say why it ends."""
    monkeypatch.delenv("MILLRACE_BUNDLE_STORE")

    async def life(world: World) -> None:
        await running(world)
        for _ in range(2):
            answer = await ask_for_bundle(world, NAME, address_of(world, "j-1"))
            assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
        (event,) = events_of(world, "j-1")
        assert (event["reason"], event["type"]) == ("BundleNotGiven", "Warning")
        assert "MILLRACE_BUNDLE_STORE" in event["message"]

    simulate(tmp_path, life)
