"""The view after any changes equals a new view of the final state."""

from __future__ import annotations

import copy
import random
from dataclasses import replace

import pytest

from contracts.resources.placement import PlacementPhase
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import Taint
from placement.job import Job, Pe, Pool
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.snapshot import (
    BoundPod,
    HostPool,
    InForce,
    Marks,
    Placement,
    Ref,
)
from services.hostpool_manager.core.specs import Specs
from tests.cluster_contents import contents_of_view

NODES = [f"n{number}" for number in range(10)]
JOBS = [Ref("default", name) for name in ("one", "two")]
UIDS = ("u1", "u2")


class RandomChanges:
    """Changes a view at random, and keeps the current state of every object."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.view = ClusterView()
        self.nodes: dict[str, tuple[Node, Marks]] = {}
        self.pods: dict[tuple[str, str], BoundPod] = {}
        self.placements: dict[Ref, Placement] = {}
        self.pools: dict[tuple[str, str], HostPool] = {}

    def step(self) -> None:
        """One change."""
        self.random.choice((self.node, self.pod, self.placement, self.pool))()

    def node(self) -> None:
        name = self.random.choice(NODES)
        if self.random.random() < 0.2:
            self.nodes.pop(name, None)
            self.view.update_node(name, None)
            return
        owners = frozenset(self.random.sample(("pool-one", "pool-two", "gone"), 1))
        marks = Marks(owners if self.random.random() < 0.5 else frozenset())
        node = Node(
            name,
            {f"tag.streams.ibm.com/{tag}": "" for tag in "ab" if self.random.random() < 0.3},
            (self.random.choice(("10.0.0.1", "10.0.0.2")),),
            {"cpu": 4000, self.random.choice(("pods", "gpu")): 5},
            (Taint("t"),) if self.random.random() < 0.3 else (),
            unschedulable=self.random.random() < 0.3,
            ready=self.random.random() < 0.7,
        )
        self.nodes[name] = (node, marks)
        self.view.update_node(name, node, marks)

    def pod(self) -> None:
        name = ("default", self.random.choice(("a", "b", "c", "one")))
        if self.random.random() < 0.3:
            self.pods.pop(name, None)
            self.view.update_pod(name, None)
            return
        job = self.random.choice((None, *JOBS))
        pe = self.random.randrange(3) if job else -1
        uid = self.random.choice(("", *UIDS)) if job else ""
        leaves = self.random.random() < 0.3
        pod = BoundPod(self.random.choice(NODES), {"cpu": 500}, job, uid, pe, leaves)
        self.pods[name] = pod
        self.view.update_pod(name, pod)

    def placement(self) -> None:
        ref = self.random.choice(JOBS)
        if self.random.random() < 0.2:
            self.placements.pop(ref, None)
            self.view.update_placement(ref, None)
            return
        pes = tuple(Pe(number, {"cpu": 1000}, pool=0) for number in range(3))
        pool = Pool(0, "p", is_exclusive=self.random.random() < 0.5, size=2)
        nodes = {number: self.random.choice(NODES) for number in range(3)}
        members = tuple(self.random.sample([*NODES, ""], 2))
        placement = Placement(
            ref,
            uid="p",
            spec_generation=1,
            version=1,
            job_uid=self.random.choice(UIDS),
            is_deleting=self.random.random() < 0.2,
            phase=PlacementPhase.PLACED,
            observed_generation=1,
            spec=Job("/".join(ref), pes, (pool,)),
            in_force=InForce(0, {0: members}, nodes),
        )
        self.placements[ref] = placement
        self.view.update_placement(ref, placement)

    def pool(self) -> None:
        job = self.random.choice(JOBS)
        name = ("default", f"{job.name}-0")
        pool = HostPool(*name, f"pool-{job.name}", 1, job, is_exclusive=True)
        pool = replace(pool, is_deleting=self.random.random() < 0.3)
        self.pools[name] = pool
        self.view.update_pool(name, pool)

    def rebuilt(self) -> ClusterView:
        """A new view of the current objects only."""
        later = ClusterView()
        for ref, placement in self.placements.items():
            later.update_placement(ref, placement)
        for name, pool in self.pools.items():
            later.update_pool(name, pool)
        for pod_name, pod in self.pods.items():
            later.update_pod(pod_name, pod)
        for node_name, (node, marks) in self.nodes.items():
            later.update_node(node_name, node, marks)
        return later


@pytest.mark.parametrize("seed", range(20))
def test_a_view_after_many_changes_equals_one_that_is_built_at_once(seed: int) -> None:
    changes = RandomChanges(seed)
    for _ in range(60):
        changes.step()
        rebuilt = changes.rebuilt()
        assert contents_of_view(changes.view) == contents_of_view(rebuilt)


@pytest.mark.parametrize("is_leaving", [False, True])
def test_pods_that_end_take_room_and_close_no_node_to_the_next_job(is_leaving: bool) -> None:
    """A job that is deleted and submitted again finds pods of its predecessor."""
    view = ClusterView()
    view.update_node("n0", Node("n0", {}, (), {"cpu": 4000, "pods": 5}))
    pod = BoundPod("n0", {"cpu": 500}, JOBS[0], "u1", 0, is_leaving)
    view.update_pod(("default", "a"), pod)
    assert view.cluster.used["cpu"].tolist() == [500]
    assert view.cluster.streams_pods.tolist() == [0 if is_leaving else 1]
    assert view.runs_others("n0", job=JOBS[0], job_uid="u2"), (
        "the claim is not complete before they are gone"
    )


def test_a_pod_that_ends_of_a_job_that_is_placed_keeps_its_node() -> None:
    """Its PE will be launched there again."""
    view = ClusterView()
    view.update_node("n0", Node("n0", {}, (), {"cpu": 4000, "pods": 5}))
    job = Job("default/one", (Pe(0, {"cpu": 1000}),), ())
    placement = Placement(
        JOBS[0],
        uid="p",
        spec_generation=1,
        version=1,
        job_uid="u1",
        spec=job,
        in_force=InForce(0, {}, {0: "n0"}),
    )
    view.update_placement(JOBS[0], placement)
    view.update_pod(("default", "a"), BoundPod("n0", {"cpu": 1000}, JOBS[0], "u1", 0, True))
    assert [pod.node for pod in view.cluster.pods["default/one"]] == ["n0"]
    view.update_placement(JOBS[0], replace(placement, is_deleting=True))
    assert "default/one" not in view.cluster.pods


def test_a_spec_is_read_again_where_its_text_changed_and_nowhere_else() -> None:
    """Python takes 1 and true for equal, and a schema may not."""
    specs, ref = Specs(), JOBS[0]
    one = {"generation": 1, "classes": [{"pes": "0-9", "requests": {"cpu": "1", "pods": "1"}}]}
    read = specs.job_of(ref, one)
    assert specs.job_of(ref, copy.deepcopy(one)) is read
    assert specs.job_of(JOBS[1], one) == (1, replace(read[1], name="default/two"))
    for other in (
        {"generation": True},
        {"classes": [{"pes": "0-9", "requests": {"pods": "1", "cpu": "1"}}]},
    ):
        assert specs.job_of(ref, {**one, **other}) is not read
    specs.forget(ref)
    assert specs.job_of(ref, one) is not read
