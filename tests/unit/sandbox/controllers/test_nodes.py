"""Nodes report, go silent, come back and are removed; their pods follow."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.store.resources import LEASE, NODE, POD
from tests.unit.sandbox.controllers.living import LivingCluster, pod

pytestmark = pytest.mark.looptime
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
LOST = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}


def renewed(cluster: LivingCluster, name: str) -> str:
    return str(cluster.get(LEASE, name, "kube-node-lease")["spec"]["renewTime"])


async def test_a_node_at_rest_writes_its_lease_and_nothing_else(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=4):
        await asyncio.sleep(5)
        before, version = renewed(cluster, "node-0"), cluster.store.version
        node_version = cluster.get(NODE, "node-0")["metadata"]["resourceVersion"]
        await asyncio.sleep(100)
        assert renewed(cluster, "node-0") > before
        assert cluster.store.version - version == 4 * 10
        assert cluster.get(NODE, "node-0")["metadata"]["resourceVersion"] == node_version
        await asyncio.sleep(300)
        assert cluster.get(NODE, "node-0")["metadata"]["resourceVersion"] != node_version


async def test_a_node_that_others_created_becomes_ready_and_loses_its_taint(
    cluster: LivingCluster,
) -> None:
    async with cluster.living(nodes=0):
        taints = [
            {"key": NOT_READY, "effect": "NoSchedule"},
            {"key": "mine", "effect": "NoSchedule"},
        ]
        cluster.create(NODE, {"metadata": {"name": "n"}, "spec": {"taints": taints}})
        await asyncio.sleep(1)
        assert cluster.condition(NODE, "n", "Ready")["status"] == "True"
        assert cluster.taints("n") == {("mine", "NoSchedule")}
        assert cluster.get(NODE, "n")["status"]["allocatable"]["cpu"] == "64"


async def test_a_cordoned_node_carries_a_taint_until_it_is_uncordoned(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.merge(NODE, "node-0", {"spec": {"unschedulable": True}})
        await asyncio.sleep(1)
        assert cluster.taints("node-0") == {("node.kubernetes.io/unschedulable", "NoSchedule")}
        cluster.merge(NODE, "node-0", {"spec": {"unschedulable": None}})
        await asyncio.sleep(1)
        assert cluster.taints("node-0") == set()


async def test_a_silent_node_is_unreachable_after_the_grace_and_its_pods_are_unready(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.nodes.stop("node-0")
        await asyncio.sleep(38)
        assert cluster.condition(NODE, "node-0", "Ready")["status"] == "True"
        assert cluster.taints("node-0") == set()
        await asyncio.sleep(2)
        ready = cluster.condition(NODE, "node-0", "Ready")
        assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert cluster.taints("node-0") == LOST
        unready = cluster.condition(POD, "p", "Ready")
        assert (unready["status"], unready["reason"]) == ("False", "NodeNotReady")
        assert cluster.phase("p") == "Running"


async def test_a_node_whose_annotation_says_so_is_silent_until_it_does_not(
    cluster: LivingCluster,
) -> None:
    """What somebody else says of it stays, and its pods do not end, until it comes back."""
    told = {"metadata": {"annotations": {"sandbox.millrace.dev/behavior": "silent"}}}
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.merge(NODE, "node-0", told)
        cluster.merge(NODE, "node-0", unknown, "status")
        cluster.delete(POD, "p")
        await asyncio.sleep(60)
        assert cluster.condition(NODE, "node-0", "Ready")["status"] == "Unknown"
        assert cluster.taints("node-0") == LOST
        assert cluster.find(POD, "p") is not None
        cluster.merge(NODE, "node-0", {"metadata": {"annotations": None}})
        await asyncio.sleep(1)
        assert cluster.condition(NODE, "node-0", "Ready")["status"] == "True"
        assert cluster.find(POD, "p") is None


async def test_a_node_that_was_reported_to_be_silent_is_heard_when_it_is_made_again(
    cluster: LivingCluster,
) -> None:
    async with cluster.living(nodes=0):
        told = {"name": "n", "annotations": {"sandbox.millrace.dev/behavior": "silent"}}
        cluster.create(NODE, {"metadata": told})
        await asyncio.sleep(1)
        cluster.delete(NODE, "n")
        cluster.create(NODE, {"metadata": {"name": "n"}})
        await asyncio.sleep(1)
        assert cluster.condition(NODE, "n", "Ready")["status"] == "True"


async def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        uid = cluster.pod("p")["metadata"]["uid"]
        cluster.nodes.stop("node-0")
        await asyncio.sleep(200)
        cluster.nodes.start("node-0")
        await asyncio.sleep(1)
        assert cluster.taints("node-0") == set()
        assert cluster.condition(NODE, "node-0", "Ready")["status"] == "True"
        assert cluster.condition(POD, "p", "Ready")["status"] == "True"
        await asyncio.sleep(500)
        assert cluster.pod("p")["metadata"]["uid"] == uid
        assert "deletionTimestamp" not in cluster.pod("p")["metadata"]


async def test_pods_of_a_lost_node_are_marked_after_their_toleration_and_stay(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        for_ever = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
        cluster.create(POD, pod("loyal", tolerations=[for_ever]))
        cluster.create(POD, pod("hasty", tolerations=[{**for_ever, "tolerationSeconds": 5}]))
        await asyncio.sleep(1)
        cluster.nodes.stop("node-0")
        await asyncio.sleep(50)
        assert "deletionTimestamp" in cluster.pod("hasty")["metadata"]
        assert "deletionTimestamp" not in cluster.pod("p")["metadata"]
        await asyncio.sleep(300)
        assert "deletionTimestamp" in cluster.pod("p")["metadata"]
        reason = cluster.condition(POD, "p", "DisruptionTarget")["reason"]
        assert reason == "DeletionByTaintManager"
        await asyncio.sleep(1000)
        assert cluster.phase("p") == "Running"
        assert "deletionTimestamp" not in cluster.pod("loyal")["metadata"]
        cluster.nodes.start("node-0")
        await asyncio.sleep(1)
        assert cluster.find(POD, "p") is None
        assert cluster.phase("loyal") == "Running"


async def test_removing_the_node_lets_its_terminating_pods_go(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.nodes.stop("node-0")
        cluster.delete(POD, "p")
        await asyncio.sleep(100)
        assert "deletionTimestamp" in cluster.pod("p")["metadata"]
        cluster.delete(NODE, "node-0")
        await asyncio.sleep(39)
        assert cluster.find(POD, "p") is not None
        await asyncio.sleep(2)
        assert cluster.find(POD, "p") is None
        assert cluster.find(LEASE, "node-0", "kube-node-lease") is None


async def test_running_pods_of_a_removed_node_end_failed_and_then_go(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        before = cluster.store.version
        cluster.delete(NODE, "node-0")
        await asyncio.sleep(50)
        changes = cluster.store.watch(POD, "default", since=before).take()
        assert {item.object["status"]["phase"] for item in changes} == {"Failed"}
        assert changes[-1].type == "DELETED"
        reasons = [
            item["reason"]
            for item in changes[0].object["status"]["conditions"]
            if item["type"] == "DisruptionTarget"
        ]
        assert reasons == ["DeletionByPodGC"]


@pytest.mark.parametrize("tainted_first", [True, False])
async def test_a_stuck_pod_goes_when_its_silent_node_is_tainted_out_of_service(
    cluster: LivingCluster, tainted_first: bool
) -> None:
    """Also where the taint was there before the deletion; a ready node is not believed."""
    taint = {"spec": {"taints": [{"key": OUT_OF_SERVICE, "effect": "NoSchedule"}]}}
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        if tainted_first:
            cluster.merge(NODE, "node-0", taint)
            await asyncio.sleep(1)
            assert cluster.phase("p") == "Running"
        cluster.nodes.stop("node-0")
        await asyncio.sleep(60)
        cluster.delete(POD, "p")
        await asyncio.sleep(60)
        if not tainted_first:
            assert cluster.phase("p") == "Running"
            before = cluster.get(NODE, "node-0")["spec"]["taints"]
            taints = [*before, *taint["spec"]["taints"]]
            cluster.merge(NODE, "node-0", {"spec": {"taints": taints}})
            await asyncio.sleep(60)
        assert cluster.find(POD, "p") is None


async def test_a_pod_on_a_node_that_registers_late_is_not_lost(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.create(POD, pod("p", nodeName="late"))
        await asyncio.sleep(30)
        cluster.nodes.add("late")
        await asyncio.sleep(100)
        assert cluster.phase("p") == "Running"


async def test_an_evicting_taint_of_others_drives_out_who_does_not_tolerate_it(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        tolerant = {"key": "pool", "operator": "Exists", "effect": "NoExecute"}
        cluster.create(POD, pod("guest"))
        cluster.create(POD, pod("member", tolerations=[tolerant]))
        await asyncio.sleep(1)
        taint = {"key": "pool", "value": "x", "effect": "NoExecute"}
        cluster.merge(NODE, "node-0", {"spec": {"taints": [taint]}})
        await asyncio.sleep(1)
        assert cluster.find(POD, "guest") is None
        assert cluster.phase("member") == "Running"


async def test_a_pod_that_was_bound_to_a_silent_node_starts_when_it_is_back(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.nodes.stop("node-0")
        cluster.create(POD, pod("p"))
        await asyncio.sleep(10)
        assert cluster.phase("p") == "Pending"
        cluster.nodes.start("node-0")
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
