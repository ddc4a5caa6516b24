"""Containers start in order, end by signals, probes and limits, and are started again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sandbox.store.resources import CONFIG_MAP, NODE, POD
from tests.unit.sandbox.containers.running import (
    RunningCluster,
    container,
    pod,
    processes_of,
    running,
)

FOREVER = "echo $$$$; exec sleep 60"


def mounted(volume: str, path: str, **more: Any) -> dict[str, Any]:
    return {"volumeMounts": [{"name": volume, "mountPath": path, **more}]}


async def group_of(cluster: RunningCluster, name: str) -> int:
    """The process group of a pod whose script prints its id first."""
    await cluster.until(lambda: cluster.phase(name) == "Running" and cluster.log(name))
    return int(cluster.log(name).split()[0])


async def read_all(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


async def test_init_containers_run_one_after_the_other_and_leave_files_to_the_others(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        shared = mounted("work", "/work")
        inits = [
            container("sleep 0.1; echo 1 >> $MILLRACE_ROOT/work/f", "first", **shared),
            container("echo 2 >> $MILLRACE_ROOT/work/f", "second", **shared),
        ]
        mains = [
            container("cat $MILLRACE_ROOT/work/f; test ! -e $MILLRACE_ROOT/tmp/x", **shared),
            container("touch $MILLRACE_ROOT/tmp/x", "beside", **shared),
        ]
        volumes = [{"name": "work", "emptyDir": {}}]
        cluster.create(pod("p", *mains, initContainers=inits, volumes=volumes))
        await cluster.until_over("p")
        assert cluster.phase("p") == "Succeeded"
        assert cluster.log("p", "?container=pe") == "1\n2\n"
        assert cluster.ended("p", "first")["reason"] == "Completed"


async def test_a_container_that_fails_is_started_again_with_back_off_and_its_log_is_kept(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = 'echo $MILLRACE_ROOT; test "${MILLRACE_ROOT##*/}" = 2 && sleep 60; exit 3'
        cluster.create(pod("p", container(script), restartPolicy="OnFailure"))
        reasons: set[str] = set()

        def runs_again() -> bool:
            state = cluster.container("p").get("state", {})
            reasons.add(state.get("waiting", {}).get("reason", ""))
            return cluster.container("p").get("restartCount") == 2 and "running" in state

        await cluster.until(runs_again)
        assert "CrashLoopBackOff" in reasons
        assert cluster.container("p")["lastState"]["terminated"]["exitCode"] == 3
        assert cluster.log("p", "?previous=true").strip().endswith("/roots/pe/1")
        assert ("BackOff", "Back-off restarting failed container pe") in cluster.events("p")


async def test_a_deleted_pod_gets_its_hook_and_sigterm_and_says_how_it_ended(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = 'trap "cat $MILLRACE_ROOT/tmp/hook; exit 5" TERM; echo $$$$; sleep 60 & wait'
        hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hooked > /tmp/hook"]}}}
        cluster.create(pod("p", container(script, lifecycle=hook)))
        group = await group_of(cluster, "p")
        log = asyncio.create_task(read_all(cluster.followed("p").parts))
        changes = cluster.store.watch(POD, None)
        cluster.delete("p", grace_s=10)
        await cluster.until(lambda: cluster.find("p") is None)
        assert not processes_of(group)
        assert (await log).endswith(b"hooked\n")
        last = changes.take()[-1].object["status"]
        assert last["phase"] == "Failed"
        assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5


async def test_a_pod_that_ignores_sigterm_is_killed_when_its_grace_period_is_over(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container("trap '' TERM; echo $$$$; sleep 60 & wait; wait")))
        group = await group_of(cluster, "p")
        cluster.delete("p", grace_s=1)
        await asyncio.sleep(0.3)
        assert processes_of(group)
        await cluster.until(lambda: cluster.find("p") is None)
        assert not processes_of(group)


async def test_a_liveness_probe_finds_files_of_the_container_by_their_absolute_paths(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = "touch $MILLRACE_ROOT/tmp/live; sleep 1.2; rm $MILLRACE_ROOT/tmp/live; sleep 60"
        probe = {"exec": {"command": ["cat", "/tmp/live"]}, "failureThreshold": 1}
        timed = {**probe, "initialDelaySeconds": 1, "periodSeconds": 1}
        cluster.create(pod("p", container(script, livenessProbe=timed)))
        await cluster.until_over("p")
        assert cluster.ended("p")["exitCode"] == 143
        assert any(
            reason == "Unhealthy" and "/tmp/live" in text for reason, text in cluster.events("p")
        )


async def test_a_pod_is_ready_when_its_readiness_probe_reaches_its_address(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        script = (
            "import http.server, os, time; time.sleep(0.5); http.server.HTTPServer("
            "(os.environ['MILLRACE_POD_IP'], 8080), http.server.SimpleHTTPRequestHandler)"
            ".serve_forever()"
        )
        probe = {"httpGet": {"port": "web"}, "periodSeconds": 1, "successThreshold": 1}
        served = container("", readinessProbe=probe, ports=[{"name": "web", "containerPort": 8080}])
        cluster.create(pod("p", {**served, "command": ["python", "-c", script]}))
        await cluster.until(lambda: cluster.phase("p") == "Running")
        assert not cluster.container("p")["ready"]
        await cluster.until(lambda: cluster.container("p")["ready"])


async def test_a_container_over_its_memory_is_killed_as_oomkilled(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        words = ["python", "-c", "x = b'x' * 200_000_000; import time; time.sleep(60)"]
        limited = container("", resources={"limits": {"memory": "64Mi"}})
        cluster.create(pod("p", {**limited, "command": words}))
        await cluster.until_over("p")
        assert (cluster.ended("p")["exitCode"], cluster.ended("p")["reason"]) == (137, "OOMKilled")


async def test_a_changed_configmap_reaches_the_files_of_a_pod_that_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        config = {"metadata": {"name": "conf"}, "data": {"a": "1"}}
        cluster.create(config, CONFIG_MAP)
        script = "while test -e $MILLRACE_ROOT/c/a; do sleep 0.02; done; cat $MILLRACE_ROOT/c/b"
        volumes = [{"name": "c", "configMap": {"name": "conf"}}]
        cluster.create(pod("p", container(script, **mounted("c", "/c")), volumes=volumes))
        await cluster.until(lambda: cluster.phase("p") == "Running")
        changed = {"metadata": {"name": "conf"}, "data": {"b": "2"}}
        cluster.store.replace(CONFIG_MAP, "default", "conf", changed)
        await cluster.until_over("p")
        assert cluster.log("p") == "2\n"


async def test_processes_of_a_silent_node_go_on_and_nothing_of_them_is_reported(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container(FOREVER)))
        group = await group_of(cluster, "p")
        cluster.nodes.stop("node-0")
        cluster.delete("p", grace_s=0)
        await asyncio.sleep(0.2)
        assert processes_of(group)
        cluster.nodes.start("node-0")
        await cluster.until(lambda: not processes_of(group))


async def test_processes_of_a_deleted_node_end(tmp_path: Path) -> None:
    async with running(tmp_path) as cluster:
        cluster.create(pod("p", container(FOREVER)))
        group = await group_of(cluster, "p")
        cluster.nodes.stop("node-0")
        cluster.delete("p", grace_s=0)
        cluster.store.delete(NODE, None, "node-0", None)
        await cluster.until(lambda: not processes_of(group))
