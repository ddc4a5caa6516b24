"""Two instances of hostpool-manager and node-tainter, one of which sleeps through what matters.

It wakes with a cluster in mind that is no more: what it still writes may not be believed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.hosted import Hosted
from tests.e2e.killing import pids_of
from tests.e2e.nodes import node_of
from tests.e2e.placing import (
    Ground,
    Traits,
    ground,
    members_of,
    placement_of,
    pool_of,
    try_again,
    until_free,
    until_marked,
    until_refused,
)
from tests.e2e.watching import Cluster, JobObjects
from tests.real.faults.processes import instance_of, tracebacks, until_ready

COVERS = (
    "services/hostpool_manager/adapters/*",
    "services/node_tainter/adapters/*",
    "services/chassis/kube/writing.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
INSTANCES = 2
TAGGED = Traits(("quiet",))
LEASES = "/apis/coordination.k8s.io/v1/leases"


def exclusive() -> Hosted:
    """Two PEs on the two tagged nodes, which they want for themselves."""
    application = Hosted().pool("P", size=2, tags=["quiet"], exclusive=True)
    return application.operator("a", pool="P", place=0).operator("b", pool="P", place=1)


async def test_a_manager_that_slept_gives_no_node_to_two_jobs(doubled: Cluster) -> None:
    """It falls asleep as a second job asks for nodes that a first one holds, and wakes when the
    first is gone and the second has them; a third is refused by the name of the second."""
    await until_ready(doubled.system, INSTANCES)
    async with (
        ground(doubled, "zombie", TAGGED, TAGGED) as there,
        doubled.job("first") as first,
        doubled.job("second") as second,
        doubled.job("third") as third,
    ):
        await there.run(first, exclusive())
        with asleep(await _leader(doubled)):
            await there.submit(second, exclusive())
            refused = await until_refused(second)
            assert "is held by the pool P of default/first" in refused["message"]
            await doubled.delete(first)
            await try_again(second, "free")
            await second.until("running", second.is_settled)
            before = await _held(there, second)
        await until_ready(doubled.system, INSTANCES)
        await there.submit(third, exclusive())
        refused = await until_refused(third)
        assert "is held by the pool P of default/second" in refused["message"]
        assert await _held(there, second) == before
        assert second.is_settled()
    assert not tracebacks(doubled.system)


async def test_a_manager_that_slept_through_a_whole_job_writes_nothing_of_it(
    doubled: Cluster,
) -> None:
    """The job that it was asked about is gone, and another of the same name has its nodes."""
    await until_ready(doubled.system, INSTANCES)
    async with ground(doubled, "past", TAGGED, TAGGED) as there, doubled.job("again") as job:
        leader = await _leader(doubled)
        await there.submit(job, exclusive())
        with asleep(leader):
            await job.until("running", job.is_settled)
            await doubled.delete(job)
            await there.run(job, exclusive())
            before = await _held(there, job)
        await until_ready(doubled.system, INSTANCES)
        assert await _held(there, job) == before
        await doubled.delete(job)
        for node in there.nodes:
            await until_free(doubled.api, node)
    assert not tracebacks(doubled.system)


@pytest.mark.parametrize("number", [0, 1])
async def test_a_tainter_that_slept_marks_no_node_of_a_pool_that_is_gone(
    doubled: Cluster, number: int
) -> None:
    """The other one marks and releases meanwhile; two pools later the sleeper wakes."""
    await until_ready(doubled.system, INSTANCES)
    name = f"slept-{number}"
    async with ground(doubled, name, TAGGED, TAGGED) as there, doubled.job(name) as job:
        await there.run(job, exclusive())
        with asleep(sorted(pids_of(doubled.system, "node-tainter"))[number]):
            await doubled.delete(job)
            for node in there.nodes:
                await until_free(doubled.api, node)
            await there.run(job, exclusive())
            before = await _held(there, job)
        await until_ready(doubled.system, INSTANCES)
        assert await _held(there, job) == before
        await doubled.delete(job)
        for node in there.nodes:
            await until_free(doubled.api, node)
    assert not tracebacks(doubled.system)


async def _held(there: Ground, job: JobObjects) -> object:
    """What says who has the nodes: the Placement, the members, and the marks, which are there."""
    pool = pool_of(job, 1)
    for place, name in enumerate(members_of(job, 1)):
        await until_marked(there.cluster.api, name, pool, place)
    nodes = [(await node_of(there.cluster.api, name))["spec"]["taints"] for name in there.nodes]
    status = placement_of(job)["status"]
    return members_of(job, 1), status["assignments"], status["pools"], nodes


async def _leader(cluster: Cluster) -> int:
    """The process of hostpool-manager that has the Lease."""
    leases = (await cluster.api.call("GET", LEASES))["items"]
    holders = {str(each["spec"].get("holderIdentity", "")) for each in leases}
    pids = pids_of(cluster.system, "hostpool-manager")
    (leader,) = (pid for pid in pids if f"hostpool-manager-{instance_of(pid)}" in holders)
    return leader


@contextmanager
def asleep(pid: int) -> Iterator[None]:
    """The process does nothing inside of the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
