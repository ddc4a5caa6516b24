"""A PE that counts lost tuples, and ends before pe-gateway has recorded them: the next launch does.

Each launch counts for itself, so what a state says of losses is nothing once they are recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from millrace import App
from millrace.runtime.launch import RECORDED_S
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore
from tests.unit.millrace.pods import Pod
from tests.unit.millrace.test_hand_over_disturbed import pe_of

pytestmark = pytest.mark.looptime
COUNT = 6_000
TAKEN_OVER = ("LeftBehind", "WentBack")
"""Causes of losses that a launch counts when it takes a channel over."""


async def slowly(given: job.Given, upto: int) -> AsyncIterator[job.Number]:
    """As fast that the job goes on for some seconds after the width."""
    async for number in job.numbers(given, upto):
        yield number
        if number.number % 50 == 0:
            await asyncio.sleep(0.1)


def made(checkpoint_seconds: float | None) -> App:
    """Two channels that count each key."""
    app = App("tests::Slowly", checkpoint_seconds=checkpoint_seconds)
    numbers = app.source(slowly, state=job.Given, fn_kwargs={"upto": COUNT}, name="Numbers")
    keyed = numbers.parallel(2, key="key", name="Counting").key_by("key")
    counts = keyed.map(job.counted, state=job.Total, name="Counted").end_parallel()
    counts.sink(job.kept, name="Report")
    return app


rarely, often = made(None), made(0.2)


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    job.GOT.clear()
    yield
    job.GOT.clear()


def taken_over_by(pod: Pod) -> int:
    return sum(pod.running.losses.by_cause.get(each, 0) for each in TAKEN_OVER)


@pytest.mark.parametrize("recorded", ["never", "at once", "late"])
@pytest.mark.parametrize("app", [rarely, often], ids=["without", "with checkpoints"])
async def test_a_launch_that_is_killed_leaves_the_losses_that_nobody_recorded_to_the_next(
    app: App, recorded: str
) -> None:
    """Behind the record of them the next launch counts none of them again."""
    async with Cluster(app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: job.is_done(1_500))
        gone, heir = (pe_of(cluster, "Counting.Counted", each) for each in "10")
        cluster.blocked = {gone}
        await cluster.kill(gone)
        cluster.is_deaf_to_losses = recorded != "at once"
        await cluster.resize(Counting=1)
        await cluster.until(lambda: bool(cluster.pods[heir].running.losses.by_cause))
        await asyncio.sleep(RECORDED_S + 0.5)  # it waits no longer, and goes on
        if recorded == "late":
            cluster.is_deaf_to_losses = False
            cluster.tell()
        await asyncio.sleep(0.5)
        pod = cluster.pods[heir]
        taken_over = taken_over_by(pod)
        await cluster.kill(heir)
        cluster.is_deaf_to_losses = False
        cluster.launch(heir, pod.launch + 1)
        await asyncio.sleep(60)
        next_pod = cluster.pods[heir]
        assert next_pod.running.has_begun
        assert taken_over > 0
        assert (taken_over_by(next_pod) >= taken_over) is (recorded == "never")
        assert 0 < job.lacking(COUNT) <= cluster.lost
