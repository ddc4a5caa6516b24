"""What a Job says of a PE whose restarts are exhausted, while its service crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.hands import JOB, PE, fail, quietly, runs_as, with_pes
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/conditions.py",
    "services/fusion_backend/core/health_due.py",
    "services/fusion_backend/core/progress.py",
)


@pytest.mark.parametrize("is_crashing", [False, True])
def test_a_job_warns_once_of_a_pe_that_is_not_launched_again(
    tmp_path: Path, is_crashing: bool
) -> None:
    async def test(world: World) -> None:
        await with_pes(world, maxRestartsInARow=1)
        for launch in (1, 2):
            await world.until("runs", lambda n=launch: runs_as(world, PE, n))  # type: ignore[misc]
            fail(world, PE)
        if is_crashing:
            await world.kill("fusion-backend")
            await world.settle()
            world.start("fusion-backend")

        def status() -> dict[str, str]:
            return dict(world.objects("streamsjobs")[JOB]["status"])

        pes = len(world.objects("streamspes"))
        run = f"{pes - 1} of {pes} PEs run"
        await world.until("counted", lambda: status()["message"].startswith(run))
        await world.until("named", lambda: "1 (restarts exhausted)" in str(status()["conditions"]))
        await quietly(world)
        warnings = [
            each["reason"]
            for each in world.objects("events").values()
            if each["involvedObject"]["name"] == JOB and each["type"] == "Warning"
        ]
        assert warnings.count("TooManyRestarts") == 1

    simulate(tmp_path, test)
