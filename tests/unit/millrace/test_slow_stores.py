"""Resizes, evictions and restarts at the same time, where the store of states takes its time."""

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
PAUSES_S = [0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5]


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


class SlowStore(MemoryStore):
    """A state is there some time after it is written, and the writer learns of it later still."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    async def write(self, name: StateName, data: bytes) -> None:
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.01, 0.1, 0.3]))
        await super().write(name, data)
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.01]))

    async def read(self, name: StateName) -> bytes:
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.01, 0.1]))
        return await super().read(name)


class Disturbing:
    """Evicts and restarts PEs of a job, each one once at a time."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._busy: set[int] = set()

    async def pause(self) -> None:
        await asyncio.sleep(self._random.choice(PAUSES_S))

    async def one(self) -> None:
        """After a pause a PE is evicted, or its pod is deleted."""
        await self.pause()
        pes = [pe for pe in sorted(self._cluster.pods) if pe not in self._busy]
        if not pes:
            return
        pe = self._random.choice(pes)
        self._busy.add(pe)
        if self._random.random() < 0.4:
            await self._cluster.evict(pe)
        else:
            await self._restart(pe)
        self._busy.discard(pe)

    async def _restart(self, pe: int) -> None:
        pod = self._cluster.pods[pe]
        await self._cluster.stop(pe)
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.1]))
        if self._cluster.has(pe) and pe not in self._cluster.pods:
            self._cluster.launch(pe, pod.launch + 1)


@pytest.mark.parametrize("seed", [*range(10), 110])  # the last one found something
async def test_nothing_is_lost_or_doubled_while_states_are_written_slowly(seed: int) -> None:
    random = Random(seed)
    async with Cluster(
        job.app,
        store=SlowStore(random),
        values={"upto": str(COUNT)},
        fusion=random.choice(job.FUSIONS),
        stop_s=20.0,
    ) as cluster:
        disturbing = Disturbing(cluster, random)
        await disturbing.pause()
        for width in random.choice([(5, 2, 8), (2, 5, 3), (5, 8), (8, 2)]):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(random.randint(0, 4)):
                    tasks.create_task(disturbing.one())
                await disturbing.pause()
                await cluster.resize(Counting=width)
        await cluster.until(lambda: job.is_done(COUNT), within_s=60.0)
        await asyncio.sleep(1)
        job.check(COUNT)
        assert cluster.lost == 0
