"""A PE that is late for a hand-over: what it costs is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

import pytest

from millrace import App
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 10_000


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


async def numbers(given: job.Given, upto: int) -> AsyncIterator[job.Number]:
    while given.upto < upto:
        number = given.upto
        given.upto += 1
        yield job.Number(f"key{number % 97}", number)
        if number % 50 == 0:
            await asyncio.sleep(0.05)


async def slowly(number: job.Number) -> AsyncIterator[job.Number]:
    await asyncio.sleep(0.01)
    yield number


class Writer:
    """Keeps what comes until it is full, or is flushed."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, int]] = []

    def __call__(self, number: job.Number) -> None:
        """Keep a number."""
        self.kept.append((number.key, number.number))
        if len(self.kept) >= 200:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        job.GOT.extend(self.kept)
        self.kept.clear()

    close = flush


slow = App("tests::Slow")
made = slow.source(numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
region = made.parallel(3, key="key", name="Counting")
channel = region.flat_map(slowly, name="Channel").key_by("key")
counts = channel.map(job.counted, state=job.Total, name="Counted").end_parallel()
writer = Writer()
counts.sink(writer, name="Report")


class EndsLater(Cluster):
    """What did not seal goes on for a while, when all others have begun again."""

    async def _replace(self, pes: Iterable[int], plan: Mapping[int, str]) -> None:
        sealed = self.hand_over.sealed if self.hand_over is not None else {}
        for late in (False, True):
            await super()._replace([each for each in pes if (each not in sealed) == late], plan)
            await asyncio.sleep(1)


async def test_what_late_pes_would_take_of_those_that_have_begun_again_is_not_lost() -> None:
    """They take nothing more: nobody would count it."""
    async with EndsLater(slow, store=MemoryStore(), stop_s=22.0) as cluster:
        await cluster.until(lambda: job.is_done(2_200), 60)
        await cluster.resize(deadline_s=5.0, Counting=5)
        await asyncio.sleep(60)
        lost = sum(pod.lost for pod in (*cluster.ended, *cluster.pods.values()))
        assert 0 < COUNT - len(job.GOT) <= lost


async def test_what_pes_hold_that_do_not_drain_before_the_deadline_is_reported() -> None:
    """At once: they do not process for others what nobody takes any more."""
    async with Cluster(slow, store=MemoryStore(), stop_s=22.0) as cluster:
        await cluster.until(lambda: job.is_done(2_200), 60)
        clock = asyncio.get_running_loop().time
        began = clock()
        news = await cluster.resize(deadline_s=5.0, Counting=5)
        assert clock() - began < 10.0
        assert news.sealed.keys() < news.pes.keys()
        assert not writer.kept, "a sink that is late writes what it has"
        await asyncio.sleep(60)
        lost = sum(pod.lost for pod in (*cluster.ended, *cluster.pods.values()))
        missing = COUNT - len(job.GOT)
        assert 0 < missing <= lost < 1.1 * missing
