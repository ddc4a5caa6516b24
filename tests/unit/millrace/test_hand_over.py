"""No tuple is lost or doubled while a job is resized and PEs are launched again in good order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from random import Random

import pytest

from millrace import App
from planner.numbering.records import Fusion
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime

GOT: list[tuple[str, int]] = []


@dataclass
class Given:
    upto: int = 0


@dataclass
class Number:
    key: str
    number: int


@dataclass
class Total:
    count: int = 0


async def numbers(given: Given, upto: int) -> AsyncIterator[Number]:
    while given.upto < upto:
        number = given.upto
        given.upto += 1
        yield Number(f"key{number % 97}", number)
        if number % 50 == 0:
            await asyncio.sleep(0.01)


def passed(number: Number) -> Iterator[Number]:
    yield number


def counted(number: Number, total: Total) -> Number:
    total.count += 1
    return Number(number.key, total.count)


def kept(number: Number) -> None:
    GOT.append((number.key, number.number))


def made(checkpoint_seconds: float | None = None, *, keep_running: bool = False) -> App:
    """The job, which saves its state so often."""
    app = App("tests::Numbers", checkpoint_seconds=checkpoint_seconds, keep_running=keep_running)
    upto = app.param("upto", default=10_000)
    source = app.source(numbers, state=Given, fn_kwargs={"upto": upto}, name="Numbers")
    region = source.flat_map(passed, name="Passed").parallel(3, key="key", name="Counting")
    keyed = region.flat_map(passed, name="Channel").key_by("key")
    counts = keyed.map(counted, state=Total, name="Counted").end_parallel()
    counts.sink(kept, name="Report")
    return app


app = made()
often = made(checkpoint_seconds=0.03)
staying = made(keep_running=True)


def is_done(count: int) -> bool:
    return len(GOT) >= count


def check(count: int) -> None:
    """Every key was counted from 1 to its total, each number once, and in order."""
    truth = Counter(f"key{number % 97}" for number in range(count))
    found: dict[str, list[int]] = {}
    for key, number in GOT:
        found.setdefault(key, []).append(number)
    assert {key: len(numbers) for key, numbers in found.items()} == truth
    for key, numbers in found.items():
        assert numbers == list(range(1, truth[key] + 1)), key


def lacking(count: int) -> int:
    """How many tuples the last count of each key lacks."""
    truth = Counter(f"key{number % 97}" for number in range(count))
    return sum((truth - Counter(dict(GOT))).values())


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    GOT.clear()
    yield
    GOT.clear()


async def test_a_job_of_several_pes_counts_every_tuple_once() -> None:
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: is_done(10_000))
        check(10_000)


async def test_a_region_that_becomes_wider_counts_on_where_its_channels_were() -> None:
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: is_done(2_000))
        news = await cluster.resize(Counting=5)
        assert news.gone == frozenset()
        await cluster.until(lambda: is_done(10_000))
        check(10_000)


@pytest.mark.parametrize("pes", [None, 1])
async def test_a_hand_over_does_not_wait_for_the_end_of_sources(pes: int | None) -> None:
    """Of PEs beside it, or in the PE that hands over."""
    values, fusion = {"upto": "1000000000"}, Fusion("manual", pes) if pes else Fusion("legacy")
    async with Cluster(app, store=MemoryStore(), values=values, fusion=fusion) as cluster:
        for width in (5, 2):
            await asyncio.sleep(0.2)
            news = await cluster.resize(deadline_s=2.0, Counting=width)
            assert news.gone == frozenset()
            await cluster.restart(0)
        assert not any(pod.lost for pod in cluster.ended)


async def test_a_pe_that_learns_of_its_next_launch_first_comes_to_rest() -> None:
    async with Cluster(app, store=MemoryStore()) as cluster:
        for pe in list(cluster.pods):
            await asyncio.sleep(0.1)
            await cluster.restart_by_intent(pe)
        await cluster.until(lambda: is_done(10_000))
        check(10_000)


async def restart_some(cluster: Cluster, random: Random) -> None:
    """One PE, or several at once."""
    pes = random.sample(list(cluster.pods), random.randint(1, min(3, len(cluster.pods))))
    await cluster.restart_at_once(pes)


FUSIONS = [Fusion("legacy"), Fusion("manual", 3), Fusion("manual", 1)]


@pytest.mark.parametrize("seed", range(20))
async def test_random_resizes_and_restarts_lose_and_double_nothing(seed: int) -> None:
    random = Random(seed)
    fusion = random.choice(FUSIONS)
    async with Cluster(app, store=MemoryStore(), fusion=fusion) as cluster:
        for width in random.sample([2, 3, 5, 8, 1], 4):
            await asyncio.sleep(random.random() * 0.3)
            for _ in range(random.randint(0, 3)):
                await restart_some(cluster, random)
            news = await cluster.resize(Counting=width)
            assert news.gone == frozenset(), news
        await cluster.until(lambda: is_done(10_000))
        check(10_000)
