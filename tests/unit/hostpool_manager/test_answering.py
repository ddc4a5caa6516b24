"""Placements are answered: placed, refused with the reason, or refused until there is room."""

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
async def test_a_missing_host_is_refused_for_good_and_missing_room_is_waited_for() -> None:
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


@virtually
async def test_pods_of_others_and_promises_take_room_and_freed_room_is_used() -> None:
    scene = Scene()
    scene.node("n1", cpu="4")
    scene.pod("busy", "n1", cpu="2")
    async with scene.running():
        scene.placement("first", a_class("0", cpu="2"))
        await asyncio.sleep(1)
        scene.placement("second", a_class("0", cpu="1"))
        await asyncio.sleep(1)
        assert scene.status("first")["phase"] == "Placed"
        assert scene.status("second")["reason"] == "InsufficientCapacity"
        scene.delete("Pod", "busy")
        await asyncio.sleep(60)
        assert scene.status("second")["phase"] == "Placed"


@virtually
async def test_a_new_spec_is_answered_at_once_although_a_hundred_wait() -> None:
    """A change of the cluster makes all of them due again, but none before the new one."""
    scene = Scene()
    scene.node("n1", cpu="2")
    for number in range(100):
        scene.placement(f"waits-{number}", a_class("0", cpu="8"))
    async with scene.running():
        assert scene.status("waits-99")["waits"] is True
        scene.node("n2", cpu="2")
        scene.placement("new", a_class("0", cpu="1"))
        await asyncio.sleep(0.5)
        assert scene.status("new")["phase"] == "Placed"


@virtually
async def test_two_jobs_never_get_one_node_exclusively_and_a_claim_ends_with_its_placement() -> (
    None
):
    scene = Scene()
    for name in ("n1", "n2", "n3"):
        scene.node(name)
    pool = a_pool(size=2, membershipMode="exclusive")
    async with scene.running():
        for job in ("one", "two"):
            scene.host_pool(job, pool)
            scene.placement(job, a_class("0", pool=0), pools=[pool])
        await asyncio.sleep(5)
        first, second = scene.status("one"), scene.status("two")
        assert first["phase"] == "Placed"
        assert (second["phase"], second["reason"]) == ("Refused", "NodesClaimed")
        assert "one" in str(second)
        scene.delete("Placement", "one")
        scene.delete("HostPool", "one-0")
        scene.delete("Placement", "two")
        scene.placement("two", a_class("0", pool=0), pools=[pool])
        await asyncio.sleep(5)
        assert scene.status("two")["phase"] == "Placed"


@virtually
async def test_nothing_is_written_when_nothing_changes() -> None:
    scene = Scene()
    scene.node("n1", "gpu")
    pool = a_pool(tags=["gpu"])
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0", pool=0), pools=[pool])
    scene.placement("waits", a_class("0", cpu="64"))
    async with scene.running():
        before = {name: scene.get("Placement", name) for name in ("shop", "waits")}
        pool_before = scene.get("HostPool", "shop-0")
        await asyncio.sleep(4000)  # a full resync is among it
        assert {name: scene.get("Placement", name) for name in before} == before
        assert scene.get("HostPool", "shop-0") == pool_before


@virtually
async def test_a_changed_spec_is_answered_and_a_refused_one_leaves_the_old_answer() -> None:
    scene = Scene()
    scene.node("n1", cpu="4")
    scene.placement("shop", a_class("0-1"))
    async with scene.running():
        larger = {"spec": {"generation": 1, "classes": [a_class("0-7")]}}
        scene.patch("Placement", "shop", larger)
        await asyncio.sleep(2)
        status = scene.status()
        assert (status["phase"], status["observedGeneration"]) == ("Refused", 2)
        assert (status["generation"], scene.nodes_of()) == (0, {"0-1": "n1"})
        scene.patch("Placement", "shop", {"spec": {"generation": 1, "classes": [a_class("0-2")]}})
        await asyncio.sleep(2)
        status = scene.status()
        assert (status["phase"], status["generation"], status["observedGeneration"]) == (
            "Placed",
            1,
            3,
        )
        assert scene.nodes_of() == {"0-2": "n1"}
        assert "families" not in status


@virtually
async def test_a_placement_that_breaks_again_after_it_was_placed_waits_no_longer_than_before() -> (
    None
):
    """The pause grows while a spec has no placement, and starts small after one."""
    scene = Scene()
    scene.node("n1", "gpu")
    pool = a_pool(tags=["gpu"], size=1)
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0", pool=0), pools=[pool])
    async with scene.running():
        for _ in range(7):
            scene.patch("Node", "n1", {"metadata": {"labels": {"tag.streams.ibm.com/gpu": None}}})
            await asyncio.sleep(5)
            assert scene.status()["phase"] == "Refused"
            scene.patch("Node", "n1", {"metadata": {"labels": {"tag.streams.ibm.com/gpu": ""}}})
            await asyncio.sleep(5)
            assert scene.status()["phase"] == "Placed"
