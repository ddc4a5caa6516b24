"""State whose key has more attributes than that of its region: channels share groups of keys."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from millrace import App
from planner.numbering.records import Fusion
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
COUNT = 3_000
GOT: list[tuple[str, int, int]] = []


@dataclass
class Given:
    upto: int = 0


@dataclass
class Number:
    key: str
    sub: int
    number: int


@dataclass
class Total:
    count: int = 0


async def numbers(given: Given) -> AsyncIterator[Number]:
    while given.upto < COUNT:
        number = given.upto
        given.upto += 1
        yield Number(f"key{number % 7}", number % 11, number)
        if number % 50 == 0:
            await asyncio.sleep(0.01)


def same(number: Number) -> Number:
    return number


def counted(number: Number, total: Total) -> Number:
    total.count += 1
    return Number(number.key, number.sub, total.count)


def kept(number: Number) -> None:
    GOT.append((number.key, number.sub, number.number))


longer = App("tests::Longer")
in_region = longer.source(numbers, state=Given, name="Numbers").parallel(3, key="key", name="R")
in_region.map(same, name="Same").key_by("key", "sub").map(
    counted, state=Total, name="Counted"
).end_parallel().sink(kept, name="Report")

nested = App("tests::Nested")
outer = nested.source(numbers, state=Given, name="Numbers").parallel(2, key="key", name="Outer")
inner = outer.map(same, name="Same").parallel(3, key="sub", name="Inner")
inner.key_by("key", "sub").map(counted, state=Total, name="Counted").end_parallel().map(
    same, name="After"
).end_parallel().sink(kept, name="Report")

WIDTHS = {"longer": (longer, {"R": 5}), "outer": (nested, {"Outer": 3})}
WIDTHS |= {"inner": (nested, {"Outer.Inner": 2})}


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    GOT.clear()
    yield
    GOT.clear()


def check() -> None:
    """Each pair of key and sub was counted from 1 to its total, in order."""
    truth = Counter((f"key{number % 7}", number % 11) for number in range(COUNT))
    found: dict[tuple[str, int], list[int]] = {}
    for key, sub, number in GOT:
        found.setdefault((key, sub), []).append(number)
    assert found == {key: list(range(1, count + 1)) for key, count in truth.items()}


@pytest.mark.parametrize("fusion", [Fusion("legacy"), Fusion("manual", 1)], ids=["many", "one"])
@pytest.mark.parametrize("case", WIDTHS)
async def test_each_key_is_counted_on_by_the_channel_that_has_it(case: str, fusion: Fusion) -> None:
    app, widths = WIDTHS[case]
    async with Cluster(app, store=MemoryStore(), fusion=fusion) as cluster:
        await cluster.until(lambda: len(GOT) > 500)
        await cluster.resize(**widths)
        await cluster.until(lambda: len(GOT) > 1_500)
        await cluster.restart(min(cluster.pods))
        await cluster.until(lambda: len(GOT) >= COUNT, 60)
        check()


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("case", WIDTHS)
async def test_what_waits_for_an_absent_channel_goes_to_the_one_that_has_its_key(
    case: str, place: int
) -> None:
    app, widths = WIDTHS[case]
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: len(GOT) > 500)
        pe = sorted(cluster.pods)[1 + 2 * place]
        cluster.blocked = {pe}
        await cluster.restart(pe)
        await asyncio.sleep(0.1)
        await cluster.resize(**widths)
        cluster.unblock(pe)
        await cluster.until(lambda: len(GOT) >= COUNT, 60)
        check()
