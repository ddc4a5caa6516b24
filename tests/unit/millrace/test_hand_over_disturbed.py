"""A hand-over loses nothing: replaced, not heard of, or with a dead PE, whose loss is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from random import Random

import pytest

from millrace.protocol import Sealed
from millrace.runtime.state_names import StateName
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 4_000
VALUES = {"upto": str(COUNT)}


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


@pytest.mark.parametrize("seed", range(8))
async def test_a_hand_over_that_is_replaced_in_the_middle_loses_and_doubles_nothing(
    seed: int,
) -> None:
    """To 5 and back to 3 (the PEs go on), or to 8 and 2, before or after the hand-over is over."""
    random = Random(seed)
    fusion = random.choice(job.FUSIONS)
    async with Cluster(job.app, store=MemoryStore(), values=VALUES, fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        async with asyncio.TaskGroup() as resizes:
            for width in random.choice([(5, 3), (5, 8), (5, 8, 2), (5, 3, 5, 3), (2, 3, 8)]):
                resizes.create_task(cluster.resize(Counting=width))
                await asyncio.sleep(random.choice([0, 0.0005, 0.002, 0.01, 0.1]))
        await cluster.until(lambda: job.is_done(COUNT))
        await asyncio.sleep(1)
        job.check(COUNT)


@pytest.mark.parametrize("seed", range(4))
async def test_a_gateway_that_is_away_for_a_while_costs_time_alone(seed: int) -> None:
    random = Random(seed)
    async with Cluster(
        job.app, store=MemoryStore(), values=VALUES, fusion=random.choice(job.FUSIONS)
    ) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cluster.resize(Counting=random.choice([2, 5])))
            await asyncio.sleep(random.choice([0, 0.001, 0.01]))
            cluster.gateway(is_away=True)
            await asyncio.sleep(3)
            cluster.gateway(is_away=False)
        await cluster.until(lambda: job.is_done(COUNT))
        await asyncio.sleep(1)
        job.check(COUNT)


@pytest.mark.parametrize("seed", range(8))
async def test_a_pe_that_is_killed_in_a_hand_over_costs_what_is_reported(seed: int) -> None:
    """What is missing at the sink is at most what was reported, and nothing comes twice."""
    random = Random(seed)
    async with Cluster(
        job.app, store=MemoryStore(), values=VALUES, fusion=random.choice(job.FUSIONS)
    ) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        source = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Numbers" for each in pod.running.description.operators)
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(cluster.resize(Counting=random.choice([2, 5, 8])))
            await asyncio.sleep(random.choice([0, 0.0005, 0.001, 0.003, 0.01]))
            if victims := [each for each in cluster.pods if each != source]:
                await cluster.relaunch_killed(random.choice(victims))
        await asyncio.sleep(20)
        reported = cluster.lost_on_the_way
        assert COUNT - len(job.GOT) <= reported


class SlowSeal(MemoryStore):
    """One PE saves its state late, and so the hand-over goes on for a while."""

    slow: int | None = None

    async def write(self, name: StateName, data: bytes) -> None:
        if name.kind != "checkpoint" and name.pe == self.slow:
            await asyncio.sleep(0.5)
        await super().write(name, data)


@pytest.mark.parametrize("channel", range(3))
async def test_a_pe_that_is_launched_again_once_it_has_sealed_takes_over_from_others(
    channel: int,
) -> None:
    """Its next launch does not see yet that the seal counts, and makes it again."""
    store = SlowSeal()
    async with Cluster(job.app, store=store, values=VALUES) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        store.slow = pe_of(cluster, "Report", "")
        pe = pe_of(cluster, "Counting.Counted", str(channel))
        resizing = asyncio.create_task(cluster.resize(Counting=5))
        await cluster.until(lambda: any(isinstance(e, Sealed) for e in cluster.pods[pe].reports))
        await cluster.restart(pe)
        await resizing
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)


def pe_of(cluster: Cluster, operator: str, channel: str) -> int:
    return next(
        pe
        for pe, pod in cluster.pods.items()
        for each in pod.running.begun.made.placed
        if (each.instance.path, each.channels) == (operator, channel)
    )


class OneByOne(Cluster):
    """Launches that a hand-over ends are replaced one after the other, some of them much later."""

    random: Random

    async def _replace(self, pes: Iterable[int], plan: Mapping[int, str]) -> None:
        for pe in sorted(pes, key=lambda _: self.random.random()):
            await super()._replace([pe], plan)
            await asyncio.sleep(self.random.choice([0, 0.05, 0.5]))


@pytest.mark.parametrize("seed", range(6))
async def test_a_launch_that_has_sealed_takes_nothing_of_peers_of_the_next_plan(seed: int) -> None:
    """A service was away, so that they began a second before it was ended."""
    OneByOne.random = Random(seed)
    cluster = OneByOne(job.app, store=MemoryStore(), values=VALUES, fusion=job.FUSIONS[seed % 2])
    async with cluster:
        await cluster.until(lambda: job.is_done(500))
        for width in (5, 2, 4):
            await cluster.resize(Counting=width)
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)
