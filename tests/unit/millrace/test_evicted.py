"""A PE that is evicted while a hand-over begins takes part in it: no tuple is lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 4_000


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


@pytest.mark.parametrize("seed", range(12))
async def test_a_pe_that_is_evicted_just_before_a_hand_over_hands_over(seed: int) -> None:
    """It is named by a hand-over that was decided on before its end was known."""
    random = Random(seed)
    async with Cluster(
        job.app,
        store=MemoryStore(),
        values={"upto": str(COUNT)},
        fusion=random.choice(job.FUSIONS),
    ) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        evicted = random.sample(sorted(cluster.pods), min(2, len(cluster.pods)))
        for pe in evicted:
            cluster.pods[pe].running.stop()
        await asyncio.sleep(random.choice([0, 0.001, 0.01, 0.1, 0.4]))
        news = await cluster.resize(Counting=random.choice([5, 2]))
        assert not news.gone
        for pe in evicted:
            if pe in cluster.pods and cluster.pods[pe].task.done():  # nothing of it has changed
                await cluster.restart(pe)
        await cluster.until(lambda: job.is_done(COUNT))
        await asyncio.sleep(1)
        job.check(COUNT)
        assert not any(pod.lost for pod in (*cluster.ended, *cluster.pods.values()))
