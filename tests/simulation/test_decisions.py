"""How many decisions a change costs: those on what it concerns, however large the job is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from pathlib import Path

import pytest

from services.chassis.running.reconciling import StageRunner
from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.hands import edit, runs_as
from tests.simulation.world import World, simulate

COVERS = ("services/chassis/running/stage.py", "services/pod_state_machine/adapters/intake.py")


def decisions_of_a_restart(folder: Path, pes: int, decided: Counter[str]) -> Counter[str]:
    """The decisions of each service, and all writes, while one PE of a job is launched again."""
    decisions: Counter[str] = Counter()

    async def test(world: World) -> None:
        await with_example(world, "j", width=pes - OUTSIDE)
        decided.clear()
        before = len(world.requests)
        edit(world, "j-1", launchCount=7)
        await world.until("runs", lambda: runs_as(world, "j-1", 7))
        await world.settle()
        decisions.update(decided)
        decisions["writes"] = len(world.writes(before))

    simulate(folder, test, nodes=1 + pes // 20)
    return decisions


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the decisions of each service."""
    counted: Counter[str] = Counter()
    reconcile = StageRunner._decide_and_carry_out

    async def counting(runner: StageRunner, key: Hashable) -> float | None:
        counted[runner.stage.name] += 1
        return await reconcile(runner, key)

    monkeypatch.setattr(StageRunner, "_decide_and_carry_out", counting)
    return counted


def test_a_restart_of_one_pe_costs_the_same_in_a_large_job(
    tmp_path: Path, decided: Counter[str]
) -> None:
    """A report of the job's health, for one, concerns no other PE."""
    few, many = (decisions_of_a_restart(tmp_path, pes, decided) for pes in (7, 24))
    assert few == many
    assert few["pod-state-machine"] <= few["writes"]
