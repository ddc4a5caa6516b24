"""A function that raises loses nothing: what it failed at is processed first, by the next launch.

With a store its PE ends in good order; without one it stays, and tries again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import pytest

from millrace import App, tumbling
from millrace.protocol import Trouble
from millrace.runtime.endings import Ending, ending_of
from planner.numbering.records import Fusion
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.odd_numbers import Silent

pytestmark = pytest.mark.looptime

COUNT = 3_000
KEYS = 37
GOT: list[tuple[str, int]] = []
FAILS: Counter[int] = Counter()
"""How often the function is yet to fail at a tuple of this number."""


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


@dataclass
class Sum:
    numbers: int
    last: int


async def numbers(given: Given) -> AsyncIterator[Number]:
    while given.upto < COUNT:
        number = given.upto
        given.upto += 1
        yield Number(f"key{number % KEYS}", number)
        if number % 50 == 0:
            await asyncio.sleep(0.01)


KINDS: list[Callable[[str], BaseException]] = [
    ValueError,
    GeneratorExit,
    asyncio.CancelledError,
    Silent,
    lambda text: ExceptionGroup(text, [KeyError("a"), KeyError("b")]),
]
"""What functions raise, by number."""


def fail_at(number: int) -> None:
    if FAILS[number] > 0:
        FAILS[number] -= 1
        raise KINDS[number % len(KINDS)](f"not yet: {number}")


def passed(number: Number) -> Iterator[Number]:
    yield number


def checked(number: Number) -> Number:
    fail_at(number.number)
    return number


async def checked_later(number: Number) -> Number:
    await asyncio.sleep(0)
    if FAILS[number.number] > 0 and number.number % 2:
        FAILS[number.number] -= 1
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
    fail_at(number.number)
    return number


def counted(number: Number, total: Total) -> Number:
    fail_at(COUNT + number.number)
    total.count += 1
    return Number(number.key, total.count)


def summed(found: list[Number]) -> Sum:
    fail_at(2 * COUNT + found[-1].number)
    return Sum(len(found), found[-1].number)


def kept(number: Number) -> None:
    fail_at(3 * COUNT + number.number)
    GOT.append((number.key, number.number))


def made() -> App:
    """A job with functions that fail in each of its operators."""
    app = App("tests::Failing")
    source = app.source(numbers, state=Given, name="Numbers").map(checked, name="Checked")
    region = source.parallel(3, key="key", name="Counting")
    later = region.map(checked_later, name="Later").flat_map(passed, name="Passed")
    later.key_by("key").map(counted, state=Total, name="Counted").end_parallel().sink(
        kept, name="Report"
    )
    return app


app = made()

windowed = App("tests::Windowed")
windowed.source(numbers, state=Given, name="Numbers").window(tumbling(count=7)).aggregate(
    summed, name="Summed"
).sink(lambda each: GOT.append(("sum", each.numbers)), name="Report")


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    GOT.clear()
    FAILS.clear()
    yield
    GOT.clear()


async def launch_again(cluster: Cluster) -> None:
    """Launch each PE again whose operator failed, as the services do, until cancelled."""
    cluster.launches_again = True
    while True:
        await asyncio.sleep(0.05)
        for pod in list(cluster.pods.values()):
            if pod.task.done() and (problem := pod.task.exception()) is not None:
                assert ending_of(problem) is Ending.OPERATOR_FAILED
                cluster.ended.append(cluster.pods.pop(pod.pe))
                cluster.launch(pod.pe, pod.launch + 1)


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The PEs of a cluster; those that an operator ended are launched again."""
    async with cluster:
        launching = asyncio.create_task(launch_again(cluster))
        try:
            yield cluster
        finally:
            launching.cancel()
            await asyncio.gather(launching, return_exceptions=True)


def check() -> None:
    """Every key was counted from 1 to its total, each number once, and in order."""
    truth = Counter(f"key{number % KEYS}" for number in range(COUNT))
    found: dict[str, list[int]] = {}
    for key, number in GOT:
        found.setdefault(key, []).append(number)
    assert {key: len(each) for key, each in found.items()} == truth
    for key, each in found.items():
        assert each == list(range(1, truth[key] + 1)), key


FUSIONS = [Fusion("legacy"), Fusion("manual", 3), Fusion("manual", 1)]
STORES = {"a store": True, "no store": False}


@pytest.mark.parametrize("has_store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("fusion", FUSIONS, ids=["of one operator", "three PEs", "one PE"])
async def test_what_functions_fail_at_is_processed_later_and_nothing_is_lost(
    fusion: Fusion, has_store: bool
) -> None:
    random = Random(repr((fusion, has_store)))
    for _ in range(12):
        FAILS[random.randrange(2 * COUNT)] = random.randint(1, 3)
    for number in (5, 7):
        FAILS[3 * COUNT + number] = 1
    store = MemoryStore() if has_store else None
    async with running(Cluster(app, store=store, fusion=fusion)) as cluster:
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        check()
        assert cluster.lost == 0
        assert (len(cluster.ended) > 0) == has_store
        assert FAILS.total() == 0


async def test_the_first_tuple_the_last_one_and_two_in_a_row_are_no_exception() -> None:
    FAILS.update({0: 1, 1: 2, 2: 1, COUNT - 1: 3, COUNT + COUNT - 1: 2})
    async with running(Cluster(app, store=MemoryStore(), fusion=FUSIONS[2])) as cluster:
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        check()


@pytest.mark.parametrize("has_store", STORES.values(), ids=STORES)
async def test_windows_that_fail_are_given_later_also_those_that_the_end_gives(
    has_store: bool,
) -> None:
    FAILS.update({2 * COUNT + 6: 2, 2 * COUNT + 7 * 100 - 1: 1, 2 * COUNT + COUNT - 1: 2})
    store = MemoryStore() if has_store else None
    async with running(Cluster(windowed, store=store, fusion=FUSIONS[1])) as cluster:
        await cluster.until(lambda: sum(each for _, each in GOT) >= COUNT, 200)
        assert [each for _, each in GOT] == [7] * (COUNT // 7) + [COUNT % 7]


@pytest.mark.parametrize("seed", range(10))
async def test_failures_restarts_and_resizes_at_the_same_time_lose_nothing(seed: int) -> None:
    random = Random(seed)
    for _ in range(15):
        FAILS[random.randrange(2 * COUNT)] = random.randint(1, 2)
    fusion = random.choice(FUSIONS)
    async with running(Cluster(app, store=MemoryStore(), fusion=fusion)) as cluster:
        for _ in range(4):
            await asyncio.sleep(random.uniform(0, 0.2))
            if random.random() < 0.5:
                pe = random.choice(list(cluster.pods))
                await cluster.restart(pe)
            else:
                await cluster.resize(Counting=random.randint(1, 5))
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        check()
        assert cluster.lost == 0


async def test_a_pe_without_a_store_reports_what_it_waits_at_and_takes_it_back() -> None:
    FAILS[100] = 2
    async with running(Cluster(app, fusion=FUSIONS[1])) as cluster:
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        check()
        reports = [each for pod in cluster.pods.values() for each in pod.reports]
        troubles = [each for each in reports if isinstance(each, Trouble)]
        assert [each.reason for each in troubles] == ["OperatorFailed", ""]
        assert troubles[0].message == (
            "operator Checked failed on Number(key='key26', number=100): ValueError: not yet: 100"
        )


WELL: list[bool] = []
"""Whether functions give what they say by now."""


def forgetful(number: Number) -> Number:
    return number if WELL else None  # type: ignore[return-value]


async def with_an_odd_one(given: Given) -> AsyncIterator[Number]:
    async for number in numbers(given):
        yield Number(number.key, 2**70) if number.number == 700 else number


def opened(given: Given) -> AsyncIterator[Number]:
    fail_at(0)
    return numbers(given)


class Holding:
    """A sink that cannot let go of what it holds back, at first."""

    def __call__(self, number: Number) -> None:
        GOT.append((number.key, number.number))

    def flush(self) -> None:
        fail_at(1)


forgets = App("tests::Forgets")
forgets.source(numbers, state=Given, name="Numbers").map(forgetful, name="Forgetful").sink(
    kept, name="Report"
)
odd = App("tests::Odd")
odd.source(with_an_odd_one, state=Given, name="Numbers").sink(kept, name="Report")
opens = App("tests::Opens")
opens.source(opened, state=Given, name="Numbers").sink(Holding, name="Report")


def numbers_got() -> list[int]:
    return [number for _, number in GOT]


@pytest.mark.parametrize("has_store", STORES.values(), ids=STORES)
async def test_results_of_later_tuples_that_do_not_fit_either_are_made_again(
    has_store: bool,
) -> None:
    WELL.clear()
    store = MemoryStore() if has_store else None
    async with running(Cluster(forgets, store=store, fusion=FUSIONS[2])) as cluster:
        await asyncio.sleep(0.3)
        WELL.append(True)
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        assert numbers_got() == list(range(COUNT))
        assert cluster.lost == 0


async def test_a_source_that_waits_at_a_tuple_keeps_what_it_has_read_behind_it() -> None:
    async with running(Cluster(odd, store=MemoryStore(), fusion=FUSIONS[0])) as cluster:
        await cluster.until(lambda: len(GOT) >= 700)
        await asyncio.sleep(1)
        assert numbers_got() == list(range(700)), "it waits"
        pods = cluster.pods.values()
        (pe,) = [each.pe for each in pods if each.running.begun.made.engine.sources]
        await cluster.restart(pe)
        await cluster.until(lambda: len(GOT) >= COUNT - 1, 200)
        assert numbers_got() == [each for each in range(COUNT) if each != 700]


@pytest.mark.parametrize("has_store", STORES.values(), ids=STORES)
async def test_a_source_that_raises_while_it_is_opened_and_a_flush_are_tried_again(
    has_store: bool,
) -> None:
    FAILS.update({0: 2, 1: 1})
    store = MemoryStore() if has_store else None
    async with running(Cluster(opens, store=store, fusion=FUSIONS[0])) as cluster:
        await cluster.until(lambda: len(GOT) >= COUNT // 2, 200)
        for pe in list(cluster.pods):
            await cluster.restart(pe)
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
        if has_store:
            assert numbers_got() == list(range(COUNT))
            assert FAILS.total() == 0


def total_first(number: Number, total: Total) -> Number:
    """Changes its state, and raises then."""
    total.count += 1
    fail_at(number.number)
    return Number(number.key, total.count)


hasty = App("tests::Hasty")
hasty.source(numbers, state=Given, name="Numbers").key_by("key").map(
    total_first, state=Total, name="Counted"
).sink(lambda each: GOT.append((each.key, each.number)), name="Report")


async def test_state_that_a_function_changed_before_it_raised_is_changed_once_at_most() -> None:
    """The first failure comes without a warning; each further attempt begins where it began."""
    FAILS[100] = 5
    async with running(Cluster(hasty, store=MemoryStore())) as cluster:
        await cluster.until(lambda: len(GOT) >= COUNT, 200)
    counts = [number for key, number in GOT if key == "key26"]
    assert counts[:4] == [1, 2, 4, 5]
