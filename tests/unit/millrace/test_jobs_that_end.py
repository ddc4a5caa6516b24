"""A job whose sources have ended ends, each tuple processed once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from random import Random

import pytest

from millrace import App, tumbling
from millrace.protocol import Ended, Skipped
from millrace.runtime.barriers import FINAL, Barrier
from millrace.runtime.clock import SystemClock
from millrace.runtime.endings import Ending
from millrace.runtime.executing import execution_of
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.state_names import StateName
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.pods import Pod

pytestmark = pytest.mark.looptime
COUNT = 1_000
VALUES = {"upto": str(COUNT)}
SIZE = 7
GIVEN: list[int] = []
"""What the sources below gave, in all launches."""
GOT: list[int] = []


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    for each in (job.GOT, GIVEN, GOT):
        each.clear()
    yield
    for each in (job.GOT, GIVEN, GOT):
        each.clear()


async def forgotten(upto: int) -> AsyncIterator[job.Number]:
    """A source that remembers nothing: each time that it is begun, it gives everything."""
    for number in range(upto):
        GIVEN.append(number)
        yield job.Number("one", number)
        if number % 50 == 0:
            await asyncio.sleep(0.01)


def summed(numbers: list[job.Number]) -> job.Number:
    return job.Number("one", len(numbers))


async def took(number: job.Number) -> None:
    await asyncio.sleep(0.01)
    GOT.append(number.number)


def windows(*, keep_running: bool = False) -> App:
    """A source without state, windows of `SIZE` tuples, and a slow sink, in three PEs."""
    app = App("tests::Windows", keep_running=keep_running)
    upto = app.param("upto", default=100)
    numbers = app.source(forgotten, fn_kwargs={"upto": upto}, name="Forgotten")
    numbers.window(tumbling(count=SIZE)).aggregate(summed, name="Summed").sink(took, name="Report")
    return app


def to_a_slow_sink() -> App:
    """A source without state, whose tuples wait for the sink in another PE."""
    app = App("tests::Slowed")
    app.source(forgotten, fn_kwargs={"upto": 100}, name="Forgotten").sink(took, name="Report")
    return app


def fails(number: job.Number) -> job.Number:
    raise ValueError(number.number)


def skips(upto_number: int) -> App:
    """A source whose tuples are all skipped by the operator behind it."""
    app = App("tests::Skipping")
    stream = app.source(forgotten, fn_kwargs={"upto": upto_number}, name="Forgotten")
    stream.map(fails, name="Fails", on_error="skip").sink(took, name="Report")
    return app


skipping, skipping_on = skips(100), skips(1_000_000)
forgetting = windows()
slowed = to_a_slow_sink()
staying = windows(keep_running=True)
LEGACY = Fusion("legacy")


async def until_ended(cluster: Cluster, within_s: float = 60.0) -> None:
    """Until the processes of all PEs have ended."""
    await cluster.until(lambda: all(pod.task.done() for pod in cluster.pods.values()), within_s)
    assert {pod.task.result() for pod in cluster.pods.values()} == {Ending.COMPLETED}


def pod_of(cluster: Cluster, operator: str) -> Pod:
    return next(
        pod
        for pod in cluster.pods.values()
        if any(each.path == operator for each in pod.running.description.operators)
    )


# ------------------------------------------------------------------ in good order


@pytest.mark.parametrize("store", [None, MemoryStore])
@pytest.mark.parametrize("fusion", job.FUSIONS)
async def test_all_pes_end_when_everything_is_processed(
    fusion: Fusion, store: type[MemoryStore] | None
) -> None:
    """Also where PEs give to each other in a circle, as a channel and its merger that are fused."""
    kept = store() if store else None
    async with Cluster(job.app, store=kept, values=VALUES, fusion=fusion) as cluster:
        await until_ended(cluster)
        job.check(COUNT)


def skipped_by(pod: Pod) -> list[int]:
    return [each.tuples for each in pod.reports if isinstance(each, Skipped)]


@pytest.mark.parametrize("store", [None, MemoryStore])
async def test_how_many_tuples_were_skipped_is_reported_before_the_end(
    store: type[MemoryStore] | None,
) -> None:
    """And not as they were at the first one, or a minute ago."""
    kept = store() if store else None
    async with Cluster(skipping, store=kept, fusion=LEGACY) as cluster:
        await until_ended(cluster)
        pod = pod_of(cluster, "Fails")
        assert skipped_by(pod)[-1] == 100
        assert pod.reports.index(Skipped(100)) < pod.reports.index(Ended())


async def test_how_many_tuples_were_skipped_is_reported_as_a_launch_stops() -> None:
    async with Cluster(skipping_on, fusion=LEGACY) as cluster:
        await cluster.until(lambda: bool(skipped_by(pod_of(cluster, "Fails"))))
        await asyncio.sleep(1)
        pod = pod_of(cluster, "Fails")
        await cluster.stop(pod.pe)
        total = sum(each.counts.skipped for each in pod.running.begun.made.engine.nodes)
        assert skipped_by(pod)[-1] == total > skipped_by(pod)[0]


async def test_no_pe_ends_before_all_have() -> None:
    async with Cluster(forgetting, fusion=LEGACY) as cluster:
        await cluster.until(lambda: pod_of(cluster, "Forgotten").has_ended)
        assert len(GOT) < 100 // SIZE, "the sink is slow"
        assert not any(pod.task.done() for pod in cluster.pods.values())
        await until_ended(cluster)


async def test_windows_that_are_open_at_the_end_are_given() -> None:
    async with Cluster(forgetting, fusion=LEGACY) as cluster:
        await until_ended(cluster)
        assert GOT == [SIZE] * (100 // SIZE) + [100 % SIZE]


async def test_an_application_that_keeps_running_stays() -> None:
    async with Cluster(staying, fusion=LEGACY) as cluster:
        await cluster.until(lambda: sum(GOT) == 100)
        await asyncio.sleep(60)
        assert not any(pod.task.done() or pod.has_ended for pod in cluster.pods.values())


@pytest.mark.parametrize("seed", range(20))
async def test_pes_that_are_evicted_and_resized_about_the_end_count_every_tuple_once(
    seed: int,
) -> None:
    random = Random(seed)
    fusion = random.choice(job.FUSIONS)
    async with Cluster(job.app, store=MemoryStore(), values=VALUES, fusion=fusion) as cluster:
        await asyncio.sleep(random.random() * 0.2)
        for _ in range(random.randint(2, 8)):
            await asyncio.sleep(random.choice([0, 0.001, 0.01, 0.1]))
            pe = random.choice(list(cluster.pods))
            match random.choice(["evict", "restart", "resize"]):
                case "evict":
                    await cluster.evict(pe)
                case "restart":
                    await cluster.restart(pe)
                case _:
                    await cluster.resize(Counting=random.randint(1, 6))
        await until_ended(cluster)
        job.check(COUNT)


async def test_a_source_that_has_ended_is_not_begun_again() -> None:
    """It has no state, and its PE is stopped while the sink is behind."""
    async with Cluster(forgetting, store=MemoryStore(), fusion=LEGACY) as cluster:
        await cluster.until(lambda: pod_of(cluster, "Forgotten").has_ended)
        await cluster.restart(pod_of(cluster, "Forgotten").pe)
        await until_ended(cluster)
        assert list(range(100)) == GIVEN
        assert sum(GOT) == 100


class Full:
    """A target that has no room until it is emptied."""

    def __init__(self) -> None:
        self.emptied = asyncio.Event()
        self.took: list[job.Number] = []

    async def take(self, batch: Batch) -> None:
        await self.emptied.wait()
        self.took += batch

    async def take_barrier(self, barrier: Barrier) -> None:
        pass


async def test_a_node_has_ended_when_its_last_windows_are_handed_on() -> None:
    """Or a PE that is stopped would save its state without them, and without what they are of."""
    summed_up = next(each for each in forgetting.graph.operators if each.name == "Summed")
    node, target = Node("Summed", execution_of(summed_up, {}, SystemClock())), Full()
    node.inputs, node.targets = 1, [target]
    await node.take([job.Number("one", 1)])
    ending = asyncio.create_task(node.take_barrier(FINAL))
    await asyncio.sleep(1)
    assert not node.has_ended
    target.emptied.set()
    await node.has_passed(FINAL)
    await ending
    assert target.took == [job.Number("one", 1)]


# ------------------------------------------------------------------ killed


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["often", "app"])
async def test_a_job_ends_though_pes_are_killed_about_its_end(seed: int, name: str) -> None:
    """What is missing was reported; no receiver waits for a sender that has ended."""
    random = Random(seed)
    fusion = random.choice(job.FUSIONS[:2])
    made = getattr(job, name)
    async with Cluster(made, store=MemoryStore(), values=VALUES, fusion=fusion) as cluster:
        cluster.launches_again = True
        await cluster.until(lambda: job.is_done(COUNT * 2 // 3))
        source = pod_of(cluster, "Numbers").pe
        for _ in range(random.randint(1, 4)):
            await asyncio.sleep(random.choice([0, 0.01, 0.1, 0.2]))
            others = [pe for pe in cluster.pods if pe != source]
            await cluster.relaunch_killed(random.choice(others))
        await until_ended(cluster)
        assert 0 <= COUNT - len(job.GOT) <= cluster.lost


@pytest.mark.parametrize("store", [None, MemoryStore])
@pytest.mark.parametrize("operator", ["Numbers", "Passed", "Counting.Counted", "Report"])
async def test_a_pe_that_is_killed_after_its_end_ends_again_and_nothing_counts_twice(
    operator: str, store: type[MemoryStore] | None
) -> None:
    """All have ended, and nobody knows it yet: pe-gateway is away."""
    kept = store() if store else None
    async with Cluster(job.app, store=kept, values=VALUES, fusion=LEGACY) as cluster:
        cluster.see_end = lambda: None  # type: ignore[method-assign]
        await cluster.until(lambda: all(pod.has_ended for pod in cluster.pods.values()))
        del cluster.see_end
        await cluster.relaunch_killed(pod_of(cluster, operator).pe)
        await until_ended(cluster)
        job.check(COUNT)


class NeverSaved(MemoryStore):
    """What a PE saves at its end, or while it runs, does not come to the store."""

    async def write(self, name: StateName, data: bytes) -> None:
        if name.kind != "checkpoint":
            await super().write(name, data)


@pytest.mark.parametrize("is_saved", [True, False])
async def test_a_launch_reports_what_the_last_one_took_with_it_before_the_job_ends(
    *, is_saved: bool
) -> None:
    """Nothing, where the end of that one is saved; else it begins with an older state."""
    store = MemoryStore() if is_saved else NeverSaved()
    async with Cluster(job.app, store=store, values=VALUES, fusion=LEGACY) as cluster:
        cluster.see_end = lambda: None  # type: ignore[method-assign]
        await cluster.until(lambda: all(pod.has_ended for pod in cluster.pods.values()))
        del cluster.see_end
        await cluster.relaunch_killed(pod_of(cluster, "Counting.Counted").pe)
        await until_ended(cluster)
        assert (cluster.lost == 0) == is_saved


async def test_a_source_that_is_killed_behind_its_end_gives_nothing_again() -> None:
    """Its end is saved, together with what its slow receiver has not taken in."""
    async with Cluster(slowed, store=MemoryStore(), fusion=LEGACY) as cluster:
        await cluster.until(lambda: pod_of(cluster, "Forgotten").has_ended)
        assert len(GOT) < 50
        await cluster.relaunch_killed(pod_of(cluster, "Forgotten").pe)
        await until_ended(cluster)
        assert GOT == GIVEN == list(range(100))


async def test_a_killed_source_that_begins_again_behind_its_end_gives_nothing_twice() -> None:
    """Its receivers took the end of its stream: what comes behind it came before."""
    async with Cluster(forgetting, store=NeverSaved(), fusion=LEGACY) as cluster:
        await cluster.until(lambda: pod_of(cluster, "Summed").has_ended or len(GOT) > 5)
        await cluster.relaunch_killed(pod_of(cluster, "Forgotten").pe)
        await until_ended(cluster)
        assert len(GIVEN) == 200
        assert sum(GOT) == 100


# ------------------------------------------------------------------ after the end


@pytest.mark.parametrize("store", [None, MemoryStore])
async def test_a_launch_of_a_job_that_has_ended_ends_at_once(
    store: type[MemoryStore] | None,
) -> None:
    """As after `kubectl delete pod`, or where somebody restarts a PE."""
    kept = store() if store else None
    async with Cluster(forgetting, store=kept, fusion=LEGACY) as cluster:
        await until_ended(cluster)
        given, got = Counter(GIVEN), list(GOT)
        await cluster.restart_at_once(list(cluster.pods))
        await until_ended(cluster)
        assert not any(pod.is_started for pod in cluster.pods.values())
        assert (Counter(GIVEN), GOT) == (given, got)


@pytest.mark.parametrize("store", [None, MemoryStore])
async def test_a_width_of_a_job_that_has_ended_changes_nothing_that_came_out(
    store: type[MemoryStore] | None,
) -> None:
    kept = store() if store else None
    async with Cluster(job.app, store=kept, values=VALUES, fusion=LEGACY) as cluster:
        await until_ended(cluster)
        before = len(cluster.pods)
        await cluster.resize(Counting=5)
        await until_ended(cluster)
        assert len(cluster.pods) > before
        job.check(COUNT)


async def test_a_launch_that_is_killed_when_it_could_end_does_so_again() -> None:
    """It saw nothing of the end of the job; the others have ended by then."""
    async with Cluster(job.app, values=VALUES, fusion=LEGACY) as cluster:
        await cluster.until(lambda: cluster.has_ended)
        await cluster.relaunch_killed(pod_of(cluster, "Report").pe)
        await until_ended(cluster)
        job.check(COUNT)
        assert Ended() not in pod_of(cluster, "Report").reports
