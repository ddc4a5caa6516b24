"""What an attempt lacked is recorded, and the next attempt begins when it is there."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.labels import EXCLUSIVE_TAINT
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS
from services.fusion_backend.core.appearing import have_appeared, lacked
from services.fusion_backend.core.awaited import Awaited
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import LookForBundle
from services.fusion_backend.core.rooms import NodeRoom
from services.fusion_backend.core.snapshot import JobSeen, Snapshot
from tests.unit.fusion_backend.hosted_world import HostedWorld
from tests.unit.fusion_backend.shop import IN_POOL
from tests.unit.fusion_backend.test_retries import failed as failed_for_its_bundle
from tests.unit.fusion_backend.world import JOB, Obj

TAG = "counting"
REGION = ("ParallelRegion", f"{JOB}-0")


class TaggedWorld(HostedWorld):
    """The first region runs on nodes with the tag; so many channels need as many of them."""

    def __init__(self, **more: Any) -> None:
        super().__init__(asking=IN_POOL, **more)

    def answer_to(self, spec: Obj) -> Obj:
        """Refused without a node that has the tag and is open."""
        rooms = self.snapshot().rooms
        found = [each for each in rooms if Awaited(tags=(TAG,)).is_met_by(each.node)]
        if found:
            return super().answer_to(spec)
        what = {"reason": Reason.TAG_MISSING.value, "message": "no node has the tag"}
        return {"phase": "Refused", "waits": False, **what}


def failed() -> TaggedWorld:
    world = TaggedWorld()
    world.converge()
    assert (world.status()["phase"], world.status()["reason"]) == ("Failed", "TagMissing")
    return world


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_job_that_lacked_a_tag_is_tried_again_as_soon_as_a_node_carries_it(
    is_restarted: bool,
) -> None:
    world = failed()
    assert world.status()["awaitedNodes"] == [{"tags": [TAG], "count": 1}]
    assert ", or when what it lacks is there, and until " in world.status()["message"]
    if is_restarted:
        world.crash()
    world.add_node("late", tags=[TAG])
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert not {"awaitedNodes", "nextAttemptAt", "attempts"} & world.status().keys()


@pytest.mark.parametrize(
    "node",
    [
        {"tags": ["other"]},
        {"tags": [TAG], "unschedulable": True},
        {"tags": [TAG], "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        {
            "tags": [TAG],
            "taints": [{"key": EXCLUSIVE_TAINT, "value": "another", "effect": "NoSchedule"}],
        },
    ],
    ids=["tag", "cordoned", "tainted", "claimed"],
)
def test_a_node_that_cannot_supply_it_starts_no_attempt(node: dict[str, Any]) -> None:
    world = failed()
    world.add_node("useless", **node)
    assert decide(world.snapshot(), world.now).effects == ()
    world.now = unix_s_of(world.status()["nextAttemptAt"])
    assert decide(world.snapshot(), world.now).effects, "the back-off goes on"


def test_an_attempt_that_fails_again_waits_for_more_than_there_was() -> None:
    """No attempt follows another without a change."""
    world = failed()
    world.counting = 0
    world.hosts = IN_POOL + '<exLocation exlocId="apart"/>'
    world.add_node("late", tags=[TAG])
    world.converge()
    assert world.status()["attempts"] == 2
    assert world.status()["awaitedNodes"] == [{"tags": [TAG], "count": 2}]


def test_a_width_that_lacks_nodes_is_tried_again_when_one_is_there() -> None:
    world = TaggedWorld()
    world.add_node("first", tags=[TAG])
    world.hosts = IN_POOL + '<exLocation exlocId="apart"/>'
    world.converge()
    world.resize(0, 5)
    world.converge()
    refused = world.objects[REGION]["status"]["refused"]
    assert (refused["attempts"], refused["awaitedNodes"]) == (1, [{"tags": [TAG], "count": 2}])
    world.counting = 5
    world.add_node("other")
    world.converge()
    assert world.objects[REGION]["status"]["refused"]["attempts"] == 1
    world.crash()
    world.add_node("second", tags=[TAG])
    world.converge()
    assert world.objects[REGION]["status"]["width"] == 5


# --------------------------------------------------------------------------- what is recorded


def node(name: str, *tags: str, cpu: int = 4000, **more: Any) -> NodeRoom:
    marks = {f"tag.streams.ibm.com/{tag}": "" for tag in tags}
    amounts = {"cpu": cpu, PODS: 10}
    return NodeRoom(Node(name, marks, more.get("at", ()), amounts), amounts)


def seen(*rooms: NodeRoom) -> Snapshot:
    job = JobSeen(
        "default", "j", "uid", 1, deleting=False, orphaning=False, retry="", spec={}, status={}
    )
    return Snapshot("default", "j", job=job, rooms=rooms)


def requested(*pools: Obj, host: str = "", cpu: str = "1", pes: str = "0") -> Obj:
    each = {"name": "P", "tags": [], "hosts": []}
    classes: Obj = {"pes": pes, "requests": {"cpu": cpu}, **({"host": host} if host else {})}
    return {"pools": [each | pool for pool in pools], "classes": [classes]}


def test_pools_and_hosts_with_too_few_nodes_count_alone() -> None:
    spec = requested({"tags": ["a"], "size": 2}, {"tags": ["b"], "size": 1}, host="fd00::0001")
    found = lacked(seen(node("n1", "a"), node("n2", "b")), spec)
    assert found == (Awaited(tags=("a",), count=2), Awaited(hosts=("fd00::0001",), count=1))
    assert not have_appeared(seen(node("n1", "a"), node("n2", "b"), node("n3", "b")), found)
    assert have_appeared(seen(node("n1", "a"), node("n3", "a")), found)
    assert have_appeared(seen(node("n1", at=["fd00::1"])), found)


def test_where_all_have_enough_one_node_more_is_awaited() -> None:
    there = seen(node("n1", "a"), node("n2", "a"))
    assert lacked(there, requested({"tags": ["a"]})) == (Awaited(tags=("a",), count=3),)
    assert lacked(there, requested()) == (Awaited(count=3),)


def test_a_submission_that_waited_for_room_lacks_what_is_short_in_all() -> None:
    there, spec = seen(node("n1"), node("n2")), requested(cpu="2500m", pes="0-3")
    found = lacked(there, spec, is_of_capacity=True)
    assert found == (Awaited(free=(("cpu", 10_000),)),)
    assert [each.to_json() for each in found] == [{"free": {"cpu": "10000m"}}]
    assert Awaited.of(found[0].to_json()) == found[0]
    assert not have_appeared(seen(node("n1"), node("n2", cpu=5999)), found)
    assert have_appeared(seen(node("n1"), node("n2", cpu=6000)), found)


def test_what_no_status_can_hold_is_left_to_the_back_off() -> None:
    spec = requested({"hosts": [f"h{number}" for number in range(65)]})
    assert lacked(seen(), spec) == ()


# --------------------------------------------------------------------------- bundles


def test_a_missing_bundle_is_looked_for_every_two_seconds_and_starts_an_attempt_at_once() -> None:
    world = failed_for_its_bundle()
    world.has_bundle_folder = True
    decision = decide(world.snapshot(), world.now)
    assert [type(each) for each in decision.effects] == [LookForBundle]
    assert decision.requeue_at == world.now + 2.0
    world.step()
    assert world.status()["attempts"] == 1
    world.is_bundle_there, world.refusal = True, None
    world.step()
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_a_bundle_behind_a_url_is_not_looked_for() -> None:
    world = failed_for_its_bundle(bundle={"name": "x.sab", "url": "https://example.com/x.sab"})
    world.has_bundle_folder = True
    assert decide(world.snapshot(), world.now).effects == ()
