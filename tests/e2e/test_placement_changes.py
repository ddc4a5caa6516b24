"""Nodes and widths change under placed jobs: what runs stays, launches follow the new truth."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from loadtest.api import CORE
from tests.e2e.hosted import Hosted
from tests.e2e.nodes import change, cordon, remove
from tests.e2e.placing import (
    Ground,
    Traits,
    condition_of_job,
    ground,
    joining,
    members_of,
    on,
    placement_of,
    pod_of,
    pool_of,
    terms_of,
    time_out,
    until_marked,
    until_members,
)
from tests.e2e.resizing import moment_of, until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/hostpool_manager/core/rules.py",
    "services/hostpool_manager/core/following.py",
    "services/hostpool_manager/core/partial_placement.py",
    "placement/settling.py",
    "services/fusion_backend/core/placement_states.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
TAGGED = Traits(("ssd",))
RESTARTED: Obj = {"restartDeletedPod": True}
NOW: Obj = {"gracePeriodSeconds": 0}


def uids(job: JobObjects) -> Mapping[str, str]:
    """The pods."""
    return {name: pod["metadata"]["uid"] for name, pod in job.of("pods").items()}


async def relaunched(job: JobObjects, operator: str) -> str:
    """End an operator's pod, and wait until its PE runs again; where."""
    old = pod_of(job, operator)["metadata"]
    await job.api.call("DELETE", f"{CORE}/pods/{old['name']}", NOW)
    await job.until("the pod gone", lambda: old["name"] not in job.of("pods"))
    await job.until("running again", job.is_settled)
    return str(pod_of(job, operator)["spec"]["nodeName"])


async def tagged_pair(there: Ground, job: JobObjects) -> str:
    """Two PEs that must be together on a tagged node, and run; the node."""
    application = Hosted().pool("P", tags=["ssd"])
    application.operator("a", pool="P", apart=["x"]).operator("b", apart=["x"])
    await there.submit(job, application, template=RESTARTED)
    await job.until("running", job.is_settled)
    return str(pod_of(job, "a")["spec"]["nodeName"])


async def test_on_a_node_that_is_cordoned_what_runs_stays_and_launches_go_elsewhere(
    cluster: Cluster,
) -> None:
    async with ground(cluster, "cordon", *[TAGGED] * 3) as there, cluster.job("cordon") as job:
        node = await tagged_pair(there, job)
        before = uids(job)
        await cordon(cluster.api, node)
        await until_members(job, 1, [each for each in members_of(job, 1) if each])
        assert uids(job) == before
        moved = await relaunched(job, "a")
        assert moved in {*there.nodes} - {node, pod_of(job, "b")["spec"]["nodeName"]}
        assert [on(moved)] == [
            each
            for each in terms_of(pod_of(job, "a"))[0]["matchExpressions"]
            if each["key"] == "kubernetes.io/hostname"
        ]


async def test_on_a_node_that_loses_the_tag_what_runs_stays_and_launches_go_elsewhere(
    cluster: Cluster,
) -> None:
    async with ground(cluster, "label", *[TAGGED] * 3) as there, cluster.job("label") as job:
        node = await tagged_pair(there, job)
        before = uids(job)
        untagged: Obj = {"metadata": {"labels": {"tag.streams.ibm.com/ssd": None}}}
        await change(cluster.api, node, untagged)
        moved = await relaunched(job, "a")
        assert moved != node
        assert uids(job).items() & before.items() == {
            (pod_of(job, "b")["metadata"]["name"], pod_of(job, "b")["metadata"]["uid"])
        }


async def test_a_node_that_is_gone_frees_its_place_which_another_takes(cluster: Cluster) -> None:
    """The pool keeps its size; the marks are on the other node, and the other PE has not moved."""
    async with ground(cluster, "gone", *[TAGGED] * 3) as there, cluster.job("gone") as job:
        application = Hosted().pool("P", size=2, tags=["ssd"], exclusive=True)
        application.operator("a", pool="P", place=0).operator("b", pool="P", place=1)
        await there.submit(job, application, template=RESTARTED)
        await job.until("running", job.is_settled)
        lost, kept = members_of(job, 1)
        (spare,) = {*there.nodes} - {lost, kept}
        other = pod_of(job, "b")["metadata"]["uid"]
        await remove(cluster.api, lost)
        assert await relaunched(job, "a") == spare
        await until_members(job, 1, [spare, kept])
        await until_marked(cluster.api, spare, pool_of(job, 1), 0)
        await until_marked(cluster.api, kept, pool_of(job, 1), 1)
        assert pod_of(job, "b")["metadata"]["uid"] == other


async def test_a_pool_that_has_lost_a_member_for_good_says_so_until_a_node_joins(
    cluster: Cluster,
) -> None:
    """What runs goes on; the PE of the lost node waits for one."""
    async with ground(cluster, "lack", *[TAGGED] * 2) as there, cluster.job("lack") as job:
        application = Hosted().pool("P", size=2, tags=["ssd"], exclusive=True)
        application.operator("a", pool="P", place=0).operator("b", pool="P", place=1)
        await there.submit(job, application, template=RESTARTED)
        await job.until("running", job.is_settled)
        lost, kept = members_of(job, 1)
        old = pod_of(job, "a")["metadata"]["name"]
        await remove(cluster.api, lost)
        await cluster.api.call("DELETE", f"{CORE}/pods/{old}", NOW)
        await job.until("missing", lambda: _readiness(job)[1] == "MembersMissing")
        assert _readiness(job)[0] == "False"
        await until_members(job, 1, ["", kept])
        assert "1 of 2 members is missing" in pool_of(job, 1)["status"]["message"]
        assert job.phase == "Submitted"
        assert pod_of(job, "b")["spec"]["nodeName"] == kept
        async with joining(there, TAGGED) as spare:
            await job.until("running again", job.is_settled)
            assert pod_of(job, "a")["spec"]["nodeName"] == spare
            await until_members(job, 1, [spare, kept])
            await job.until("ready", lambda: _readiness(job) == ("True", "MembersReady"))
            await cluster.delete(job)


def _readiness(job: JobObjects) -> tuple[str, str]:
    for each in (pool_of(job, 1).get("status") or {}).get("conditions", ()):
        if each["type"] == "Ready":
            return str(each["status"]), str(each["reason"])
    return "", ""


@pytest.mark.scenario(20)
async def test_a_width_without_room_waits_is_tried_again_and_what_runs_is_not_touched(
    cluster: Cluster,
) -> None:
    """The region says why and which width is in force; when a node joins, it is taken up."""
    async with ground(cluster, "tight", TAGGED, TAGGED) as there, cluster.job("tight") as job:
        application = Hosted().pool("P", tags=["ssd"]).operator("a")
        application.operator("w", pool="P", apart=["x"]).operator("z").region("w", 2)
        await there.run(job, application)
        before, kept = moment_of(job), placement_of(job)["status"]["assignments"]
        await cluster.resize(job, "w", 3)
        await job.until("waiting", lambda: _refused(job) == "WidthWaits")
        message = _region(job)["status"]["message"]
        assert "w[2]" in message or "apart" in message, message
        assert job.width_in_force("w") == 2
        assert job.phase == "Submitted"
        after = job.versions()
        changed = {key for key in before.versions if after.get(key) != before.versions[key]}
        assert {kind for kind, _ in changed} <= {"jobs", "regions", "placements"}
        assert after.keys() == before.versions.keys()
        assert placement_of(job)["status"]["assignments"] == kept
        async with joining(there, TAGGED):
            await until_widths(job, 5, {"w": 3})
            assert condition_of_job(job, "Placed")["status"] == "True"
            nodes = {pod_of(job, f"w[{n}]")["spec"]["nodeName"] for n in range(3)}
            assert len(nodes) == 3
            await cluster.delete(job)


def _region(job: JobObjects) -> Obj:
    (region,) = job.of("regions").values()
    return region


def _refused(job: JobObjects) -> str:
    """The reason of the region's newest spec; empty before there is an answer to it."""
    region = _region(job)
    status = region.get("status") or {}
    is_answered = status.get("observedGeneration") == region["metadata"]["generation"]
    return str(status.get("reason")) if is_answered else ""


async def test_a_width_without_capacity_waits_and_is_refused_after_the_time_out(
    cluster: Cluster,
) -> None:
    """Old widths run on meanwhile; the Job says what it waits for."""
    small = Traits(("ssd",), cpu="4")
    async with ground(cluster, "narrow", small) as there, cluster.job("narrow") as job:
        large = {"resources": {"requests": {"cpu": "1"}}}
        await there.run(job, one_wide(), template=large)
        before = uids(job)
        await cluster.resize(job, "w", 4)
        await job.until(
            "waiting",
            lambda: condition_of_job(job, "Placed").get("reason") == "InsufficientCapacity",
        )
        await job.until("waiting, says its region", lambda: _refused(job) == "WidthWaits")
        waiting = str(_region(job)["status"]["message"])
        assert "width 1 stays in force: width 4 waits for capacity since 20" in waiting
        assert "('w[" in waiting, "operators are named"
        await time_out(job, 1)
        await job.until("refused", lambda: _refused(job) == "WidthRefused")
        assert "asks for 1 cpu" in await _still_narrow(job, before)
        assert _accepted(job)["reason"] == "InsufficientCapacity"


async def test_a_width_that_nobody_decides_on_is_refused_after_the_time_out(
    cluster: Cluster,
) -> None:
    """hostpool-manager is away: whether there is a placement is not known."""
    async with ground(cluster, "unknown", TAGGED) as there, cluster.job("unknown") as job:
        await there.run(job, one_wide())
        before = uids(job)
        async with cluster.stopped("hostpool-manager"):
            await cluster.resize(job, "w", 2)
            await time_out(job, 1)
            await job.until("refused", lambda: _refused(job) == "WidthRefused")
            assert _accepted(job)["reason"] == "PlacementUnknown"
        assert "has no answer" in await _still_narrow(job, before)
        await job.until("placed", lambda: condition_of_job(job, "Placed")["status"] == "True")


def one_wide() -> Hosted:
    """Three PEs on tagged nodes; the region w has one channel."""
    application = Hosted().pool("P", tags=["ssd"]).operator("a", pool="P")
    return application.operator("w", pool="P").operator("z", pool="P").region("w", 1)


async def _still_narrow(job: JobObjects, before: Mapping[str, str]) -> str:
    """What the region says, where the old width runs on untouched."""
    await job.until("settled", job.is_settled)
    assert uids(job) == before
    assert job.width_in_force("w") == 1
    message = str(_region(job)["status"]["message"])
    assert "width 1 stays in force" in message
    return message


def _accepted(job: JobObjects) -> Obj:
    accepted, _ = _region(job)["status"]["conditions"]
    return dict(accepted)
