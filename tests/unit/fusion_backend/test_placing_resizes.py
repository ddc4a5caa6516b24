"""A resize of a job that asks for hosts: requested first, and refused without a trace."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Mapping
from typing import Any

import pytest

from contracts import labels
from contracts.moments import moment_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import PatchChild, RecordPlan, WriteRegionStatus
from services.fusion_backend.core.placement_states import PLACING_SETTLES_S
from tests.unit.fusion_backend.hosted_world import (
    CLOSEST,
    PLACEMENT,
    HostedWorld,
    hosted,
)
from tests.unit.fusion_backend.world import JOB, SERVICE, Name

PES = 6


def test_a_resize_asks_before_it_records() -> None:
    world = hosted()
    world.resize(0, 4)
    asked = 0
    for _ in range(20):
        effects = world.step().effects
        asked = asked or any(isinstance(each, PatchChild) and each.planned_from for each in effects)
        assert asked or not any(isinstance(each, RecordPlan) for each in effects)
        if not effects:
            break
    assert world.status()["widths"]["Counted"] == 4
    assert world.asked_for == world.status()["generation"] == 1
    assert world.condition("Placed")["status"] == "True"
    assert len(world.named("Pod")) == PES + 2


def test_a_refused_resize_leaves_the_last_good_width_untouched() -> None:
    world = hosted()
    before = world.meaning()
    planned = world.planned
    world.resize(0, 5)
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert (status["width"], status["reason"]) == (2, "WidthWaits")
    assert CLOSEST in status["message"]
    accepted, _ = status["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("Unknown", "ExlocationImpossible")
    assert world.events[-1][0] == "ExlocationImpossible"
    after = world.meaning()
    after["ParallelRegion", f"{JOB}-0"]["spec"]["width"] = 2
    assert after == before
    assert world.status()["phase"] == "Submitted"
    assert world.condition("Placed")["status"] == "True"
    assert world.planned == planned + 1
    assert world.asked_for == 0


def test_a_restarted_service_knows_by_the_region_that_its_width_has_no_place() -> None:
    """Else each restart plans, asks and sets back again what stands refused."""
    world = hosted()
    world.resize(0, 5)
    world.converge()
    asked, planned, before = len(world.asked), world.planned, world.meaning()
    world.crash()
    world.converge()
    assert (len(world.asked), world.planned) == (asked, planned)
    assert world.meaning() == before


def test_a_width_that_is_requested_again_is_tried_again() -> None:
    """Nodes may have come since; memory of the refusal is of that wish only."""
    world = hosted()
    world.resize(0, 5)
    world.converge()
    world.counting = 10
    world.resize(0, 2)
    world.converge()
    world.resize(0, 5)
    world.converge()
    assert world.status()["widths"]["Counted"] == 5
    assert world.objects["ParallelRegion", f"{JOB}-0"]["status"]["reason"] == "WidthInForce"


def test_a_width_is_tried_again_beside_a_newer_plan() -> None:
    """What another region gave back may be enough."""
    world = hosted()
    world.resize(0, 5)
    world.converge()
    world.counting = 10
    world.resize(1, 3)
    world.converge()
    assert world.status()["widths"] == {"Counted": 5, "Totals": 3}


def test_a_refusal_is_reported_before_the_placement_is_set_back() -> None:
    """Between the two a service may be restarted, and would ask again."""
    world = hosted()
    world.resize(0, 5)
    for _ in range(40):
        effects = world.step().effects
        status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
        sets_back = any(
            isinstance(each, PatchChild) and each.kind == "Placement" and each.planned_from is None
            for each in effects
        )
        assert not sets_back or status["reason"] == "WidthWaits"
        if not effects:
            break
    assert world.asked_for == 0


def test_a_width_that_has_no_place_does_not_hold_up_that_of_another_region() -> None:
    world = hosted()
    world.resize(0, 5)
    world.resize(1, 3)
    world.converge()
    assert world.status()["widths"] == {"Counted": 2, "Totals": 3}
    assert world.objects["ParallelRegion", f"{JOB}-0"]["status"]["reason"] == "WidthWaits"
    assert world.objects["ParallelRegion", f"{JOB}-1"]["status"]["width"] == 3
    assert world.asked_for == 1


def test_a_resize_waits_for_capacity_while_everything_else_goes_on() -> None:
    world = hosted()
    world.waits = True
    world.resize(0, 5)
    world.converge()
    placed = world.condition("Placed")
    assert (placed["status"], placed["reason"]) == ("False", "InsufficientCapacity")
    assert placed["message"].startswith("widths Counted=5, Totals=1 wait: ")
    assert world.status()["phase"] == "Submitted"
    world.remove("Service", SERVICE)
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    world.now += 6
    world.converge()
    assert SERVICE in world.named("Service")
    assert world.condition("Healthy")["status"] == "False"
    world.counting = 5
    world.ask_again()
    world.converge()
    assert world.status()["widths"]["Counted"] == 5
    assert world.condition("Placed")["status"] == "True"


def region_of(world: HostedWorld) -> tuple[str, str, str, str]:
    """What a region says: its reason, its message, its condition's status and since when."""
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    accepted, _ = status["conditions"]
    assert accepted["message"] == status["message"]
    return status["reason"], status["message"], accepted["status"], accepted["lastTransitionTime"]


def test_a_region_says_which_width_waits_for_what_and_since_when() -> None:
    world = hosted()
    world.waits = True
    world.now += 3600
    since = moment_of(world.now)
    world.resize(0, 5)
    world.converge()
    said = f"width 2 stays in force: width 5 waits for capacity since {since}: 5 PEs apart"
    reason, message, status, at = region_of(world)
    assert (reason, status, at) == ("WidthWaits", "Unknown", since)
    assert message.startswith(said)
    assert world.objects["ParallelRegion", f"{JOB}-0"]["status"]["width"] == 2
    assert world.objects["ParallelRegion", f"{JOB}-1"]["status"]["reason"] == "WidthInForce"
    world.now += 30
    world.crash()
    world.converge()
    assert region_of(world)[1].startswith(said), "still since then"
    world.counting = 5
    world.ask_again()
    world.converge()
    reason, message, status, _ = region_of(world)
    assert (reason, message, status) == ("WidthInForce", "width 5 is in force", "True")


def test_a_region_says_that_nobody_answers_only_when_that_takes_long() -> None:
    world = hosted()
    world.is_answered = False
    since = moment_of(world.now)
    world.resize(0, 3)
    world.converge()
    assert region_of(world)[0] == "WidthInForce"
    world.now += PLACING_SETTLES_S
    world.converge()
    reason, message, status, _ = region_of(world)
    assert (reason, status) == ("WidthWaits", "Unknown")
    assert message.endswith(f"width 3 waits for the answer of its Placement since {since}")


def test_an_answer_that_comes_at_once_costs_the_region_no_status_more() -> None:
    world = hosted()
    world.resize(0, 3)
    said = [
        effect
        for _ in range(30)
        for effect in world.step().effects
        if isinstance(effect, WriteRegionStatus)
    ]
    assert [each.reason for each in said if each.index == 0] == ["WidthInForce"]


def test_a_region_whose_width_is_taken_back_waits_no_more() -> None:
    world = hosted()
    world.waits = True
    world.resize(0, 5)
    world.converge()
    world.resize(0, 2)
    world.converge()
    assert region_of(world)[:3] == ("WidthInForce", "width 2 is in force", "True")


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_resize_waits_no_longer_than_a_submission(is_answered: bool) -> None:
    world = hosted(submissionTimeOutInSeconds=60)
    before = world.meaning()
    world.now += 1000
    world.waits, world.is_answered = True, is_answered
    world.resize(0, 5)
    world.converge()
    decision = decide(world.snapshot(), world.now)
    assert decision.requeue_at == world.now + (60 if is_answered else PLACING_SETTLES_S)
    world.crash()
    world.now += 59
    world.converge()
    assert world.asked_for == 1
    world.now += 1
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert (status["width"], status["reason"]) == (2, "WidthRefused")
    reason = "InsufficientCapacity" if is_answered else "PlacementUnknown"
    assert status["conditions"][0]["reason"] == reason
    assert world.asked_for == 0
    world.is_answered = True
    world.answer()
    world.converge()
    assert world.condition("Placed")["status"] == "True"
    after = world.meaning()
    after["ParallelRegion", f"{JOB}-0"]["spec"]["width"] = 2
    assert after == before


def test_a_newer_width_starts_over_while_the_older_one_waits() -> None:
    world = hosted()
    world.waits = True
    world.resize(0, 5)
    world.converge()
    world.resize(0, 3)
    world.converge()
    assert world.status()["widths"]["Counted"] == 3
    assert world.status()["generation"] == 1


def test_a_width_that_is_taken_back_while_it_waits_is_requested_no_more() -> None:
    world = hosted()
    before = world.meaning()
    world.waits = True
    world.resize(0, 5)
    world.converge()
    world.resize(0, 2)
    world.converge()
    assert world.meaning() == before
    assert world.asked_for == 0
    assert world.condition("Placed")["status"] == "True"


def a_pool_of(world: HostedWorld, number: int, generation: int) -> tuple[str, str]:
    """A host pool as a plan would have brought it in that was requested and not recorded."""
    pool, name = copy.deepcopy(world.objects["HostPool", f"{JOB}-1"]), f"{JOB}-{number}"
    pool["metadata"] |= {"name": name, "uid": f"uid-of-{name}"}
    pool["metadata"]["labels"][labels.GENERATION] = str(generation)
    pool["spec"]["hostpool"]["index"] = number
    world.objects["HostPool", name] = pool
    return "HostPool", name


def test_pools_of_widths_that_were_refused_go_when_the_old_ones_are_requested_again() -> None:
    world = hosted()
    world.is_answered, world.waits = False, True
    world.resize(0, 5)
    world.converge()
    pool = a_pool_of(world, 2, generation=1)
    world.converge()
    assert pool in world.objects, "what is asked for needs it"
    world.resize(0, 2)
    world.converge()
    assert world.asked_for == 0
    assert pool not in world.objects


def test_a_pool_that_another_question_brought_in_under_the_same_number_is_replaced() -> None:
    world = HostedWorld()
    world.is_answered = False
    world.converge()
    pool = ("HostPool", f"{JOB}-1")
    world.objects[pool]["spec"]["hostpool"]["tags"] = ["of another plan"]
    world.remove(*PLACEMENT)
    world.is_answered = True
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert world.objects[pool]["spec"]["hostpool"]["tags"] == ["counting"]


@functools.cache
def undisturbed(width: int) -> Mapping[Name, Any]:
    """What a job says in the end that was submitted and requested a width, without a crash."""
    world = hosted()
    world.resize(0, width)
    world.converge()
    return world.meaning()


@pytest.mark.parametrize(("asked", "in_force"), [(3, 3), (5, 2)], ids=["placed", "refused"])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_effects_a_crash_loses_the_job_ends_as_if_none_were_lost(
    seed: int, asked: int, in_force: int
) -> None:
    """Of a submission and of a width that has a place, or that is refused and leaves nothing."""
    chance = random.Random(seed)
    world = HostedWorld()
    for is_resized in (False, True):
        if is_resized:
            world.resize(0, asked)
        for _ in range(25):
            world.is_answered = chance.random() < 0.5
            world.step(dropping=lambda _: chance.random() < 0.5)
            if chance.random() < 0.5:
                world.crash()
        world.is_answered = True
        world.answer()
        world.converge()
    assert world.meaning() == undisturbed(asked)
    assert world.status()["phase"] == "Submitted"
    assert world.status()["widths"]["Counted"] == in_force


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_crash_loses_the_region_says_what_waits_and_then_what_came_of_it(
    seed: int,
) -> None:
    chance = random.Random(seed)
    world = hosted()
    world.waits = True
    world.resize(0, 5)
    for is_there_room in (False, True):
        if is_there_room:
            world.counting = 5
            world.ask_again()
        for _ in range(15):
            world.step(dropping=lambda _: chance.random() < 0.5)
            if chance.random() < 0.5:
                world.crash()
        world.converge()
        reason, message, status, _ = region_of(world)
        wanted = ("WidthInForce", "True") if is_there_room else ("WidthWaits", "Unknown")
        assert (reason, status) == wanted
        assert ("width 5 waits for capacity since" in message) is not is_there_room
