"""A job in force loses nodes: what fits is placed, and the status reports what does not."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from placement.answers import Placed, Refused
from placement.cluster import Cluster
from placement.deciding import Limits, decide
from placement.job import Job, Pe, Pool
from placement.taken import Pod
from services.hostpool_manager.core import partial_placement as module
from services.hostpool_manager.core.answering import (
    Dropped,
    Newest,
    SearchResult,
    judge,
    search_for,
)
from services.hostpool_manager.core.partial_placement import (
    PartialPlacement,
    in_force_after,
    partial_placement,
)
from services.hostpool_manager.core.snapshot import (
    Found,
    InForce,
    Placement,
    Ref,
    SearchTarget,
)
from tests.unit.hostpool_manager.scene import Scene, a_class, a_pool
from tests.unit.placement.brute_force import Case, has_placement
from tests.unit.placement.test_every_way import OWN, a_case
from tests.virtual_time import virtually

LIMITS = Limits()
REFUSED = Refused(Reason.POOL_TOO_SMALL, "it lost a node")
SIZED = a_pool(size=2, tags=["gpu"])
NAMED = a_pool(hosts=["n1", "n2"])


def node(name: str, cpu: int = 4000) -> Node:
    return Node(name, {"tag.streams.ibm.com/gpu": ""}, (), {"cpu": cpu, "pods": 10})


def in_force(job: Job, what: InForce) -> Placement:
    """A Placement of generation 0 of this job."""
    return Placement(Ref("default", "job"), "uid", 1, 1, spec=job, in_force=what)


def remembered(job: Job, placed: Placed) -> Job:
    """The job with the assignments and members of its placement."""
    members = {each.pool: each.nodes for each in placed.pools}
    return replace(
        job,
        pes=tuple(replace(pe, assigned=placed.assignment.get(pe.id, "")) for pe in job.pes),
        pools=tuple(replace(each, members=members.get(each.index, ())) for each in job.pools),
    )


# --------------------------------------------------------------------------- as users see it


@virtually
async def test_a_pe_of_a_pool_that_lacks_a_member_is_placed_on_one_that_is_left() -> None:
    """Regression: it waited for ever although the other member had room."""
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name, "gpu")
    scene.host_pool("shop", SIZED)
    scene.placement("shop", a_class("0-1", cpu="2", pool=0), pools=[SIZED])
    async with scene.running():
        placed = scene.nodes_of()
        assert sorted(placed.values()) == ["n1", "n2"]
        scene.pod("shop-0-x", placed["0"], job="shop", pe="0", cpu="2")
        scene.delete("Node", placed["1"])
        await asyncio.sleep(5)
        assert scene.nodes_of() == {"0-1": placed["0"]}
        status, pool = scene.status(), scene.pool_status("shop-0")
        assert (status["phase"], status["reason"]) == ("Refused", "PoolTooSmall")
        assert (status["generation"], status["observedGeneration"]) == (0, 1)
        assert (pool["reason"], sorted(pool["members"])) == ("MembersMissing", ["", placed["0"]])
        assert "1 of 2 members is missing" in pool["message"]
        scene.node("n3", "gpu")
        await asyncio.sleep(10)
        assert scene.status()["phase"] == "Placed"
        assert scene.pool_status("shop-0")["reason"] == "MembersReady"


@virtually
async def test_a_new_job_and_a_new_width_need_all_members() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name, "gpu")
    scene.placement("shop", a_class("0", pool=0), pools=[SIZED])
    async with scene.running():
        scene.delete("Node", "n2")
        await asyncio.sleep(5)
        scene.placement("next", a_class("0", pool=0), pools=[SIZED])
        wider = {"generation": 1, "classes": [a_class("0-1", pool=0)]}
        scene.patch("Placement", "shop", {"spec": wider})
        await asyncio.sleep(5)
        assert (scene.status("next")["reason"], scene.nodes_of("next")) == ("PoolTooSmall", {})
        assert (scene.status()["reason"], scene.status()["generation"]) == ("PoolTooSmall", 0)
        assert scene.nodes_of() == {"0": "n1"}


@virtually
async def test_a_pe_of_named_hosts_moves_to_the_other_and_a_place_that_is_lost_stays_lost() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name)
    place = a_class("0", hostPoolLocation={"poolIndex": 0, "inpoolIndex": 0})
    anywhere = a_class("1", pool=0)
    scene.host_pool("shop", NAMED)
    scene.placement("shop", place, anywhere, pools=[NAMED])
    async with scene.running():
        assert scene.nodes_of()["0"] == "n1"
        scene.delete("Node", "n1")
        await asyncio.sleep(5)
        assert scene.nodes_of() == {"1": "n2"}
        assert scene.status()["reason"] == "HostMissing"
        pool = scene.pool_status("shop-0")
        assert (pool["members"], pool["reason"]) == (["", "n2"], "MembersMissing")


@virtually
async def test_a_host_that_is_named_twice_is_one_member_before_and_after_another_is_lost() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name)
    twice = a_pool(hosts=["n1", "n1", "n2"])
    scene.host_pool("shop", twice)
    scene.placement("shop", a_class("0-1", pool=0), pools=[twice])
    async with scene.running():
        pool = scene.pool_status("shop-0")
        assert (pool["members"], pool["reason"]) == (["n1", "n2"], "MembersReady")
        scene.delete("Node", "n2")
        await asyncio.sleep(5)
        assert scene.nodes_of() == {"0-1": "n1"}
        assert scene.status()["reason"] == "HostMissing"
        pool = scene.pool_status("shop-0")
        assert (pool["members"], pool["reason"]) == (["n1", ""], "MembersMissing")
        assert pool["message"].startswith("1 of 2 members is missing")


@virtually
async def test_a_crash_in_judging_an_answer_is_reported_and_not_repeated_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(target: SearchTarget, result: SearchResult, newest: Newest) -> Found | Dropped:
        if isinstance(result.answer, Placed):
            raise ZeroDivisionError
        return judge(target, result, newest)

    monkeypatch.setattr("services.hostpool_manager.adapters.searching.judge", broken)
    scene = Scene()
    scene.node("n1")
    scene.placement("shop", a_class("0"))
    async with scene.running():
        assert (scene.status()["phase"], scene.status()["reason"]) == ("Unknown", "Crashing")


# --------------------------------------------------------------------------- one by one


def test_a_pe_that_fits_nowhere_does_not_delay_others() -> None:
    large, small = Pe(0, {"cpu": 4000}), Pe(1, {"cpu": 1000})
    job = Job(OWN, (large, small), (Pool(0, "P", size=2),))
    placed = decide(Cluster.of((node("n1"), node("n2"))), job)
    assert isinstance(placed, Placed)
    (gone,) = {placed.assignment[0]}
    left = replace(node("n2" if gone == "n1" else "n1", cpu=1500))
    found = partial_placement(Cluster.of((left,)), remembered(job, placed), LIMITS)
    assert found is not None
    assert found.placed.assignment == {1: left.name}


def test_a_pe_that_must_move_does_not_take_the_place_of_one_that_may_stay() -> None:
    """Neither has a pod yet, and one node is cordoned: two were promised the room of one."""
    pes = (Pe(0, {"cpu": 3000}, assigned="n1"), Pe(1, {"cpu": 3000}, assigned="n2"))
    job = Job(OWN, pes, (Pool(0, "P", size=2, members=("n1", "n2")),))
    cluster = Cluster.of((replace(node("n1"), unschedulable=True), node("n2")))
    found = partial_placement(cluster, job, LIMITS)
    assert found is not None
    assert found.placed.assignment == {1: "n2"}


def test_a_pe_that_is_not_placed_any_more_keeps_no_promise() -> None:
    """Its node has less room than it had, and that went to the other one without a pod."""
    pes = tuple(Pe(at, {"cpu": 2000}, assigned="n1") for at in range(2))
    job = Job(OWN, pes, (Pool(0, "P", size=2, members=("n1", "n2")),))
    cluster = Cluster.of((node("n1", cpu=3000),))
    found = partial_placement(cluster, job, LIMITS)
    assert found is not None
    was = InForce(0, {0: ("n1", "n2")}, {0: "n1", 1: "n1"})
    after = in_force_after(cluster, in_force(job, was), job, REFUSED, found)
    assert after.assignments == found.placed.assignment
    assert len(after.assignments) == 1


@pytest.mark.parametrize(("size", "left"), [(2, ("", "n2")), (None, ("n2",))])
def test_the_numbers_of_members_stay_where_a_pool_is_counted(
    size: int | None, left: tuple[str, ...]
) -> None:
    """A PE may ask for member 1 by its number, so member 1 must not become member 0."""
    pools = (Pool(0, "P", size=size, tags=("gpu",), members=("n1", "n2")),)
    job = Job(OWN, (Pe(1, pool=0),), pools)
    was = InForce(0, {0: ("n1", "n2")}, {})
    after = in_force_after(Cluster.of((node("n2"),)), in_force(job, was), job, REFUSED, None)
    assert after.pools == {0: left}


def test_no_interchangeable_pe_is_tried_after_one_that_fits_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the last one is reached, however many of another kind come first."""
    monkeypatch.setattr(module, "TRIED_ALONE_MAX", 3)
    large = tuple(Pe(at, {"cpu": 9000}) for at in range(10))
    job = Job(OWN, (*large, Pe(10, {"cpu": 1000})), (Pool(0, "P", size=2, members=("n1", "n2")),))
    found = partial_placement(Cluster.of((node("n1"),)), job, LIMITS)
    assert found is not None
    assert found.placed.assignment == {10: "n1"}


def test_two_exclusive_pools_that_want_the_same_nodes_share_what_is_left() -> None:
    pools = tuple(Pool(at, f"P{at}", is_exclusive=True, size=2) for at in range(2))
    pes = tuple(Pe(at, {"cpu": 1}, pool=at) for at in range(2))
    nodes = tuple(node(f"n{at}") for at in range(4))
    placed = decide(Cluster.of(nodes), Job(OWN, pes, pools))
    assert isinstance(placed, Placed)
    found = partial_placement(
        Cluster.of(nodes[:3]), remembered(Job(OWN, pes, pools), placed), LIMITS
    )
    assert found is not None
    members = [name for each in found.placed.pools for name in each.nodes if name]
    assert sorted(members) == ["n0", "n1", "n2"]
    assert found.placed.assignment.keys() == {0, 1}


def test_only_what_is_in_force_is_placed_partially() -> None:
    job = Job(OWN, (Pe(0, pool=0),), (Pool(0, "P", size=2),))
    cluster = Cluster.of((node("n1"),))
    assert search_for(cluster, in_force(job, InForce()), job, LIMITS).partial is None
    result = search_for(cluster, in_force(job, InForce(0)), job, LIMITS)
    assert isinstance(result, SearchResult)
    assert result.partial is not None
    assert result.partial.placed.assignment == {0: "n1"}


# --------------------------------------------------------------------------- every way


Loss = tuple[Case, Job, PartialPlacement | None]


def _lost(seed: int) -> Loss | None:
    """A placed job that lost a node and has no placement any more; None if it still has one."""
    case, draw = a_case(seed), random.Random(seed)
    before = decide(Cluster.of(case.nodes, case.pods, case.claims), case.job)
    if not isinstance(before, Placed) or not case.job.is_required or len(case.nodes) < 2:
        return None
    gone = draw.choice(case.nodes).name
    running = [pe for pe in case.job.pes if draw.random() < 0.4]
    pods = [Pod(before.assignment[pe.id], pe.requests, OWN, pe.id) for pe in running]
    after = replace(
        case,
        nodes=tuple(each for each in case.nodes if each.name != gone),
        pods=tuple(each for each in (*case.pods, *pods) if each.node != gone),
        claims=tuple(each for each in case.claims if each.node != gone),
    )
    job = remembered(case.job, before)
    cluster = Cluster.of(after.nodes, after.pods, after.claims)
    if isinstance(decide(cluster, job), Placed):
        return None
    return after, job, partial_placement(cluster, job, LIMITS)


def _some_loss(seed: int) -> Loss:
    """The loss of the first seed from this one on that gives one."""
    return next(what for each in count(seed) if (what := _lost(each)) is not None)


def _with_one_more(case: Case, found: PartialPlacement, pe: Pe) -> Case:
    """Every placed PE runs, pools have just their members, and one more PE is requested."""
    nodes = found.placed.assignment
    runs = [each for each in found.job.pes if each.id not in case.running]
    pods = (Pod(nodes[each.id], each.requests, OWN, each.id) for each in runs)
    members = {each.pool: tuple(filter(None, each.nodes)) for each in found.placed.pools}
    pools = (
        replace(pool, size=None, tags=(), hosts=members[pool.index])
        if members.get(pool.index)
        else pool
        for pool in found.job.pools
    )
    job = replace(found.job, pes=(*found.job.pes, pe), pools=tuple(pools))
    return replace(case, pods=(*case.pods, *pods), job=job)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_nobody_is_left_out_who_fits_beside_those_that_are_placed(seed: int) -> None:
    """PEs that require a place of a pool by its index wait for it."""
    case, job, found = _some_loss(seed)
    assert found is not None
    cluster = Cluster.of(case.nodes, case.pods, case.claims)
    assert found.holds(cluster)
    assert case.running.items() <= found.placed.assignment.items()
    pools = {each.pool for each in found.placed.pools if any(each.nodes)}
    for pe in job.pes:
        is_of_pool = pe.pool is None or pe.pool in pools
        if pe.id not in found.job.by_id and pe.in_pool_index is None and is_of_pool:
            assert not has_placement(_with_one_more(case, found, pe)), pe
    after = in_force_after(cluster, in_force(job, InForce(0)), job, REFUSED, found)
    assert after.assignments == found.placed.assignment


@pytest.mark.parametrize("is_all", [True, False])
def test_a_job_that_lost_nothing_keeps_everything(is_all: bool) -> None:
    """And so does one that lost a node on which it had nothing."""
    job = Job(OWN, (Pe(0, pool=0), Pe(1)), (Pool(0, "P", size=2),))
    nodes = (node("n1"), node("n2"), node("n3"))
    placed = decide(Cluster.of(nodes), job)
    assert isinstance(placed, Placed)
    used = {*placed.assignment.values(), *placed.pools[0].nodes}
    left = nodes if is_all else tuple(each for each in nodes if each.name in used)
    found = partial_placement(Cluster.of(left), remembered(job, placed), LIMITS)
    assert found is not None
    assert found.placed == placed
