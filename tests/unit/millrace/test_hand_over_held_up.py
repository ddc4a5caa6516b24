"""A hand-over that takes long: PEs say whom they wait for, and go on without one that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from millrace import App
from millrace.protocol import Report, Resting, Sealed
from millrace.runtime.barriers import Barrier
from millrace.runtime.noticing import tell_awaited
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
HANGS = asyncio.Event()


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    HANGS.clear()
    yield
    job.GOT.clear()


async def hanging(number: job.Number) -> AsyncIterator[job.Number]:
    """For ever, once the test says so: for a key of one channel."""
    if HANGS.is_set() and number.key == "key1":
        await asyncio.Event().wait()
    yield number


chain = App("tests::Chain")
given = chain.source(job.numbers, state=job.Given, fn_kwargs={"upto": 1_000_000}, name="Numbers")
region = given.parallel(3, key="key", name="Counting")
first = region.flat_map(job.passed, name="First")
second = first.flat_map(hanging, name="Hanging").key_by("key")
counts = second.map(job.counted, state=job.Total, name="Counted").end_parallel()
counts.sink(job.kept, name="Report")


def reported_by(cluster: Cluster, pe: int) -> list[tuple[int, ...]]:
    reports = cluster.pods[pe].reports
    return [each.waits_for for each in reports if isinstance(each, Resting)]


def seconds_reported_by(cluster: Cluster, pe: int) -> list[int]:
    reports = cluster.pods[pe].reports
    return [each.seconds for each in reports if isinstance(each, Resting)]


def has_sealed(cluster: Cluster, pe: int) -> bool:
    return any(isinstance(each, Sealed) for each in cluster.pods[pe].reports)


async def test_a_hand_over_that_is_soon_over_reports_seals_alone() -> None:
    async with Cluster(chain, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        pods = list(cluster.pods.values())
        await cluster.resize(Counting=5)
        assert not any(isinstance(each, Resting) for pod in pods for each in pod.reports)


async def test_a_pe_says_that_it_waits_for_one_that_is_silent_and_seals_without_it() -> None:
    async with Cluster(chain, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        silent = pe_of(cluster, "Counting.Hanging", "1")
        resizing = asyncio.create_task(cluster.resize(Counting=5, deadline_s=30.0))
        await cluster.until(lambda: cluster.hand_over is not None)
        await cluster.kill(silent)
        behind, sink = pe_of(cluster, "Counting.Counted", "1"), pe_of(cluster, "Report", "")
        await cluster.until(lambda: bool(reported_by(cluster, sink)))
        assert reported_by(cluster, behind)[-1] == (silent,)
        assert reported_by(cluster, sink)[-1] == (behind,)
        assert not has_sealed(cluster, sink)
        assert cluster.hand_over is not None
        cluster.hand_over = replace(cluster.hand_over, gone=frozenset({silent}))
        cluster.tell()
        news = await asyncio.wait_for(resizing, 5)
        assert news.pes.keys() - news.sealed.keys() == {silent}


async def test_a_pe_that_has_work_of_its_own_says_so_and_keeps_the_others_waiting() -> None:
    async with Cluster(chain, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        HANGS.set()
        await asyncio.sleep(0.5)
        at_work = {pe_of(cluster, "Counting.Hanging", str(each)) for each in range(3)}
        resizing = asyncio.create_task(cluster.resize(Counting=5, deadline_s=30.0))
        sink = pe_of(cluster, "Report", "")
        await cluster.until(lambda: bool(reported_by(cluster, sink)))
        [hung] = [pe for pe in at_work if not has_sealed(cluster, pe)]
        await cluster.until(lambda: bool(reported_by(cluster, hung)))
        await asyncio.sleep(10)
        assert reported_by(cluster, hung) == [()], "once: each report is a write"
        assert seconds_reported_by(cluster, sink)[-2:] == [8, 12], "it waits still"
        assert seconds_reported_by(cluster, hung) == [0]
        channel = next(c for c in "012" if pe_of(cluster, "Counting.Hanging", c) == hung)
        assert reported_by(cluster, sink)[-1] == (pe_of(cluster, "Counting.Counted", channel),)
        resizing.cancel()


@pytest.mark.parametrize(("queued", "reported"), [(0, (3,)), (7, ())])
async def test_a_pe_that_has_tuples_in_a_queue_names_nobody(
    queued: int, reported: tuple[int, ...]
) -> None:
    """It would come to rest no sooner, if the one that it waits for did."""
    queue = SimpleNamespace(tuples=queued)
    node = SimpleNamespace(queue=queue, at_work=0, is_stuck=False, left=())
    inlets = SimpleNamespace(origins=())
    parts: Any = SimpleNamespace(
        engine=SimpleNamespace(nodes=[node]), inlets=inlets, receivers=None
    )
    quiescing: Any = SimpleNamespace(awaited=frozenset({3}), barrier=Barrier("hand-over", 5))
    reports: list[Report] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(tell_awaited(quiescing, parts, reports.append), 10)
    assert [r.waits_for for r in reports if isinstance(r, Resting)] == [reported] * len(reports)
