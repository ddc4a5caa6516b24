"""A defect of ours that crashes on one object is reported on that object, and nowhere else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.chassis.running.stage import Decision
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.snapshot import Snapshot
from services.pod_state_machine.adapters.carry_out import CarryOut
from tests.sandboxed import MERGE
from tests.simulation.applications import with_example
from tests.simulation.test_job_life import condition
from tests.simulation.world import World, simulate

COVERS = ("services/chassis/running/crashes.py", "services/chassis/running/reconciling.py")

SECRET = "hunter2"


def conditions(world: World, pe: str) -> dict[str, dict[str, str]]:
    found = world.objects("streamspes")[pe]["status"].get("conditions") or ()
    return {each["type"]: each for each in found}


def test_a_job_whose_decision_crashes_says_so_until_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other job is served; the message names service and exception and no word of either."""
    broken = [True]

    def crashing(snapshot: Snapshot, now: float) -> Decision[Any]:
        if broken and snapshot.name == "j":
            raise LookupError(SECRET)
        return decide(snapshot, now)

    async def test(world: World) -> None:
        await with_example(world, "j", width=1)
        monkeypatch.setattr("services.fusion_backend.adapters.stage.decide", crashing)
        world.resize("j", "Counted", 2)
        await world.until("told", lambda: condition(world, "Stalled") != {})
        said = condition(world, "Stalled")
        assert (said["status"], said["reason"]) == ("True", "Crashing")
        assert "fusion-backend" in said["message"]
        assert "LookupError" in said["message"]
        assert SECRET not in said["message"]
        written = len(world.writes())
        await asyncio.sleep(100)
        assert world.writes()[written:] == []
        await with_example(world, "k", width=1)
        assert condition(world, "Stalled", "k") == {}
        broken.clear()
        await world.until("resized", lambda: world.is_running("j"), wait_s=300.0)
        await world.settle()
        assert condition(world, "Stalled") == {}
        assert condition(world, "Healthy")["status"] == "True"

    simulate(tmp_path, test)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_pe_whose_effect_crashes_says_so_until_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    """Also where the process ended that knew of it."""
    run, broken = CarryOut.run, [True]

    async def crashing(self: CarryOut, key: Any, snapshot: Any, effect: Any) -> str:
        if broken and type(effect).__name__ == "CreatePod" and effect.launch > 1:
            raise ZeroDivisionError(SECRET)
        return await run(self, key, snapshot, effect)

    async def test(world: World) -> None:
        await with_example(world, "j", width=1)
        monkeypatch.setattr(CarryOut, "run", crashing)
        raised = {"spec": {"launchCount": 2}}
        world.store.patch(world.kind("streamspes"), "default", "j-0", raised, MERGE)
        await world.until("told", lambda: "Stalled" in conditions(world, "j-0"))
        said = conditions(world, "j-0")["Stalled"]
        assert "CreatePod" in said["message"]
        assert "ZeroDivisionError" in said["message"]
        assert SECRET not in said["message"]
        assert "Stalled" not in conditions(world, "j-1")
        if restarted:
            await world.kill("pod-state-machine")
        broken.clear()
        if restarted:
            world.start("pod-state-machine")
        await world.until("launched", lambda: world.is_running("j"), wait_s=300.0)
        await world.settle()
        assert "Stalled" not in conditions(world, "j-0")

    simulate(tmp_path, test)
