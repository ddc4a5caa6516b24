"""A PE that is evicted while a hand-over begins takes part in it: no tuple is lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from millrace.runtime.state_names import StateName
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 4_000


class EvictsAsItSeals(MemoryStore):
    """A PE is evicted between its seal and the report of it."""

    cluster: Cluster
    evicting: asyncio.Task[None] | None = None

    async def write(self, name: StateName, data: bytes) -> None:
        """As ever; after the first seal the next launch of its PE is intended."""
        await super().write(name, data)
        if name.kind == "handover" and self.evicting is None:
            self.cluster.intended[name.pe] = name.launch + 1
            self.evicting = asyncio.create_task(self.cluster.evict(name.pe))


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


async def test_a_seal_whose_report_was_refused_is_reported_by_the_next_launch() -> None:
    """Else the hand-over waits for it until its deadline, and its PE is gone."""
    store = EvictsAsItSeals()
    async with Cluster(job.app, store=store, values={"upto": str(COUNT)}) as cluster:
        store.cluster = cluster
        await cluster.until(lambda: job.is_done(1_000))
        news = await cluster.resize(Counting=5)
        assert store.evicting is not None
        await store.evicting
        assert news.complete
        assert not news.gone
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)


@pytest.mark.parametrize("seed", range(30))
async def test_pes_that_are_evicted_while_hand_overs_replace_one_another_go_on_exactly(
    seed: int,
) -> None:
    """What they sealed for the one that is replaced is not all that their next launch needs."""
    random = Random(seed)
    async with Cluster(
        job.app,
        store=MemoryStore(),
        values={"upto": str(COUNT)},
        fusion=random.choice(job.FUSIONS),
    ) as cluster:
        await cluster.until(lambda: job.is_done(1_000))

        async def evict(pe: int) -> None:
            await asyncio.sleep(random.choice([0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1]))
            if pe in cluster.pods:
                await cluster.evict(pe)

        async with asyncio.TaskGroup() as tasks:
            for pe in random.sample(sorted(cluster.pods), min(3, len(cluster.pods))):
                tasks.create_task(evict(pe))
            for width in random.choice([(5, 8), (5, 2, 8), (5, 3, 5), (2, 3, 8), (5, 3)]):
                tasks.create_task(cluster.resize(Counting=width))
                await asyncio.sleep(random.choice([0, 0.0005, 0.002, 0.005]))
        await cluster.until(lambda: job.is_done(COUNT))
        await asyncio.sleep(1)
        job.check(COUNT)
        assert cluster.lost == 0


@pytest.mark.parametrize("seed", range(20))
async def test_pes_that_are_evicted_in_a_hand_over_lose_and_double_nothing(seed: int) -> None:
    """Before it begins, while they come to rest, once they have sealed, or as it ends."""
    random = Random(seed)
    async with Cluster(
        job.app,
        store=MemoryStore(),
        values={"upto": str(COUNT)},
        fusion=random.choice(job.FUSIONS),
    ) as cluster:
        await cluster.until(lambda: job.is_done(1_000))

        async def evict(pe: int) -> None:
            await asyncio.sleep(random.choice([0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1]))
            if pe in cluster.pods:
                await cluster.evict(pe)

        async with asyncio.TaskGroup() as tasks:
            for pe in random.sample(sorted(cluster.pods), min(3, len(cluster.pods))):
                tasks.create_task(evict(pe))
            await asyncio.sleep(random.choice([0, 0.0005, 0.001, 0.01]))
            news = await cluster.resize(Counting=random.choice([5, 2]))
        assert not news.gone
        await cluster.until(lambda: job.is_done(COUNT))
        await asyncio.sleep(1)
        job.check(COUNT)
        assert cluster.lost == 0
