"""PEs that people delete, and work that ends, in a job whose services crash meanwhile."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.hands import FLAGS, PE, complete, launch_of, quietly, runs_as, with_pes
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/withholding.py",
    "services/fusion_backend/core/membership.py",
    "services/launching/core/owners.py",
)


def status(world: World) -> dict[str, object]:
    return dict(world.objects("streamsjobs")["j"]["status"])


def delete_pe(world: World) -> None:
    world.store.delete(world.kind("streamspes"), "default", PE, DeleteOptions())


@pytest.mark.parametrize("is_crashing", [False, True])
def test_a_pe_that_is_not_restartable_stays_away_until_somebody_restores_it(
    tmp_path: Path, is_crashing: bool
) -> None:
    async def test(world: World) -> None:
        await with_pes(world, **dict.fromkeys(FLAGS, False))
        if is_crashing:
            await world.kill("fusion-backend")
        delete_pe(world)
        if is_crashing:
            await world.settle()
            world.start("fusion-backend")
        await world.until("recorded", lambda: status(world).get("deletedProcessingElements") == [1])
        world.resize("j", "Counted", 3)
        await world.until("resized", lambda: status(world)["generation"] == 1)
        await quietly(world)
        assert PE not in world.objects("streamspes")
        patch = {"metadata": {"annotations": {labels.RETRY: "1"}}}
        world.store.patch(world.kind("streamsjobs"), "default", "j", patch, MERGE)
        await world.until("restored", lambda: runs_as(world, PE, launch_of(world, PE)))
        await world.until("healthy", lambda: world.is_running("j"))
        await quietly(world)
        assert "deletedProcessingElements" not in status(world)

    simulate(tmp_path, test)


def test_a_job_whose_pes_are_launched_again_when_they_complete_is_never_completed(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_pes(world, restartCompletedPod=True)
        phases = set()

        def all_run_as(launch: int) -> bool:
            phases.add(status(world)["phase"])
            pes = world.objects("streamspes")
            return world.is_running("j") and all(launch_of(world, pe) == launch for pe in pes)

        for launch in (2, 3, 4):
            for pe in world.objects("streamspes"):
                complete(world, pe)
            await world.until("all again", partial(all_run_as, launch))
        assert phases == {"Submitted"}

    simulate(tmp_path, test)
