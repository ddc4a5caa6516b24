"""Records of others that no reader would let us speak over, in virtual time."""

from __future__ import annotations

import asyncio

from contracts.topics import CLUSTER
from services.chassis.log.bus import NewRecord, Partition
from services.watch_ingest.adapters.log_state import TAIL_RECORDS
from tests.unit.watch_ingest.test_ingesting import PREFIX, World, _incarnations, _last, _run
from tests.virtual_time import run_virtually

_WHERE = Partition(CLUSTER.name(PREFIX), 0)
_FAR = 2**53
_LOOKED_S = 12.0
"""Longer than two looks at the log."""


async def _incarnation_of(world: World) -> int:
    return max(_incarnations(await world.said()))


async def _lie(world: World) -> None:
    """A record of an incarnation that nobody has, and behind it more than anybody reads back."""
    true = await _incarnation_of(world)
    last = await _last(world, _WHERE)
    far = last.value.replace(f'"incarnation":{true}'.encode(), f'"incarnation":{_FAR}'.encode())
    assert far != last.value
    lie = NewRecord(_WHERE, last.key, far, last.headers)
    await world.log.produce([lie, *[last] * (TAIL_RECORDS + 10)])


def test_a_lie_is_spoken_over_whatever_follows_it_in_the_log() -> None:
    """The next incarnation is above the one that fenced ours, and not above the newest alone."""

    async def test() -> None:
        world = World()
        async with world.speaking():
            await _lie(world)
            await asyncio.sleep(_LOOKED_S)
            assert await _incarnation_of(world) == _FAR + 1

    run_virtually(test())


def test_a_lie_is_spoken_over_if_the_leader_was_killed_before_it_looked() -> None:
    """The next instance looks at everything since the newest complete resync."""

    async def test() -> None:
        world = World()
        killed = asyncio.create_task(_run(world.runtime))
        await asyncio.sleep(2)
        await _lie(world)
        killed.cancel()
        await asyncio.wait((killed,))
        world.runtime = world.new_runtime()
        async with world.speaking():
            await asyncio.sleep(60)
            assert await _incarnation_of(world) == _FAR + 1

    run_virtually(test())
