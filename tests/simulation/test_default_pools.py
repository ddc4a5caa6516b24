"""The pool `$default` of a job without host constraints has a status, which is written once."""

from __future__ import annotations

from pathlib import Path

from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/pool_settling.py",
    "services/hostpool_manager/core/pool_rules.py",
)


def test_the_default_pool_of_a_job_without_constraints_has_a_status(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        world.start("hostpool-manager")
        await with_example(world, "j", width=3)
        (pool,) = world.objects("streamshostpools", "j").values()
        assert pool["status"]["reason"] == "MembersReady"
        assert "any node" in pool["status"]["message"]
        assert [each["status"] for each in pool["status"]["conditions"]] == ["True"]
        world.resize("j", "Counted", 5)
        await world.until("resized", lambda: len(world.live_pods("j")) == 5 + OUTSIDE)
        await world.settle()
        written = [each for each in world.writes() if "streamshostpools" in each.path]
        assert sum(each.path.endswith("/status") for each in written) == 1

    simulate(tmp_path, test)
