"""A checkpoint, a hand-over and a stop of one PE do not disturb each other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over
from tests.unit.millrace.clusters import Cluster, MemoryStore

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    test_hand_over.GOT.clear()
    yield
    test_hand_over.GOT.clear()


class SlowCluster(Cluster):
    """Its hand-overs last for a second after all PEs have sealed."""

    async def _until_handed_over(self, deadline_s: float) -> None:
        assert self.hand_over is not None
        generation = self.hand_over.generation
        async with asyncio.timeout(deadline_s), self.changed:
            await self.changed.wait_for(lambda: self._is_over(generation))
        await asyncio.sleep(1.0)
        await super()._until_handed_over(deadline_s)


@pytest.mark.parametrize("fusion", test_hand_over.FUSIONS)
async def test_a_pe_that_has_sealed_saves_no_checkpoint_and_takes_nothing_in(
    fusion: Fusion,
) -> None:
    app, store = test_hand_over.often, MemoryStore()
    async with SlowCluster(app, store=store, fusion=fusion) as cluster:
        await cluster.until(lambda: test_hand_over.is_done(2_000))
        news = await cluster.resize(Counting=5)
        assert news.gone == frozenset()
        await cluster.until(lambda: test_hand_over.is_done(10_000))
        test_hand_over.check(10_000)
