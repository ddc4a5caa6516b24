"""A seal that is damaged stops the PEs that need it, and can be healed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from millrace.runtime.endings import Ending, ending_of
from millrace.runtime.state_names import StateName
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 4_000
VALUES = {"upto": str(COUNT)}


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


class Damaging(MemoryStore):
    """The seals of one PE lose their last byte; counts what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: int | None = None
        self.reads: list[StateName] = []

    async def write(self, name: StateName, data: bytes) -> None:
        is_damaged = name.kind != "checkpoint" and name.pe == self.damaged
        await super().write(name, data[:-1] if is_damaged else data)

    async def read(self, name: StateName) -> bytes:
        self.reads.append(name)
        return await super().read(name)


async def test_a_resize_reads_far_fewer_seals_than_each_pe_all() -> None:
    store = Damaging()
    async with Cluster(job.app, store=store, values={"upto": "1000000000"}) as cluster:
        await cluster.until(lambda: job.is_done(500))
        await cluster.resize(Counting=8)
        store.reads.clear()
        news = await cluster.resize(Counting=9)
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        launches = len(cluster.pods)
        assert len(store.reads) < 3 * launches < launches * len(news.pes) / 3
        source, sink = pe_of(cluster, "Numbers", ""), pe_of(cluster, "Report", "")
        for pe in {source, sink} & news.pes.keys():
            assert StateName(pe, news.pes[pe], "handover", news.generation) in store.reads


async def test_a_damaged_seal_stops_those_that_need_it_until_an_older_state_is_in_its_place() -> (
    None
):
    store = Damaging()
    async with Cluster(job.often, store=store, values=VALUES) as cluster:
        await cluster.until(lambda: job.is_done(500))
        store.damaged = pe_of(cluster, "Counting.Counted", "2")
        others = {pe_of(cluster, "Numbers", ""), pe_of(cluster, "Report", "")}
        cluster.launches_again = True
        news = await cluster.resize(Counting=5)
        await asyncio.sleep(2)
        stopped = {pe: pod for pe, pod in cluster.pods.items() if pod.task.done()}
        endings = {ending_of(pod.task.exception() or Exception()) for pod in stopped.values()}
        assert endings == {Ending.STATE_REFUSED}
        assert store.damaged in stopped
        assert not others & stopped.keys(), "source and sink go on"
        assert len(stopped) < len(news.pes) / 2

        seal = StateName(store.damaged, news.pes[store.damaged], "handover", news.generation)
        older = [each for each in await store.names(store.damaged) if each.age < seal.age]
        older += [e for e in await store.names(store.damaged) if e.kind == "checkpoint"]
        store.kept[seal] = store.kept[max(older, key=lambda each: each.age)]
        for pe, pod in stopped.items():
            cluster.launch(pe, pod.launch + 1)
        cluster.launches_again = False
        await asyncio.sleep(20)
        assert all(pod.is_started for pod in cluster.pods.values())
        lost = cluster.lost_on_the_way + sum(pod.lost_on_the_way for pod in stopped.values())
        assert COUNT - lost <= len(job.GOT) <= COUNT


PASSED, SINK, LAST_CHANNEL = 1, 4, 7


async def refused(cluster: Cluster) -> set[int]:
    """The PEs that do not begin at a width of 2."""
    cluster.launches_again = True
    await cluster.resize(Counting=2)
    cluster.unblock(*cluster.blocked)
    await asyncio.sleep(2)
    stopped = {pe: pod for pe, pod in cluster.pods.items() if pod.task.done()}
    endings = {ending_of(pod.task.exception() or Exception()) for pod in stopped.values()}
    assert endings == {Ending.STATE_REFUSED}
    return set(stopped)


@pytest.mark.parametrize("absent", [LAST_CHANNEL, SINK], ids=["a channel", "the sink"])
async def test_a_damaged_seal_stops_those_that_take_the_place_of_a_pe_it_may_have_fed(
    absent: int,
) -> None:
    """Nobody can count what it kept: they would begin without it in silence."""
    store = Damaging()
    cluster = Cluster(job.app, store=store, values=VALUES, fusion=Fusion("legacy"))
    cluster.blocked, store.damaged = {absent}, PASSED
    async with cluster:
        await asyncio.sleep(0.5)
        channels = {pe_of(cluster, "Counting.Channel", each) for each in "01"}
        heirs = {absent} if absent == SINK else channels
        assert await refused(cluster) == heirs | {PASSED}


async def test_a_damaged_state_of_a_pe_that_is_gone_stops_those_that_it_kept_tuples_for() -> None:
    store = Damaging()
    async with Cluster(job.app, store=store, values=VALUES, fusion=Fusion("legacy")) as cluster:
        await cluster.until(lambda: job.is_done(100))
        store.damaged, cluster.blocked = PASSED, {PASSED}
        await cluster.restart(PASSED)
        fed = {pe_of(cluster, "Counting.Channel", each) for each in "01"}
        assert await refused(cluster) == fed | {PASSED}
