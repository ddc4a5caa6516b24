"""Widths change: up, down, in a row, during other changes, in one region and in two."""

from __future__ import annotations

from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.scenarios.applications import WORK, one_region, provide, spec_of, values
from tests.simulation.scenarios.scenario import Act, Holds, Scenario


def with_width(width: int) -> Act:
    """A job j with one region of a width runs, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, one_region())
        world.start()
        world.submit("j", spec_of(**values(w=width)))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def runs_with(pes: int) -> Holds:
    """Job j runs with so many PEs."""
    return lambda world: world.is_running("j") and len(world.live_pods("j")) == pes


def resized(width: int) -> Act:
    """Somebody sets the width of the region."""

    async def act(world: FaultedWorld) -> None:
        world.resize("j", WORK, width)

    return act


SCENARIOS = (
    Scenario(
        "resize-up",
        "a region grows from 1 to 2",
        resized(2),
        runs_with(4),
        prepare=with_width(1),
    ),
    Scenario(
        "resize-down",
        "a region shrinks from 2 to 1",
        resized(1),
        runs_with(3),
        prepare=with_width(2),
    ),
)
