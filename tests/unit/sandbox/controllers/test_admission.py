"""Pods that are bound past the scheduler are let in by the kubelet, or end with its reason."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox.store.resources import NODE, POD
from tests.unit.sandbox.controllers.living import LivingCluster, expression, pod, required_nodes

pytestmark = pytest.mark.looptime
ROOM = {"cpu": "1", "memory": "1Gi", "pods": "2"}


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"requests": {"memory": "2Gi", "cpu": "600m"}},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000",
        ),
        (
            {"requests": {"memory": "2Gi"}},
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 2147483648, used: 0, "
            "capacity: 1073741824",
        ),
        (
            {"nodeSelector": {"disk": "ssd"}},
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchFields": [expression("metadata.name", "In", "other")]}
                )
            },
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            {"host_port": 80},
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod "
            "ports",
        ),
    ],
)
async def test_a_pod_that_its_node_cannot_have_fails_with_the_reason_of_the_kubelet(
    cluster: LivingCluster, spec: dict[str, Any], reason: str, message: str
) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("n", capacity=ROOM)
        there = pod("there", nodeName="n", requests={"cpu": "500m"}, host_port=80)
        cluster.create(POD, there)
        await asyncio.sleep(1)
        cluster.create(POD, pod("p", nodeName="n", **spec))
        await asyncio.sleep(1)
        status = cluster.pod("p")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", reason)
        assert status["message"] == f"Pod was rejected: {message}"
        assert (reason, message) in cluster.events("p")
        assert cluster.phase("there") == "Running"


async def test_the_kubelet_asks_neither_for_noschedule_nor_for_neighbours(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        taint = {"key": "k", "effect": "NoSchedule"}
        cluster.merge(NODE, "node-0", {"spec": {"taints": [taint], "unschedulable": True}})
        cluster.create(POD, pod("p", nodeName="node-0"))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"


async def test_room_is_free_again_when_a_pod_has_ended_or_is_gone(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("n", capacity=ROOM)
        for name in ("one", "two"):
            cluster.create(POD, pod(name, nodeName="n"))
        await asyncio.sleep(1)
        cluster.create(POD, pod("too-many", nodeName="n"))
        await asyncio.sleep(1)
        assert cluster.pod("too-many")["status"]["reason"] == "OutOfpods"
        cluster.kubelet.complete("default", "one")
        cluster.delete(POD, "two")
        await asyncio.sleep(1)
        for name in ("three", "four"):
            cluster.create(POD, pod(name, nodeName="n"))
        await asyncio.sleep(1)
        assert {cluster.phase(name) for name in ("three", "four")} == {"Running"}


async def test_what_was_let_in_stays_when_the_node_no_longer_fits(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("n", labels={"disk": "ssd"})
        cluster.create(POD, pod("p", nodeSelector={"disk": "ssd"}))
        await asyncio.sleep(1)
        cluster.merge(NODE, "n", {"metadata": {"labels": {"disk": None}}})
        cluster.merge(POD, "p", {"metadata": {"labels": {"touched": "yes"}}})
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
        cluster.create(POD, pod("late", nodeName="n", nodeSelector={"disk": "ssd"}))
        await asyncio.sleep(1)
        assert cluster.pod("late")["status"]["reason"] == "NodeAffinity"


async def test_a_resource_that_a_node_does_not_know_is_not_its_business(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p", nodeName="node-0", requests={"example.com/gpu": "1"}))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
