"""What people, nodes and kubelets do to the pods of a simulated job, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contracts import labels
from contracts.bundle_format import pack
from sandbox.controllers.node_statuses import is_ready
from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import NODE
from tests.places import ROOT
from tests.sandboxed import MERGE
from tests.simulation.world import Obj, World

TEN_MINUTES_S = 600.0
SOON_S = 30.0
"""What is to be said of something is reported within this."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
JOB, PE = "j", "j-1"
"""The job that `with_pes` submits, and the PE of it that tests do things to."""
FLAGS = ("restartFailedPod", "restartCompletedPod", "restartDeletedPod")


async def with_pes(world: World, **template: Any) -> None:
    """Start every service; the example runs with these options of its PEs, and all is quiet."""
    world.start()
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    (world.bundles / "wordcount.sab").write_bytes(pack(adl.read_bytes()))
    spec = {
        "bundle": {"name": "wordcount.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": "2"},
        "processingElement": template,
    }
    world.submit(JOB, spec)
    await world.until("running", lambda: world.is_running(JOB))
    await world.settle()


def status_of(world: World, pe: str) -> Obj:
    """The status of a PE; empty if it does not exist."""
    found = world.objects("streamspes").get(pe, {})
    return dict(found.get("status") or {})


def condition_of(world: World, pe: str, type_: str) -> Obj:
    """A condition of a PE; empty if it does not exist."""
    conditions = status_of(world, pe).get("conditions", ())
    return next((dict(each) for each in conditions if each["type"] == type_), {})


def holds(world: World, pe: str, type_: str) -> bool:
    """Whether a condition of a PE holds."""
    return condition_of(world, pe, type_).get("status") == "True"


def pods_of(world: World, pe: str) -> dict[int, Obj]:
    """Every pod of a PE by its launch, whatever became of it."""
    return {
        int(pod["metadata"]["labels"][labels.LAUNCH_COUNT]): pod
        for pod in world.objects("pods").values()
        if pod["metadata"]["ownerReferences"][0]["name"] == pe
    }


def launch_of(world: World, pe: str) -> int:
    """The number of the PE's newest launch."""
    return int(status_of(world, pe).get("launchCount", 0))


def runs_as(world: World, pe: str, launch: int) -> bool:
    """Whether a PE runs, as this launch, and its status says so."""
    pod = pods_of(world, pe).get(launch)
    is_running = pod is not None and pod["status"].get("phase") == "Running"
    return is_running and launch_of(world, pe) == launch and phase_of(world, pe) == "Running"


def phase_of(world: World, pe: str) -> str:
    """The phase that a PE's status says."""
    return str(status_of(world, pe).get("phase", ""))


def newest_pod(world: World, pe: str) -> Obj:
    """The pod of the newest launch that has one."""
    pods = pods_of(world, pe)
    return pods[max(pods)]


def name_of(pod: Obj) -> str:
    """The name of a pod."""
    return str(pod["metadata"]["name"])


# --------------------------------------------------------------------------- hands


def fail(world: World, pe: str, exit_code: int = 1) -> None:
    """Let the PE's container end with this code."""
    name = name_of(newest_pod(world, pe))
    world.cluster.controllers.kubelet.fail("default", name, exit_code)


def complete(world: World, pe: str) -> None:
    """Let the PE's container end with 0."""
    world.cluster.controllers.kubelet.complete("default", name_of(newest_pod(world, pe)))


def delete_pod(world: World, pod: Obj, *, by_force: bool = False) -> None:
    """Delete a pod as a person does."""
    options = DeleteOptions(grace_period_s=0) if by_force else DeleteOptions()
    world.store.delete(world.kind("pods"), "default", name_of(pod), options)


def evict(world: World, pod: Obj) -> None:
    """Evict a pod as `kubectl drain` does."""
    world.store.evict("default", name_of(pod))


def annotate(world: World, pe: str, value: str) -> None:
    """Ask for a restart by annotation."""
    patch = {"metadata": {"annotations": {labels.RESTART: value}}}
    world.store.patch(world.kind("streamspes"), "default", pe, patch, MERGE)


def edit(world: World, pe: str, **spec: Any) -> None:
    """Edit a PE's spec."""
    world.store.patch(world.kind("streamspes"), "default", pe, {"spec": spec}, MERGE)


# --------------------------------------------------------------------------- nodes


def node_of(world: World, pe: str) -> str:
    """The node of a PE's newest pod."""
    return str(newest_pod(world, pe)["spec"]["nodeName"])


async def silence(world: World, node: str) -> None:
    """Let a node go silent, and wait until the cluster says so."""
    world.cluster.controllers.nodes.stop(node)
    await later(world, "not ready", lambda: not is_ready(world.store.get(NODE, None, node)))


def taint(world: World, node: str, key: str, effect: str) -> None:
    """Add a taint to a node."""
    before = (world.store.get(NODE, None, node).get("spec") or {}).get("taints") or []
    patch = {"spec": {"taints": [*before, {"key": key, "effect": effect}]}}
    world.store.patch(NODE, None, node, patch, MERGE)


def cordon(world: World, node: str, *, is_open: bool = False) -> None:
    """As `kubectl cordon`; `is_open`: as `kubectl uncordon`."""
    closed = None if is_open else True
    world.store.patch(NODE, None, node, {"spec": {"unschedulable": closed}}, MERGE)


def remove_node(world: World, node: str) -> None:
    """Delete a Node object."""
    world.store.delete(NODE, None, node, DeleteOptions())


# --------------------------------------------------------------------------- what is asked


async def quietly(world: World, still: Callable[[], bool] = lambda: True) -> None:
    """Nobody writes anything in ten minutes, and `still` holds at their end."""
    await world.settle()
    await silence_of_services(world)
    assert still()


async def silence_of_services(world: World) -> None:
    """Nobody writes anything in ten minutes, though a PE of the job may be stuck."""
    await world.clock.sleep(SOON_S)
    before = len(world.requests)
    await world.clock.sleep(TEN_MINUTES_S)
    assert world.writes(before) == []


async def later(world: World, what: str, holds: Callable[[], bool]) -> None:
    """As `World.until`, for what takes minutes: looked at once a second, which costs less."""
    end = world.clock.now() + 2 * TEN_MINUTES_S
    while not holds():
        assert world.clock.now() < end, f"{what} did not come"
        await world.clock.sleep(1.0)
