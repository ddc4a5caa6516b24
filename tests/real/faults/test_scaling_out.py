"""A second instance of a service takes its part of the work, and may join and leave meanwhile.

Jobs are named so that each partition has as many: which job lands where is a hash of its name, and
few jobs may well land unevenly.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator

import pytest

from cli.controlling import ask
from contracts.topics import PARTITIONS, partition_of
from loadtest.scraping import cpu_s_with_children
from tests.e2e.following import ordeal, spec_of
from tests.e2e.killing import pids_of
from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.real.faults.processes import STAGES, tracebacks, until_ready

COVERS = (
    "services/chassis/log/kafka_membership.py",
    "services/chassis/table/sharing.py",
    "services/chassis/running/leading.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
INSTANCES = 2
PER_PARTITION = 2
LARGEST_SHARE = 0.6
RESIZED_JOBS = 5
RESIZES_EACH = int(os.environ.get("MILLRACE_RESIZES_EACH", "4"))
"""Ten make fifty resizes in all; few are enough to notice that something breaks."""
WIDTHS = (5, 3)
STAYS_S = 3.0


def _evenly(prefix: str, per_partition: int) -> list[str]:
    """Names of jobs, as many for each partition."""
    found: dict[int, list[str]] = {number: [] for number in range(PARTITIONS)}
    numbers = itertools.count()
    while any(len(names) < per_partition for names in found.values()):
        name = f"{prefix}-{next(numbers)}"
        found[partition_of("default", name, PARTITIONS)].append(name)
    return [name for names in found.values() for name in names[:per_partition]]


@pytest.mark.timeout(2 * TEST_S_MAX)
async def test_of_two_instances_each_does_its_part_of_the_work(doubled: Cluster) -> None:
    """Of the CPU of fusion-backend, with its planning, and of pod-state-machine."""
    await until_ready(doubled.system, INSTANCES)
    before = {pid: cpu_s_with_children(pid) for pid in _pids(doubled)}
    names = _evenly("spread", PER_PARTITION)
    await _all_lived(doubled, names, resizes=2)
    shares = {}
    for service in STAGES:
        spent = [cpu_s_with_children(pid) - before[pid] for pid in pids_of(doubled.system, service)]
        shares[service] = max(spent) / sum(spent)
    assert max(shares.values()) <= LARGEST_SHARE, shares
    assert not tracebacks(doubled.system)


def _pids(cluster: Cluster) -> Iterator[int]:
    return itertools.chain.from_iterable(pids_of(cluster.system, each) for each in STAGES)


@pytest.mark.timeout(2 * TEST_S_MAX)
async def test_instances_that_join_and_leave_amid_resizes_lose_and_double_nothing(
    doubled: Cluster,
) -> None:
    """The second instances of the services that share partitions leave and come back meanwhile."""
    await until_ready(doubled.system, INSTANCES)
    coming_and_going = asyncio.create_task(_come_and_go(doubled))
    names = [f"amid-{number}" for number in range(RESIZED_JOBS)]
    await _all_lived(doubled, names, RESIZES_EACH)
    coming_and_going.cancel()
    (ended,) = await asyncio.gather(coming_and_going, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError), ended
    assert not tracebacks(doubled.system)


async def _come_and_go(cluster: Cluster) -> None:
    """Until cancelled; a request that has begun is carried out to its end."""
    state = cluster.system.state
    names = [f"{service}-2" for service in STAGES]
    for word in itertools.cycle(("stop", "start")):
        await asyncio.shield(asyncio.gather(*(ask(state, word, name) for name in names)))
        await asyncio.sleep(STAYS_S)


async def _all_lived(cluster: Cluster, names: list[str], resizes: int) -> None:
    """All at once; where one fails, the others end, too, so that the test can be tried again."""
    async with asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(_lived(cluster, name, resizes))


async def _lived(cluster: Cluster, name: str, resizes: int) -> None:
    """A job with widths one after the other, each awaited; every launch of them is checked."""
    async with ordeal(cluster, name, spec=spec_of(WIDTHS[0])) as job:
        outside = len(job.job.of("pes")) - WIDTHS[0]
        for number in range(resizes):
            width = WIDTHS[(number + 1) % 2]
            await job.resize(width)
            await job.converge(f"{name}, resize {number + 1}", width, outside + width)
