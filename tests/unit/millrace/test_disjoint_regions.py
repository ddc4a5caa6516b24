"""Two regions that share no PE: the hand-over of one beside that of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from millrace import App
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 4_000


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


def made(checkpoint_seconds: float | None = None) -> App:
    app = App("tests::Apart", checkpoint_seconds=checkpoint_seconds)
    numbers = app.source(job.numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
    one = numbers.parallel(2, key="key", name="One").flat_map(job.passed, name="First")
    merged = one.end_parallel().flat_map(job.passed, name="Merged")
    split = merged.flat_map(job.passed, name="Between").flat_map(job.passed, name="Split")
    two = split.parallel(2, key="key", name="Two").key_by("key")
    counted = two.map(job.counted, state=job.Total, name="Counted").end_parallel()
    counted.sink(job.kept, name="Report")
    return app


apart, often = made(), made(checkpoint_seconds=0.03)
TURNS = (
    [("One", 3), ("Two", 3), ("One", 1), ("Two", 1)],
    [("Two", 1), ("One", 1), ("Two", 3), ("One", 3)],
)


async def nothing_is_lost(cluster: Cluster) -> None:
    """The job ends with each tuple counted once; no launch has lost one."""
    await cluster.until(lambda: job.is_done(COUNT), 60)
    await asyncio.sleep(1)
    job.check(COUNT)
    assert cluster.lost == 0


async def begins_behind(cluster: Cluster) -> None:
    """What was blocked begins, some time after the hand-over."""
    await asyncio.sleep(0.5)
    cluster.unblock(*cluster.blocked)


@pytest.mark.parametrize("seed", range(20))
async def test_a_hand_over_beside_another_loses_and_doubles_nothing(seed: int) -> None:
    """The PE between the regions, and those of the region that has its width, run on."""
    random = Random(seed)
    async with Cluster(apart, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(300))
        between = pe_of(cluster, "Between", "")
        widths, resizing = {"One": 2, "Two": 2}, []
        for region, width in random.choice(TURNS):
            widths[region] = width
            resizing.append(asyncio.create_task(cluster.resize(**widths)))
            await asyncio.sleep(random.choice([0, 0.005, 0.01, 0.02, 0.1]))
            if random.random() < 0.3:
                await cluster.restart(random.choice([between, pe_of(cluster, "Split", "")]))
        await asyncio.gather(*resizing)
        await nothing_is_lost(cluster)


@pytest.mark.parametrize("has_sealed", [True, False], ids=["sealed", "gone"])
@pytest.mark.parametrize("path", ["One.First", "Two.Counted"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("later_ones", [1, 3])
async def test_a_pe_that_begins_behind_later_hand_overs_without_it_loses_nothing(
    path: str, width: int, has_sealed: bool, later_ones: int
) -> None:
    """It begins with that of its own plan, in a channel that stays, or that is new."""
    application = often if has_sealed else apart
    region, other = ("One", "Two") if path == "One.First" else ("Two", "One")
    async with Cluster(application, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(300))
        pe = pe_of(cluster, path, "0" if width == 1 else "1")
        if not has_sealed:
            cluster.blocked = {pe}
            await cluster.restart(pe)
            await asyncio.sleep(0.1)
        resizing = asyncio.create_task(cluster.resize(**{region: width}))
        await asyncio.sleep(0)
        cluster.blocked = {pe}
        await resizing
        assert pe not in cluster.pods
        for later in range(3, 3 + later_ones):
            await cluster.resize(**{region: width, other: later})
            assert cluster.hand_over is not None
            assert pe not in cluster.hand_over.pes
        await begins_behind(cluster)
        await nothing_is_lost(cluster)


@pytest.mark.parametrize("application", [apart, often], ids=["once", "often"])
async def test_a_new_pe_that_begins_behind_a_later_hand_over_has_what_was_handed_to_it(
    application: App,
) -> None:
    async with Cluster(application, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(300))
        cluster.blocked = {max(cluster.pods) + 1}
        await cluster.resize(Two=3)
        assert not cluster.blocked & cluster.pods.keys()
        await cluster.resize(One=3, Two=3)
        await begins_behind(cluster)
        await nothing_is_lost(cluster)
