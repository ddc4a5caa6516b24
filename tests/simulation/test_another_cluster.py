"""Another cluster stands behind the same address, and the log still speaks of the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import Obj, World, simulate

COVERS = (
    "services/chassis/table/epochs.py",
    "services/watch_ingest/adapters/log_state.py",
    "services/watch_ingest/core/resync.py",
)

FOREIGN: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "gone.plan.0",
        "namespace": "default",
        "labels": {"streams.ibm.com/job": "gone", "streams.ibm.com/plan": "0"},
    },
}
"""In the new cluster somebody has what looks like a child of a job of the old one."""


@pytest.mark.parametrize("submitted_s", [0.0, 3.0, 20.0])
def test_services_that_survive_their_cluster_begin_again_in_the_next(
    tmp_path: Path, submitted_s: float
) -> None:
    """A job of an old name comes to run with its own width; nothing of the old ones comes back.

    It may be submitted before the services know that they are in another cluster.
    """

    async def test(world: World) -> None:
        await with_example(world, "j", width=5)
        submit_example(world, "gone", width=2)
        await world.until("the other one", lambda: world.is_running("gone"))
        await world.settle()
        async with world.another_cluster():
            world.store.create(world.kind("configmaps"), "default", FOREIGN)
            await world.clock.sleep(submitted_s)
            submit_example(world, "j", width=3)
            await world.until("running", lambda: world.is_running("j"))
            await world.settle()
            assert len(world.live_pods("j")) == 3 + OUTSIDE
            pes = world.objects("streamspes", "j").values()
            assert {pe["status"]["launchCount"] for pe in pes} == {1}
            assert not any(world.objects(each, "gone") for each in ("pods", "streamspes"))
            assert world.objects("configmaps", "gone").keys() == {"gone.plan.0"}
            world.resize("j", "Counted", 6)
            await world.until(
                "resized",
                lambda: world.is_running("j") and len(world.live_pods("j")) == 6 + OUTSIDE,
            )
            await world.stop_all()

    simulate(tmp_path, test)
