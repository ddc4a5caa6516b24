"""A launch whose sources may give tuples again says so, and no other launch does."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from millrace import App
from millrace.protocol import ReadsAgain, Started
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_late_pes import numbers, quick

pytestmark = pytest.mark.looptime
SOURCE = 0
FEW = 200
kept = App("tests::Kept", keep_running=True)
few = kept.source(numbers, state=job.Given, fn_kwargs={"upto": FEW}, name="Numbers")
few.sink(job.kept, name="Report")


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


async def started(cluster: Cluster, pe: int = SOURCE) -> Started:
    """What the newest launch of a PE reports at its start."""

    def found() -> list[Started]:
        return [each for each in cluster.pods[pe].reports if isinstance(each, Started)]

    await cluster.until(found)
    (only,) = found()
    return only


@pytest.fixture
def source() -> str:
    """How reports name it."""
    return "Numbers"


async def test_only_pes_with_a_source_name_one_and_a_first_launch_gives_nothing_again(
    source: str,
) -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        for pe in cluster.pods:
            report = await started(cluster, pe)
            assert report.sources == ((source,) if pe == SOURCE else ())
            assert report.reads_again is None


async def test_a_source_that_stops_in_good_order_gives_nothing_again() -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(100))
        await cluster.restart(SOURCE)
        assert (await started(cluster)).reads_again is None


async def test_a_source_that_is_killed_may_give_again_what_it_gave_since_its_state_was_saved(
    source: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "millrace.runtime.pe")
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(100))
        await cluster.restart(SOURCE)
        await started(cluster)
        await cluster.relaunch_killed(SOURCE)
        assert (await started(cluster)).reads_again == ReadsAgain((source,), 2)
    begun = "this launch begins with the state that launch 2 saved, and went on after it"
    assert f"{begun}: what source {source} gave since then may come again" in caplog.messages


@pytest.mark.parametrize("store", [None, MemoryStore()], ids=["no store", "store"])
async def test_a_source_without_a_saved_state_begins_again(
    source: str, store: MemoryStore | None
) -> None:
    async with Cluster(job.app, store=store) as cluster:
        await cluster.until(lambda: job.is_done(100))
        await cluster.relaunch_killed(SOURCE)
        assert (await started(cluster)).reads_again == ReadsAgain((source,), None)


async def test_a_source_that_is_gone_in_a_hand_over_may_give_tuples_again(source: str) -> None:
    async with Cluster(quick, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(100))
        await cluster.restart(SOURCE)
        await started(cluster)
        cluster.blocked = {SOURCE}
        await cluster.kill(SOURCE)
        cluster.give_up(SOURCE)
        news = await cluster.resize(Counting=2)
        assert SOURCE in news.gone
        cluster.unblock(SOURCE)
        assert (await started(cluster)).reads_again == ReadsAgain((source,), 2)


async def test_a_resize_in_which_all_seal_gives_nothing_again(source: str) -> None:
    async with Cluster(quick, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(100))
        news = await cluster.resize(Counting=2)
        assert not news.not_sealed
        report = await started(cluster)
        assert (report.sources, report.reads_again) == ((source,), None)


async def test_a_source_that_has_ended_is_not_named() -> None:
    async with Cluster(kept, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(FEW), 60)
        await cluster.restart(SOURCE)
        report = await started(cluster)
        assert (report.sources, report.reads_again) == ((), None)


async def test_a_source_that_has_ended_is_not_begun_again_by_the_launch_after_the_next() -> None:
    """The next one saves what it begins with before it has come to the end itself."""
    async with Cluster(kept, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(FEW), 60)
        await cluster.restart(SOURCE)
        await started(cluster)
        await cluster.relaunch_killed(SOURCE)
        report = await started(cluster)
        assert (report.sources, report.reads_again) == ((), None)
