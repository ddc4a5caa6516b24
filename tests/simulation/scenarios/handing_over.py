"""Widths change, and the PEs of the job hand over before they are replaced or removed."""

from __future__ import annotations

from typing import Any

from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.hands import edit, launch_of
from tests.simulation.played_runtimes import Played, PlayedRuntimes, hand_over_of
from tests.simulation.scenarios.applications import (
    WORK,
    one_region,
    provide,
    spec_of,
    values,
)
from tests.simulation.scenarios.resizing import (
    OVERTAKEN,
    resized,
    resized_quickly,
    runs_with,
)
from tests.simulation.scenarios.scenario import Act, Holds, Scenario

COVERS = (
    "services/fusion_backend/core/handing_over.py",
    "services/fusion_backend/core/hand_over_changes.py",
    "services/fusion_backend/core/pods_seen.py",
    "services/pe_gateway/core/*",
)

ONE_LAUNCH_LESS = (
    "a PE that is restarted while its hand-over begins may have been listed or not; a service that"
    " was away for long may find that its end came first"
)


CLAIM = {"checkpointRepository": {"fileSystem": {"volumeClaim": {"name": "states"}}}}


def _handing_over(width: int, played: Played | None = None, **spec: Any) -> Act:
    """A job j runs whose PEs report that they hand over, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, one_region())
        world.start()
        runtimes = PlayedRuntimes(world, played or Played())
        world.behind(runtimes.play())
        world.submit("j", spec_of(**values(w=width), **spec))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def _handed_over(pes: int, *, gone: bool = False) -> Holds:
    """Job j runs with so many PEs, and its hand-over is complete; `gone`: a PE did not seal."""

    def holds(world: FaultedWorld) -> bool:
        hand_over = hand_over_of(world.store)
        is_complete = bool(hand_over.get("complete")) and bool(hand_over["gone"]) == gone
        return is_complete and runs_with(pes)(world)

    return holds


def _handed_over_behind_another(world: FaultedWorld) -> bool:
    """Job j runs with five PEs, and those that have not begun since begin with an older one.

    A fault may let both widths come together: then there is one hand-over.
    """
    hand_over = hand_over_of(world.store)
    kept = [each["generation"] for each in hand_over.get("former") or ()]
    is_first = hand_over.get("generation") == 1
    is_complete = bool(hand_over.get("complete")) and (is_first or kept == [1])
    return is_complete and runs_with(5)(world)


async def _restarted_meanwhile(world: FaultedWorld) -> None:
    """Somebody restarts a PE by hand that is to hand over."""
    world.resize("j", WORK, 2)
    await world.until("listed", lambda: bool(hand_over_of(world.store)), wait_s=1500.0)
    edit(world, "j-0", launchCount=launch_of(world, "j-0") + 1)


SCENARIOS = (
    Scenario(
        "hand-over-up",
        "a region grows from 1 to 2, and its neighbours hand over",
        resized(2),
        _handed_over(4),
        prepare=_handing_over(1),
    ),
    Scenario(
        "hand-over-down",
        "a region shrinks from 2 to 1; a PE that goes hands over, too",
        resized(1),
        _handed_over(3),
        prepare=_handing_over(2),
    ),
    Scenario(
        "hand-over-late",
        "a PE never seals its state: the resize goes on at the deadline",
        resized(2),
        _handed_over(4, gone=True),
        prepare=_handing_over(1, Played(never=frozenset({0}))),
    ),
    Scenario(
        "hand-over-fails",
        "a PE fails while it hands over; its next launch does",
        resized(2),
        _handed_over(4),
        prepare=_handing_over(1, Played(fails=frozenset({0}))),
        loose=ONE_LAUNCH_LESS,
        one_in=4,
    ),
    Scenario(
        "hand-over-back",
        "a width is put back while PEs hand over",
        resized_quickly(4.0, (WORK, 2), (WORK, 1)),
        runs_with(3),
        prepare=_handing_over(1, Played(seals_after_s=8.0)),
        loose=OVERTAKEN,
        one_in=4,
    ),
    Scenario(
        "hand-over-overtaken",
        "a width is changed again while PEs hand over",
        resized_quickly(4.0, (WORK, 2), (WORK, 3)),
        _handed_over(5),
        prepare=_handing_over(1, Played(seals_after_s=8.0)),
        loose=OVERTAKEN,
        one_in=4,
    ),
    Scenario(
        "hand-over-loading",
        "a width is changed again before PEs have loaded what was handed over",
        resized_quickly(6.0, (WORK, 2), (WORK, 3)),
        _handed_over(5),
        prepare=_handing_over(1, Played(loads_after_s=12.0)),
        loose=OVERTAKEN,
        one_in=4,
    ),
    Scenario(
        "hand-over-absent",
        "a width is changed again, and PEs have not loaded what was handed over in all of its time",
        resized_quickly(6.0, (WORK, 2), (WORK, 3)),
        _handed_over_behind_another,
        prepare=_handing_over(1, Played(loads_after_s=60.0), processingElement=CLAIM),
        loose=OVERTAKEN,
        one_in=4,
    ),
    Scenario(
        "hand-over-restarted",
        "a PE that hands over is restarted by hand",
        _restarted_meanwhile,
        runs_with(4),
        prepare=_handing_over(1),
        loose=ONE_LAUNCH_LESS,
        one_in=4,
    ),
)
