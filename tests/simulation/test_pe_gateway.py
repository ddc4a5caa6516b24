"""What PEs report and request of pe-gateway, while pods, services and the API server fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from contracts import labels
from sandbox.http.in_process import Fault, When
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import with_example
from tests.simulation.calling import call, connectivity_of, report, token_of
from tests.simulation.hands import fail
from tests.simulation.world import Request, World, simulate

SERVICE = "pe-gateway"


async def _running(world: World) -> None:
    world.start(SERVICE)
    await with_example(world, "j", width=2)


def _writes_of(world: World, since: int) -> list[str]:
    return [each.path for each in world.writes(since) if each.service == SERVICE]


def _patches(world: World, since: int) -> int:
    return sum(path.endswith("/status") for path in _writes_of(world, since))


def test_a_pe_that_connects_within_two_seconds_costs_one_write(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        since = len(world.requests)
        assert await report(world, "j-1", "None") == 204
        assert await report(world, "j-1", "Partial") == 204
        assert await report(world, "j-1", "Full") == 204
        assert connectivity_of(world, "j-1") == "Full"
        await world.settle()
        assert _patches(world, since) == 1
        assert await report(world, "j-1", "Full") == 204
        assert await report(world, "j-1", "Partial") == 204
        assert connectivity_of(world, "j-1") == "Full"
        await world.until("shown", lambda: connectivity_of(world, "j-1") == "Partial")
        assert _patches(world, since) == 2

    simulate(tmp_path, life)


def test_a_report_of_an_older_launch_never_counts(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        old = world.live_pods("j")["j-1"]
        assert await report(world, "j-1", "Full") == 204
        assert await report(world, "j-1", "Partial") == 204  # it settles when the pod is gone
        fail(world, "j-1")
        await world.until(
            "again", lambda: world.live_pods("j").get("j-1", old) != old and world.is_running("j")
        )
        await world.settle()
        assert connectivity_of(world, "j-1") == ""
        assert await report(world, "j-1", "Full") == 204
        assert connectivity_of(world, "j-1") == "Full"

    simulate(tmp_path, life)


def test_a_report_of_a_pe_that_is_deleted_is_dropped(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        assert await report(world, "j-1", "Partial") == 204
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: not world.objects("streamspes", "j"))
        await world.settle()
        assert await _status(world, "/api/state/job/j/pe/1/connectivity") == 401

    simulate(tmp_path, life)


def test_a_report_that_the_status_has_overtaken_is_dropped(tmp_path: Path) -> None:
    """Another instance had a newer one."""

    async def life(world: World) -> None:
        await _running(world)
        assert await report(world, "j-1", "Partial") == 204
        patch = {"status": {"connectivity": "Full"}}
        pes = world.kind("streamspes")
        world.store.patch(pes, "default", "j-1", patch, MERGE, subresource="status")
        await world.settle()
        assert connectivity_of(world, "j-1") == "Full"

    simulate(tmp_path, life)


def test_a_report_of_a_launch_that_no_fact_has_shown_waits_for_it(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await _running(world)
        assert await report(world, "j-1", "Full") == 204
        await world.stop("watch-ingest")
        fail(world, "j-1")
        world.start("watch-ingest")
        await world.until("failed", lambda: _launch(world) == 2 and "j-1" in world.live_pods("j"))
        await world.settle()
        assert await report(world, "j-1", "Full") == 204
        assert connectivity_of(world, "j-1") == "Full"

    simulate(tmp_path, life)


def _launch(world: World) -> int:
    return int((world.objects("streamspes")["j-1"].get("status") or {}).get("launchCount", 0))


def test_a_gateway_that_dies_loses_no_report_that_it_answered_to_a_connected_pe(
    tmp_path: Path,
) -> None:
    async def life(world: World) -> None:
        await _running(world)
        world.faults = _first_patch_is_lost()
        assert await report(world, "j-1", "Full") == 204
        await world.kill(SERVICE)
        assert connectivity_of(world, "j-1") == "Full"
        world.start(SERVICE)
        await world.settle()
        token = token_of(world, world.live_pods("j")["j-1"])
        path = "/api/state/job/j/pe/1/connectivity"
        assert (await call(world.folder, "GET", path, token=token)).body == b'"Full"'

    simulate(tmp_path, life)


def _first_patch_is_lost() -> Callable[[Request], Fault | None]:
    """Its answer never comes."""
    lost: list[str] = []

    def fault(request: Request) -> Fault | None:
        if request.service != SERVICE or request.method != "PATCH" or lost:
            return None
        lost.append(request.path)
        return Fault(lost=When.AFTER)

    return fault


def test_widths_and_endpoints_are_written_once_and_by_the_pe_whose_they_are(
    tmp_path: Path,
) -> None:
    async def life(world: World) -> None:
        await _running(world)
        token = token_of(world, world.live_pods("j")["j-1"])
        other = token_of(world, world.live_pods("j")["j-2"])
        since = len(world.requests)
        path = "/api/endpoints/job/j/pe/1/endpoint/web"
        body = json.dumps({"port": 80, "protocol": "TCP"}).encode()
        assert (await call(world.folder, "PUT", path, body, token=other)).status == 403
        for _ in range(2):
            assert (await call(world.folder, "PUT", path, body, token=token)).status == 204
        taken = path.replace("/pe/1/", "/pe/2/")
        assert (await call(world.folder, "PUT", taken, body, token=other)).status == 400
        width = "/api/state/job/j/pr/Counted/width"
        for _ in range(2):
            assert (await call(world.folder, "PUT", width, b"3", token=token)).status == 204
        assert (await call(world.folder, "PUT", width, b"0", token=token)).status == 400
        assert (await call(world.folder, "GET", "/api/state", token=token)).status == 200
        by_id = "/api/state/job/by-id/0/name"
        assert (await call(world.folder, "GET", by_id, token=token)).body == b"j"
        await world.until("wider", lambda: world.is_running("j") and len(world.live_pods("j")) == 7)
        await world.settle()
        reviews = [each for each in _writes_of(world, since) if "tokenreviews" in each]
        assert len(_writes_of(world, since)) == 2 + len(reviews)
        service = world.objects("services")["j-pes"]
        assert service["metadata"]["annotations"][labels.ENDPOINTS] == '[["web",1,80,"TCP"]]'

    simulate(tmp_path, life)


async def _status(world: World, path: str) -> int:
    return (await call(world.folder, "GET", path)).status


def test_only_a_token_of_a_pe_makes_a_sender_known(tmp_path: Path) -> None:
    """Connections of others are closed with their first answer, whatever that is."""

    async def life(world: World) -> None:
        await _running(world)
        token = token_of(world, world.live_pods("j")["j-1"])
        known: list[str] = []
        for each, path in (
            ("", "/api/state/job/j/pe/1/connectivity"),
            ("forged", "/api/state/job/j/pe/1/connectivity"),
            ("", "/no/such/path"),
            (token, "/api/state/job/j/pe/1/connectivity"),
            (token, "/api/state/job/j/pe/9/connectivity"),
        ):
            known_by = partial(known.append, path)
            await call(world.folder, "GET", path, token=each, on_known=known_by)
        assert known == [f"/api/state/job/j/pe/{pe}/connectivity" for pe in (1, 9)]

    simulate(tmp_path, life)
