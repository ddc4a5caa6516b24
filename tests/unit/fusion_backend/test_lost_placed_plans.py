"""A plan whose record was lost while it had no placement is recorded again when it has one."""

from __future__ import annotations

import pytest

from contracts import labels
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.hosted_world import PLACEMENT, HostedWorld, hosted
from tests.unit.fusion_backend.world import JOB

LATER_S = 100_000.0
"""Longer than a submission may take."""


def _lost_while_unplaced(*, waits: bool) -> HostedWorld:
    """A node is lost, and then the record of the plan in force; that of the one before is left."""
    world = hosted()
    world.resize(0, 4)
    world.converge()
    world.counting, world.waits = 3, waits
    answer = world.answer_to(world.objects[PLACEMENT]["spec"]) | {"generation": 1}
    world._patch(*PLACEMENT, {"status": answer})
    world.converge()
    world.remove("ConfigMap", labels.plan_name(JOB, 1))
    world.crash()
    world.converge()
    return world


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("after_s", [0.0, LATER_S])
def test_a_lost_plan_is_recorded_again_when_there_is_a_placement(
    waits: bool, after_s: float
) -> None:
    """Nobody requested its widths, so that no request would end a refusal that is kept."""
    world = _lost_while_unplaced(waits=waits)
    world.now += after_s
    world.converge()
    rules = decide(world.snapshot(), world.now).rules
    assert rules["generation"] == ("PLACING" if waits else "STAYS_UNPLACED")
    world.counting = 4
    world.ask_again()
    world.converge()
    assert ("ConfigMap", labels.plan_name(JOB, 1)) in world.objects
    assert world.status()["widths"]
    gone = sorted(name for kind, name in world.objects if kind == "ProcessingElement")[0]
    world.remove("ProcessingElement", gone)
    world.converge()
    assert ("ProcessingElement", gone) in world.objects


def test_a_width_can_be_requested_after_a_lost_plan_is_recorded_again() -> None:
    world = _lost_while_unplaced(waits=False)
    world.counting = 4
    world.ask_again()
    world.resize(0, 3)
    world.converge()
    assert 3 in world.status()["widths"].values()
