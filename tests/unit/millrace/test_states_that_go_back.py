"""A PE that does not seal in a hand-over: what the state lacks that others go on from is reported.

Tuples that nobody processed are not all that is lost then: those that it counted since it saved
its state are counted no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from millrace import App
from millrace.runtime.endings import Ending
from millrace.runtime.noticing import in_hand_of
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 6_000


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    SLOW.clear()
    yield
    job.GOT.clear()


SLOW: dict[str, asyncio.Event] = {}
"""Keys whose tuples wait, each until somebody goes on with it."""


async def counted(number: job.Number, total: job.Total) -> job.Number:
    if number.key in SLOW:
        await SLOW[number.key].wait()
    return job.counted(number, total)


def counting(checkpoint_seconds: float | None) -> App:
    """Channels that count each key."""
    app = App("tests::Counting", checkpoint_seconds=checkpoint_seconds)
    made = app.source(job.numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
    region = made.parallel(3, key="key", name="Counting")
    keyed = region.flat_map(job.passed, name="Channel").key_by("key")
    counts = keyed.map(counted, state=job.Total, name="Counted").end_parallel()
    counts.sink(job.kept, name="Report")
    return app


rarely, often = counting(None), counting(0.2)
BY_INTERVAL = pytest.mark.parametrize("app", [rarely, often], ids=["without", "with checkpoints"])


@BY_INTERVAL
@pytest.mark.parametrize("width", [1, 2, 5])
async def test_what_the_state_of_a_killed_pe_lacks_is_counted_by_who_has_its_channel_next(
    app: App, width: int
) -> None:
    """None of its launches begins before the width is in force."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_500))
        pe = pe_of(cluster, "Counting.Counted", "1")
        cluster.blocked = {pe}
        await cluster.kill(pe)
        news = await cluster.resize(Counting=width)
        assert pe in news.gone
        cluster.unblock(pe)
        await asyncio.sleep(60)
        assert 0 < job.lacking(COUNT) <= cluster.lost <= 2 * job.lacking(COUNT)


@BY_INTERVAL
async def test_what_the_state_of_a_late_pe_lacks_is_counted_by_itself(app: App) -> None:
    async with Cluster(app, store=MemoryStore(), stop_s=22.0) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        pe = pe_of(cluster, "Counting.Counted", "1")
        pod = cluster.pods[pe]
        key = next(key for key, _ in job.GOT if pod.running.begun.made.placed[0].owns(key))
        SLOW[key] = asyncio.Event()
        await cluster.until(lambda: in_hand_of(pod.running.begun.parts) > 50)
        news = await cluster.resize(deadline_s=5.0, Counting=5)
        SLOW.pop(key).set()
        assert pe in news.gone
        assert await pod.task is Ending.STOPPED_LATE
        await asyncio.sleep(60)
        assert 0 < job.lacking(COUNT) <= cluster.lost <= 2 * job.lacking(COUNT)


@BY_INTERVAL
async def test_what_the_state_of_a_pe_lacks_that_does_not_end_in_time_is_counted_by_itself(
    app: App,
) -> None:
    """Its next launch begins with its newest checkpoint, and its peers had its goodbye."""
    async with Cluster(app, store=MemoryStore(), stop_s=3.0) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        pe = pe_of(cluster, "Counting.Counted", "1")
        pod = cluster.pods[pe]
        key = next(key for key, _ in job.GOT if pod.running.begun.made.placed[0].owns(key))
        SLOW[key] = asyncio.Event()
        await cluster.until(lambda: in_hand_of(pod.running.begun.parts) > 50)
        assert await cluster.stop(pe) is Ending.STOPPED_LATE
        SLOW.pop(key).set()
        cluster.launch(pe, 2)
        await asyncio.sleep(60)
        assert 0 < job.lacking(COUNT) <= cluster.lost <= 2 * job.lacking(COUNT)


@pytest.mark.parametrize("seed", range(10))
async def test_what_counts_lack_after_kills_around_two_widths_was_reported(seed: int) -> None:
    """One PE at each width; its next launch begins at once, later, or behind the hand-over."""
    random = Random(seed)
    fusion = random.choice([Fusion("legacy"), Fusion("manual", 3), Fusion("manual", 4)])
    app = random.choice([rarely, often])
    async with Cluster(app, store=MemoryStore(), fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(50))
        for width in random.sample([1, 2, 4, 5], 2):
            source = pe_of(cluster, "Numbers", "")
            resizing = asyncio.create_task(cluster.resize(Counting=width))
            await asyncio.sleep(random.choice([0.0, 0.03, 0.1]))
            pe = random.choice(sorted(cluster.pods.keys() - {source}))
            cluster.blocked = {pe} if random.random() < 0.5 else set()
            await cluster.relaunch_killed(pe)
            await resizing
            cluster.unblock(*cluster.blocked)
            await asyncio.sleep(0.2)  # its next launch asks its peers, before one of them is killed
        await asyncio.sleep(60)
        assert job.lacking(COUNT) <= cluster.lost


@BY_INTERVAL
async def test_a_peer_that_begins_again_remembers_what_a_killed_pe_took_in(app: App) -> None:
    """It ends in good order before the next launch of the PE begins."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_500))
        pe, peer = (pe_of(cluster, f"Counting.{name}", "1") for name in ("Counted", "Channel"))
        cluster.blocked = {pe}
        await cluster.kill(pe)
        await cluster.restart(peer)
        cluster.launch(pe, 2)
        cluster.unblock(pe)
        await asyncio.sleep(60)
        assert 0 < job.lacking(COUNT) <= cluster.lost <= 2 * job.lacking(COUNT)


async def test_a_peer_that_begins_again_counts_nothing_of_a_pe_that_ended_in_good_order() -> None:
    """Nobody was there to hear it."""
    async with Cluster(often, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_500))
        pe, peer = (pe_of(cluster, f"Counting.{name}", "1") for name in ("Counted", "Channel"))
        await cluster.stop(peer)
        await cluster.restart(pe)
        cluster.launch(peer, 2)
        await asyncio.sleep(60)
        assert job.lacking(COUNT) == cluster.lost == 0
