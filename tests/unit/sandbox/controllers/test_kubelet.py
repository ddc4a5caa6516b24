"""Pods run, end, hang and are removed, as real ones are and as tests want them to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox.store.errors import ApiError
from sandbox.store.resources import CONFIG_MAP, POD, SECRET
from tests.unit.sandbox.controllers.living import (
    LivingCluster,
    behaving,
    config_map,
    pod,
)

pytestmark = pytest.mark.looptime


def mounting(name: str, **source: Any) -> dict[str, Any]:
    return pod(name, volumes=[{"name": "v", **source}, {"name": "scratch", "emptyDir": {}}])


def state_of(cluster: LivingCluster, name: str) -> dict[str, Any]:
    state: dict[str, Any] = cluster.pod(name)["status"]["containerStatuses"][0]["state"]
    return state


async def test_a_pod_runs_after_its_start_delay_with_one_write_for_it(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.045)
        assert cluster.phase("p") == "Pending"
        await asyncio.sleep(0.01)
        status = cluster.pod("p")["status"]
        assert status["phase"] == "Running"
        assert {item["type"]: item["status"] for item in status["conditions"]} == {
            "PodScheduled": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
        }
        assert status["hostIP"] != status["podIP"]
        assert "running" in state_of(cluster, "p")
        await asyncio.sleep(100)
        assert cluster.writes_of(POD, "p") == ["ADDED", "MODIFIED", "MODIFIED"]


async def test_every_pod_has_an_address_of_its_own(cluster: LivingCluster) -> None:
    async with cluster.living(nodes=2):
        for number in range(300):
            cluster.create(POD, pod(f"p-{number}"))
        await asyncio.sleep(1)
        addresses = {cluster.pod(f"p-{number}")["status"]["podIP"] for number in range(300)}
        assert len(addresses) == 300


async def test_a_deleted_pod_terminates_and_is_gone_after_the_stop_delay(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.delete(POD, "p")
        await asyncio.sleep(0.01)
        assert "deletionTimestamp" in cluster.pod("p")["metadata"]
        await asyncio.sleep(0.02)
        assert cluster.find(POD, "p") is None


async def test_a_finalizer_keeps_a_stopped_pod_without_further_writes(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        body = pod("p")
        body["metadata"]["finalizers"] = ["test.millrace.dev/hold"]
        cluster.create(POD, body)
        await asyncio.sleep(1)
        cluster.delete(POD, "p")
        await asyncio.sleep(1)
        version = cluster.pod("p")["metadata"]["resourceVersion"]
        await asyncio.sleep(100)
        assert cluster.pod("p")["metadata"]["resourceVersion"] == version
        cluster.merge(POD, "p", {"metadata": {"finalizers": None}})
        await asyncio.sleep(1)
        assert cluster.find(POD, "p") is None


async def test_a_new_pod_of_the_same_name_is_not_taken_for_the_old_one(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.kubelet.hang("default", "p")
        cluster.delete(POD, "p", grace_s=0)
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
        cluster.delete(POD, "p")
        await asyncio.sleep(1)
        assert cluster.find(POD, "p") is None


@pytest.mark.parametrize(
    ("behavior", "phase", "code"), [("complete", "Succeeded", 0), ("fail", "Failed", 1)]
)
async def test_annotations_let_a_pod_end_some_time_after_its_start(
    cluster: LivingCluster, behavior: str, phase: str, code: int
) -> None:
    async with cluster.living():
        cluster.create(POD, behaving("p", behavior, after="2s"))
        await asyncio.sleep(2)
        assert cluster.phase("p") == "Running"
        await asyncio.sleep(0.1)
        assert cluster.phase("p") == phase
        assert state_of(cluster, "p")["terminated"]["exitCode"] == code
        assert cluster.condition(POD, "p", "Ready")["status"] == "False"


async def test_a_test_lets_pods_fail_and_complete_with_one_write(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, pod("bad"))
        cluster.create(POD, pod("good"))
        await asyncio.sleep(1)
        cluster.kubelet.fail("default", "bad", exit_code=7)
        cluster.kubelet.complete("default", "good")
        await asyncio.sleep(1)
        assert (cluster.phase("bad"), cluster.phase("good")) == ("Failed", "Succeeded")
        assert state_of(cluster, "bad")["terminated"]["exitCode"] == 7
        assert len(cluster.writes_of(POD, "bad")) == 4


async def test_steering_a_pod_that_does_not_exist_is_refused(cluster: LivingCluster) -> None:
    async with cluster.living():
        with pytest.raises(ApiError, match='pods "ghost" not found'):
            cluster.kubelet.fail("default", "ghost")


async def test_a_pod_that_may_restart_does_so_in_place_with_growing_back_off(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p", restartPolicy="Always"))
        await asyncio.sleep(1)
        cluster.kubelet.fail("default", "p")
        await asyncio.sleep(1)
        container = cluster.pod("p")["status"]["containerStatuses"][0]
        assert (container["restartCount"], container["ready"]) == (1, True)
        assert container["lastState"]["terminated"]["exitCode"] == 1
        cluster.kubelet.fail("default", "p")
        await asyncio.sleep(1)
        assert state_of(cluster, "p")["waiting"]["reason"] == "CrashLoopBackOff"
        assert cluster.phase("p") == "Running"
        await asyncio.sleep(10)
        container = cluster.pod("p")["status"]["containerStatuses"][0]
        assert (container["restartCount"], container["ready"]) == (2, True)


async def test_an_evicted_pod_is_failed_and_says_that_it_was_disrupted(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(1)
        cluster.kubelet.evict("default", "p")
        await asyncio.sleep(1)
        status = cluster.pod("p")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
        disruption = cluster.condition(POD, "p", "DisruptionTarget")
        assert (disruption["status"], disruption["reason"]) == ("True", "TerminationByKubelet")
        assert "Evicted" in [reason for reason, _ in cluster.events("p")]


@pytest.mark.parametrize("annotated", [True, False])
async def test_a_hanging_pod_ignores_its_deletion_until_it_is_released(
    cluster: LivingCluster, annotated: bool
) -> None:
    async with cluster.living():
        cluster.create(POD, behaving("p", "hang") if annotated else pod("p"))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
        if not annotated:
            cluster.kubelet.hang("default", "p")
        cluster.delete(POD, "p")
        await asyncio.sleep(100)
        assert "deletionTimestamp" in cluster.pod("p")["metadata"]
        cluster.kubelet.release("default", "p")
        await asyncio.sleep(1)
        assert cluster.find(POD, "p") is None


async def test_a_pod_whose_image_cannot_be_pulled_stays_pending(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, behaving("p", "image-pull-error"))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Pending"
        assert state_of(cluster, "p")["waiting"]["reason"] == "ImagePullBackOff"
        cluster.kubelet.release("default", "p")
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"


async def test_a_pod_can_run_and_never_get_ready(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, behaving("p", "never-ready"))
        await asyncio.sleep(100)
        assert cluster.phase("p") == "Running"
        assert cluster.condition(POD, "p", "Ready")["status"] == "False"


@pytest.mark.parametrize(
    ("source", "rt"),
    [
        ({"configMap": {"name": "x"}}, CONFIG_MAP),
        ({"secret": {"secretName": "x"}}, SECRET),
        ({"projected": {"sources": [{"configMap": {"name": "x"}}]}}, CONFIG_MAP),
    ],
)
async def test_a_pod_waits_for_what_it_mounts_and_starts_when_it_appears(
    cluster: LivingCluster, source: dict[str, Any], rt: Any
) -> None:
    async with cluster.living():
        cluster.create(POD, mounting("p", **source))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Pending"
        assert state_of(cluster, "p")["waiting"]["reason"] == "ContainerCreating"
        said = f'MountVolume.SetUp failed for volume "v" : {rt.singular} "x" not found'
        assert ("FailedMount", said) in cluster.events("p")
        version = cluster.pod("p")["metadata"]["resourceVersion"]
        await asyncio.sleep(100)
        assert cluster.pod("p")["metadata"]["resourceVersion"] == version
        cluster.create(rt, config_map("x"))
        await asyncio.sleep(0.01)
        assert cluster.phase("p") == "Running"


async def test_an_optional_volume_holds_nothing_up(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(POD, mounting("p", configMap={"name": "x", "optional": True}))
        await asyncio.sleep(1)
        assert cluster.phase("p") == "Running"
