"""What a sink holds back until `flush` or `close` is not lost where these fail."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App, OperatorFailed
from millrace.protocol import Trouble
from millrace.runtime.endings import Ending, ending_of
from planner.numbering.records import Fusion
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime

COUNT = 100
OUT: list[int] = []
"""What was let out."""
CALLS: list[str] = []
FAILS: Counter[str] = Counter()
"""How often `flush` and `close` are yet to fail."""


@dataclass
class Number:
    number: int


@dataclass
class Given:
    upto: int = 0


async def numbers(given: Given) -> AsyncIterator[Number]:
    while given.upto < COUNT:
        given.upto += 1
        yield Number(given.upto)
        if given.upto % 10 == 0:
            await asyncio.sleep(0.01)


async def endless(given: Given) -> AsyncIterator[Number]:
    while True:
        given.upto += 1
        yield Number(given.upto)
        await asyncio.sleep(0.01)


class Keeping:
    """What is kept until it is flushed."""

    def __init__(self, name: str = "") -> None:
        self.held: list[int] = []

    def flush(self) -> None:
        fail("flush")
        OUT.extend(self.held)
        self.held.clear()

    def close(self) -> None:
        fail("close")


class Holding(Keeping):
    """A sink that keeps everything to itself until it is flushed."""

    def __call__(self, number: Number) -> None:
        self.held.append(number.number)


class HoldingLater(Holding):
    """The same, async."""

    async def flush(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().flush()

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().close()


class Passing(Keeping):
    """A function in the middle of a stream."""

    def __call__(self, number: Number) -> Number:
        self.held.append(number.number)
        return number


PASSING: Any = Passing


def fail(what: str) -> None:
    CALLS.append(what)
    if FAILS[what] > 0:
        FAILS[what] -= 1
        raise OSError(f"no {what} yet")


def to_a_sink(sink: Any, source: Any = numbers, **options: Any) -> App:
    app = App("tests::Holding", **options)
    app.source(source, state=Given, name="Numbers").sink(sink, name="Report")
    return app


def with_arguments() -> App:
    app = App("tests::Holding")
    app.source(numbers, state=Given).sink(Holding, fn_kwargs={"name": "x"}, name="Report")
    return app


def in_the_middle() -> App:
    app = App("tests::Holding")
    app.source(numbers, state=Given).map(PASSING, returns=Number, name="Report").sink(
        lambda _: None, name="End"
    )
    return app


APPS = {
    "a class": lambda: to_a_sink(Holding),
    "an object": lambda: to_a_sink(Holding()),
    "arguments": with_arguments,
    "async": lambda: to_a_sink(HoldingLater),
    "a map": in_the_middle,
}
plain, later = to_a_sink(Holding), to_a_sink(HoldingLater)
middle = in_the_middle()
saving = to_a_sink(Holding, endless, checkpoint_seconds=1)
FUSIONS = {"PEs": Fusion("legacy"), "one PE": Fusion("manual", 1)}
STORES = {"a store": True, "no store": False}


@pytest.fixture(autouse=True)
def _empty() -> None:
    for each in (OUT, CALLS, FAILS):
        each.clear()


# ------------------------------------------------------------------ in one process


def refuses(number: Number) -> None:
    if number.number == 50:
        raise ValueError("no 50")


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """As on a terminal: a shell makes what it runs in the background ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c")
def test_ctrl_c_flushes_and_closes_the_sinks_of_a_run() -> None:
    app = App("tests::Interrupted")
    source = app.source(numbers, state=Given, name="Numbers")
    source.sink(Holding, name="Report")
    source.map(interrupted, name="Interrupted").sink(lambda _: None, name="End")
    with pytest.raises(KeyboardInterrupt):
        app.run()
    assert OUT == list(range(1, len(OUT) + 1)) != []
    assert CALLS == ["flush", "close"]


async def interrupted(number: Number) -> Number:
    if number.number == 50:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(1)
    return number


def beside_one_that_fails() -> App:
    app = App("tests::Beside")
    source = app.source(numbers, state=Given, name="Numbers")
    source.sink(Holding, name="Report")
    source.sink(refuses, name="Refuses")
    return app


def test_a_run_that_fails_flushes_and_closes_the_sinks_that_did_not() -> None:
    with pytest.raises(OperatorFailed, match="operator Refuses failed"):
        beside_one_that_fails().run()
    assert set(range(1, 50)) <= set(OUT)
    assert CALLS == ["flush", "close"]


def test_a_run_that_fails_names_sinks_that_cannot_be_flushed_in_addition() -> None:
    FAILS["flush"] = 1
    with pytest.raises(OperatorFailed, match="operator Refuses failed") as raised:
        beside_one_that_fails().run()
    assert raised.value.__notes__ == ["Then operator Report failed in flush: OSError: no flush yet"]


def test_a_sink_whose_own_flush_failed_is_not_called_again() -> None:
    FAILS["flush"] = 5
    with pytest.raises(OperatorFailed, match="operator Report failed in flush"):
        plain.run()
    assert CALLS == ["flush"]


class HoldingUpto(Holding):
    """Fails at a tuple."""

    def __call__(self, number: Number) -> None:
        if number.number == 50:
            raise ValueError("no 50")
        super().__call__(number)


def test_a_sink_that_fails_at_a_tuple_lets_out_what_it_took_before() -> None:
    with pytest.raises(OperatorFailed, match=r"operator Report failed on .*no 50"):
        to_a_sink(HoldingUpto).run()
    assert list(range(1, 50)) == OUT
    assert CALLS == ["flush", "close"]


def test_what_is_before_a_sink_whose_flush_fails_is_closed_once() -> None:
    app = App("tests::Holding")
    source = app.source(numbers, state=Given).map(PASSING, returns=Number, name="Before")
    source.sink(Holding, name="Report")
    FAILS["flush"] = 1
    with pytest.raises(OperatorFailed, match="operator Before failed in flush"):
        app.run()
    CALLS.clear()
    other = App("tests::Holding")
    other.source(numbers, state=Given).map(PASSING, returns=Number, name="Before").sink(FailsAtEnd)
    with pytest.raises(OperatorFailed, match="operator FailsAtEnd failed in close"):
        other.run()
    assert CALLS == ["flush", "close"]


class FailsAtEnd:
    def __call__(self, number: Number) -> None: ...

    def close(self) -> None:
        raise OSError("no close at all")


@pytest.mark.parametrize("sink", [Holding, HoldingLater], ids=["plain", "async"])
async def test_a_run_that_ends_by_its_seconds_flushes_and_closes_once(sink: Any) -> None:
    app = to_a_sink(sink, endless)
    taken = (await app.run_async(seconds=0.5))["Report"].taken
    assert list(range(1, taken + 1)) == OUT
    assert taken > 10
    assert CALLS == ["flush", "close"]


@pytest.mark.parametrize("sink", [Holding, HoldingLater], ids=["plain", "async"])
async def test_a_run_that_is_cancelled_flushes_and_closes_once(sink: Any) -> None:
    """As by Ctrl-C in a terminal, and by a notebook."""
    run = asyncio.create_task(to_a_sink(sink, endless).run_async())
    await asyncio.sleep(0.5)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert OUT == list(range(1, len(OUT) + 1)) != []
    assert CALLS == ["flush", "close"]


async def test_a_run_that_is_cancelled_names_a_sink_that_cannot_be_flushed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    FAILS["flush"] = 1
    run = asyncio.create_task(to_a_sink(Holding, endless).run_async())
    await asyncio.sleep(0.5)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert "operator Report failed in flush: OSError: no flush yet" in caplog.text
    assert CALLS == ["flush"]


@pytest.mark.parametrize("app", APPS.values(), ids=APPS)
async def test_a_run_flushes_and_closes_at_its_end(app: Any) -> None:
    await app().run_async()
    assert list(range(1, COUNT + 1)) == OUT
    assert CALLS == ["flush", "close"]


@pytest.mark.parametrize("what", ["flush", "close"])
@pytest.mark.parametrize("app", APPS.values(), ids=APPS)
async def test_a_run_fails_whose_flush_or_close_does(app: Any, what: str) -> None:
    FAILS[what] = 1
    with pytest.raises(
        OperatorFailed, match=f"operator Report failed in {what}: OSError: no {what} yet"
    ):
        await app().run_async()


# ------------------------------------------------------------------ on a cluster


@pytest.mark.parametrize("what", ["flush", "close"])
@pytest.mark.parametrize("app", [plain, later, middle], ids=["plain", "async", "in the middle"])
@pytest.mark.parametrize("has_store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("fusion", FUSIONS.values(), ids=FUSIONS)
async def test_a_job_is_not_completed_before_they_went_through(
    fusion: Fusion, has_store: bool, app: App, what: str
) -> None:
    FAILS[what] = 3
    store = MemoryStore() if has_store else None
    async with Cluster(app, store=store, fusion=fusion) as cluster:
        await cluster.until(lambda: not FAILS.total())
        assert not cluster.has_ended
        assert not any(pod.task.done() for pod in cluster.pods.values())
        await cluster.until(lambda: cluster.has_ended)
        await cluster.until(lambda: all(pod.task.done() for pod in cluster.pods.values()))
        assert {pod.task.result() for pod in cluster.pods.values()} == {Ending.COMPLETED}
        assert list(range(1, COUNT + 1)) == OUT
        assert CALLS[-1] == "close"
        found = [e for p in cluster.pods.values() for e in p.reports if isinstance(e, Trouble)]
        assert found[0] == Trouble(
            "OperatorFailed", f"operator Report failed in {what}: OSError: no {what} yet"
        )
        assert found[-1] == Trouble()


async def test_a_restart_at_the_end_waits_for_a_flush_that_fails() -> None:
    FAILS["flush"] = 4
    async with Cluster(plain, store=MemoryStore(), fusion=FUSIONS["one PE"]) as cluster:
        await cluster.until(lambda: FAILS["flush"] == 3)
        await cluster.restart(*cluster.pods)
        assert list(range(1, COUNT + 1)) == OUT
        await cluster.until(lambda: cluster.has_ended)
        assert list(range(1, COUNT + 1)) == OUT


async def test_what_could_not_be_let_out_in_time_is_counted_as_lost() -> None:
    FAILS["flush"] = 1_000
    async with Cluster(saving, store=MemoryStore(), fusion=FUSIONS["PEs"]) as cluster:
        await asyncio.sleep(2.5)
        (pod,) = [p for p in cluster.pods.values() if not p.running.begun.made.engine.sources]
        taken = sum(each.counts.taken for each in pod.running.begun.made.engine.nodes) // 2
        assert taken > 0
        pod.running.stop()
        with pytest.raises(BaseExceptionGroup) as failed:
            await pod.task
        assert ending_of(failed.value) is Ending.OPERATOR_FAILED
        assert "operator Report failed in flush: OSError" in str(failed.value.exceptions[0])
        assert pod.lost >= taken
        del cluster.pods[pod.pe]


async def test_a_checkpoint_is_not_kept_whose_flush_fails() -> None:
    """A PE that is killed behind it would not know what the sink held back."""
    store = MemoryStore()
    FAILS["flush"] = 2
    async with Cluster(saving, store=store, fusion=FUSIONS["one PE"]) as cluster:
        await asyncio.sleep(2.5)
        (pod,) = cluster.pods.values()
        sizes = [pod.running.states.bytes_written]
        assert not OUT
        await asyncio.sleep(1)
        sizes.append(pod.running.states.bytes_written)
        assert [size is not None for size in sizes] == [False, True]
        assert list(range(1, len(OUT) + 1)) == OUT != []
        troubles = [each for each in pod.reports if isinstance(each, Trouble)]
        assert [each.reason for each in troubles] == ["OperatorFailed", ""]
        assert pod.lost == 0


def in_a_region() -> App:
    app = App("tests::Region")
    stream = app.source(numbers, state=Given, name="Numbers").parallel(2, name="Region")
    stream.map(PASSING, returns=Number, name="Report").end_parallel().sink(
        lambda _: None, name="End"
    )
    return app


region = in_a_region()


async def test_a_hand_over_waits_for_a_flush_that_fails() -> None:
    async with Cluster(region, store=MemoryStore(), fusion=FUSIONS["PEs"]) as cluster:
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        FAILS["flush"] = 3
        await cluster.resize(Region=3)
        assert FAILS["flush"] == 0
        await cluster.until(lambda: cluster.has_ended)
        assert sorted(OUT) == list(range(1, COUNT + 1))
        assert cluster.lost == 0
