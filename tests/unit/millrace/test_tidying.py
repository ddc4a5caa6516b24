"""States of PEs that left a job are removed, and never those that somebody may load."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import pytest

from millrace.protocol import HandOver
from millrace.runtime.endings import StoreFailed
from millrace.runtime.launch import Surroundings
from millrace.runtime.state_names import StateName
from millrace.runtime.tidying import SETTLED_S, is_tidying, superseded, tidy
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
NEWEST = HandOver(generation=5, pes={2: 1, 4: 2}, deadline=0.0, sealed={2: 1, 4: 2}, complete=True)
OLD_SEAL = StateName(7, 1, "handover", 3)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


@pytest.mark.parametrize(
    ("hand_over", "newest"),
    [
        (None, OLD_SEAL),
        (HandOver(generation=5, pes={2: 1}, deadline=0.0), OLD_SEAL),
        (NEWEST, StateName(7, 1, "handover", 5)),
        (NEWEST, StateName(7, 1, "handover", 6)),
        (NEWEST, StateName(7, 1, "checkpoint", 3)),
        (NEWEST, StateName(7, 1, "stopped")),
        (NEWEST, StateName(4, 1, "handover", 3)),
    ],
)
def test_what_may_be_loaded_is_not_superseded(
    hand_over: HandOver | None, newest: StateName
) -> None:
    assert superseded(hand_over, {newest.pe: newest}) == ()


def test_a_seal_for_an_older_hand_over_than_the_newest_is_superseded() -> None:
    assert superseded(NEWEST, {7: OLD_SEAL}) == (7,)


def test_one_pe_of_a_hand_over_tidies_up() -> None:
    assert [pe for pe in range(9) if is_tidying(NEWEST, pe)] == [2]
    assert not is_tidying(HandOver(generation=5, pes={}, deadline=0.0), 0)
    assert not is_tidying(None, 0)


async def test_pes_that_a_resize_took_out_lose_their_states_after_the_next_one() -> None:
    store = MemoryStore()
    async with Cluster(job.staying, store=store) as cluster:
        await cluster.until(lambda: job.is_done(1_000))
        everybody = set(cluster.pods)
        await cluster.resize(Counting=2)
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        left = everybody - set(cluster.pods)
        assert left
        await asyncio.sleep(2 * SETTLED_S)
        assert left <= set(await store.pes()), "they belong to the newest hand-over"
        await cluster.resize(Counting=1)
        await cluster.until(lambda: all(pod.is_started for pod in cluster.pods.values()))
        before = set(await store.pes())
        await asyncio.sleep(2 * SETTLED_S)
        assert set(await store.pes()) == before - left
        await cluster.until(lambda: job.is_done(10_000))
        job.check(10_000)


class Answering:
    """A pe-gateway that knows no PE, or answers nothing."""

    def __init__(self, *left: int) -> None:
        self._left = frozenset(left)

    async def left(self, former: Iterable[int]) -> frozenset[int]:
        return self._left.intersection(former)

    def watch(self, peers: Iterable[int] = ()) -> None:
        raise NotImplementedError

    def report(self, report: object) -> None:
        raise NotImplementedError


async def a_store() -> MemoryStore:
    store = MemoryStore()
    for pe in (7, 8):
        await store.write(StateName(pe, 1, "handover", 3), b"x")
    return store


async def test_a_pe_that_waits_for_a_node_keeps_its_states() -> None:
    store = await a_store()
    await tidy(4, Surroundings(Answering(8), store), lambda: NEWEST)  # type: ignore[arg-type]
    assert await store.pes() == (7, 8), "another PE tidies up"
    await tidy(2, Surroundings(Answering(8), store), lambda: NEWEST)  # type: ignore[arg-type]
    assert await store.pes() == (7,)


async def test_a_store_that_does_not_answer_is_tidied_another_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away(MemoryStore):
        async def pes(self) -> tuple[int, ...]:
            raise StoreFailed("it is away")

    await tidy(2, Surroundings(Answering(8), Away()), lambda: NEWEST)  # type: ignore[arg-type]
    assert "it is away" in caplog.text
