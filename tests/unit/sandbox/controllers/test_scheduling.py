"""Pods get the node they may have, or learn why they get none."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sandbox.store.resources import NODE, POD
from tests.unit.sandbox.controllers.living import (
    LivingCluster,
    expression,
    hopeless,
    near,
    no_node,
    nobody,
    pod,
    required_nodes,
)

pytestmark = pytest.mark.looptime
CALLS_A_POD_MAX = 3_000
"""Of functions in Python, by controllers and store; a busy machine makes no more of them."""


async def test_a_pod_is_bound_and_reported_so(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        assert cluster.node_of("p") == "node-0"
        assert cluster.condition(POD, "p", "PodScheduled")["status"] == "True"
        said = ("Scheduled", "Successfully assigned default/p to node-0")
        assert said in cluster.events("p")


async def test_pods_without_requests_are_spread_evenly(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=4):
        for number in range(40):
            cluster.create(POD, pod(f"p-{number}"))
        await asyncio.sleep(1)
        counts = Counter(cluster.node_of(f"p-{number}") for number in range(40))
        assert set(counts.values()) == {10}


async def test_the_emptier_node_is_preferred(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        cluster.create(POD, pod("big", requests={"cpu": "32", "memory": "64Gi"}))
        await asyncio.sleep(1)
        for number in range(3):
            cluster.create(POD, pod(f"p-{number}", requests={"cpu": "1"}))
        await asyncio.sleep(1)
        placed = {cluster.node_of(f"p-{number}") for number in range(3)}
        assert placed == {"node-0", "node-1"} - {cluster.node_of("big")}


async def test_requests_are_exact_and_freed_room_is_used(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("small", capacity={"cpu": "1", "memory": "1Gi", "pods": "10"})
        cluster.create(POD, pod("one", requests={"cpu": "300m", "memory": "0.5Gi"}))
        cluster.create(POD, pod("two", requests={"cpu": "0.7", "memory": "512Mi"}))
        cluster.create(POD, pod("three", requests={"cpu": "1m", "memory": "1"}))
        await asyncio.sleep(1)
        assert cluster.node_of("two") == "small"
        assert cluster.node_of("three") is None
        condition = cluster.condition(POD, "three", "PodScheduled")
        assert condition["reason"] == "Unschedulable"
        assert condition["message"] == no_node(
            1, "1 Insufficient cpu, 1 Insufficient memory", freeing=nobody(1)
        )
        assert ("FailedScheduling", condition["message"]) in cluster.events("three")
        cluster.delete(POD, "one")
        await asyncio.sleep(1)
        assert cluster.node_of("three") == "small"
        assert cluster.condition(POD, "three", "PodScheduled")["status"] == "True"


async def test_a_finished_pod_gives_its_room_back(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("small", capacity={"cpu": "1"})
        cluster.create(POD, pod("one", requests={"cpu": "1"}))
        cluster.create(POD, pod("two", requests={"cpu": "1"}))
        await asyncio.sleep(1)
        assert cluster.node_of("two") is None
        cluster.kubelet.complete("default", "one")
        await asyncio.sleep(1)
        assert cluster.phase("two") == "Running"


async def test_the_number_of_pods_and_extended_resources_are_counted(
    cluster: LivingCluster,
) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("a", capacity={"pods": "1", "example.com/gpu": "1"})
        cluster.create(POD, pod("first", requests={"example.com/gpu": "1"}))
        await asyncio.sleep(1)
        cluster.create(POD, pod("second", requests={"example.com/gpu": "1"}))
        await asyncio.sleep(1)
        message = cluster.condition(POD, "second", "PodScheduled")["message"]
        assert message == no_node(
            1, "1 Insufficient example.com/gpu, 1 Too many pods", freeing=nobody(1)
        )


async def test_taints_keep_pods_away_that_do_not_tolerate_them(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        taint = {"key": "team", "value": "blue", "effect": "NoSchedule"}
        cluster.merge(NODE, "node-0", {"spec": {"taints": [taint]}})
        cluster.merge(NODE, "node-1", {"spec": {"unschedulable": True}})
        cluster.create(POD, pod("strange"))
        other = {"key": "team", "operator": "Equal", "value": "red"}
        cluster.create(POD, pod("other", tolerations=[other]))
        toleration = {"key": "team", "operator": "Equal", "value": "blue", "effect": "NoSchedule"}
        cluster.create(POD, pod("guest", tolerations=[toleration]))
        await asyncio.sleep(1)
        assert cluster.node_of("guest") == "node-0"
        for name in ("strange", "other"):
            assert cluster.condition(POD, name, "PodScheduled")["message"] == no_node(
                2,
                "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable",
                freeing=hopeless(2),
            )
        cluster.merge(NODE, "node-0", {"spec": {"taints": None}})
        await asyncio.sleep(1)
        assert cluster.node_of("strange") == "node-0"


async def test_a_disliked_node_is_used_only_when_no_other_is_left(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        taint = {"key": "old", "effect": "PreferNoSchedule"}
        cluster.merge(NODE, "node-0", {"spec": {"taints": [taint]}})
        for number in range(3):
            cluster.create(POD, pod(f"p-{number}"))
        await asyncio.sleep(1)
        assert {cluster.node_of(f"p-{number}") for number in range(3)} == {"node-1"}
        cluster.merge(NODE, "node-1", {"spec": {"unschedulable": True}})
        cluster.create(POD, pod("last"))
        await asyncio.sleep(1)
        assert cluster.node_of("last") == "node-0"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "fast"),
        ({"affinity": required_nodes({})}, None),
        (
            {"affinity": required_nodes({"matchExpressions": [expression("disk", "In", "ssd")]})},
            "fast",
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchExpressions": [expression("disk", "NotIn", "ssd")]}
                )
            },
            "slow",
        ),
        (
            {"affinity": required_nodes({"matchExpressions": [expression("disk", "Exists")]})},
            "fast",
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchExpressions": [expression("disk", "DoesNotExist")]}
                )
            },
            "slow",
        ),
        (
            {"affinity": required_nodes({"matchExpressions": [expression("cores", "Gt", "8")]})},
            "fast",
        ),
        (
            {"affinity": required_nodes({"matchExpressions": [expression("cores", "Lt", "8")]})},
            "slow",
        ),
        (
            {"affinity": required_nodes({"matchExpressions": [expression("cores", "Lt", "4")]})},
            None,
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchFields": [expression("metadata.name", "In", "slow")]}
                )
            },
            "slow",
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchExpressions": [expression("disk", "In", "tape")]},
                    {"matchExpressions": [expression("disk", "In", "ssd")]},
                )
            },
            "fast",
        ),
        (
            {
                "affinity": required_nodes(
                    {"matchExpressions": [expression("disk", "Exists"), expression("x", "Exists")]}
                )
            },
            None,
        ),
    ],
)
async def test_node_selectors_and_affinity_choose_among_labels(
    cluster: LivingCluster, asked: dict[str, Any], expected: str | None
) -> None:
    async with cluster.living(nodes=0):
        cluster.nodes.add("fast", labels={"disk": "ssd", "cores": "16"})
        cluster.nodes.add("slow", labels={"cores": "4"})
        cluster.create(POD, pod("p", **asked))
        await asyncio.sleep(1)
        assert cluster.node_of("p") == expected
        if expected is None:
            assert cluster.condition(POD, "p", "PodScheduled")["message"] == no_node(
                2, "2 node(s) didn't match Pod's node affinity/selector", freeing=hopeless(2)
            )


async def test_pods_that_repel_each_other_never_share_a_node(cluster: LivingCluster) -> None:
    apart = near("podAntiAffinity", expression("apart", "In", "x"))
    async with cluster.living(nodes=2):
        for number in range(3):
            cluster.create(POD, pod(f"p-{number}", labels={"apart": "x"}, affinity=apart))
        await asyncio.sleep(1)
        assert {cluster.node_of(f"p-{number}") for number in range(3)} == {"node-0", "node-1", None}
        assert cluster.condition(POD, "p-2", "PodScheduled")["message"] == no_node(
            2, "2 node(s) didn't match pod anti-affinity rules", freeing=nobody(2)
        )
        cluster.nodes.add("node-2")
        await asyncio.sleep(1)
        assert cluster.node_of("p-2") == "node-2"


async def test_a_pod_that_wants_to_be_alone_keeps_others_away(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        alone = near("podAntiAffinity", expression("role", "In", "guest"))
        cluster.create(POD, pod("hermit", affinity=alone))
        await asyncio.sleep(1)
        for number in range(2):
            cluster.create(POD, pod(f"guest-{number}", labels={"role": "guest"}))
        await asyncio.sleep(1)
        homes = {cluster.node_of(f"guest-{number}") for number in range(2)}
        assert homes == {"node-0", "node-1"} - {cluster.node_of("hermit")}


async def test_pods_that_attract_each_other_meet_and_the_first_may_begin(
    cluster: LivingCluster,
) -> None:
    async with cluster.living(nodes=3):
        together = near("podAffinity", expression("group", "In", "g"))
        for number in range(5):
            cluster.create(POD, pod(f"p-{number}", labels={"group": "g"}, affinity=together))
        cluster.create(POD, pod("fan", affinity=near("podAffinity", expression("star", "Exists"))))
        await asyncio.sleep(1)
        assert len({cluster.node_of(f"p-{number}") for number in range(5)}) == 1
        assert cluster.node_of("fan") is None
        cluster.create(POD, pod("star", labels={"star": "1"}))
        await asyncio.sleep(1)
        assert cluster.node_of("fan") == cluster.node_of("star")


async def test_affinity_looks_at_its_topology_and_namespace(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
            cluster.nodes.add(name, labels={"zone": zone})
        cluster.create(POD, pod("there", labels={"x": "y"}, nodeName="a1"))
        cluster.create(POD, pod("elsewhere", labels={"x": "y"}, nodeName="b1"), "kube-system")
        await asyncio.sleep(1)
        away = near("podAntiAffinity", expression("x", "Exists"), topology="zone")
        cluster.create(POD, pod("p", affinity=away))
        await asyncio.sleep(1)
        assert cluster.node_of("p") == "b1"


async def test_a_host_port_is_taken_once_per_node(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, pod("one", host_port=8080))
        cluster.create(POD, pod("two", host_port=8080))
        await asyncio.sleep(1)
        assert (cluster.node_of("one"), cluster.node_of("two")) == ("node-0", None)


async def test_pods_of_other_schedulers_and_gated_pods_are_left_alone(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("theirs", schedulerName="another"))
        cluster.create(POD, pod("gated", schedulingGates=[{"name": "wait"}]))
        cluster.create(POD, pod("fixed", nodeName="node-0"))
        await asyncio.sleep(1)
        assert cluster.node_of("theirs") is None
        assert cluster.node_of("gated") is None
        assert cluster.writes_of(POD, "theirs") == ["ADDED"]
        assert cluster.phase("fixed") == "Running"


async def test_a_pod_without_any_node_waits_for_one(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=0):
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        message = cluster.condition(POD, "p", "PodScheduled")["message"]
        assert message == "no nodes available to schedule pods"
        cluster.nodes.add("n")
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"


async def test_waiting_costs_no_writes_while_the_reason_stays(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        cluster.create(POD, pod("p", nodeSelector={"no": "where"}))
        for number in range(20):
            cluster.create(POD, pod(f"q-{number}"))
            await asyncio.sleep(0.2)
        assert cluster.writes_of(POD, "p") == ["ADDED", "MODIFIED"]


async def test_five_hundred_pods_cost_little_time_and_few_writes(cluster: LivingCluster) -> None:
    apart = near("podAntiAffinity", expression("apart", "In", "x"))
    async with cluster.living(nodes=4):
        await asyncio.sleep(1)
        before = cluster.store.version
        with counted_calls() as calls:
            for number in range(500):
                body = pod(f"p-{number}", requests={"cpu": "100m"}, affinity=apart)
                cluster.create(POD, body)
            await asyncio.sleep(5)
        assert calls.total() < 500 * CALLS_A_POD_MAX
        assert {cluster.phase(f"p-{number}") for number in range(500)} == {"Running"}
        # Created, bound, Event Scheduled, Running.
        assert cluster.store.version - before == 4 * 500


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """How often functions in Python are called inside of the block."""
    calls: Counter[str] = Counter()

    def count(_frame: object, event: str, _argument: object) -> None:
        if event == "call":
            calls[event] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
