"""Pods that are refused or do not start: said once, in words that help, and not relaunched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox.http.in_process import Fault
from tests.sandboxed import MERGE
from tests.simulation.hands import (
    PE,
    condition_of,
    cordon,
    delete_pod,
    edit,
    fail,
    holds,
    launch_of,
    name_of,
    newest_pod,
    node_of,
    phase_of,
    pods_of,
    quietly,
    runs_as,
    status_of,
    with_pes,
)
from tests.simulation.world import World, simulate

COVERS = (
    "services/launching/core/conditions.py",
    "services/launching/core/events.py",
    "services/launching/core/pod_rules.py",
    "services/chassis/kube/refusing.py",
)


@pytest.mark.parametrize("code", [403, 422])
def test_a_pe_whose_pod_is_refused_says_so_and_holds_up_no_other(tmp_path: Path, code: int) -> None:
    """Refused again and again it is tried ever more seldom; allowed, it starts."""

    async def test(world: World) -> None:
        await with_pes(world)
        world.faults = lambda request: (
            Fault(status=code) if (request.method, request.path[-5:]) == ("POST", "/pods") else None
        )
        since = len(world.requests)
        fail(world, PE)
        await world.until("refused", lambda: status_of(world, PE)["reason"] == "PodRefused")
        assert holds(world, PE, "PodBlocked")
        await world.clock.sleep(600.0)
        assert sum(each.path.endswith("/pods") for each in world.writes(since)) <= 25
        others = [pe for pe in world.objects("streamspes", "j") if pe != PE]
        assert all(runs_as(world, pe, 1) for pe in others)
        world.faults = None
        await world.until("runs", lambda: runs_as(world, PE, 2))
        assert not holds(world, PE, "PodBlocked")
        await quietly(world)

    simulate(tmp_path, test)


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        ("ErrImagePull", "ImagePullBackOff"),
        ("ImagePullBackOff", "ImagePullBackOff"),
        ("InvalidImageName", "ImagePullBackOff"),
        ("CreateContainerConfigError", "ContainerNotStarted"),
    ],
)
def test_a_container_that_cannot_start_is_reported_once_and_not_relaunched(
    tmp_path: Path, waiting: str, reason: str
) -> None:
    """The kubelet changes its words at each attempt; the status does not."""

    async def test(world: World) -> None:
        await with_pes(world)
        # Its kubelet is us, for less than the five minutes after which the pod would be evicted.
        world.cluster.controllers.nodes.stop(node_of(world, PE))
        for node in [each for each in _nodes(world) if each != node_of(world, PE)]:
            cordon(world, node)
        edit(world, PE, launchCount=2)
        delete_pod(world, newest_pod(world, PE), by_force=True)
        await world.until("bound", lambda: 2 in pods_of(world, PE))
        await world.clock.sleep(1.0)
        pull(world, newest_pod(world, PE), waiting)
        await world.until("said", lambda: status_of(world, PE)["reason"] == reason)
        assert waiting in status_of(world, PE)["message"]
        assert holds(world, PE, "PodBlocked")
        assert phase_of(world, PE) == "Starting"
        await world.settle()
        before = len(world.requests)
        for attempt in range(10):
            pull(world, newest_pod(world, PE), ("ErrImagePull", waiting)[attempt % 2], str(attempt))
            await world.clock.sleep(10.0)
            pull(world, newest_pod(world, PE), "ContainerCreating")
            await world.clock.sleep(10.0)
        said = [each for each in world.writes(before) if PE in each.path]
        assert len(said) <= (0 if reason == "ImagePullBackOff" else 40)
        assert launch_of(world, PE) == 2

    simulate(tmp_path, test)


def _nodes(world: World) -> list[str]:
    return [each["metadata"]["name"] for each in world.store.list(world.kind("nodes"), None).items]


def pull(world: World, pod: dict[str, Any], reason: str, message: str = "no such image") -> None:
    """Let a kubelet say that the container waits."""
    state = {"waiting": {"reason": reason, "message": message}}
    container = {"name": "pe", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    patch = {"status": {"containerStatuses": [{**container, "state": state}]}}
    world.store.patch(
        world.kind("pods"), "default", name_of(pod), patch, MERGE, subresource="status"
    )


def test_a_pod_that_no_node_takes_is_reported_with_the_scheduler_s_words(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        for node in _nodes(world):
            cordon(world, node)
        fail(world, PE)
        await world.until("said", lambda: status_of(world, PE)["reason"] == "Unschedulable")
        assert "0/4 nodes are available" in condition_of(world, PE, "PodBlocked")["message"]
        await quietly(world)
        for node in _nodes(world):
            patch = {"spec": {"unschedulable": None}}
            world.store.patch(world.kind("nodes"), None, node, patch, MERGE)
        await world.until("runs", lambda: runs_as(world, PE, 2))
        assert not holds(world, PE, "PodBlocked")
        await quietly(world)

    simulate(tmp_path, test)
