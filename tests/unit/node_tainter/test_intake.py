"""Which facts wake which key, and what a key sees."""

from __future__ import annotations

import pytest

from contracts import labels
from services.chassis.log.bus import Partition
from services.chassis.table.entries import Change
from services.chassis.table.table import Table
from services.node_tainter.adapters import intake
from services.node_tainter.adapters.intake import HOST_POOL
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.effects import SetMarks
from services.node_tainter.core.snapshot import (
    Key,
    Marks,
    NodeKey,
    NodeSnapshot,
    PoolKey,
    PoolSnapshot,
    exclusive_taint,
)
from tests.builders import EPOCH_TIME, Builder, a_node

A = PoolKey("default", "a")


def a_pool(name: str, *members: str, mode: str = "exclusive") -> Builder:
    """A host pool; its uid is that of its name."""
    meta = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": EPOCH_TIME,
        "finalizers": [labels.NODE_CLAIMS_FINALIZER],
    }
    spec = {"hostpool": {"name": name, "membershipMode": mode}}
    body = {"metadata": meta, "spec": spec, "status": {"members": list(members)}}
    return Builder(HOST_POOL, body)


def marked(node: Builder, pool: str) -> Builder:
    """A node with the taint of a pool, and nothing else of it."""
    taint = {"key": labels.EXCLUSIVE_TAINT, "value": f"uid-{pool}", "effect": "NoSchedule"}
    return node.having("spec", "taints", value=[taint])


def table_of(*builders: Builder) -> Table:
    table = Table(intake.INDEXES)
    table.expect(dict.fromkeys(intake.KINDS, (Partition("millrace.cluster", 0),)))
    for builder in builders:
        entry = builder.entry()
        table.observe(
            *entry.ref, uid=entry.uid, resource_version=entry.resource_version, data=entry.data
        )
    return table


def woken(table: Table, builder: Builder) -> list[Key]:
    return list(intake.keys_of(Change(None, builder.entry()), table))


def test_a_node_that_is_nobody_s_business_wakes_no_key() -> None:
    """Of thousands of nodes most are in no pool that marks its members."""
    table = table_of(a_node(), a_pool("a", "node-2"), a_pool("all", "node-1", mode="shared"))
    assert woken(table, a_node()) == []
    assert set(intake.all_keys(table)) == {A, PoolKey("default", "all")}


def test_a_pool_wakes_its_members_and_any_carries_its_uid() -> None:
    """Those it lists may need marks, those that carry them may have to lose them."""
    left = marked(a_node("node-3").with_uid("uid-3"), "a")
    nodes = [a_node(name).with_uid(f"uid-{name}") for name in ("node-1", "node-2")]
    table = table_of(a_pool("a", "node-1", "", "node-2"), *nodes, left)
    keys = woken(table, a_pool("a", "node-1", "", "node-2"))
    assert keys == [A, NodeKey("node-1"), NodeKey("node-2"), NodeKey("node-3")]


def test_members_that_do_not_exist_wake_nobody() -> None:
    """A pool may name thousands of them, by hand; one that appears wakes itself."""
    pool = a_pool("a", *(f"none-{number}" for number in range(1000)))
    assert woken(table_of(pool), pool) == [A]


def test_a_node_wakes_itself_and_the_pool_whose_marks_it_carries() -> None:
    """A deleted pool waits for the last of them."""
    table = table_of(a_pool("a"), marked(a_node(), "a"))
    assert woken(table, marked(a_node(), "a")) == [NodeKey("node-1"), A]


def test_a_listed_node_that_appears_wakes_itself() -> None:
    table = table_of(a_pool("a", "node-1"))
    assert woken(table, a_node()) == [NodeKey("node-1")]


def test_a_node_sees_the_pools_that_list_it_and_those_whose_marks_it_carries() -> None:
    table = table_of(a_pool("a", "", "node-1"), a_pool("b"), a_pool("c"), marked(a_node(), "b"))
    seen = intake.snapshot_of(table, NodeKey("node-1"))
    assert isinstance(seen, NodeSnapshot)
    places = {listing.pool.name: listing.place for listing in seen.listings}
    assert places == {"a": 1, "b": None}


def test_a_pool_sees_whether_any_node_carries_its_uid() -> None:
    table = table_of(a_pool("a"), a_pool("b"), marked(a_node(), "b"))
    for name, is_carried in (("a", False), ("b", True)):
        seen = intake.snapshot_of(table, PoolKey("default", name))
        assert isinstance(seen, PoolSnapshot)
        assert seen.is_carried is is_carried


def test_members_that_change_break_the_fence_of_their_nodes_and_marks_do_not() -> None:
    """A decision on older members is not carried on; one's own patch stops nothing."""
    key = NodeKey("node-1")
    before = intake.fence_of(table_of(a_pool("a", "node-1"), a_node()), key)
    assert intake.fence_of(table_of(a_pool("a", "node-1"), marked(a_node(), "a")), key) == before
    assert intake.fence_of(table_of(a_pool("a", "", "node-1"), a_node()), key) != before
    assert intake.fence_of(table_of(a_pool("a", "node-1").deleting(), a_node()), key) != before


@pytest.mark.parametrize(
    "node",
    [a_node(ready="False"), a_node(ready="Unknown"), a_node().with_spec(unschedulable=True)],
    ids=["not ready", "silent", "cordoned"],
)
def test_a_member_that_takes_no_pods_now_is_marked_all_the_same(node: Builder) -> None:
    """It is claimed before it comes back, so that nobody else gets there first."""
    table = table_of(a_pool("a", "node-1"), node)
    seen = intake.snapshot_of(table, NodeKey("node-1"))
    assert seen == intake.snapshot_of(table_of(a_pool("a", "node-1"), a_node()), NodeKey("node-1"))
    (effect,) = decide(seen).effects
    assert isinstance(effect, SetMarks)
    assert effect.marks == Marks((exclusive_taint("uid-a"),), (("uid-a", "0"),))
