"""Placements are answered: placed, refused with the reason, or told to wait."""

from __future__ import annotations

import asyncio

from tests.unit.hostpool_manager.scene import Scene, a_class, a_pool
from tests.virtual_time import virtually


@virtually
async def test_a_placement_is_answered_with_a_node_for_each_pe_and_the_members_of_its_pools() -> (
    None
):
    scene = Scene()
    for name in ("n1", "n2", "n3"):
        scene.node(name, *(["gpu"] if name != "n1" else []))
    pool = a_pool(tags=["gpu"])
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0-1", pool=0), a_class("2", host="n1"), pools=[pool])
    async with scene.running():
        status = scene.status()
        assert (status["phase"], status["observedGeneration"], status["generation"]) == (
            "Placed",
            1,
            0,
        )
        assert status["pools"] == [{"index": 0, "members": ["n2", "n3"]}]
        assert scene.nodes_of()["2"] == "n1"
        pool_status = scene.pool_status("shop-0")
        assert pool_status["members"] == pool_status["claimed"] == ["n2", "n3"]
        assert pool_status["reason"] == "MembersReady"


@virtually
async def test_what_is_missing_by_name_is_refused_at_once_and_missing_room_waits_for_it() -> None:
    scene = Scene()
    scene.node("n1", cpu="2")
    scene.placement("lost", a_class("0", host="n7"))
    scene.placement("large", a_class("0-2"))
    async with scene.running():
        lost, large = scene.status("lost"), scene.status("large")
        assert (lost["phase"], lost["reason"], lost["waits"]) == ("Refused", "HostMissing", False)
        assert "n7" in lost["message"]
        assert (large["reason"], large["waits"]) == ("InsufficientCapacity", True)
        assert large["nearest"][0]["node"] == "n1"
        assert "generation" not in large
        scene.node("n2", cpu="2")
        await asyncio.sleep(5)
        assert scene.status("large")["phase"] == "Placed"


@virtually
async def test_only_nodes_that_the_template_of_the_pods_selects_are_assigned() -> None:
    """By node selector, and by the terms of node affinity."""
    scene = Scene()
    for name in ("n1", "n2", "n3"):
        scene.node(name, disk="fast" if name == "n2" else "slow")
    slow = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["slow"]}]}
    not_first = {"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}
    by_label = a_class("0-1", nodeSelector={"disk": "fast"})
    by_term = a_class("2", nodeSelectorTerms=[{**slow, "matchFields": [not_first]}])
    scene.placement("shop", by_label, by_term)
    async with scene.running():
        assert scene.nodes_of() == {"0-1": "n2", "2": "n3"}
