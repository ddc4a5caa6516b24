"""A store that is full: a PE that runs goes on, and says so; what has to be kept ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from millrace import App
from millrace.protocol import Trouble
from millrace.runtime.checkpointing import Checkpoints
from millrace.runtime.endings import Ending, StoreFailed, ending_of
from millrace.runtime.state_names import StateName
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.pods import Pod
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 10_000

each_second = App("tests::EachSecond", checkpoint_seconds=1.0)
upto = each_second.param("upto", default=COUNT)
given = each_second.source(job.numbers, state=job.Given, fn_kwargs={"upto": upto}, name="Numbers")
keyed = given.parallel(3, key="key", name="Counting").key_by("key")
counts = keyed.map(job.counted, state=job.Total, name="Counted").end_parallel()
counts.sink(job.kept, name="Report")


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


class Store(MemoryStore):
    """Takes nothing while it is full, and answers slowly then."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.tries: list[StateName] = []

    async def write(self, name: StateName, data: bytes) -> None:
        if self.is_full:
            self.tries.append(name)
            await asyncio.sleep(0.5)
            raise StoreFailed(f"{name.path} cannot be written: No space left on device")
        await super().write(name, data)


def troubles(pod: Pod) -> list[Trouble]:
    return [each for each in pod.reports if isinstance(each, Trouble)]


def last(pod: Pod) -> Trouble:
    """What a PE reported last."""
    return (troubles(pod) or [Trouble()])[-1]


async def test_a_checkpoint_that_cannot_be_written_is_reported_and_tried_again() -> None:
    store = Store()
    values = {"upto": "1000000000"}
    async with Cluster(each_second, store=store, values=values) as cluster:
        await cluster.until(lambda: job.is_done(500))
        store.is_full = True
        pod = cluster.pods[pe_of(cluster, "Counting.Counted", "1")]
        await cluster.until(lambda: bool(troubles(pod)))
        [trouble] = troubles(pod)
        assert trouble.reason == "CheckpointFailed"
        assert "No space left on device" in trouble.message
        before = len(store.tries)
        await asyncio.sleep(6)
        tries = (len(store.tries) - before) / len(cluster.pods)
        assert 2 <= tries <= 5, "once a period, and not more often"
        assert len(troubles(pod)) == 1, "each report is a write"
        store.is_full = False
        await cluster.until(lambda: troubles(pod)[-1] == Trouble())
        assert not any(each.task.done() for each in cluster.pods.values())


async def test_tuples_pass_while_a_store_does_not_answer() -> None:
    store = Store()
    async with Cluster(each_second, store=store) as cluster:
        await cluster.until(lambda: job.is_done(500))
        store.is_full = True
        await cluster.until(lambda: bool(store.tries))
        before = len(job.GOT)
        await asyncio.sleep(0.3)
        assert len(job.GOT) > before
        store.is_full = False
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)


async def test_nothing_is_lost_by_a_resize_after_checkpoints_failed() -> None:
    store = Store()
    async with Cluster(job.often, store=store) as cluster:
        await cluster.until(lambda: job.is_done(500))
        store.is_full = True
        await cluster.until(lambda: len(store.tries) > 2 * len(cluster.pods))
        store.is_full = False
        await cluster.resize(Counting=5)
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)


@pytest.mark.parametrize("app", [job.app, each_second], ids=["seldom", "each second"])
async def test_a_seal_that_is_not_kept_is_tried_again_while_the_hand_over_waits(app: App) -> None:
    """The job waits for room, and goes on with all that it had."""
    store = Store()
    async with Cluster(app, store=store) as cluster:
        await cluster.until(lambda: job.is_done(500))
        pods, store.is_full = list(cluster.pods.values()), True
        resizing = asyncio.create_task(cluster.resize(Counting=5))
        await cluster.until(lambda: {"CheckpointFailed"} == {last(each).reason for each in pods})
        await asyncio.sleep(5)
        assert not any(each.task.done() for each in pods)
        store.is_full = False
        news = await resizing
        assert news.sealed.keys() == news.pes.keys()
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)
        assert cluster.lost == 0


async def test_a_seal_that_nobody_waits_for_any_more_is_no_trouble() -> None:
    """Without a period no checkpoint would ever end it."""

    async def full() -> None:
        raise StoreFailed("No space left on device")

    checkpoints = Checkpoints(None)
    keeping = asyncio.create_task(checkpoints.keep_seal(full))
    await asyncio.sleep(3)
    assert checkpoints.trouble == Trouble("CheckpointFailed", "No space left on device")
    keeping.cancel()
    await asyncio.wait([keeping])
    assert checkpoints.trouble == Trouble()


async def test_a_launch_that_cannot_keep_its_first_state_ends_before_it_takes_anything() -> None:
    """Its next launch would take the state of before for the newest one."""
    store = Store()
    async with Cluster(job.app, store=store) as cluster:
        await cluster.until(lambda: job.is_done(500))
        pe = pe_of(cluster, "Counting.Counted", "1")
        await cluster.stop(pe)
        store.is_full = cluster.launches_again = True
        cluster.launch(pe, 2)
        pod = cluster.pods[pe]
        await cluster.until(pod.task.done)
        assert ending_of(pod.task.exception() or Exception()) is Ending.STORE_FAILED
        store.is_full = False
        cluster.launch(pe, 3)
        await cluster.until(lambda: job.is_done(COUNT))
        job.check(COUNT)
