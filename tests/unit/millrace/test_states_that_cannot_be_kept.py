"""A state that no store could give back replaces none that is kept, and its operator is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from millrace import App
from millrace.protocol import Trouble
from millrace.runtime.endings import Ending, StateUnfit, ending_of
from millrace.runtime.states import decoded
from millrace.runtime.stores import Keyed, Single
from planner.numbering.records import Fusion
from tests.unit.millrace import test_failing_operators as failing
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.pods import Pod
from tests.unit.millrace.test_failing_at_a_full_store import Store
from tests.unit.millrace.test_hand_over_disturbed import pe_of
from tests.unit.millrace.test_kills import lost

pytestmark = pytest.mark.looptime
WRONG: list[object] = []
"""What the function sets as its count, once."""
CHANGES: set[int] = set()
"""The tuples that the function changes before it fails at them."""
WORDS = "operator Counted: its state of key 'key"
IS_INT = "and count of Total is int"


def counted(number: job.Number, total: job.Total) -> job.Number:
    if number.number in CHANGES:
        number.number = object()  # type: ignore[assignment]
        raise ValueError("not now")
    failing.fail_at(number.number)
    if WRONG:
        total.count = WRONG.pop()  # type: ignore[assignment]
        return job.Number(number.key, 0)
    total.count = total.count + 1 if isinstance(total.count, int) else 1
    return job.Number(number.key, total.count)


async def numbers(given: job.Given) -> AsyncIterator[job.Number]:
    while True:
        number = given.upto
        given.upto += 1
        yield job.Number(f"key{number % 97}", number)
        if number % 10 == 0:
            await asyncio.sleep(0.1)


def made(checkpoint_seconds: float | None) -> App:
    app = App("tests::Wrong", checkpoint_seconds=checkpoint_seconds)
    source = app.source(numbers, state=job.Given, name="Numbers")
    keyed = source.parallel(2, key="key", name="Counting").key_by("key")
    counts = keyed.map(counted, state=job.Total, name="Counted").end_parallel()
    counts.sink(job.kept, name="Report")
    return app


each_second, seldom = made(1.0), made(None)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    for each in (job.GOT, failing.FAILS, WRONG, CHANGES):
        each.clear()
    yield
    for each in (job.GOT, failing.FAILS, WRONG, CHANGES):
        each.clear()


def troubles(pod: Pod) -> list[Trouble]:
    return [each for each in pod.reports if isinstance(each, Trouble)]


def in_trouble(cluster: Cluster) -> list[Pod]:
    return [each for each in cluster.pods.values() if troubles(each)]


async def sets_wrong(value: object = "many") -> None:
    """Until cancelled: there is a key whose state never fits."""
    while True:
        WRONG[:] = [value]
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("wrong", ["many", object()], ids=["another type", "no type at all"])
async def test_a_checkpoint_that_would_not_come_back_is_reported_and_replaces_none(
    wrong: object,
) -> None:
    store = MemoryStore()
    async with Cluster(each_second, store=store) as cluster:
        await cluster.until(lambda: job.is_done(300))
        setting = asyncio.create_task(sets_wrong(wrong))
        await cluster.until(lambda: bool(in_trouble(cluster)))
        pod = in_trouble(cluster)[0]
        good = {name: data for name, data in store.kept.items() if name.pe == pod.pe}
        await asyncio.sleep(3)
        assert good == {name: data for name, data in store.kept.items() if name.pe == pod.pe}
        for name, data in good.items():
            assert decoded(data, str(name)).pe == pod.pe
        [trouble] = troubles(pod)
        assert trouble.reason == "CheckpointFailed"
        assert trouble.message.startswith(WORDS)
        assert IS_INT in trouble.message
        setting.cancel()
        WRONG.clear()
        await cluster.until(lambda: troubles(pod)[-1] == Trouble())
        assert not any(each.task.done() for each in cluster.pods.values())


async def test_a_pe_that_is_killed_then_begins_with_the_last_good_state() -> None:
    store = MemoryStore()
    async with Cluster(each_second, store=store) as cluster:
        await cluster.until(lambda: job.is_done(300))
        setting = asyncio.create_task(sets_wrong())
        await cluster.until(lambda: bool(in_trouble(cluster)))
        await asyncio.sleep(3)
        pe = in_trouble(cluster)[0].pe
        assert len(troubles(cluster.pods[pe])) == 1, "each report is a write"
        setting.cancel()
        WRONG.clear()
        await cluster.kill(pe)
        cluster.launch(pe, 2)
        before = len(job.GOT)
        await cluster.until(lambda: job.is_done(before + 300))
        assert not cluster.pods[pe].task.done()
        assert lost(cluster, "OutOfState") > 0


async def test_a_stop_with_a_state_that_does_not_fit_ends_by_name_and_its_loss_counts() -> None:
    store = MemoryStore()
    async with Cluster(seldom, store=store) as cluster:
        await cluster.until(lambda: job.is_done(300))
        pe = pe_of(cluster, "Counting.Counted", "1")
        setting = asyncio.create_task(sets_wrong())
        await asyncio.sleep(1)
        cluster.launches_again = True
        running = cluster.pods[pe]
        began = asyncio.get_running_loop().time()
        assert await cluster.stop(pe) is Ending.STORE_FAILED
        assert asyncio.get_running_loop().time() - began < 2.5, "no attempt could help"
        assert WORDS in text_of(running.task)
        setting.cancel()
        WRONG.clear()
        assert all(name.kind != "stopped" for name in store.kept if name.pe == pe)
        cluster.launch(pe, 2)
        before = len(job.GOT)
        await cluster.until(lambda: job.is_done(before + 300))
        assert lost(cluster, "OutOfState") > 0


def text_of(task: asyncio.Task[Ending]) -> str:
    problem: BaseException | None = task.exception()
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    assert isinstance(problem, StateUnfit)
    assert ending_of(problem) is Ending.STORE_FAILED
    return str(problem)


async def test_a_seal_that_would_not_come_back_ends_its_pe_by_name_and_is_not_kept() -> None:
    store = MemoryStore()
    async with Cluster(seldom, store=store) as cluster:
        await cluster.until(lambda: job.is_done(300))
        setting = asyncio.create_task(sets_wrong())
        await asyncio.sleep(1)
        cluster.launches_again = True
        counting = [pe_of(cluster, "Counting.Counted", each) for each in "01"]
        pods = [cluster.pods[each] for each in counting]
        resizing = asyncio.create_task(cluster.resize(Counting=3))
        await cluster.until(lambda: any(each.task.done() for each in pods))
        resizing.cancel()
        setting.cancel()
        [ended, *_] = [each for each in pods if each.task.done()]
        assert WORDS in text_of(ended.task)
        assert all(name.kind != "handover" for name in store.kept if name.pe == ended.pe)


async def test_a_pe_whose_operator_fails_beside_such_a_state_stays_and_names_both() -> None:
    fusion = Fusion("manual", 1)
    async with Cluster(seldom, store=Store(), fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(300))
        (pod,) = cluster.pods.values()
        WRONG.append("many")
        failing.FAILS[len(job.GOT) + 30] = 3
        await cluster.until(lambda: any("stays" in each.message for each in troubles(pod)))
        trouble = next(each for each in troubles(pod) if "stays" in each.message)
        assert trouble.reason == "OperatorFailed"
        assert trouble.message.startswith("operator Counted failed on Number(")
        assert f"; the PE stays, as its state is not kept: {WORDS}" in trouble.message
        before = len(job.GOT)
        await cluster.until(lambda: job.is_done(before + 300))
        await cluster.until(lambda: troubles(pod)[-1] == Trouble())
        assert not pod.task.done()


async def test_a_tuple_that_a_function_changed_and_nobody_can_save_is_named_and_tried_again() -> (
    None
):
    fusion = Fusion("manual", 1)
    async with Cluster(seldom, store=Store(), fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(300))
        (pod,) = cluster.pods.values()
        CHANGES.add(len(job.GOT) + 30)
        await cluster.until(lambda: any("stays" in each.message for each in troubles(pod)))
        trouble = next(each for each in troubles(pod) if "stays" in each.message)
        assert (
            "operator Counted: the tuples that it has left cannot be saved: Type" in trouble.message
        )
        before = len(job.GOT)
        await cluster.until(lambda: job.is_done(before + 300))
        await cluster.until(lambda: troubles(pod)[-1] == Trouble())


async def test_a_pe_without_a_store_ends_well_whatever_its_state_is() -> None:
    """It would not be kept anyway."""
    async with Cluster(seldom) as cluster:
        await cluster.until(lambda: job.is_done(300))
        setting = asyncio.create_task(sets_wrong())
        await asyncio.sleep(1)
        assert await cluster.stop(pe_of(cluster, "Counting.Counted", "1")) is Ending.STOPPED
        setting.cancel()


async def test_a_pe_without_a_store_encodes_no_state_as_it_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That would take time, run code of the author, and be kept by nobody."""

    def encoded(*_: object) -> None:
        raise AssertionError("nobody keeps it")

    async with Cluster(seldom) as cluster:
        await cluster.until(lambda: job.is_done(300))
        monkeypatch.setattr(Keyed, "save", encoded)
        monkeypatch.setattr(Single, "save", encoded)
        assert await cluster.stop(pe_of(cluster, "Numbers", "")) is Ending.STOPPED
        assert await cluster.stop(pe_of(cluster, "Counting.Counted", "1")) is Ending.STOPPED
