"""Jobs that want the same nodes alone: one has them, and the message of the other names the holder.

When the first job is gone, no node carries anything of it, whichever service was down meanwhile.
"""

from __future__ import annotations

import asyncio

import pytest

from loadtest.api import CORE, MERGE
from tests.e2e.hosted import Hosted
from tests.e2e.killing import kill, start_again
from tests.e2e.nodes import node_of
from tests.e2e.placing import (
    Ground,
    Traits,
    condition_of_job,
    exclusive_taint,
    ground,
    members_of,
    pool_of,
    taints_of,
    try_again,
    until_free,
    until_marked,
    until_members,
    until_refused,
)
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/node_tainter/*",
    "services/hostpool_manager/core/claims.py",
    "services/hostpool_manager/core/cluster_view.py",
    "placement/exact.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
TAGGED = Traits(("quiet",))
SERVICES = (
    *("fusion-backend", "hostpool-manager", "node-tainter", "pod-state-machine", "watch-ingest"),
)
SERVER: Obj = {"operator": "Exists"}


def exclusive(size: int) -> Hosted:
    """Two PEs in an exclusive pool of the tagged nodes."""
    application = Hosted().pool("P", size=size, tags=["quiet"], exclusive=True)
    return application.operator("a", pool="P").operator("b", pool="P")


@pytest.mark.scenario(23)
async def test_of_two_jobs_that_want_the_same_nodes_one_has_them_until_it_is_deleted(
    cluster: Cluster,
) -> None:
    """Submitted together; the other is refused by the name of the holder, and runs afterwards."""
    async with (
        ground(cluster, "rivals", TAGGED, TAGGED) as there,
        cluster.job("rival-1") as one,
        cluster.job("rival-2") as two,
    ):
        await asyncio.gather(*(there.submit(job, exclusive(2)) for job in (one, two)))
        await one.until("one of them refused", lambda: one.phase in ("Failed", "Submitted"))
        await two.until("the other, too", lambda: two.phase in ("Failed", "Submitted"))
        holder, loser = (one, two) if two.phase == "Failed" else (two, one)
        await holder.until("running", holder.is_settled)
        lost = await until_refused(loser)
        assert lost["reason"] == "NodesClaimed"
        assert f"is held by the pool P of default/{holder.job}" in lost["message"]
        pool = pool_of(holder, 1)
        for place, name in enumerate(members_of(holder, 1)):
            node = await until_marked(cluster.api, name, pool, place)
            assert taints_of(node) == [exclusive_taint(pool)]
        await cluster.delete(holder)
        await try_again(loser, "the nodes are free")
        await loser.until("running", loser.is_settled)
        assert set(members_of(loser, 1)) == set(there.nodes)


async def test_no_shared_pool_has_a_node_that_a_job_holds_for_itself(cluster: Cluster) -> None:
    """Nor has an exclusive pool one that runs PEs of others; a host by name is refused as well."""
    async with (
        ground(cluster, "shared", TAGGED, TAGGED) as there,
        cluster.job("holds") as holder,
        cluster.job("shares") as sharer,
        cluster.job("names") as namer,
        cluster.job("wants-both") as late,
    ):
        await there.run(holder, exclusive(1))
        (held,) = members_of(holder, 1)
        (free,) = {*there.nodes} - {held}
        shared = Hosted().pool("S", tags=["quiet"]).operator("a", pool="S").operator("b", pool="S")
        assert await there.run(sharer, shared) == {"a": free, "b": free}
        await until_members(sharer, 1, [free])
        status = await there.refused(namer, Hosted().operator("a", host=held).operator("b"))
        assert status["reason"] == "NodesClaimed"
        assert f"{held} is held by" in status["message"]
        assert "default/holds" in status["message"]
        status = await there.refused(late, exclusive(1))
        assert status["reason"] == "NodesClaimed"
        await cluster.delete(holder)
        await until_members(sharer, 1, sorted(there.nodes, key=lambda name: name != free))


async def test_a_claim_is_not_complete_while_somebody_else_s_pod_runs_on_the_node(
    cluster: Cluster,
) -> None:
    """A pod of Streams that came in spite of the taint: no PE is launched until it is gone."""
    async with ground(cluster, "guest", TAGGED) as there, cluster.job("host-of") as job:
        (node,) = there.nodes
        async with cluster.stopped("pod-state-machine"):
            await there.submit(job, exclusive(1))
            await job.until("members", lambda: members_of(job, 1) == [node])
            await until_marked(cluster.api, node, pool_of(job, 1), 0)
            guest = await _guest(cluster, node)
            await job.until("incomplete", lambda: _readiness(job) == "ClaimIncomplete")
        assert not job.of("pods")
        await cluster.api.call("DELETE", f"{CORE}/pods/{guest}")
        await job.until("running", job.is_settled)
        assert _readiness(job) == "MembersReady"


async def _guest(cluster: Cluster, node: str) -> str:
    """A pod of another job, bound past the scheduler."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "guest",
            "labels": {"app": "streams", "svc": "pe", "streams.ibm.com/job": "other"},
        },
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [SERVER],
            "containers": [{"name": "c", "image": "none"}],
        },
    }
    await cluster.api.call("POST", f"{CORE}/pods", body)
    return "guest"


def _readiness(job: JobObjects) -> str:
    conditions = (pool_of(job, 1).get("status") or {}).get("conditions", ())
    return next((str(each["reason"]) for each in conditions if each["type"] == "Ready"), "")


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_killed_while_a_job_is_deleted_leaves_no_mark_on_any_node(
    cluster: Cluster, service: str
) -> None:
    """SIGKILL as soon as the deletion has begun; a second time while the nodes are released."""
    name = f"held-{service}"
    async with ground(cluster, name, TAGGED, TAGGED) as there, cluster.job(name) as job:
        application = Hosted().pool("P", size=2, tags=["quiet"], exclusive=True)
        application.operator("a", pool="P", place=0).operator("b", pool="P", place=1)
        await there.run(job, application)
        uid = pool_of(job, 1)["metadata"]["uid"]
        await cluster.api.call("DELETE", job.path)
        kill(cluster.system, service)
        await start_again(cluster.system, service)
        await job.until("nothing left", lambda: not job.versions())
        for node in there.nodes:
            await until_free(cluster.api, node)
            assert uid not in str(await node_of(cluster.api, node))


async def test_a_node_that_lost_its_pool_while_the_tainter_was_away_is_released(
    cluster: Cluster,
) -> None:
    """Somebody took the finalizer and the pool away: marks of nobody go, when it is back."""
    async with ground(cluster, "orphan", TAGGED) as there, cluster.job("orphan") as job:
        (node,) = there.nodes
        await there.run(job, exclusive(1))
        uid = pool_of(job, 1)["metadata"]["uid"]
        async with cluster.stopped("node-tainter", "fusion-backend"):
            path = f"{PATHS['pools']}/orphan-1"
            await cluster.api.call("DELETE", path)
            nothing: Obj = {"metadata": {"finalizers": None}}
            await cluster.api.call("PATCH", path, nothing, MERGE)
            await job.until("gone", lambda: "orphan-1" not in job.of("pools"))
            assert uid in str(await node_of(cluster.api, node))
        await job.until("another", lambda: "orphan-1" in job.of("pools"))
        assert pool_of(job, 1)["metadata"]["uid"] != uid
        await until_marked(cluster.api, node, pool_of(job, 1), 0)
        assert condition_of_job(job, "Placed")["status"] == "True"


async def test_a_place_for_itself_is_never_given_twice_when_many_ask_at_once(
    cluster: Cluster,
) -> None:
    """Six jobs and three nodes: three run, three are refused, and no node has two owners."""

    async def asks(there: Ground, number: int) -> None:
        async with cluster.job(f"crowd-of-{number}") as job:
            await there.submit(job, exclusive(1))
            await job.until("an answer", lambda: job.phase in ("Failed", "Submitted"))
            if job.phase == "Submitted":
                await job.until("running", job.is_settled)
                taken.extend(members_of(job, 1))
            else:
                refused.append(job.status["reason"])
            await all_known.wait()

    taken, refused, all_known = list[str](), list[str](), asyncio.Barrier(6)
    async with ground(cluster, "crowded", *[TAGGED] * 3) as there, asyncio.TaskGroup() as jobs:
        for number in range(6):
            jobs.create_task(asks(there, number))
    assert sorted(taken) == sorted(there.nodes)
    assert refused == ["NodesClaimed"] * 3
