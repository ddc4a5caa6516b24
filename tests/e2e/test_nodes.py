"""Nodes are drained, tainted, closed, silent and lost: every PE runs elsewhere, once, or waits.

All of it happens at once, each to a job of its own on nodes of its own, since the cluster takes its
time: pod garbage collection acts a minute after a Node object is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e import nodes
from tests.e2e.examples import OUTSIDE, REGION, until_width, with_example
from tests.e2e.nodes import OUT_OF_SERVICE, nodes_of
from tests.e2e.resizing import Moment, Resized, moment_of, number_of, resized
from tests.e2e.test_restarts import condition_of, edit_pe, pods_of, status_of
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects
from tests.real.differential.kubectl import kubectl

COVERS = (
    "services/launching/core/nodes.py",
    "services/launching/core/running.py",
    "services/launching/core/hanging.py",
    "services/launching/core/pods.py",
    "services/pod_state_machine/adapters/gone_pods.py",
    "sandbox/controllers/node_life_cycle.py",
    "sandbox/controllers/eviction.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WIDTH = 2
NODE_LOSS_S = 3
THROWN_OUT = "e2e.millrace.dev/thrown-out"
STUCK = "StuckTerminating"


@dataclass(frozen=True, slots=True)
class Scene:
    """A job that runs on two nodes, and the one of them that something will happen to."""

    cluster: Cluster
    job: JobObjects
    node: str
    before: Moment
    scratch: Path
    kubectl: str

    @property
    def there(self) -> set[str]:
        """The PEs that were on the node."""
        return {pe for pe, pod in self.before.pods.items() if pod["spec"]["nodeName"] == self.node}

    async def until_moved(self, pes: set[str] | None = None) -> None:
        """Until these PEs run on another node; launched once for it, the others not written to."""
        moved = self.there if pes is None else pes

        def is_elsewhere() -> bool:
            places = nodes_of(self.job)
            return self.job.is_settled() and all(places[pe] != self.node for pe in moved)

        await self.job.until(f"{sorted(moved)} on another node", is_elsewhere)
        await self.job.until("launch counts", self._is_counted)
        numbers = {number_of(self.job, pe) for pe in moved}
        others = {number_of(self.job, pe) for pe in self.before.pods} - numbers
        assert resized(self.job, self.before) == Resized(numbers, others, set(), set())

    def _is_counted(self) -> bool:
        """Every pod and every status that tells of it have been seen."""
        return all(
            {status_of(self.job, pe)["launchCount"]} == set(pods_of(self.job, pe))
            for pe in self.job.of("pes")
        )

    def reasons(self) -> set[str]:
        """Why the PEs that were on the node were launched again."""
        return {str(condition_of(self.job, pe, "BackingOff").get("reason")) for pe in self.there}

    def is_stuck(self, pe: str) -> bool:
        """Whether the status says that the PE's pod does not end."""
        return condition_of(self.job, pe, STUCK).get("status") == "True"


async def drained(scene: Scene) -> None:
    """`kubectl drain` ends, and the job goes on."""
    await nodes.drain(scene.cluster, scene.node, scene.kubectl, scene.scratch)
    await scene.until_moved()
    assert scene.reasons() == {"Disrupted"}


async def tainted(scene: Scene) -> None:
    """The taint manager throws out what does not tolerate it."""
    await nodes.taint(scene.cluster.api, scene.node, THROWN_OUT, "NoExecute")
    await scene.until_moved()
    assert scene.reasons() == {"Disrupted"}


async def cordoned(scene: Scene) -> None:
    """Nothing moves; what is launched from then on runs elsewhere."""
    await nodes.cordon(scene.cluster.api, scene.node)
    again = min(scene.there)
    await edit_pe(scene.cluster, again, {"spec": {"launchCount": 2}})
    await scene.until_moved({again})
    await scene.cluster.resize(scene.job, REGION, WIDTH + 1)
    await until_width(scene.job, WIDTH + 1)
    came = set(scene.job.of("pes")) - set(scene.before.pods)
    assert came
    assert scene.node not in {nodes_of(scene.job)[pe] for pe in came}


async def deleted(scene: Scene) -> None:
    """Pod garbage collection removes the pods of a node that is gone."""
    await nodes.remove(scene.cluster.api, scene.node)
    await scene.until_moved()
    assert scene.reasons() == {"Disrupted"}


async def stuck(scene: Scene) -> None:
    """The node is silent, its pods are thrown out and do not end: nothing runs in their place."""
    api = scene.cluster.api
    await nodes.tell(api, scene.job, scene.node, "hang")
    await nodes.silence(api, scene.node)
    await nodes.taint(api, scene.node, THROWN_OUT, "NoExecute")
    await scene.job.until("stuck", lambda: all(map(scene.is_stuck, scene.there)))
    for pe in scene.there:
        told = condition_of(scene.job, pe, STUCK)["message"]
        pod = scene.before.pods[pe]["metadata"]["name"]
        for words in (scene.node, pod, OUT_OF_SERVICE, "spec.forceRelaunch"):
            assert words in told
        assert set(pods_of(scene.job, pe)) == {1}


async def stuck_and_deleted(scene: Scene) -> None:
    """After the node-loss time-out they are gone with the Node object."""
    await stuck(scene)
    await nodes.remove(scene.cluster.api, scene.node)
    await scene.until_moved()


async def stuck_and_out_of_service(scene: Scene) -> None:
    """Or with the taint that says that nothing runs there."""
    await stuck(scene)
    await nodes.taint(scene.cluster.api, scene.node, OUT_OF_SERVICE, "NoExecute")
    await scene.until_moved()


async def stuck_and_forced(scene: Scene) -> None:
    """Or whatever the node is, where somebody says so of a PE; the others go on waiting."""
    await stuck(scene)
    forced = min(scene.there)
    await edit_pe(scene.cluster, forced, {"spec": {"forceRelaunch": True}})
    await scene.job.until("forced", lambda: set(pods_of(scene.job, forced)) == {2})
    for pe in scene.there - {forced}:
        assert set(pods_of(scene.job, pe)) == {1}
    await _come_back(scene)
    await scene.until_moved()


async def stuck_and_back(scene: Scene) -> None:
    """Or when the node comes back, and ends them."""
    await stuck(scene)
    await _come_back(scene)
    await scene.until_moved()


async def _come_back(scene: Scene) -> None:
    await nodes.wake(scene.cluster.api, scene.node)
    await nodes.tell(scene.cluster.api, scene.job, scene.node, None)


HAPPENINGS: Mapping[str, Callable[[Scene], Awaitable[None]]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        drained,
        tainted,
        cordoned,
        deleted,
        stuck_and_deleted,
        stuck_and_out_of_service,
        stuck_and_forced,
        stuck_and_back,
    )
}


async def test_whatever_happens_to_a_node_each_pe_runs_once_elsewhere_or_waits_and_no_job_ends(
    cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Drained, tainted, cordoned, deleted; silent and then deleted, out of service, forced, back.

    Nothing else is restarted or written to.
    """
    binary = kubectl_of(request.node.callspec.params["system"])
    async with asyncio.TaskGroup() as happening:
        for name in HAPPENINGS:
            happening.create_task(_happens(cluster, name, tmp_path, binary), name=name)


def kubectl_of(backend: str) -> str:
    """The real one; the sandbox can do without, on a machine where nobody built it yet."""
    try:
        return kubectl()
    except pytest.skip.Exception:
        if backend == "real":
            raise
        return ""


async def _happens(cluster: Cluster, name: str, scratch: Path, binary: str) -> None:
    """Run the job on its nodes, let it happen to one of them, and end the job."""
    owner = f"node-{name}"
    template = {
        "podTemplate": nodes.wanted_by(owner),
        "nodeLossTimeOutInSeconds": NODE_LOSS_S,
    }
    async with nodes.own_nodes(cluster.api, owner, 2) as names, cluster.job(owner) as job:
        await with_example(cluster, job, WIDTH, processingElement=template)
        before = moment_of(job)
        node = nodes_of(job)[f"{owner}-1"]
        scene = Scene(cluster, job, node, before, scratch, binary)
        assert set(names) == set(nodes_of(job).values()), "every node has some of the pods"
        assert len(before.pods) == WIDTH + OUTSIDE
        try:
            await HAPPENINGS[name](scene)
        except AssertionError as failure:
            failure.add_note(f"node {name}")
            raise
        finally:
            await nodes.tell(cluster.api, job, node, None)
        assert job.phase == "Submitted"
