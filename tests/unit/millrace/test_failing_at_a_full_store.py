"""An operator fails while the store takes nothing: the PE stays, and nothing is lost.

It ends in good order once what it has is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from millrace import App
from millrace.protocol import Trouble
from millrace.runtime.endings import Ending, StoreFailed
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateMissing
from planner.numbering.records import Fusion
from tests.unit.millrace import test_failing_operators as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
FULL_S = 60.0


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    job.FAILS.clear()
    yield
    job.GOT.clear()


class Store(MemoryStore):
    """Takes nothing while it is full; one that is away does not answer either.

    `keeps`: it keeps what it takes, and its answer is lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_full = self.is_away = self.keeps = False
        self.tries: list[StateName] = []

    async def write(self, name: StateName, data: bytes) -> None:
        if self.is_full or self.is_away:
            self.tries += [name] if name.kind == "stopped" else []
            if self.keeps:
                await super().write(name, data)
            raise StoreFailed(f"{name.path} cannot be written: No space left on device")
        await super().write(name, data)

    async def read(self, name: StateName) -> bytes:
        if self.is_away:
            raise StoreFailed(f"{name.path} cannot be read")
        if name not in self.kept:
            raise StateMissing(f"{name.path} is not there")
        return await super().read(name)

    def take_again(self) -> None:
        self.is_full = self.is_away = False


def troubles(cluster: Cluster) -> list[Trouble]:
    pods = (*cluster.ended, *cluster.pods.values())
    return [each for pod in pods for each in pod.reports if isinstance(each, Trouble)]


def after(seconds: float, store: Store) -> None:
    asyncio.get_running_loop().call_later(seconds, store.take_again)


async def is_exact(cluster: Cluster) -> bool:
    await cluster.until(lambda: len(job.GOT) >= job.COUNT, 400)
    await asyncio.sleep(5)
    job.check()
    return cluster.lost == 0


@pytest.mark.parametrize(
    ("fusion", "number", "fails"),
    [
        (job.FUSIONS[0], 100, 50),
        (job.FUSIONS[0], job.COUNT + 501, 2),
        (job.FUSIONS[2], 101, 2),
        (job.FUSIONS[2], job.COUNT + 501, 50),
    ],
    ids=["a map", "state, for some seconds", "one PE, for some seconds", "one PE with state"],
)
async def test_nothing_is_lost_or_doubled_where_the_store_is_full_when_an_operator_fails(
    fusion: Fusion, number: int, fails: int
) -> None:
    store = Store()
    async with job.running(Cluster(job.app, store=store, fusion=fusion)) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        store.is_full = True
        job.FAILS[number] = fails
        after(FULL_S, store)
        await asyncio.sleep(FULL_S - 1)
        ended = len(cluster.ended)
        assert ended == 0, "it stays"
        assert len(store.tries) <= 8, "it tries again after 1, 2, 5, 10, 20 and 30 s"
        assert len(store.tries) >= min(fails, 5)
        assert (len(job.GOT) >= job.COUNT) == (fails == 2), "the tuple is tried again, too"
        job.FAILS[number] = min(job.FAILS[number], 2)
        assert await is_exact(cluster)
        assert (len(cluster.ended) > 0) == (fails == 50), "it ends once it is kept"


async def test_both_troubles_are_reported_until_the_tuple_is_past() -> None:
    store = Store()
    async with job.running(Cluster(job.app, store=store, fusion=job.FUSIONS[2])) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        store.is_full = True
        job.FAILS[100] = 3
        await cluster.until(lambda: len(job.GOT) >= job.COUNT, 400)
        store.take_again()
        await cluster.until(lambda: troubles(cluster)[-1].reason != "OperatorFailed")
        first = troubles(cluster)[0]
        assert first.reason == "OperatorFailed"
        assert "operator Checked failed on Number(key='key26', number=100): ValueError" in (
            first.message
        )
        failing = [each.message for each in troubles(cluster) if each.reason == first.reason]
        [stays] = {each for each in failing if "No space left on device" in each}
        assert stays.startswith("operator Checked failed on ")


async def test_a_pe_that_does_not_know_whether_its_state_is_kept_does_nothing_after_it() -> None:
    """A state that is there after all is the one that its next launch begins with."""
    store = Store()
    async with job.running(Cluster(job.app, store=store, fusion=job.FUSIONS[2])) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        store.is_away = store.keeps = True
        job.FAILS[100] = 1
        await asyncio.sleep(FULL_S)
        assert len(store.tries) >= 4
        assert len(cluster.ended) == 0
        assert len(job.GOT) <= 100
        store.take_again()
        assert await is_exact(cluster)
        assert len(cluster.ended) == 1


@pytest.mark.parametrize("fails", [False, True], ids=["that is well", "that fails"])
async def test_a_pe_that_is_stopped_keeps_its_state_in_the_time_that_it_has(fails: bool) -> None:
    store = Store()
    cluster = Cluster(job.app, store=store, fusion=job.FUSIONS[2], stop_s=30.0)
    async with job.running(cluster):
        await cluster.until(lambda: len(job.GOT) > 10)
        store.is_full = True
        if fails:
            job.FAILS[500] = 1_000
            await asyncio.sleep(20)
        after(20, store)
        (pe,) = cluster.pods
        began = asyncio.get_running_loop().time()
        ending = await cluster.stop(pe)
        assert ending is (Ending.OPERATOR_FAILED if fails else Ending.STOPPED)
        assert 20 <= asyncio.get_running_loop().time() - began <= 24
        job.FAILS.clear()
        cluster.launch(pe, 2)
        assert await is_exact(cluster)


async def test_a_pe_that_is_stopped_ends_in_time_where_its_store_stays_full() -> None:
    store = Store()
    async with Cluster(job.app, store=store, fusion=job.FUSIONS[2], stop_s=30.0) as cluster:
        await cluster.until(lambda: len(job.GOT) > 10)
        store.is_full = cluster.launches_again = True
        began = asyncio.get_running_loop().time()
        assert await cluster.stop(next(iter(cluster.pods))) is Ending.STORE_FAILED
        assert 27 <= asyncio.get_running_loop().time() - began <= 30
        assert len(store.tries) >= 10


async def test_a_pe_without_a_store_that_is_stopped_at_a_tuple_ends_with_that() -> None:
    """So everybody knows until a launch is past it."""
    async with Cluster(job.app, fusion=job.FUSIONS[2], stop_s=5.0) as cluster:
        job.FAILS[100] = 1_000
        await cluster.until(lambda: len(troubles(cluster)) > 0)
        assert await cluster.stop(next(iter(cluster.pods))) is Ending.OPERATOR_FAILED


async def test_a_hand_over_that_comes_meanwhile_waits_for_what_the_pe_ends_with() -> None:
    store = Store()
    async with job.running(Cluster(job.app, store=store, fusion=job.FUSIONS[0])) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        store.is_full = True
        job.FAILS[job.COUNT + 500] = 1_000
        await asyncio.sleep(40)
        job.FAILS.clear()
        store.take_again()
        await cluster.resize(Counting=5)
        assert await is_exact(cluster)


@dataclass
class Place:
    upto: int = 0


async def broken(place: Place) -> AsyncIterator[job.Number]:
    while place.upto < job.COUNT:
        if place.upto == 700:
            job.fail_at(700)
        number = place.upto
        place.upto += 1
        yield job.Number(f"key{number % job.KEYS}", number)
        if number % 50 == 0:
            await asyncio.sleep(0.01)


breaks = App("tests::Breaks")
breaks.source(broken, state=Place, name="Numbers").sink(job.kept, name="Report")


async def test_a_source_that_raised_waits_for_the_store_and_is_read_on_from_its_state() -> None:
    store = Store()
    async with job.running(Cluster(breaks, store=store, fusion=job.FUSIONS[0])) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        store.is_full = True
        job.FAILS[700] = 1
        await asyncio.sleep(FULL_S)
        assert job.numbers_got() == list(range(700))
        assert len(store.tries) >= 4
        store.take_again()
        await cluster.until(lambda: len(job.GOT) >= job.COUNT, 400)
        assert job.numbers_got() == list(range(job.COUNT))
