"""Widths that meet a PE that does not begin: what waits for it goes to those who take its place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from random import Random

import pytest

from millrace import App
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 4_000
ONE_EACH = Fusion("legacy")


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


def running(fusion: Fusion = ONE_EACH) -> Cluster:
    return Cluster(job.app, store=MemoryStore(), values={"upto": str(COUNT)}, fusion=fusion)


async def all_is_counted(cluster: Cluster) -> None:
    """Every tuple once and in order, and none is reported as lost."""
    await cluster.until(lambda: job.is_done(COUNT), 60)
    await asyncio.sleep(1)
    job.check(COUNT)
    assert cluster.lost == 0


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("pes", range(1, 7))
async def test_what_waits_for_a_pe_without_a_node_is_processed_at_another_width(
    pes: int, width: int
) -> None:
    """A channel, both operators of one, or the sink; wider, narrower, and without its channel."""
    cluster = running()
    cluster.blocked = {pes}
    async with cluster:
        await asyncio.sleep(0.5)
        await cluster.resize(Counting=width)
        await asyncio.sleep(0.5)
        cluster.unblock(pes)
        await all_is_counted(cluster)


@pytest.mark.parametrize("seed", range(40))
async def test_a_pe_whose_next_launch_does_not_begin_loses_nothing_at_another_width(
    seed: int,
) -> None:
    """It was stopped in good order: what it left is done by those who take its place."""
    random = Random(seed)
    async with running(random.choice(job.FUSIONS)) as cluster:
        await cluster.until(lambda: job.is_done(500))
        pe = random.choice(sorted(cluster.pods))
        cluster.blocked = {pe}
        await cluster.restart(pe)
        await asyncio.sleep(random.choice([0, 0.1, 0.5]))
        await cluster.resize(Counting=random.choice([1, 2, 5]))
        await asyncio.sleep(random.choice([0, 0.1, 0.5]))
        cluster.unblock(pe)
        await all_is_counted(cluster)


@pytest.mark.parametrize("seed", range(30))
async def test_widths_that_follow_one_another_while_pes_do_not_begin_lose_nothing(
    seed: int,
) -> None:
    random = Random(seed)
    cluster = running(random.choice(job.FUSIONS))
    async with cluster:
        await cluster.until(lambda: job.is_done(500))
        for width in random.sample([1, 2, 3, 4, 5, 6], 3):
            pe = random.choice(sorted(cluster.pods)[1:] or [1])  # that of the source runs
            cluster.blocked |= {pe}
            if pe in cluster.pods and random.random() < 0.5:
                await cluster.restart(pe)
            await asyncio.sleep(random.choice([0, 0.1, 0.5]))
            await cluster.resize(Counting=width)
            await asyncio.sleep(random.choice([0, 0.1, 0.5]))
        cluster.unblock(*cluster.blocked)
        await all_is_counted(cluster)


async def test_launches_that_begin_in_the_next_hand_over_know_the_one_before() -> None:
    """Their process has never seen it complete."""
    async with running() as cluster:
        await cluster.until(lambda: job.is_done(300))
        sink = pe_of(cluster, "Report", "")
        cluster.blocked = {sink}
        await cluster.restart(sink)
        await asyncio.sleep(0.3)
        await cluster.resize(Counting=2)
        await asyncio.sleep(0.5)
        resizing = asyncio.create_task(cluster.resize(Counting=5))
        await asyncio.sleep(0)  # it begins, and is soon over
        assert cluster.hand_over is not None
        assert not cluster.hand_over.complete
        await cluster.restart_at_once([pe for pe in cluster.hand_over.pes if pe in cluster.pods])
        await resizing
        cluster.unblock(sink)
        await all_is_counted(cluster)


class BeginFirst(Cluster):
    """Some PEs have a node once a hand-over is complete, and begin well before all others."""

    first: frozenset[int] = frozenset()

    async def _replace(self, pes: Iterable[int], plan: Mapping[int, str]) -> None:
        pes = list(pes)
        if first := self.first.intersection(pes):
            is_blocked = first & self.blocked
            await super()._replace(first, plan)
            self.unblock(*is_blocked)
            await self.until(lambda: all(map(self._is_started, first)))
            await asyncio.sleep(0.1)
        await super()._replace([pe for pe in pes if pe not in first], plan)


async def test_what_was_for_a_pe_is_known_to_those_that_begin_after_it() -> None:
    """They read what it saved as it began; it had not begun before the hand-over all the same."""
    fusion, values = Fusion("manual", 3), {"upto": str(COUNT)}
    async with BeginFirst(job.app, store=MemoryStore(), values=values, fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(500))
        cluster.blocked = {0}
        await cluster.resize(Counting=5)
        cluster.first = frozenset({0})
        await cluster.resize(Counting=2)
        await all_is_counted(cluster)


async def test_what_was_written_to_a_launch_that_had_sealed_is_done_by_its_heirs() -> None:
    """It took nothing more, though no bye says so, and no launch has begun since."""
    values = {"upto": str(COUNT)}
    async with BeginFirst(job.app, store=MemoryStore(), values=values) as cluster:
        await cluster.until(lambda: job.is_done(500))
        absent, sender = (
            pe_of(cluster, f"Counting.{each}", "0") for each in ("Counted", "Channel")
        )
        cluster.first, cluster.blocked = frozenset({pe_of(cluster, "Passed", ""), sender}), {absent}
        resizing = asyncio.create_task(cluster.resize(Counting=2))
        await cluster.until(
            lambda: all(
                cluster.pods[each].launch == 2 for each in cluster.first & cluster.pods.keys()
            )
        )
        await asyncio.sleep(0.09)
        await cluster.kill(absent)
        await resizing
        cluster.first = frozenset()
        await cluster.resize(Counting=5)
        cluster.unblock(absent)
        await all_is_counted(cluster)


async def test_what_is_kept_when_all_streams_have_ended_is_behind_no_end_of_them() -> None:
    """A launch that has sealed finds the next one of the sink, and sends no end of a stream."""
    values = {"upto": str(COUNT)}
    async with BeginFirst(job.staying, store=MemoryStore(), values=values) as cluster:
        await cluster.until(lambda: job.is_done(300))
        absent = pe_of(cluster, "Counting.Counted", "1")
        cluster.first, cluster.blocked = frozenset({pe_of(cluster, "Report", "")}), {absent}
        await cluster.restart(absent)
        await asyncio.sleep(2)
        assert not job.is_done(COUNT)
        await cluster.resize(Counting=2)
        cluster.unblock(absent)
        await all_is_counted(cluster)


chain = App("tests::Chain")
made = chain.source(job.numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
first = made.parallel(2, name="One").flat_map(job.passed, name="First").end_parallel()
second = first.flat_map(job.passed, name="Mid").parallel(2, name="Two")
second.flat_map(job.passed, name="Second").end_parallel().sink(job.kept, name="Report")


async def test_what_an_absent_pe_kept_for_one_outside_of_its_hand_over_is_not_forgotten() -> None:
    """The next hand-over lists both, and neither has begun since."""
    async with Cluster(chain, store=MemoryStore()) as cluster:
        await asyncio.sleep(0.05)
        between, behind = pe_of(cluster, "Mid", ""), pe_of(cluster, "Two.Second", "1")
        cluster.blocked = {between, behind}
        await cluster.restart(behind)
        await asyncio.sleep(0.05)
        await cluster.restart(between)
        await cluster.resize(One=3)
        await cluster.resize(Two=3)
        cluster.unblock(between, behind)
        await cluster.until(lambda: job.is_done(COUNT), 60)
        await asyncio.sleep(1)
        assert sorted(number for _, number in job.GOT) == list(range(COUNT))
