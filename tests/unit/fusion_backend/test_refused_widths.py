"""A refused width is one typed field of the region's status, and is read back as such."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import create_autospec

import pytest

from contracts.reasons import Reason
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.fusion_backend.core.snapshot import SUBMISSION_TIME_OUT_S
from services.fusion_backend.core.spec.inputs import resized
from services.fusion_backend.core.widths import width_requests
from tests.unit.fusion_backend.hosted_world import CLOSEST, hosted
from tests.unit.fusion_backend.world import JOB, World

TOO_WIDE = 1_500
"""The AADL of one PE could not hold as many connections."""
REGION = ("ParallelRegion", f"{JOB}-0")


def status_of(world: World) -> dict[str, Any]:
    status: dict[str, Any] = world.objects[REGION]["status"]
    return status


def refused_by_the_planner() -> World:
    world = World()
    world.converge()
    world.resize(0, TOO_WIDE)
    world.converge()
    return world


def refused_by_the_placement() -> World:
    """It has been tried again for as long as it may."""
    world = hosted()
    world.resize(0, 5)
    world.converge()
    world.now += SUBMISSION_TIME_OUT_S
    world.converge()
    return world


def waits_for_a_placement() -> World:
    world = hosted()
    world.resize(0, 5)
    world.converge()
    return world


REFUSALS = pytest.mark.parametrize("refuse", [refused_by_the_planner, refused_by_the_placement])


@REFUSALS
def test_a_refusal_has_width_reason_message_inputs_and_plan(refuse: Any) -> None:
    world = refuse()
    status = status_of(world)
    refused = status["refused"]
    attempts = {"attempts", "since", "triedAt"} if refuse is refused_by_the_placement else set()
    assert set(refused) == {"width", "reason", "message", "inputsDigest", "generation"} | attempts
    assert refused["width"] == world.objects[REGION]["spec"]["width"]
    assert refused["generation"] == status["generation"] == world.status()["generation"]
    assert len(refused["inputsDigest"]) == 64
    accepted, _ = status["conditions"]
    assert accepted["reason"] == refused["reason"]
    assert status["message"].startswith("width 2 stays in force: ")
    assert status["message"].endswith(refused["message"])


@REFUSALS
def test_a_restarted_service_neither_plans_nor_writes_for_a_refused_width(refuse: Any) -> None:
    world = refuse()
    before, planned = world.meaning(), world.planned
    world.crash()
    world.converge()
    assert (world.meaning(), world.planned) == (before, planned)


@REFUSALS
def test_a_width_that_is_set_again_is_tried_again(refuse: Any) -> None:
    """Another value in between makes it a new request."""
    world = refuse()
    width = world.objects[REGION]["spec"]["width"]
    planned = world.planned
    world.crash()
    world.resize(0, 2)
    world.resize(0, width)
    world.converge()
    assert world.planned == planned + 1
    assert status_of(world)["refused"]["width"] == width


AGAIN = pytest.mark.parametrize("refuse", [refused_by_the_planner, waits_for_a_placement])


@AGAIN
def test_a_new_plan_makes_a_refused_width_be_tried_again(refuse: Any) -> None:
    world = refuse()
    digest = status_of(world)["refused"]["inputsDigest"]
    world.resize(1, 3)
    world.converge()
    refused = status_of(world)["refused"]
    assert refused["generation"] == world.status()["generation"] == 1
    assert refused["inputsDigest"] != digest


@AGAIN
def test_a_changed_spec_makes_a_refused_width_be_tried_again(refuse: Any) -> None:
    world = refuse()
    digest, planned = status_of(world)["refused"]["inputsDigest"], world.planned
    world.edit("Job", JOB, processingElement={"imagePullPolicy": "Always"})
    world.converge()
    assert world.planned == planned + 1
    assert status_of(world)["refused"]["inputsDigest"] != digest


@REFUSALS
def test_a_width_that_is_accepted_removes_the_refusal(refuse: Any) -> None:
    world = refuse()
    world.resize(0, 3)
    world.converge()
    assert (status_of(world)["width"], status_of(world)["reason"]) == (3, "WidthInForce")
    assert status_of(world).get("refused") is None


def test_a_refusal_of_an_older_release_keeps_its_reason_and_its_text() -> None:
    """No sentence is parsed: the whole text becomes the message, and the status' message stays."""
    world = refused_by_the_placement()
    for name in ("attempts", "since", "triedAt"):
        del status_of(world)["refused"][name]
    before = status_of(world).copy()
    del status_of(world)["refused"]
    planned = world.planned
    world.crash()
    world.converge()
    after = status_of(world)
    assert world.planned == planned
    assert after["message"] == before["message"]
    assert after["refused"] == {**before["refused"], "message": before["message"]}
    assert CLOSEST in after["refused"]["message"]
    meaning = world.meaning()
    world.crash()
    world.converge()
    assert world.meaning() == meaning, "it is written once"


@pytest.mark.parametrize(
    "damage",
    [{"reason": "Whatever"}, {"width": 7}, {"inputsDigest": "0" * 64}, {"generation": 9}],
    ids=str,
)
def test_a_damaged_refusal_is_found_out_by_a_new_trial(damage: dict[str, Any]) -> None:
    world = refused_by_the_planner()
    whole = status_of(world)["refused"]
    status_of(world)["refused"] = {**whole, **damage}
    world.crash()
    world.converge()
    assert status_of(world)["refused"] == whole


def test_the_condition_of_a_refused_region_is_written_again() -> None:
    world = refused_by_the_planner()
    whole = dict(status_of(world))
    world.crash()
    status_of(world)["conditions"] = []
    world.converge()
    assert {**status_of(world), "conditions": None} == {**whole, "conditions": None}
    (before, _), (after, _) = whole["conditions"], status_of(world)["conditions"]
    assert {**before, "lastTransitionTime": ""} == {**after, "lastTransitionTime": ""}


def test_a_width_that_was_refused_beside_another_one_is_tried_alone_when_that_is_taken_back() -> (
    None
):
    """Its refusal names the inputs of both: it says nothing about this width alone."""
    world = World()
    world.converge()
    world.resize(0, 3)
    world.resize(1, 3)
    snapshot = world.snapshot()
    plan = snapshot.newest
    assert plan is not None
    first, second = sorted(region.name for region in plan.record.regions)
    widths = {**plan.record.widths, first: 3}
    alone = resized(plan.inputs, plan.record, widths)
    both = resized(plan.inputs, plan.record, {**widths, second: 3})
    refusal = PlanRefused(Reason.ADL_INVALID, field="", value="", message="too many together")
    planned = create_autospec(PlanResult, instance=True)
    outcomes = {alone.digest: planned, both.digest: refusal}
    requests = width_requests(replace(snapshot, outcomes=outcomes), plan, world.now)
    assert requests.ready == alone
    refused = requests.refused[second]
    assert (refused.inputs_digest, refused.reason) == (both.digest, Reason.ADL_INVALID)
    world.resize(0, 2)
    status = world.objects["ParallelRegion", f"{JOB}-1"].setdefault("status", {})
    generation = world.objects["ParallelRegion", f"{JOB}-1"]["metadata"]["generation"]
    status |= {"reason": "WidthRefused", "width": 2, "generation": 0}
    status |= {"observedGeneration": generation, "refused": refused.to_json()}
    world.converge()
    assert world.status()["widths"][second] == 3
