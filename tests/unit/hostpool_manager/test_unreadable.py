"""Unreadable objects: their last readable state counts, and they are counted in a metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from contracts.unreadable import Unreadable
from placement.answers import Placed
from placement.checking import violations
from placement.cluster import Cluster
from placement.job import Job
from services.chassis.process.metrics import Metrics
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views
from services.hostpool_manager.adapters import intake
from services.hostpool_manager.adapters.folding import ClusterFold
from services.hostpool_manager.adapters.intake import CLUSTER, KINDS
from services.hostpool_manager.core import cluster_view
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.rules import Observation, Situation, rule_of
from services.hostpool_manager.core.snapshot import Ref
from tests.builders import Builder, a_host_pool, a_node, a_placement

SHOP = Ref("default", "shop")
CRASHES = "millrace_crashes_total"
UNREADABLE = "hostpool_manager_unreadable_objects"


class World:
    """A table of facts, and the view that is folded from it."""

    def __init__(self) -> None:
        self.table, self.metrics = Table(), Metrics()
        self.fold = ClusterFold(self.metrics)
        self.views = Views(self.table, (self.fold,), self.crashed)
        self.version = 0

    def crashed(self, _ref: object) -> None:
        self.metrics.count(CRASHES, where="reading")

    def publish(self, entry: Entry, **data: object) -> None:
        """Publish a fact, with other values in its projection."""
        self.version += 1
        whole = entry.data if entry.unreadable else {**entry.data, **data}
        fact = replace(entry, resource_version=self.version, data=whole)
        self.table.observe(
            fact.kind,
            fact.namespace,
            fact.name,
            uid=fact.uid,
            resource_version=fact.resource_version,
            data=fact.data,
        )
        self.views.fold_all()

    def damage(self, entry: Entry, *, is_unreadable: bool = True) -> None:
        """Publish a fact of it that cannot be read, or with an empty projection."""
        data = Unreadable("it nests too deep") if is_unreadable else {}
        self.publish(replace(entry, data=data))

    @property
    def view(self) -> ClusterView:
        return self.fold.view

    @property
    def nodes(self) -> list[str]:
        return [node.name for node in self.view.cluster.nodes if node.ready]

    def observed(self) -> Observation:
        (seen,) = intake.cluster_snapshot(self.table, self.view).placements
        found = rule_of(Situation(seen)).observation
        assert isinstance(found, Observation)
        return found


def a_roomy_node(name: str) -> Builder:
    return a_node(name).with_status(allocatable={"cpu": "4", "pods": "10"})


def a_class(pes: str) -> dict[str, object]:
    return {"pes": pes, "requests": {"cpu": "1"}}


def placed_on(node: str) -> Builder:
    spec = {"generation": 0, "classes": [a_class("0")], "pools": []}
    return a_placement({node: "0"}).with_spec(**spec)


@pytest.mark.parametrize("is_unreadable", [True, False])
def test_an_unreadable_node_keeps_its_state_and_what_runs_there_is_not_judged_as_gone(
    is_unreadable: bool,
) -> None:
    """Nor where the code that reads it crashes, which is counted."""
    world = World()
    node = a_roomy_node("n1").entry()
    world.publish(node)
    world.publish(a_roomy_node("n2").entry())
    world.publish(placed_on("n1").entry())
    assert world.observed() is Observation.HOLDS
    world.damage(node, is_unreadable=is_unreadable)
    assert (world.observed(), world.nodes) == (Observation.HOLDS, ["n1", "n2"])
    assert world.metrics.value(CRASHES, where="reading") == (0 if is_unreadable else 1)
    assert world.metrics.value(UNREADABLE) == 1
    world.publish(node, unschedulable=True)
    assert world.observed() is Observation.BROKEN
    assert world.metrics.value(UNREADABLE) == 0


def test_the_last_readable_state_outlives_further_facts_that_cannot_be_read() -> None:
    world = World()
    node = a_roomy_node("n1").entry()
    world.publish(node)
    for _ in range(3):
        world.damage(node)
        assert world.nodes == ["n1"]


def test_a_node_that_could_never_be_read_is_there_and_takes_nothing() -> None:
    world = World()
    world.damage(a_roomy_node("n1").entry())
    assert world.view.has_node("n1")
    assert world.nodes == []
    other = replace(a_roomy_node("n2").entry(), uid="one")
    world.publish(other)
    world.damage(replace(other, uid="another of its name"))
    assert world.nodes == []


def test_a_placement_and_a_host_pool_that_cannot_be_read_keep_what_they_hold() -> None:
    world = World()
    pool, placement = a_host_pool().entry(), placed_on("n1").entry()
    for entry in (a_roomy_node("n1").entry(), pool, placement):
        world.publish(entry)
    world.damage(pool)
    world.damage(placement)
    assert world.view.placements[SHOP].in_force.assignments == {0: "n1"}
    assert [each.uid for each in world.view.pools_of(SHOP)] == [pool.uid]
    assert world.metrics.value(UNREADABLE) == 2
    world.publish(pool)
    world.publish(placement)
    assert world.metrics.value(UNREADABLE) == 0


def test_a_placement_whose_check_crashes_is_counted_and_delays_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(cluster: Cluster, job: Job, placed: Placed) -> list[str]:
        if job.name == "default/bad":
            raise ZeroDivisionError
        return violations(cluster, job, placed)

    monkeypatch.setattr(cluster_view, "violations", check)
    world = World()
    for name in ("bad", "shop"):
        world.publish(placed_on("n1").named(name).entry())
    assert [world.fold.settle_some() for _ in range(3)] == [True, True, False]
    seen = intake.cluster_snapshot(world.table, world.view).placements
    assert [(each.placement.ref.name, each.is_broken) for each in seen] == [
        ("bad", False),
        ("shop", True),
    ]
    assert world.metrics.value(CRASHES, where="checking") == 1


def test_an_object_that_is_gone_is_not_counted_as_unreadable() -> None:
    world = World()
    node = a_roomy_node("n1").entry()
    world.damage(node)
    world.table.observe_gone(node.ref, node.uid)
    world.views.fold_all()
    assert not world.view.has_node("n1")
    assert world.metrics.value(UNREADABLE) == 0


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("data", [{}, Unreadable("it nests too deep", {"metadata": {}})])
def test_a_wholly_unreadable_object_queues_the_choice_of_the_next_search(
    kind: str, data: Mapping[str, Any]
) -> None:
    """And blocks no other: the keys of an object are computed before it is read."""
    damaged = Entry(kind, "default", "shop", "uid", 1, data)
    assert CLUSTER in set(intake.keys_of(damaged, ClusterView()))
