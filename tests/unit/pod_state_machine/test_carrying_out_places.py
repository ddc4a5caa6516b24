"""Pods of constrained PEs against a sandboxed cluster."""

from __future__ import annotations

import pytest

from contracts import labels
from services.chassis.process.errors import Superseded
from services.launching.core.effects import CreatePod, PatchStatus
from tests.builders import Obj, a_node, a_placement
from tests.sandboxed import MERGE
from tests.unit.pod_state_machine.test_carry_out import Cluster, with_cluster


class PlacedCluster:
    """A cluster with two nodes, whose PE has an exlocation."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        for name in ("n1", "n2"):
            self.change("Node", self._new_node(name))
        self.patch("ProcessingElement", "shop-0", {"spec": {"placement": {"exLocations": ["a"]}}})

    def _new_node(self, name: str) -> Obj:
        body = a_node(name).with_label(labels.HOSTNAME, name).build()
        body |= {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        sandbox = self.cluster.sandbox
        return dict(sandbox.cluster.store.create(sandbox.kind("Node"), "", body))

    def change(self, kind: str, obj: Obj) -> None:
        """Put the current state of an object into the table."""
        self.cluster.writer.observe(kind, obj)

    def patch(self, kind: str, name: str, patch: Obj, subresource: str = "") -> None:
        """Patch an object of the job, and put it into the table."""
        sandbox = self.cluster.sandbox
        changed = sandbox.cluster.store.patch(
            sandbox.kind(kind), "default", name, patch, MERGE, subresource=subresource
        )
        self.change(kind, dict(changed))

    def assign(self, node: str) -> None:
        """Assign the PE to a node."""
        owned = a_placement({node: "0"}).owned_by(
            "Job", "shop", self.cluster.job["metadata"]["uid"]
        )
        self.cluster.have(owned)

    def reassign(self, node: str) -> None:
        """Assign the PE to another node."""
        status: Obj = {"assignments": [{"node": node, "pes": "0"}]}
        self.patch("Placement", "shop", {"status": status}, "status")

    async def launch(self) -> str:
        """Launch the PE; returns the name of its pod."""
        (create,) = self.cluster.decided()
        assert isinstance(create, CreatePod)
        await self.cluster.run(create)
        return create.name

    async def carry_on(self) -> None:
        """Carry out the one effect of the next decision."""
        (effect,) = self.cluster.decided()
        await self.cluster.run(effect)

    def pod(self, name: str) -> Obj:
        sandbox = self.cluster.sandbox
        return dict(sandbox.cluster.store.get(sandbox.kind("Pod"), "default", name))

    def bind(self, name: str, node: str) -> None:
        """Bind a pod without a fact of it, as the scheduler does."""
        self.cluster.sandbox.cluster.store.bind("default", name, node)


def test_a_pod_is_made_for_the_node_that_its_pe_is_assigned_to() -> None:
    async def test(cluster: Cluster) -> None:
        placed = PlacedCluster(cluster)
        assert cluster.decided() == ()
        placed.assign("n1")
        made = placed.pod(await placed.launch())
        assert made["metadata"]["annotations"][labels.ASSIGNED_NODE] == "n1"
        assert made["spec"]["affinity"].keys() == {"nodeAffinity", "podAntiAffinity"}
        await placed.carry_on()
        assert cluster.decided() == ()

    with_cluster(test)


def test_a_pod_that_is_pinned_to_a_former_node_is_replaced() -> None:
    async def test(cluster: Cluster) -> None:
        placed = PlacedCluster(cluster)
        placed.assign("n1")
        first = await placed.launch()
        placed.reassign("n2")
        for _ in ("the intent", "the removal"):
            await placed.carry_on()
        second = placed.pod(await placed.launch())
        assert second["metadata"]["annotations"][labels.ASSIGNED_NODE] == "n2"
        assert first not in cluster.pods()
        assert cluster.status()["launchCount"] == 2

    with_cluster(test)


def test_a_pod_that_was_bound_meanwhile_stays_where_it_is() -> None:
    """Facts of pods and placements come over two topics: the newer may come first."""

    async def test(cluster: Cluster) -> None:
        placed = PlacedCluster(cluster)
        placed.assign("n1")
        pod = await placed.launch()
        placed.reassign("n2")
        (intent,) = cluster.decided()
        placed.bind(pod, "n1")
        with pytest.raises(Superseded, match="is on a node"):
            await cluster.run(intent)
        assert all(
            effect.status.launch_count == 1
            for effect in cluster.decided()
            if isinstance(effect, PatchStatus)
        )
        assert cluster.pods() == [pod]

    with_cluster(test)
