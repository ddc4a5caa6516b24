"""Nodes come, go and change under placements; members keep their places, and claims their node."""

from __future__ import annotations

import asyncio

import pytest

from contracts import labels
from tests.unit.hostpool_manager.scene import Obj, Scene, a_class, a_pool
from tests.virtual_time import run_virtually, virtually

SIZED = a_pool(size=2, tags=["gpu"])
ALONE = a_pool(size=1, membershipMode="exclusive")


def ready(status: Obj) -> Obj:
    """The condition of a HostPool."""
    (condition,) = status["conditions"]
    return dict(condition)


@virtually
async def test_a_pool_without_size_grows_when_a_node_with_its_tags_joins() -> None:
    scene = Scene()
    scene.node("n2", "gpu")
    pool = a_pool(tags=["gpu"])
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0", pool=0), pools=[pool])
    async with scene.running():
        scene.node("n1", "gpu")
        scene.node("n3")
        await asyncio.sleep(5)
        assert scene.pool_status("shop-0")["members"] == ["n2", "n1"]
        assert scene.nodes_of() == {"0": "n2"}


@virtually
async def test_a_lost_member_leaves_its_place_empty_until_another_node_takes_it() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name, "gpu")
    scene.host_pool("shop", SIZED)
    scene.placement("shop", a_class("0", pool=0), pools=[SIZED])
    async with scene.running():
        assert scene.pool_status("shop-0")["members"] == ["n1", "n2"]
        scene.delete("Node", "n1")
        await asyncio.sleep(5)
        status = scene.pool_status("shop-0")
        assert status["members"] == ["", "n2"]
        assert (status["reason"], ready(status)["status"]) == ("MembersMissing", "False")
        assert "1 of 2 members is missing" in status["message"]
        assert scene.status()["generation"] == 0
        scene.node("n9", "gpu")
        await asyncio.sleep(10)
        assert scene.pool_status("shop-0")["members"] == ["n9", "n2"]
        assert scene.pool_status("shop-0")["reason"] == "MembersReady"
        assert scene.status()["phase"] == "Placed"


@pytest.mark.parametrize(
    ("mode", "place", "lost", "left"),
    [
        ("shared", None, 0, [1, 2]),
        ("shared", None, 1, [0, 2]),
        ("shared", None, 2, [0, 1]),
        ("shared", 0, 1, [0, None, 2]),
        ("exclusive", None, 1, [0, 2]),
        ("exclusive", 0, 1, [0, None, 2]),
    ],
)
def test_a_pool_without_size_lacks_nobody_when_a_member_is_gone(
    mode: str, place: int | None, lost: int, left: list[int | None]
) -> None:
    """The others keep their order, and their index if a PE requires one."""

    async def test() -> None:
        scene = Scene()
        for name in ("n1", "n2", "n3"):
            scene.node(name, "gpu")
        pool = a_pool(tags=["gpu"], membershipMode=mode)
        location = {"poolIndex": 0, **({} if place is None else {"inpoolIndex": place})}
        # Apart from each other, so that an exclusive pool has three members and may lose one.
        some = a_class("0", hostPoolLocation=location, exLocations=["x"])
        more = a_class("1-2", cpu="1", pool=0, exLocations=["x"])
        scene.host_pool("shop", pool)
        scene.placement("shop", some, more, pools=[pool])
        async with scene.running():
            before = scene.pool_status("shop-0")["members"]
            assert len(before) == 3
            fewer = [some, a_class("1", pool=0, exLocations=["x"])]
            scene.patch("Placement", "shop", {"spec": {"generation": 1, "classes": fewer}})
            await asyncio.sleep(5)
            scene.delete("Node", before[lost])
            await asyncio.sleep(5)
            status = scene.pool_status("shop-0")
            assert status["members"] == ["" if at is None else before[at] for at in left]
            assert scene.status()["phase"] == "Placed"
            assert status["reason"] == ("MembersReady" if mode == "shared" else "ClaimIncomplete")

    run_virtually(test())


@virtually
async def test_a_pool_without_size_lacks_the_places_that_pes_require() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name, "gpu")
    pool = a_pool(tags=["gpu"])
    first = a_class("0", hostPoolLocation={"poolIndex": 0, "inpoolIndex": 0})
    scene.host_pool("shop", pool)
    scene.placement("shop", first, pools=[pool])
    async with scene.running():
        scene.pod("other", "n2", cpu="4")
        scene.delete("Node", "n1")
        await asyncio.sleep(5)
        status = scene.pool_status("shop-0")
        assert status["members"] == ["", "n2"]
        assert (status["reason"], ready(status)["status"]) == ("MembersMissing", "False")
        assert "1 of 2 members is missing" in status["message"]
        scene.delete("Node", "n2")
        await asyncio.sleep(5)
        assert "1 of 2 members is missing" in scene.pool_status("shop-0")["message"]
        scene.node("n3", "gpu")
        await asyncio.sleep(10)
        status = scene.pool_status("shop-0")
        assert (status["members"], status["reason"]) == (["n3"], "MembersReady")


@virtually
async def test_a_pool_of_tags_without_any_member_left_reports_members_missing() -> None:
    scene = Scene()
    scene.node("n1", "gpu")
    scene.node("n2")
    pool = a_pool(tags=["gpu"])
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0", pool=0), pools=[pool])
    async with scene.running():
        scene.delete("Node", "n1")
        await asyncio.sleep(5)
        status = scene.pool_status("shop-0")
        assert (status["members"], status["reason"]) == ([], "MembersMissing")
        assert "gpu" in status["message"]


@virtually
async def test_a_pe_without_a_pod_gets_another_node_and_one_that_runs_stays() -> None:
    scene = Scene()
    for name in ("n1", "n2", "n3"):
        scene.node(name, cpu="2")
    scene.placement("shop", a_class("0-1", exLocations=["apart"]))
    async with scene.running():
        placed = scene.nodes_of()
        scene.pod("shop-0-x", placed["0"], job="shop", pe="0", cpu="1")
        await asyncio.sleep(1)
        for node in placed.values():
            scene.patch("Node", node, {"spec": {"unschedulable": True}})
        await asyncio.sleep(5)
        (free,) = {"n1", "n2", "n3"} - set(placed.values())
        assert scene.nodes_of() == {"0": placed["0"], "1": free}


@virtually
async def test_members_of_an_exclusive_pool_are_claimed_with_taint_and_label_and_nobody_else() -> (
    None
):
    scene = Scene()
    scene.node("n1")
    scene.host_pool("shop", ALONE)
    scene.placement("shop", a_class("0", pool=0), pools=[ALONE])
    async with scene.running():
        uid = scene.get("HostPool", "shop-0")["metadata"]["uid"]
        status = scene.pool_status("shop-0")
        assert (status["members"], status["claimed"]) == (["n1"], [])
        assert (status["reason"], "n1" in status["message"]) == ("ClaimIncomplete", True)
        taint = {"key": labels.EXCLUSIVE_TAINT, "value": uid, "effect": "NoSchedule"}
        scene.patch("Node", "n1", {"spec": {"taints": [taint]}})
        await asyncio.sleep(1)
        assert scene.pool_status("shop-0")["claimed"] == []
        scene.patch("Node", "n1", {"metadata": {"labels": {labels.member_label(uid): "0"}}})
        await asyncio.sleep(1)
        status = scene.pool_status("shop-0")
        assert (status["claimed"], status["reason"]) == (["n1"], "MembersReady")
        scene.pod("other-0-x", "n1", job="other", pe="0")
        await asyncio.sleep(1)
        status = scene.pool_status("shop-0")
        assert (status["claimed"], status["reason"]) == ([], "ClaimIncomplete")
        assert "other jobs" in status["message"]


@virtually
async def test_the_taint_of_another_live_pool_takes_the_node_despite_the_status() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name)
    scene.host_pool("shop", ALONE)
    scene.placement("shop", a_class("0", pool=0), pools=[ALONE])
    async with scene.running():
        (node,) = scene.nodes_of().values()
        (other,) = {"n1", "n2"} - {node}
        uid = scene.host_pool("other", ALONE)["metadata"]["uid"]
        taint = {"key": labels.EXCLUSIVE_TAINT, "value": uid, "effect": "NoSchedule"}
        scene.patch("Node", node, {"spec": {"taints": [taint]}})
        await asyncio.sleep(5)
        assert scene.nodes_of() == {"0": other}
        assert scene.pool_status("shop-0")["members"] == [other]
        scene.delete("HostPool", "other-0")
        scene.placement("next", a_class("0", pool=0), pools=[ALONE])
        await asyncio.sleep(5)
        assert scene.nodes_of("next") == {"0": node}


@virtually
async def test_a_holder_is_named_once_and_by_the_name_of_its_pool_in_the_application() -> None:
    """Its Placement names the node, and the node has its taint: that is one claim."""
    scene = Scene()
    scene.node("n1")
    uid = scene.host_pool("shop", ALONE)["metadata"]["uid"]
    scene.placement("shop", a_class("0", pool=0), pools=[ALONE])
    taint = {"key": labels.EXCLUSIVE_TAINT, "value": uid, "effect": "NoSchedule"}
    scene.patch("Node", "n1", {"spec": {"taints": [taint]}})
    async with scene.running():
        scene.placement("next", a_class("0", pool=0), pools=[ALONE])
        await asyncio.sleep(2)
        lacks = ["is held by the pool gpu of default/shop"]
        assert scene.status("next")["nearest"] == [{"node": "n1", "lacks": lacks}]


@pytest.mark.parametrize("is_running", [False, True])
def test_a_pool_without_size_yields_a_node_to_an_exclusive_one_and_gets_it_back(
    is_running: bool,
) -> None:
    """Regression: it listed the node as long as the other job existed."""

    async def test() -> None:
        scene = Scene()
        for name in ("n1", "n2"):
            scene.node(name, "gpu")
        pool = a_pool(tags=["gpu"])
        scene.host_pool("shop", pool)
        scene.placement("shop", a_class("0", pool=0), pools=[pool])
        async with scene.running():
            own = scene.nodes_of()["0"]
            if is_running:
                scene.pod("shop-0-x", own, job="shop", pe="0")
            scene.host_pool("next", ALONE)
            scene.placement("next", a_class("0", pool=0), pools=[ALONE])
            await asyncio.sleep(5)
            (taken,) = scene.nodes_of("next").values()
            assert is_running is False or taken != own
            (left,) = {"n1", "n2"} - {taken}
            assert scene.pool_status("shop-0")["members"] == [left]
            assert scene.pool_status("shop-0")["claimed"] == [left]
            assert scene.nodes_of() == {"0": left}
            scene.delete("Placement", "next")
            scene.delete("HostPool", "next-0")
            await asyncio.sleep(5)
            assert scene.pool_status("shop-0")["members"] == [left, taken]
            assert scene.status()["phase"] == "Placed"

    run_virtually(test())


@virtually
async def test_a_deleted_node_is_not_claimed() -> None:
    """It comes back under its name, and another job has it."""
    scene = Scene()
    scene.node("n1")
    async with scene.running():
        scene.placement("shop", a_class("0", pool=0), pools=[ALONE])
        await asyncio.sleep(2)
        scene.placement("next", a_class("0", pool=0), pools=[ALONE])
        await asyncio.sleep(2)
        assert scene.status("next")["reason"] == "NodesClaimed"
        scene.delete("Node", "n1")
        await asyncio.sleep(5)
        assert scene.status()["pools"] == [{"index": 0, "members": [""]}]
