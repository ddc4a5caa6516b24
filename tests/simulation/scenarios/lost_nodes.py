"""Nodes fall silent, go, are drained and tainted: every PE runs once, elsewhere, and no PE twice.

A node that is silent throws its pods out after five minutes, and they end when somebody says that
nothing runs there. People's acts are over before a scenario waits, so that what takes minutes costs
no look at the world.
"""

from __future__ import annotations

from typing import Any

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import NODE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.hands import condition_of, cordon, delete_pod, edit, holds, silence, taint
from tests.simulation.scenarios.applications import one_region
from tests.simulation.scenarios.losing import (
    PE,
    one_pe_running,
    pe_is,
    runs_as,
    unseen,
)
from tests.simulation.scenarios.resizing import running
from tests.simulation.scenarios.scenario import Act, Scenario
from tests.simulation.scenarios.submitting import j_runs

COVERS = (
    "services/launching/core/nodes.py",
    "services/launching/core/hanging.py",
    "services/hostpool_manager/core/following.py",
)

STUCK = "StuckTerminating"
DRAINED = "node-1"
TIME_OUT_S = 60
"""Of a node that is lost, where a scenario waits for it."""
COLLECTED_S = 45.0
"""The pod garbage collector waits forty seconds for a node whose object is gone."""
THROWN_OUT_S = 345.0
"""A silent node throws its pods out after five minutes; they have half a minute to end."""


def _node(world: FaultedWorld) -> str:
    return str(_pod(world)["spec"]["nodeName"])


def _pod(world: FaultedWorld) -> dict[str, Any]:
    """The PE's pod, on its way out or not."""
    (pod,) = world.objects("pods", "j").values()
    return pod


def one_pe_stuck(**policies: Any) -> Act:
    """The PE's pod was thrown out by its silent node, and does not end."""

    async def prepare(world: FaultedWorld) -> None:
        await one_pe_running(**policies)(world)
        await _node_falls_silent(world)
        await world.until("stuck", lambda: holds(world, PE, STUCK), wait_s=120.0)

    return prepare


async def _node_falls_silent(world: FaultedWorld) -> None:
    await silence(world, _node(world))
    await world.clock.sleep(THROWN_OUT_S)


def _is_stuck(world: FaultedWorld) -> bool:
    """The next launch is intended, and the status says what holds it up and what to do."""
    told = condition_of(world, PE, STUCK).get("message", "")
    return pe_is("Waiting", 2)(world) and holds(world, PE, STUCK) and _node(world) in told


async def _node_is_deleted(world: FaultedWorld) -> None:
    """A machine is gone for good, and the cluster says so at once."""
    node = _node(world)
    world.cluster.controllers.nodes.stop(node)
    world.store.delete(NODE, None, node, DeleteOptions())
    await world.clock.sleep(COLLECTED_S)


async def _stuck_node_is_deleted(world: FaultedWorld) -> None:
    world.store.delete(NODE, None, _node(world), DeleteOptions())


async def _stuck_node_is_out_of_service(world: FaultedWorld) -> None:
    taint(world, _node(world), labels.OUT_OF_SERVICE_TAINT, "NoExecute")


async def _stuck_node_returns(world: FaultedWorld) -> None:
    world.cluster.controllers.nodes.start(_node(world))


async def _pod_hangs_out_of_service(world: FaultedWorld) -> None:
    """Its node is well for all that the cluster knows: only the PE's time-out ends the pod."""
    _pod_hangs(world)
    edit(world, PE, launchCount=2)
    taint(world, _node(world), labels.OUT_OF_SERVICE_TAINT, "NoSchedule")
    await _time_out(world)


async def _one_pe_on_a_silent_node(world: FaultedWorld) -> None:
    """The node does not throw its pods out yet."""
    await one_pe_running(forceRelaunch=True, nodeLossTimeOutInSeconds=TIME_OUT_S)(world)
    await silence(world, _node(world))
    await world.settle()


async def _pod_is_replaced(world: FaultedWorld) -> None:
    edit(world, PE, launchCount=2)
    await _time_out(world)


async def _pod_hangs_and_is_deleted(world: FaultedWorld) -> None:
    """Somebody deletes it; that it counts as gone later does not make it a failure."""
    _pod_hangs(world)
    delete_pod(world, _pod(world))
    taint(world, _node(world), labels.OUT_OF_SERVICE_TAINT, "NoSchedule")
    await _time_out(world)


def _pod_hangs(world: FaultedWorld) -> None:
    name = _pod(world)["metadata"]["name"]
    world.cluster.controllers.kubelet.hang("default", name)


async def _time_out(world: FaultedWorld) -> None:
    """The grace period of the pod and the time-out of its node."""
    grace_s = _pod(world)["spec"]["terminationGracePeriodSeconds"]
    await world.clock.sleep(grace_s + TIME_OUT_S + 1.0)


async def _node_throws_pods_out(world: FaultedWorld) -> None:
    taint(world, _node(world), "example.com/away", "NoExecute")


async def _whole_node_is_drained(world: FaultedWorld) -> None:
    """As `kubectl drain`: no new pods, then every pod of the node is evicted."""
    cordon(world, DRAINED)
    for pod in _pods_on(world, DRAINED):
        world.store.evict("default", pod)


def _pods_on(world: FaultedWorld, node: str) -> list[str]:
    pods = world.objects("pods", "j").items()
    return sorted(name for name, pod in pods if pod["spec"].get("nodeName") == node)


def _runs_elsewhere(world: FaultedWorld) -> bool:
    return j_runs(world) and not _pods_on(world, DRAINED)


SCENARIOS = (
    Scenario(
        "node-gone",
        "the Node object of a machine that is gone is deleted",
        _node_is_deleted,
        runs_as(2),
        prepare=one_pe_running(),
        excuse=unseen(within_s=COLLECTED_S + 5.0),
    ),
    Scenario(
        "node-silent",
        "a node falls silent, its pod does not end, and nobody says that it is lost",
        _node_falls_silent,
        _is_stuck,
        prepare=one_pe_running(),
    ),
    Scenario(
        "node-silent-gone",
        "the Node object of a stuck pod is deleted after the time-out",
        _stuck_node_is_deleted,
        runs_as(2),
        prepare=one_pe_stuck(nodeLossTimeOutInSeconds=0),
    ),
    Scenario(
        "node-out-of-service",
        "the node of a stuck pod is tainted out-of-service",
        _stuck_node_is_out_of_service,
        runs_as(2),
        prepare=one_pe_stuck(),
    ),
    Scenario(
        "node-returns",
        "the node of a stuck pod comes back",
        _stuck_node_returns,
        runs_as(2),
        prepare=one_pe_stuck(),
    ),
    Scenario(
        "node-time-out",
        "a pod that is replaced hangs on a node out of service, until its PE's time-out",
        _pod_hangs_out_of_service,
        runs_as(2),
        prepare=one_pe_running(nodeLossTimeOutInSeconds=TIME_OUT_S),
    ),
    Scenario(
        "node-time-out-deleted",
        "a pod that somebody deletes hangs on a node out of service, until its PE's time-out",
        _pod_hangs_and_is_deleted,
        pe_is("Stopped", 1),
        prepare=one_pe_running(nodeLossTimeOutInSeconds=TIME_OUT_S),
    ),
    Scenario(
        "force-relaunch",
        "a pod on a silent node is replaced, and its PE is to be launched all the same",
        _pod_is_replaced,
        runs_as(2),
        prepare=_one_pe_on_a_silent_node,
    ),
    Scenario(
        "node-tainted",
        "the taint manager deletes a pod",
        _node_throws_pods_out,
        runs_as(2),
        prepare=one_pe_running(),
        excuse=unseen(),
    ),
    Scenario(
        "node-drained-whole",
        "a node of several PEs is cordoned and drained",
        _whole_node_is_drained,
        _runs_elsewhere,
        prepare=running(one_region(), w=2),
        excuse=unseen(pods=2),
    ),
)
