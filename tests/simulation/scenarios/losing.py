"""Objects are deleted, pods end, people ask for launches: what was requested comes about again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.faulted_world import SLEEP_S, FaultedWorld
from tests.simulation.scenarios.applications import ONE_PE, one_region, provide, spec_of
from tests.simulation.scenarios.scenario import Act, Holds, Scenario
from tests.simulation.scenarios.submitting import j_runs

COVERS = (
    "services/launching/core/*",
    "services/pod_state_machine/core/deciding.py",
    "services/pod_state_machine/adapters/gone_pods.py",
)

PE, SERVICE = "j-0", "j-pes"


def one_pe_running(**policies: Any) -> Act:
    """Job j with one PE runs under restart policies, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, one_region())
        world.start()
        more: dict[str, Any] = {"processingElement": policies} if policies else {}
        world.submit("j", spec_of(fusion=ONE_PE, **more))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def one_pe_failed(**policies: Any) -> Act:
    """The same, and the PE has failed for good."""
    run = one_pe_running(restartFailedPod=False, **policies)

    async def prepare(world: FaultedWorld) -> None:
        await run(world)
        pod = world.live_pods("j")[PE]["metadata"]["name"]
        world.cluster.controllers.kubelet.fail("default", pod)
        await world.until("failed", lambda: pe_is("Failed", 1)(world))
        await world.settle()

    return prepare


def deleted(plural: str, name: str = PE, grace_s: int | None = None) -> Act:
    """Somebody deletes the object of a name, or the first that begins with it."""

    async def act(world: FaultedWorld) -> None:
        found = next(each for each in sorted(world.objects(plural)) if each.startswith(name))
        options = DeleteOptions(grace_period_s=grace_s)
        world.store.delete(world.kind(plural), "default", found, options)

    return act


def told(directive: Callable[[Any, str, str], None]) -> Act:
    """Something happens to the pod of the PE that only its kubelet knows of."""

    async def act(world: FaultedWorld) -> None:
        pod = world.live_pods("j")[PE]["metadata"]["name"]
        directive(world.cluster.controllers.kubelet, "default", pod)

    return act


def patched(plural: str, name: str, patch: dict[str, Any]) -> Act:
    """Somebody patches an object."""

    async def act(world: FaultedWorld) -> None:
        world.store.patch(world.kind(plural), "default", name, patch, MERGE)

    return act


async def _evicted(world: FaultedWorld) -> None:
    pod = world.live_pods("j")[PE]["metadata"]["name"]
    world.store.evict("default", pod)


async def _drained(world: FaultedWorld) -> None:
    """The node is cordoned and all that runs there is evicted."""
    pod = world.live_pods("j")[PE]
    node = pod["spec"]["nodeName"]
    world.store.patch(world.kind("nodes"), None, node, {"spec": {"unschedulable": True}}, MERGE)
    world.store.evict("default", pod["metadata"]["name"])


def pe_is(phase: str, launch: int) -> Holds:
    """The PE says so, of that launch."""

    def holds(world: FaultedWorld) -> bool:
        status = world.objects("streamspes").get(PE, {}).get("status") or {}
        return (status.get("phase"), status.get("launchCount")) == (phase, launch)

    return holds


def failed_without_pod(world: FaultedWorld) -> bool:
    """The PE failed for good: its pod is gone and no launch followed."""
    return pe_is("Failed", 1)(world) and not world.objects("pods")


def runs_as(launch: int) -> Holds:
    """The job runs, its PE in that launch."""
    is_launch = pe_is("Running", launch)
    return lambda world: is_launch(world) and j_runs(world)


def unseen(pods: int = 1, within_s: float = SLEEP_S / 2) -> Callable[[FaultedWorld], str]:
    """A pod that is gone before a watch says why it went looks like one that somebody deleted.

    `within_s`: when it is reported, after a scenario began, unless it is not.
    """

    def excuse(world: FaultedWorld) -> str:
        seen = len(world.told_of(b"DisruptionTarget", within_s))
        return "" if seen >= pods else "what the eviction says of a pod was never seen"

    return excuse


def runs_again_or_was_unseen(world: FaultedWorld) -> bool:
    """The PE runs as its second launch; or is stopped, where nobody could tell why."""
    return runs_as(2)(world) or (bool(unseen()(world)) and pe_is("Stopped", 1)(world))


def is_back(plural: str, name: str = PE) -> Holds:
    """The object is there again, and the job runs."""

    def holds(world: FaultedWorld) -> bool:
        found = [o for n, o in world.objects(plural).items() if n.startswith(name)]
        return (
            bool(found)
            and all(not each["metadata"].get("deletionTimestamp") for each in found)
            and j_runs(world)
        )

    return holds


SCENARIOS = (
    Scenario(
        "pod-deleted",
        "somebody deletes a pod whose PE is not to be restarted then",
        deleted("pods"),
        pe_is("Stopped", 1),
        prepare=one_pe_running(),
    ),
    Scenario(
        "pod-deleted-restarted",
        "somebody deletes a pod whose PE is to be restarted then",
        deleted("pods"),
        runs_as(2),
        prepare=one_pe_running(restartDeletedPod=True),
    ),
    Scenario(
        "pod-failed",
        "a pod fails, and its PE is restarted",
        told(lambda kubelet, namespace, pod: kubelet.fail(namespace, pod)),
        runs_as(2),
        prepare=one_pe_running(),
    ),
    Scenario(
        "pod-failed-kept",
        "a pod fails, and its PE is not restarted",
        told(lambda kubelet, namespace, pod: kubelet.fail(namespace, pod)),
        pe_is("Failed", 1),
        prepare=one_pe_running(restartFailedPod=False),
    ),
    Scenario(
        "failed-pod-deleted",
        "somebody deletes the pod of a PE that failed for good, and the PE is to be restarted then",
        deleted("pods"),
        runs_as(2),
        prepare=one_pe_failed(restartDeletedPod=True),
    ),
    Scenario(
        "failed-pod-retired",
        "the time for which the pod of a failed PE is kept becomes shorter, and so is over",
        patched("streamspes", PE, {"spec": {"failedPodRetentionSeconds": 1}}),
        failed_without_pod,
        prepare=one_pe_failed(restartDeletedPod=True),
    ),
    Scenario(
        "pod-completed",
        "the pod of the only PE completes its work",
        told(lambda kubelet, namespace, pod: kubelet.complete(namespace, pod)),
        pe_is("Completed", 1),
        prepare=one_pe_running(),
    ),
    Scenario(
        "pod-evicted",
        "a pod is evicted",
        _evicted,
        runs_again_or_was_unseen,
        prepare=one_pe_running(),
        excuse=unseen(),
    ),
    Scenario(
        "node-drained",
        "the node of a pod is cordoned and drained",
        _drained,
        runs_as(2),
        prepare=one_pe_running(),
        excuse=unseen(),
    ),
    Scenario(
        "launch-requested",
        "somebody raises spec.launchCount to 3",
        patched("streamspes", PE, {"spec": {"launchCount": 3}}),
        runs_as(3),
        prepare=one_pe_running(),
    ),
    Scenario(
        "pe-deleted",
        "somebody deletes a ProcessingElement",
        deleted("streamspes"),
        runs_as(2),
        prepare=one_pe_running(),
        loose="a watch may show that its pod is deleted before it shows that the PE is",
    ),
    Scenario(
        "service-deleted",
        "somebody deletes a Service",
        deleted("services", SERVICE),
        is_back("services", SERVICE),
        prepare=one_pe_running(),
    ),
    Scenario(
        "region-deleted",
        "somebody deletes a ParallelRegion",
        deleted("streamsprs"),
        is_back("streamsprs"),
        prepare=one_pe_running(),
    ),
    Scenario(
        "configmap-deleted",
        "somebody deletes the ConfigMap of a PE",
        deleted("configmaps", "j.pack."),
        is_back("configmaps", "j.pack."),
        prepare=one_pe_running(),
    ),
    Scenario(
        "hostpool-deleted",
        "somebody deletes a HostPool",
        deleted("streamshostpools"),
        is_back("streamshostpools"),
        prepare=one_pe_running(),
    ),
    Scenario(
        "hostpool-annotated",
        "somebody annotates a HostPool, and nothing follows from it",
        patched("streamshostpools", PE, {"metadata": {"annotations": {"example.com/a": "b"}}}),
        runs_as(1),
        prepare=one_pe_running(),
    ),
)
