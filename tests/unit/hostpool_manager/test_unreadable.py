"""Unreadable objects: their last readable state counts, and they are counted in a metric."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.chassis.process.metrics import Metrics
from services.chassis.table.table import Entry, Table
from services.hostpool_manager.adapters.intake import CLUSTER, KINDS, JobKey, Knowledge
from services.hostpool_manager.core.rules import Observation, Situation, rule_of
from services.hostpool_manager.core.snapshot import LastSearch, Ref
from tests.builders import Builder, a_host_pool, a_node, a_placement

SHOP = Ref("default", "shop")
CRASHES = "millrace_crashes_total"
UNREADABLE = "hostpool_manager_unreadable_objects"


class World:
    """A table of facts, and the Knowledge made of it."""

    def __init__(self) -> None:
        self.table, self.metrics = Table(), Metrics()
        self.table.on_observation = lambda _: None
        self.knowledge = Knowledge(self.table, self.metrics)
        self.version = 0

    def publish(self, entry: Entry, **data: object) -> None:
        """Publish a fact, with other values in its projection."""
        self.version += 1
        fact = replace(entry, resource_version=self.version, data={**entry.data, **data})
        self.table.observe(
            fact.kind,
            fact.namespace,
            fact.name,
            uid=fact.uid,
            resource_version=fact.resource_version,
            data=fact.data,
        )
        self.knowledge.note(fact)
        assert self.knowledge.view, "facts are read one by one here"

    def damage(self, entry: Entry) -> None:
        """Publish a fact of it with an empty projection."""
        self.publish(replace(entry, data={}))

    @property
    def nodes(self) -> list[str]:
        return [node.name for node in self.knowledge.view.cluster.nodes if node.ready]

    def observed(self) -> Observation:
        snapshot = self.knowledge.cluster_snapshot(())
        (seen,) = snapshot.placements
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


def test_an_unreadable_node_keeps_its_state_and_what_runs_there_is_not_judged_as_gone() -> None:
    world = World()
    node = a_roomy_node("n1").entry()
    world.publish(node)
    world.publish(a_roomy_node("n2").entry())
    world.publish(placed_on("n1").entry())
    assert world.observed() is Observation.HOLDS
    world.damage(node)
    assert (world.observed(), world.nodes) == (Observation.HOLDS, ["n1", "n2"])
    assert world.metrics.value(CRASHES, where="reading") == 1
    assert world.metrics.value(UNREADABLE) == 1
    world.publish(node, unschedulable=True)
    assert world.observed() is Observation.BROKEN
    assert world.metrics.value(UNREADABLE) == 0


def test_the_last_readable_state_outlives_a_resync_and_a_new_leadership() -> None:
    world = World()
    node = a_roomy_node("n1").entry()
    world.publish(node)
    world.damage(node)
    assert world.nodes == ["n1"]
    assert CLUSTER in set(world.knowledge.all_keys())
    world.knowledge.forget()
    assert world.nodes == ["n1"]


def test_a_node_that_could_never_be_read_is_there_and_takes_nothing() -> None:
    world = World()
    world.damage(a_roomy_node("n1").entry())
    assert world.knowledge.view.has_node("n1")
    assert world.nodes == []
    other = replace(a_roomy_node("n2").entry(), uid="one")
    world.publish(other)
    world.damage(replace(other, uid="another of its name"))
    assert world.nodes == []


@pytest.mark.parametrize("is_read_again", [True, False])
def test_a_placement_and_a_host_pool_that_cannot_be_read_keep_what_they_hold(
    is_read_again: bool,
) -> None:
    world = World()
    pool, placement = a_host_pool().entry(), placed_on("n1").entry()
    for entry in (a_roomy_node("n1").entry(), pool, placement):
        world.publish(entry)
    world.damage(pool)
    world.damage(placement)
    view = world.knowledge.view
    assert view.placements[SHOP].in_force.assignments == {0: "n1"}
    assert [each.uid for each in view.pools_of(SHOP)] == [pool.uid]
    assert world.metrics.value(UNREADABLE) == 2
    if is_read_again:
        world.publish(pool)
        world.publish(placement)
        assert JobKey(*SHOP) in set(world.knowledge.all_keys())
        assert world.metrics.value(UNREADABLE) == 0


def test_an_object_whose_deletion_was_missed_is_forgotten() -> None:
    """Nothing is left of a job that is gone, even if its deletion was missed."""
    world = World()
    world.publish(placed_on("n1").entry())
    world.knowledge.last_searches[SHOP] = LastSearch("uid", 1, 0, 0.0, 0.0, 1)
    world.table.observe_gone(("Placement", *SHOP), "uid-placement-shop")
    assert JobKey(*SHOP) not in set(world.knowledge.all_keys())
    assert SHOP not in world.knowledge.view.placements
    assert world.knowledge.last_searches == {}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_wholly_unreadable_object_queues_the_choice_of_the_next_search(
    kind: str,
) -> None:
    """And blocks no other: the keys of an object are computed before it is read."""
    damaged = Entry(kind, "default", "shop", "uid", 1, {})
    assert CLUSTER in set(World().knowledge.keys_of(damaged))
