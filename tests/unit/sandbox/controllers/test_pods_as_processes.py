"""The kubelet runs a pod as processes or plays it, and hands its runtime what they need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from sandbox.containers.programs import Programs
from sandbox.containers.runs import Run, Runs, Seen, StartOrder
from sandbox.containers.volumes import Files, Source
from sandbox.controllers.kubelet_processes import Running
from sandbox.controllers.settings import Settings
from sandbox.store.resources import CONFIG_MAP, NODE, POD
from tests.unit.sandbox.controllers.living import LivingCluster, behaving, config_map, pod

pytestmark = pytest.mark.looptime


class RecordedRuntime:
    """Runs nothing: containers run until a test ends them, or are stopped."""

    def __init__(self) -> None:
        self.on_change: Callable[[str], None] = lambda uid: None
        self.now: Callable[[], float] = lambda: 0.0
        self.orders: list[StartOrder] = []
        self.stops: list[tuple[str, float]] = []
        self.killed: list[str] = []
        self.removed: list[str] = []
        self.volumes: list[Mapping[str, Source]] = []
        self.limits: Mapping[str, int] = {}
        self.runs: dict[str, dict[str, Runs]] = {}
        self.pid: int | None = 1

    def seen(self, uid: str) -> Seen:
        return dict(self.runs.get(uid, {}))

    def make_volumes(self, uid: str, sources: Mapping[str, Source]) -> None:
        self.volumes.append(sources)

    def start(self, order: StartOrder) -> None:
        self.orders.append(order)
        of_pod = self.runs.setdefault(order.uid, {})
        of_pod[order.name] = (
            *of_pod.get(order.name, ())[-1:],
            Run(order.number, self.now(), pid=self.pid),
        )

    def stop(self, uid: str, container: str, grace_s: float) -> None:
        self.stops.append((container, grace_s))
        self.end_run(uid, container, 143)

    def end_run(self, uid: str, container: str, code: int) -> None:
        runs = self.runs[uid][container]
        ended = replace(runs[-1], ended_s=self.now(), exit_code=code)
        self.runs[uid][container] = (*runs[:-1], ended)
        self.on_change(uid)

    def limit(self, uid: str, memory_bytes_max: Mapping[str, int]) -> None:
        self.limits = memory_bytes_max

    def kill(self, uid: str) -> None:
        self.killed.append(uid)

    def end(self, uid: str) -> None: ...

    def remove(self, uid: str) -> None:
        self.removed.append(uid)


@pytest.fixture
def runtime() -> RecordedRuntime:
    return RecordedRuntime()


@pytest.fixture
async def cluster(runtime: RecordedRuntime) -> LivingCluster:
    issued: list[int] = []

    def issue(*_: Any) -> str:
        issued.append(1)
        return f"token-{len(issued)}"

    programs = Programs(("runtime",), {})
    running = Running(runtime, programs, issue, {"PATH": "/bin"}, first_address=255)
    made = LivingCluster(Settings(), running)
    runtime.now = made.now
    return made


async def test_a_pod_of_our_image_starts_with_its_address_and_variables(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.1)
        (order,) = runtime.orders
        assert order.address == cluster.pod("p")["status"]["podIP"] == "127.64.1.1"
        assert order.environment == {"PATH": "/bin", "MILLRACE_POD_IP": "127.64.1.1"}
        assert cluster.phase("p") == "Running"
        runtime.end_run(order.uid, "pe", 1)
        await asyncio.sleep(0.1)
        assert cluster.phase("p") == "Failed"
        assert cluster.writes_of(POD, "p") == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED"]


async def test_a_container_that_is_being_started_is_written_when_it_has_started(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        runtime.pid = None
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.1)
        (order,) = runtime.orders
        assert "podIP" not in cluster.pod("p")["status"]
        (run,) = runtime.runs[order.uid]["pe"]
        runtime.runs[order.uid]["pe"] = (replace(run, pid=7),)
        runtime.on_change(order.uid)
        await asyncio.sleep(0.1)
        assert cluster.pod("p")["status"]["containerStatuses"][0]["containerID"] == "process://7"


async def test_a_pod_of_another_image_or_behavior_is_played(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        other = pod("other")
        other["spec"]["containers"][0]["image"] = "nginx"
        cluster.create(POD, other)
        cluster.create(POD, behaving("failing", "fail"))
        cluster.create(POD, behaving("waiting", "image-pull-error"))
        await asyncio.sleep(1)
        assert runtime.orders == []
        phases = [cluster.phase(name) for name in ("other", "failing", "waiting")]
        assert phases == ["Running", "Failed", "Pending"]


async def test_the_processes_of_a_pod_that_gets_a_behavior_end_and_it_is_played(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    annotate = {"metadata": {"annotations": {"sandbox.millrace.dev/behavior": "fail"}}}
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.1)
        cluster.merge(POD, "p", annotate)
        await asyncio.sleep(0.1)
        uid = cluster.pod("p")["metadata"]["uid"]
        assert (runtime.killed, cluster.phase("p")) == ([uid], "Failed")
        cluster.delete(POD, "p")
        await asyncio.sleep(0.1)
        assert runtime.removed == [uid]


async def test_a_pod_that_hangs_keeps_its_processes_and_ignores_its_deletion(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.1)
        cluster.kubelet.hang("default", "p")
        cluster.delete(POD, "p")
        await asyncio.sleep(100)
        assert (runtime.killed, runtime.stops, runtime.removed) == ([], [], [])
        cluster.kubelet.release("default", "p")
        await asyncio.sleep(1)
        assert cluster.find(POD, "p") is None
        assert len(runtime.removed) == 1


async def test_a_deleted_pod_is_there_until_its_containers_ended(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        cluster.create(POD, pod("p"))
        await asyncio.sleep(0.1)
        cluster.delete(POD, "p")
        await asyncio.sleep(0.1)
        assert runtime.stops == [("pe", 30.0)]
        assert cluster.find(POD, "p") is None
        assert len(runtime.removed) == 1


async def test_a_missing_object_of_a_variable_keeps_a_container_waiting_until_it_is_there(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        body = pod("p")
        ref = {"configMapKeyRef": {"name": "conf", "key": "a"}}
        body["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": ref}]
        cluster.create(POD, body)
        await asyncio.sleep(1)
        state = cluster.pod("p")["status"]["containerStatuses"][0]["state"]["waiting"]
        assert state["reason"] == "CreateContainerConfigError"
        assert ("Failed", 'Error: configmap "conf" not found') in cluster.events("p")
        cluster.create(CONFIG_MAP, {**config_map("conf"), "data": {"a": "1"}})
        await asyncio.sleep(0.1)
        assert runtime.orders[0].environment["A"] == "1"


async def test_a_missing_volume_is_an_event_and_its_files_follow_the_object(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        volumes = [{"name": "c", "configMap": {"name": "conf"}}]
        cluster.create(POD, pod("p", volumes=volumes))
        await asyncio.sleep(1)
        complaint = 'MountVolume.SetUp failed for volume "c" : configmap "conf" not found'
        assert ("FailedMount", complaint) in cluster.events("p")
        assert runtime.orders == []
        cluster.create(CONFIG_MAP, {**config_map("conf"), "data": {"a": "1"}})
        await asyncio.sleep(0.1)
        assert cluster.phase("p") == "Running"
        cluster.merge(CONFIG_MAP, "conf", {"data": {"a": "2"}})
        await asyncio.sleep(0.1)
        volume = runtime.volumes[-1]["c"]
        assert isinstance(volume, Files)
        assert volume.by_path["a"].content == b"2"


async def test_a_projected_token_is_replaced_before_it_ends(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        source = {"serviceAccountToken": {"path": "t", "expirationSeconds": 1000}}
        cluster.create(POD, pod("p", volumes=[{"name": "t", "projected": {"sources": [source]}}]))

        def token() -> bytes:
            volume = runtime.volumes[-1]["t"]
            assert isinstance(volume, Files)
            return volume.by_path["t"].content

        await asyncio.sleep(790)
        assert token() == b"token-1"
        await asyncio.sleep(20)
        assert token() == b"token-2"
        await asyncio.sleep(800)
        assert token() == b"token-3"


async def test_on_a_silent_node_nothing_ends_before_it_is_back_or_deleted(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living(nodes=2):
        for name in ("a", "b"):
            cluster.create(POD, pod(name))
        await asyncio.sleep(0.1)
        uids = {name: cluster.pod(name)["metadata"]["uid"] for name in ("a", "b")}
        nodes = {name: cluster.node_of(name) for name in ("a", "b")}
        assert set(nodes.values()) == {"node-0", "node-1"}
        for name in ("a", "b"):
            cluster.nodes.stop(str(nodes[name]))
            cluster.delete(POD, name, grace_s=0)
        await asyncio.sleep(1)
        assert runtime.removed == []
        cluster.nodes.start(str(nodes["a"]))
        await asyncio.sleep(0.1)
        assert runtime.removed == [uids["a"]]
        cluster.delete(NODE, str(nodes["b"]))
        await asyncio.sleep(0.1)
        assert runtime.removed == [uids["a"], uids["b"]]


async def test_the_limit_of_memory_is_that_of_the_container(
    cluster: LivingCluster, runtime: RecordedRuntime
) -> None:
    async with cluster.living():
        body = pod("p")
        body["spec"]["containers"][0]["resources"] = {"limits": {"memory": "64Mi"}}
        cluster.create(POD, body)
        await asyncio.sleep(0.1)
        assert runtime.limits == {"pe": 64 * 2**20}
