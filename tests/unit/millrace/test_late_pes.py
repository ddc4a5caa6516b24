"""A PE that is late for a hand-over: what it costs is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from random import Random

import pytest

from millrace import App
from millrace.protocol import HandOver
from millrace.runtime.endings import Ending, StoreFailed, ending_of
from millrace.runtime.noticing import in_hand_of
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import StateDiffers
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 10_000
SOURCE = 0


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
        lost = cluster.lost_on_the_way
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
        lost = cluster.lost
        assert 0 < job.lacking(COUNT) <= lost < 1.1 * job.lacking(COUNT)


async def slowly_kept(number: job.Number) -> None:
    await asyncio.sleep(0.005)
    job.kept(number)


FEW = 2_000
quick = App("tests::Quick")
few = quick.source(numbers, state=job.Given, fn_kwargs={"upto": FEW}, name="Numbers")
by_key = few.parallel(3, key="key", name="Counting").flat_map(slowly, name="Channel")
by_key.end_parallel().sink(slowly_kept, name="Report")


@pytest.mark.parametrize("is_under_way", [False, True], ids=["before", "in"])
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("path", ["Counting.Channel", "Report"])
async def test_what_a_killed_pe_had_in_hand_is_counted_by_who_has_its_channel_next(
    path: str, width: int, is_under_way: bool
) -> None:
    """No launch of it begins before the width is in force, and its peers begin again then."""
    async with Cluster(quick, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1))
        pe = pe_of(cluster, path, "1" if "Channel" in path else "")
        parts = cluster.pods[pe].running.begun.parts
        await cluster.until(lambda: in_hand_of(parts) > 50)
        resizing = asyncio.create_task(cluster.resize(Counting=width)) if is_under_way else None
        await asyncio.sleep(0.1)
        cluster.blocked, in_hand = {pe}, in_hand_of(parts)
        await cluster.kill(pe)
        cluster.give_up(pe)
        news = await (resizing or cluster.resize(Counting=width))
        assert pe in news.gone
        cluster.unblock(pe)
        await all_is_reported(cluster, in_hand)


async def all_is_reported(cluster: Cluster, in_hand: int) -> None:
    """What is missing in the end, and not much more; none comes twice."""
    await asyncio.sleep(60)
    missing = FEW - len(set(job.GOT))
    assert len(job.GOT) == FEW - missing
    lost = cluster.lost_on_the_way
    assert 0 < missing <= lost < 2 * in_hand


class WaitsForLateSeal(MemoryStore):
    """Keeps the seal of `pe` only behind what says that it is late."""

    def __init__(self) -> None:
        """It waits for no seal yet."""
        super().__init__()
        self.pe, self.waits, self.is_late = -1, False, asyncio.Event()

    async def write(self, name: StateName, data: bytes) -> None:
        """Raises StateDiffers."""
        if (name.pe, name.kind) == (self.pe, "handover"):
            if self.waits:
                self.is_late.set()
            else:
                self.waits = True
                await self.is_late.wait()
        if self.kept.setdefault(name, data) != data:
            raise StateDiffers(name.path)


async def test_a_pe_whose_seal_is_written_as_the_hand_over_ends_is_late_and_does_not_fail() -> None:
    """Both are states of one name, and what says that it is late is there first."""
    store = WaitsForLateSeal()
    async with EndsLater(quick, store=store) as cluster:
        await cluster.until(lambda: job.is_done(1))
        store.pe = pe_of(cluster, "Counting.Channel", "1")
        pod = cluster.pods[store.pe]
        news = await cluster.resize(deadline_s=5.0, Counting=2)
        assert store.waits
        assert store.pe in news.gone
        assert await pod.task is Ending.STOPPED_LATE


async def test_peers_that_begin_again_remember_what_a_killed_pe_had_in_hand() -> None:
    """In good order, between its end and the hand-over."""
    async with Cluster(quick, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1))
        pe = pe_of(cluster, "Counting.Channel", "1")
        parts = cluster.pods[pe].running.begun.parts
        await cluster.until(lambda: in_hand_of(parts) > 50)
        cluster.blocked, in_hand = {pe}, in_hand_of(parts)
        await cluster.kill(pe)
        await cluster.restart(SOURCE)
        await cluster.resize(Counting=2)
        cluster.unblock(pe)
        await all_is_reported(cluster, in_hand)


class CannotTidy(MemoryStore):
    """Fails once for each PE of `fails`, where its old states are removed."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: set[int] = set()

    async def remove_older(self, pe: int, hand_over: HandOver | None) -> int:
        if pe in self.fails:
            self.fails.remove(pe)
            raise StoreFailed(f"states of PE {pe} cannot be listed: Input/output error")
        return await super().remove_older(pe, hand_over)


async def test_what_is_left_of_others_is_counted_where_a_launch_fails_behind_its_first_state() -> (
    None
):
    """Its next launch begins with that state, which says nothing of it."""
    store = CannotTidy()
    async with Cluster(quick, store=store) as cluster:
        await cluster.until(lambda: job.is_done(1))
        pe = pe_of(cluster, "Counting.Channel", "1")
        parts = cluster.pods[pe].running.begun.parts
        await cluster.until(lambda: in_hand_of(parts) > 50)
        cluster.blocked, in_hand = {pe}, in_hand_of(parts)
        await cluster.kill(pe)
        cluster.launches_again, store.fails = True, {pe}
        await cluster.resize(Counting=2)
        cluster.unblock(pe)
        await asyncio.sleep(1)
        pod = cluster.pods[pe]
        assert ending_of(pod.task.exception() or Exception()) is Ending.STORE_FAILED
        cluster.ended.append(pod)
        cluster.launch(pe, pod.launch + 1)
        await all_is_reported(cluster, in_hand)


@pytest.mark.parametrize("pes", [2, 3, 4])
async def test_what_a_pe_had_in_hand_when_the_barrier_came_is_not_lost_if_it_seals(
    pes: int,
) -> None:
    """Its peers sealed before, and who has its channel next may not need its seal."""
    fusion = Fusion("manual", pes)
    async with Cluster(quick, store=MemoryStore(), fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(1))
        parts = cluster.pods[pe_of(cluster, "Counting.Channel", "1")].running.begun.parts
        await cluster.until(lambda: in_hand_of(parts) > 50)
        assert not (await cluster.resize(Counting=2)).not_sealed
        await asyncio.sleep(60)
        assert sorted(number for _, number in job.GOT) == list(range(FEW))
        assert cluster.lost == 0


@pytest.mark.parametrize("seed", range(10))
async def test_what_is_missing_after_kills_around_two_widths_was_reported(seed: int) -> None:
    """One PE at each width; its next launch begins at once, later, or behind the hand-over."""
    random = Random(seed)
    fusion = random.choice([Fusion("legacy"), Fusion("manual", 3), Fusion("manual", 4)])
    async with Cluster(quick, store=MemoryStore(), fusion=fusion) as cluster:
        await cluster.until(lambda: job.is_done(50))
        for width in random.sample([1, 2, 4, 5], 2):
            source = pe_of(cluster, "Numbers", "")
            resizing = asyncio.create_task(cluster.resize(Counting=width))
            await asyncio.sleep(random.choice([0.3, 0.4, 1]))
            pe = random.choice(sorted(cluster.pods.keys() - {source}))
            cluster.blocked = {pe} if random.random() < 0.5 else set()
            await cluster.relaunch_killed(pe)
            await resizing
            await asyncio.sleep(0.5)
            cluster.unblock(*cluster.blocked)
        await asyncio.sleep(60)
        missing = FEW - len(set(job.GOT))
        assert len(job.GOT) == FEW - missing
        assert missing <= cluster.lost_on_the_way


@pytest.mark.parametrize("path", ["Counting.Channel", "Report"])
async def test_a_pe_that_stops_while_its_hand_over_ends_without_it_saves_nothing_more(
    path: str,
) -> None:
    """Others have begun with what it had saved before, and do what is on its way to it."""
    async with Cluster(quick, store=MemoryStore(), stop_s=22.0) as cluster:
        await cluster.until(lambda: job.is_done(1))
        pe = pe_of(cluster, path, "1" if "Channel" in path else "")
        await cluster.until(lambda: in_hand_of(cluster.pods[pe].running.begun.parts) > 200)
        resizing = asyncio.create_task(cluster.resize(deadline_s=0.5, Counting=2))
        await asyncio.sleep(0.1)
        stopping = asyncio.create_task(cluster.stop(pe))
        assert pe in (await resizing).gone
        assert await stopping is Ending.STOPPED_LATE
        cluster.launch(pe, 2)
        await asyncio.sleep(60)
        missing = FEW - len(set(job.GOT))
        lost = cluster.lost_on_the_way
        assert 0 < missing <= lost
