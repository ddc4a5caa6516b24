"""People delete, restart and re-create objects by hand; what was asked for still comes about."""

from __future__ import annotations

from pathlib import Path

from sandbox.store.deleting import DeleteOptions
from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.world import World, simulate


def test_a_pod_that_somebody_deleted_for_good_does_not_hold_up_a_resize(tmp_path: Path) -> None:
    """Its PE stays Stopped, as its policy says; the generation is complete all the same."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        untouched = "j-4"
        pod = world.live_pods("j")[untouched]["metadata"]["name"]
        world.store.delete(world.kind("pods"), "default", pod, DeleteOptions())
        await world.until("gone", lambda: untouched not in world.live_pods("j"))
        world.resize("j", "Counted", 2)
        await world.until("phase Resizing", lambda: world.phase("j") == "Resizing")
        await world.until("phase Submitted", lambda: world.phase("j") == "Submitted")
        await world.settle()
        (region,) = world.objects("streamsprs", "j").values()
        assert region["status"]["width"] == 2
        assert len(world.objects("streamspes", "j")) == 2 + OUTSIDE
        assert world.objects("streamspes", "j")[untouched]["status"]["phase"] == "Stopped"

    simulate(tmp_path, test)
