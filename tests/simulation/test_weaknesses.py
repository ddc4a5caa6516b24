"""What open-source IBM Streams got wrong and no other test shows (docs/weaknesses.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import Request, World, simulate

COVERS = ("docs/weaknesses.md",)

EDIT = {"metadata": {"annotations": {"example.com/seen": "yes"}}}


def _uids(world: World) -> set[str]:
    return {pod["metadata"]["uid"] for pod in world.objects("pods", "j").values()}


def _pools(world: World) -> list[str]:
    return [*world.objects("streamshostpools", "j")]


async def _resized(world: World, width: int) -> None:
    world.resize("j", "Counted", width)
    await world.until(
        "resized",
        lambda: world.is_running("j") and len(world.live_pods("j")) == width + OUTSIDE,
    )


@pytest.mark.parametrize("again", ["edited", "listed"])
def test_edits_of_pools_and_lists_made_again_make_no_second_pod(tmp_path: Path, again: str) -> None:
    """Of pools, and of everything else that a launch waits for: nothing is written at all."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods, before = _uids(world), len(world.requests)
        assert _pools(world)
        if again == "edited":
            for plural in ("streamshostpools", "configmaps", "streamspes", "services"):
                for name in world.objects(plural, "j"):
                    world.store.patch(world.kind(plural), "default", name, EDIT, MERGE)
        else:
            await world.kill("watch-ingest")
            world.start("watch-ingest")
        await world.clock.sleep(60)
        assert _uids(world) == pods
        assert not world.writes(before)

    simulate(tmp_path, test)


def test_a_deleted_pool_comes_back_and_holds_up_no_resize(tmp_path: Path) -> None:
    """The pods that run are left alone, and the next ones are made."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods, pools = _uids(world), _pools(world)
        for name in pools:
            world.store.delete(world.kind("streamshostpools"), "default", name, DeleteOptions())
        await world.until("back", lambda: _pools(world) == pools)
        await world.settle()
        assert _uids(world) == pods
        await _resized(world, 4)

    simulate(tmp_path, test)


def test_a_job_is_submitted_when_its_last_pod_is_there_and_not_before(tmp_path: Path) -> None:
    """Everything else of it exists for a minute; completion is a comparison, not a count."""

    def no_pods(request: Request) -> Fault | None:
        is_pod = request.method == "POST" and request.path.endswith("/pods")
        return Fault(status=503) if is_pod else None

    async def test(world: World) -> None:
        world.faults = no_pods
        world.start()
        submit_example(world, "j", width=3)
        await world.clock.sleep(60)
        assert len(world.objects("streamspes", "j")) == 3 + OUTSIDE
        assert world.phase("j") == "Submitting"
        world.faults = None
        await world.until("running", lambda: world.is_running("j"))

    simulate(tmp_path, test)
