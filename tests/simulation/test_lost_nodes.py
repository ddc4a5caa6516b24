"""Pods on nodes that are silent, gone or out of service: never twice, and never stuck unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.hands import (
    OUT_OF_SERVICE,
    PE,
    condition_of,
    delete_pod,
    edit,
    holds,
    later,
    launch_of,
    name_of,
    newest_pod,
    node_of,
    phase_of,
    pods_of,
    quietly,
    remove_node,
    runs_as,
    silence,
    silence_of_services,
    status_of,
    taint,
    with_pes,
)
from tests.simulation.world import World, simulate

COVERS = (
    "services/launching/core/nodes.py",
    "services/launching/core/hanging.py",
    "services/launching/core/running.py",
)

STUCK = "StuckTerminating"


async def with_a_stuck_pod(world: World, **template: object) -> str:
    """The PE's node falls silent and its pods are thrown out, but never end; the node's name."""
    await with_pes(world, **template)
    node = node_of(world, PE)
    await silence(world, node)
    await later(world, "unknown", lambda: status_of(world, PE)["reason"] == "PodUnknown")
    assert holds(world, PE, "PodBlocked")
    await later(world, "stuck", lambda: holds(world, PE, STUCK))
    return node


def test_a_pod_on_a_silent_node_is_never_launched_past_and_the_status_says_what_to_do(
    tmp_path: Path,
) -> None:
    """The old one may still run. While it is stuck nothing is written, over restarts as well."""

    async def test(world: World) -> None:
        node = await with_a_stuck_pod(world)
        told = condition_of(world, PE, STUCK)["message"]
        for words in (node, name_of(newest_pod(world, PE)), OUT_OF_SERVICE, "spec.forceRelaunch"):
            assert words in told
        assert (phase_of(world, PE), launch_of(world, PE)) == ("Waiting", 2)
        await silence_of_services(world)
        await world.kill("pod-state-machine")
        world.start("pod-state-machine")
        await silence_of_services(world)
        assert sorted(pods_of(world, PE)) == [1]
        world.cluster.controllers.nodes.start(node)
        await later(world, "runs", lambda: runs_as(world, PE, 2))
        assert not holds(world, PE, STUCK)
        await quietly(world)

    simulate(tmp_path, test)


@pytest.mark.parametrize("way", ["node deleted", "node tainted"])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_stuck_pod_is_gone_with_its_node(tmp_path: Path, way: str, at_once: bool) -> None:
    """Deleted or tainted out-of-service, before the time-out or after it: launched elsewhere."""

    async def test(world: World) -> None:
        node = await with_a_stuck_pod(world)
        if not at_once:
            await world.clock.sleep(400.0)
        if way == "node deleted":
            remove_node(world, node)
        else:
            taint(world, node, OUT_OF_SERVICE, "NoExecute")
        await later(world, "runs", lambda: runs_as(world, PE, 2))
        assert node_of(world, PE) != node
        assert not holds(world, PE, STUCK)
        await quietly(world)
        assert sorted(pods_of(world, PE)) == [2]

    simulate(tmp_path, test)


@pytest.mark.parametrize("edited", [False, True])
def test_force_relaunch_replaces_a_stuck_pod_after_the_time_out(
    tmp_path: Path, edited: bool
) -> None:
    """Asked for in the template, or of the PE when it is stuck already."""

    async def test(world: World) -> None:
        asked = {} if edited else {"forceRelaunch": True}
        await with_a_stuck_pod(world, nodeLossTimeOutInSeconds=100, **asked)
        since = world.clock.now()
        if edited:
            await world.clock.sleep(200.0)
            assert sorted(pods_of(world, PE)) == [1]
            edit(world, PE, forceRelaunch=True)
        await later(world, "runs", lambda: runs_as(world, PE, 2))
        assert world.clock.now() - since >= (200.0 if edited else 80.0)
        await silence_of_services(world)  # others may be stuck on that node

    simulate(tmp_path, test)


@pytest.mark.parametrize("force", [True, False])
def test_a_pod_that_hangs_on_a_node_that_is_well_is_reported_after_the_time_out(
    tmp_path: Path, force: bool
) -> None:
    """Somebody wants the next launch; only `forceRelaunch` gives it."""

    async def test(world: World) -> None:
        await with_pes(world, forceRelaunch=force)
        pod = newest_pod(world, PE)
        world.cluster.controllers.kubelet.hang("default", name_of(pod))
        edit(world, PE, launchCount=2)
        await world.clock.sleep(250.0)
        assert not holds(world, PE, STUCK)
        if force:
            await later(world, "runs", lambda: runs_as(world, PE, 2))
        else:
            await later(world, "stuck", lambda: holds(world, PE, STUCK))
            assert "is ready" in condition_of(world, PE, STUCK)["message"]
            await silence_of_services(world)
            world.cluster.controllers.kubelet.release("default", name_of(pod))
            await later(world, "runs", lambda: runs_as(world, PE, 2))
        await quietly(world)

    simulate(tmp_path, test)


def test_a_stuck_pod_that_somebody_deleted_is_reported_and_stops_its_pe(tmp_path: Path) -> None:
    """It was no failure: the node's end does not restart it."""

    async def test(world: World) -> None:
        await with_pes(world)
        node = node_of(world, PE)
        await silence(world, node)
        delete_pod(world, newest_pod(world, PE))
        await later(world, "stuck", lambda: holds(world, PE, STUCK))
        assert phase_of(world, PE) == "Running"
        taint(world, node, OUT_OF_SERVICE, "NoSchedule")
        await later(world, "stopped", lambda: phase_of(world, PE) == "Stopped")
        await world.clock.sleep(600.0)
        assert launch_of(world, PE) == 1
        assert not pods_of(world, PE)

    simulate(tmp_path, test)


def test_heartbeats_of_nodes_wake_nobody(tmp_path: Path) -> None:
    """Nodes report every five minutes; no fact says so, and nothing is asked or written."""

    async def test(world: World) -> None:
        await with_pes(world)
        await world.settle()
        facts, before = await _facts_of_nodes(world), len(world.requests)
        await world.clock.sleep(900.0)
        assert await _facts_of_nodes(world) == facts > 0
        assert world.writes(before) == []

    simulate(tmp_path, test)


async def _facts_of_nodes(world: World) -> int:
    return sum(each.key.startswith(b"Node/") for each in await world.facts())
