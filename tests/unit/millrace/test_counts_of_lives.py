"""A sender and a receiver are both killed: what one life took in is compared with its own state.

What is missing is reported, but for what both had in hand that are killed at once: nobody else knew
of it. What is reported beyond it is at most what they had in hand, which may have been handed on
and counts for the state of a PE as well, and what came since the newest acknowledgement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from millrace import App
from millrace.runtime.noticing import in_hand_of
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.test_hand_over_disturbed import pe_of
from tests.unit.millrace.test_states_that_go_back import BY_INTERVAL, COUNT, rarely

pytestmark = pytest.mark.looptime
BESIDE = 50
"""Three frames, which each have up to 17 tuples: both states of a pair lack what was in them."""
BACKLOG = 20
"""So many tuples at least are behind the receiver's function when it is killed."""


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    SLOW.clear()
    yield
    job.GOT.clear()


SLOW: set[str] = set()
"""Keys whose tuples take longer than they come: then a backlog grows."""


def remembered(number: job.Number, total: job.Total) -> job.Number:
    total.count += 1
    return number


async def counted(number: job.Number, total: job.Total) -> job.Number:
    if number.key in SLOW:
        await asyncio.sleep(0.02)
    return job.counted(number, total)


app = App("tests::Remembering", checkpoint_seconds=0.2)
made = app.source(job.numbers, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
region = made.parallel(3, key="key", name="Counting")
keyed = region.map(remembered, state=job.Total, name="Channel").key_by("key")
counts = keyed.map(counted, state=job.Total, name="Counted").end_parallel()
counts.sink(job.kept, name="Report")
"""The sender of a channel saves its state as often as the receiver."""


class Pair:
    """The sender and the receiver of a channel. `in_hand`: of all that were killed."""

    def __init__(self, cluster: Cluster) -> None:
        """Both run."""
        self.cluster, self.in_hand = cluster, 0
        self.sender, self.receiver = (
            pe_of(cluster, f"Counting.{name}", "1") for name in ("Channel", "Counted")
        )

    async def kill(self, *pes: int) -> None:
        """Kill them, and keep how much they had in hand."""
        for pe in pes:
            running = self.cluster.pods[pe].running
            self.in_hand += in_hand_of(running.begun.parts) if running.has_begun else 0
        for pe in pes:
            await self.cluster.kill(pe)

    async def launch(self, number: int, *pes: int) -> None:
        """The same launch of each; returns when all have begun."""
        for pe in pes:
            self.cluster.launch(pe, number)
        await self.cluster.until(lambda: all(self.cluster.pods[pe].is_started for pe in pes))

    async def hold_up(self) -> None:
        """Let the receiver become slow, until it has a backlog."""
        [counting] = self.cluster.pods[self.receiver].running.begun.made.placed
        SLOW.update(key for key, _ in job.GOT if counting.owns(key))
        parts = self.cluster.pods[self.receiver].running.begun.parts
        await self.cluster.until(lambda: in_hand_of(parts) >= BACKLOG)


async def check(pair: Pair, *, unknown: int = 0) -> None:
    """What is missing is reported, but for what nobody knows, and hardly more."""
    SLOW.clear()
    await asyncio.sleep(120)
    missing = job.lacking(COUNT)
    assert 0 < missing <= pair.cluster.lost + unknown
    assert pair.cluster.lost <= missing + 2 * pair.in_hand + BESIDE


@pytest.mark.parametrize("has_backlog", [False, True], ids=["", "with a backlog"])
@pytest.mark.parametrize("runs_s", [0.0, 0.03, 0.1])
async def test_what_a_life_took_in_is_not_compared_with_the_state_of_the_next_one(
    runs_s: float, has_backlog: bool
) -> None:
    """Both are killed twice: between, the sender saves nothing, and goes back to the first life."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(4_000))
        pair = Pair(cluster)
        if has_backlog:
            await pair.hold_up()
        for number in (2, 3):
            await pair.kill(pair.sender, pair.receiver)
            await pair.launch(number, pair.sender, pair.receiver)
            await asyncio.sleep(runs_s if number == 2 else 0)
        await check(pair, unknown=pair.in_hand)


@pytest.mark.parametrize("away_s", [0.0, 1.0])
async def test_what_a_life_took_in_is_remembered_until_its_sender_is_back(away_s: float) -> None:
    """One life of the receiver comes and goes while the sender has no node."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(4_000))
        pair = Pair(cluster)
        await pair.kill(pair.sender, pair.receiver)
        await pair.launch(2, pair.receiver)
        await asyncio.sleep(away_s)
        await pair.kill(pair.receiver)
        await pair.launch(3, pair.receiver)
        await pair.launch(2, pair.sender)
        await check(pair)


async def test_a_sender_that_was_killed_learns_again_what_its_receiver_took_in() -> None:
    """Neither saves its state while it runs; the receiver is killed some time later."""
    async with Cluster(rarely, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(2_000))
        pair = Pair(cluster)
        await pair.kill(pair.sender)
        await pair.launch(2, pair.sender)
        await cluster.until(lambda: job.is_done(4_000))
        await pair.kill(pair.receiver)
        await pair.launch(2, pair.receiver)
        await check(pair)


@BY_INTERVAL
@pytest.mark.parametrize("width", [2, 5])
async def test_a_width_counts_what_a_life_took_in_before_one_that_its_sender_did_not_meet(
    app: App, width: int
) -> None:
    """The sender ends in good order; the receiver has begun again meanwhile, and is gone."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(4_000))
        pair = Pair(cluster)
        await pair.kill(pair.receiver)
        await cluster.stop(pair.sender)
        await pair.launch(2, pair.receiver)
        await pair.kill(pair.receiver)
        cluster.blocked = {pair.receiver}
        cluster.launch(pair.receiver, 3)
        await pair.launch(2, pair.sender)
        assert pair.receiver in (await cluster.resize(Counting=width)).gone
        cluster.unblock(pair.receiver)
        await check(pair)
