"""A PE that is killed loses at most what it had in hand, and its job reports at least that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import Random

import pytest

from millrace import App
from millrace.protocol import Trouble
from millrace.runtime.state_names import StateName
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 10_000
SOURCE = 0


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


def lost(cluster: Cluster, *causes: str) -> int:
    """Tuples that all launches reported as lost: the newest report of each has its total."""
    pods = [*cluster.ended, *cluster.pods.values()]
    return sum(
        count for pod in pods for why, count in pod.running.losses.by_cause.items() if why in causes
    )


def ended(cluster: Cluster) -> bool:
    """The sink has seen the end of all streams."""
    return any(
        node.has_ended and node.name == "Report"
        for pod in cluster.pods.values()
        if pod.running.has_begun
        for node in pod.running.begun.made.engine.nodes
    )


@pytest.mark.parametrize("seed", range(10))
async def test_what_is_missing_at_the_sink_is_at_most_what_was_reported(seed: int) -> None:
    random = Random(seed)
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        await asyncio.sleep(random.random() * 1.5)
        pe = random.choice([each for each in cluster.pods if each != SOURCE])
        await cluster.relaunch_killed(pe)
        await cluster.until(lambda: ended(cluster))
        missing = COUNT - len(job.GOT)
        assert 0 <= missing <= lost(cluster, "OnTheWay", "InHand")


async def test_state_that_a_killed_pe_forgets_is_counted_as_such() -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        counted = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Counting.Counted" for each in pod.running.description.operators)
        )
        await cluster.until(lambda: job.is_done(3_000))
        before = len(job.GOT)
        await cluster.relaunch_killed(counted)
        await cluster.until(lambda: ended(cluster))
        assert 1 in [number for _, number in job.GOT[before:]]
        assert lost(cluster, "OutOfState") > 0


async def test_a_pe_that_is_stopped_in_good_order_reports_no_loss() -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        for pe in list(cluster.pods):
            await asyncio.sleep(0.2)
            await cluster.restart(pe)
        await cluster.until(lambda: ended(cluster))
        job.check(COUNT)
        assert not any(
            pod.running.losses.by_cause for pod in (*cluster.ended, *cluster.pods.values())
        )


async def test_a_killed_pe_goes_on_from_its_last_checkpoint() -> None:
    """It forgets what it counted since then, and says so."""
    store = MemoryStore()
    async with Cluster(job.often, store=store) as cluster:
        counted = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Counting.Counted" for each in pod.running.description.operators)
        )
        await cluster.until(lambda: job.is_done(5_000))
        kept = [name for name in await store.names(counted) if name.kind == "checkpoint"]
        assert 1 <= len(kept) <= 2, "older ones are removed"
        before = len(job.GOT)
        await cluster.relaunch_killed(counted)
        await cluster.until(lambda: ended(cluster))
        assert 1 not in [number for _, number in job.GOT[before:]], "it does not count from 1"
        assert 0 < lost(cluster, "OutOfState") < before


async def test_checkpoints_change_nothing_in_what_comes_out() -> None:
    async with Cluster(job.often, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(3_000))
        await cluster.resize(Counting=5)
        await cluster.restart(0)
        await cluster.until(lambda: ended(cluster))
        job.check(COUNT)


async def test_a_pe_whose_peer_does_not_come_says_whom_it_waits_for() -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(100))
        await cluster.kill(1)
        source = cluster.pods[0]
        await cluster.until(lambda: any(isinstance(e, Trouble) for e in source.reports), 60)
        (trouble,) = [each for each in source.reports if isinstance(each, Trouble)]
        assert trouble.reason == "PeerMissing"
        assert "PE 1" in trouble.message


async def slowly(number: job.Number) -> None:
    await asyncio.sleep(0.001)
    job.GOT.append((number.key, number.number))


slow = App("tests::Slow")
given = slow.source(job.numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
given.flat_map(job.passed, name="Middle").sink(slowly, name="Report")


async def test_what_a_killed_pe_had_taken_in_and_not_handed_on_is_counted() -> None:
    async with Cluster(slow, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_500))
        middle = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Middle" for each in pod.running.description.operators)
        )
        await cluster.relaunch_killed(middle)
        await cluster.until(lambda: ended(cluster), 60)
        missing = COUNT - len(job.GOT)
        assert 0 < missing <= lost(cluster, "OnTheWay", "InHand")


async def pausing(given: job.Given, upto: int) -> AsyncIterator[job.Number]:
    while given.upto < upto:
        number = given.upto
        given.upto += 1
        yield job.Number(f"key{number % 97}", number)
        if number % 50 == 49:
            await asyncio.sleep(0.01 if number % 100 == 49 else 0.2)


async def at_leisure(number: job.Number) -> AsyncIterator[job.Number]:
    await asyncio.sleep(0.001)
    yield number


leisurely = App("tests::Leisurely")
paused = leisurely.source(pausing, state=job.Given, fn_kwargs={"upto": 1_000}, name="Numbers")
paused.flat_map(at_leisure, name="Middle").sink(job.kept, name="Report")


async def test_a_batch_that_a_killed_pe_was_working_on_is_counted() -> None:
    """It is in no queue any more, and nothing of it is handed on; another batch waits behind it."""
    async with Cluster(leisurely, store=MemoryStore()) as cluster:
        middle = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Middle" for each in pod.running.description.operators)
        )
        await cluster.until(lambda: job.is_done(300))
        node = next(e for e in cluster.pods[middle].running.begun.made.engine.nodes if e.queue)
        await cluster.until(lambda: node.at_work and node.queue is not None and node.queue.tuples)
        await cluster.relaunch_killed(middle)
        await cluster.until(lambda: ended(cluster), 60)
        missing = 1_000 - len(job.GOT)
        assert 0 < missing <= lost(cluster, "OnTheWay", "InHand")


async def test_a_pe_that_is_killed_after_a_resize_goes_on_from_what_was_handed_over() -> None:
    async with Cluster(job.app, store=(store := MemoryStore())) as cluster:
        await cluster.until(lambda: job.is_done(5_000))
        await cluster.resize(Counting=2)
        before = len(job.GOT)
        counted = next(
            pe
            for pe, pod in cluster.pods.items()
            if any(each.path == "Counting.Counted" for each in pod.running.description.operators)
        )
        await cluster.until(lambda: cluster.pods[counted].is_started)
        assert StateName(counted, 2, "checkpoint") in store.kept, "it needs no other PE any more"
        await cluster.relaunch_killed(counted)
        await cluster.until(lambda: ended(cluster))
        assert 1 not in [number for _, number in job.GOT[before:]]
