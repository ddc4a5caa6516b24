"""Numbered tuples through a keyed region, while everything that people do happens to its job.

The applications really run. What arrives at the sink is held against the truth.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.watching import Cluster
from tests.numbered.sandboxed import Numbered, Prepared, prepared, spec_of
from tests.numbered.schedules import START, play, schedule

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
COUNT = 100_000
TOGETHER = 5
"""Jobs that run at the same time; what one does to nodes and services happens to all."""
SCHEDULES = 20


async def one(around: Prepared, seed: int) -> None:
    """Play one schedule, and check what arrived."""
    each = schedule(seed)
    async with around.cluster.job(f"exact-{seed}") as job:
        numbered = Numbered(around, job, COUNT)
        values = {"count": COUNT, "width": START}
        await around.cluster.submit(job.job, spec_of(job.job, each.fusion, values))
        await job.until("running", job.all_running)
        await play(each, numbered)
        found = await numbered.found()
        assert found.is_exact, f"{each}: {found}"


@pytest.mark.xfail(
    strict=False, reason="a PE that is evicted right after a resize may forget counts of keys"
)
@pytest.mark.parametrize("first", range(0, SCHEDULES, TOGETHER))
async def test_no_tuple_is_lost_or_doubled_while_nobody_crashes(
    cluster: Cluster, tmp_path: Path, first: int
) -> None:
    around = await prepared(cluster, tmp_path)
    async with asyncio.TaskGroup() as tasks:
        for seed in range(first, first + TOGETHER):
            tasks.create_task(one(around, seed))
