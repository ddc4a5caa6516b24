"""PEs that do not begin, at widths up and down, stopped and killed: nothing is lost in silence."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.unit.millrace.absences import COUNT, GIVEN, GOT, Number, World, schedule

pytestmark = pytest.mark.looptime
SCHEDULES = int(os.environ.get("MILLRACE_ABSENCES", "40"))
"""How many are played: MILLRACE_ABSENCES=1000 takes some ten minutes."""
QUIET_S = 3.0
"""Where tuples are lost, all that comes has come when the sink got none for so long."""
FOUND = (85, 171, 298, 797, 945)
"""Further ones, which failed once."""


@pytest.fixture(autouse=True)
def _empty() -> None:
    GOT.clear()
    GIVEN.clear()


async def is_quiet(within_s: float = 60.0) -> None:
    """Return when all tuples have come, or none came for a while."""
    async with asyncio.timeout(within_s):  # unstretched: virtual
        before = -1
        while before != len(GOT) and len(GOT) < COUNT:
            before = len(GOT)
            await asyncio.sleep(QUIET_S)
        await asyncio.sleep(1)


@pytest.mark.parametrize("seed", sorted({*range(SCHEDULES), *FOUND}))
async def test_what_is_kept_for_a_pe_that_does_not_begin_arrives_or_is_reported(seed: int) -> None:
    each = schedule(seed)
    async with World(each) as world:
        await world.play(each.steps)
        await is_quiet()
        assert not differing(world, kills=each.kills), each


def differing(world: World, *, kills: bool) -> str:
    """What differs from what is promised; empty if nothing does."""
    seen = [each.number for each in GOT]
    missing, reported = set(range(COUNT)) - set(seen), _reported(world)
    by_key: dict[str, list[Number]] = {}
    for each in GOT:
        by_key.setdefault(each.key, []).append(each)
    unordered = [
        key for key, its in by_key.items() if sorted(its, key=lambda one: one.number) != its
    ]
    miscounted = [
        key
        for key, its in by_key.items()
        if [one.count for one in its] != [*range(1, len(its) + 1)]
    ]
    found = {
        "doubled": len(seen) - len(set(seen)),
        "unordered": unordered,
        "missing and not reported": len(missing) - min(len(missing), reported),
        "missing though kept": sorted(missing - world.risked),
        "reported though nobody was killed": 0 if kills else reported,
        "miscounted": [] if kills else miscounted,
        "late": [] if kills else sorted(world.late),
    }
    return ", ".join(f"{name}: {each}" for name, each in found.items() if each)


def _reported(world: World) -> int:
    """What all launches reported as lost on the way; state that goes back loses no tuple."""
    return world.lost_on_the_way
