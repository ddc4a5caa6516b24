"""Submissions that failed for a cause that can pass run when it has passed, also over crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.bundle_format import pack
from tests.places import ROOT
from tests.simulation.test_job_life import left
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/retrying.py",
    "services/fusion_backend/core/trying_again.py",
    "services/fusion_backend/core/attempts.py",
)


@pytest.mark.parametrize("is_crashing", [False, True])
def test_a_job_runs_when_its_bundle_came_and_nothing_of_its_attempts_is_left(
    tmp_path: Path, is_crashing: bool
) -> None:
    async def test(world: World) -> None:
        world.start()
        spec = {"bundle": {"name": "late.sab"}, "fusion": {"legacy": True}}
        world.submit("j", spec)
        jobs = world.objects
        await world.until(
            "tried often",
            lambda: (jobs("streamsjobs")["j"].get("status") or {}).get("attempts", 0) >= 3,
        )
        assert set(left(world)) <= {"streamsjobs"}
        if is_crashing:
            await world.kill("fusion-backend")
            world.start("fusion-backend")
        (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
        (world.bundles / "late.sab").write_bytes(pack(adl.read_bytes()))
        came_at = world.clock.now()
        await world.until("running", lambda: world.is_running("j"))
        assert world.clock.now() - came_at < 15.0, "no pause of the back-off is waited for"
        assert "attempts" not in jobs("streamsjobs")["j"]["status"]

    simulate(tmp_path, test)
