"""What a Job says is so now, and names what to do."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from services.fusion_backend.core.effects import Plan
from services.fusion_backend.core.situation import TROUBLE_SETTLES_S
from services.fusion_backend.core.snapshot import Trouble
from tests.unit.fusion_backend.world import JOB, World


def submitted() -> World:
    world = World()
    world.converge()
    return world


def accepted(world: World) -> str:
    return str(world.condition("Accepted")["message"])


@pytest.mark.parametrize(
    "edit",
    [
        {"bundle": {"file": {"path": "another.sab"}}},
        {"submissionTimeValues": {"more": "5"}},
        {"parallelRegions": [{"alias": "*", "width": 5}]},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_who_gave_a_value_that_was_never_set_is_not_reported_to_set_it_back(
    edit: dict[str, object],
) -> None:
    world = submitted()
    world.edit("Job", JOB, **edit)
    world.converge()
    assert "take it out again" in accepted(world)
    assert "set it back" not in accepted(world)


def test_an_edit_that_waits_is_reported_by_its_fields_and_not_by_the_block_they_are_in() -> None:
    world = submitted()
    world.edit("Job", JOB, processingElement={"image": "mine:2"})
    world.converge()
    assert accepted(world).startswith("spec.processingElement.image: accepted")
    world.edit("Job", JOB, processingElement={"resources": {"limits": {"cpu": "2"}}})
    world.converge()
    assert "spec.processingElement.image, spec.processingElement.resources" in accepted(world)


def test_a_failed_attempt_says_of_no_condition_that_it_is_still_being_planned() -> None:
    world = World(submissionTimeOutInSeconds=60)
    while world.status().get("phase") != "Submitting":
        world.step()
    assert world.condition("Fused")["reason"] == "Submitting"
    world.now += 60
    world.step()
    assert world.status()["phase"] == "Failed"
    for type_ in ("Fused", "Placed"):
        said = world.condition(type_)
        assert (said["status"], said["reason"]) == ("Unknown", "SubmissionTimedOut")


def test_a_name_that_is_taken_is_reported_with_what_to_do() -> None:
    """Also of what an orphaning deletion left."""
    world = World()
    while world.status().get("phase") != "Submitting":
        world.step()
    world.answers.of(world.uid).name_taken = f"Service {JOB}-0"
    world.step()
    message = world.status()["message"]
    assert world.status()["reason"] == "NameTaken"
    for told in (f"Service {JOB}-0", "delete", "orphaning deletion", "streams.ibm.com/retry"):
        assert told in message


def test_trouble_with_the_planning_of_a_width_is_reported_while_it_lasts() -> None:
    """The job runs on; what it waits for stands in condition Submitted, as all trouble does."""
    world = submitted()
    world.resize(0, 3)
    (wanted,) = (each for each in world.step(lambda _: True).effects if isinstance(each, Plan))
    known = world.answers.of(world.uid)
    text = "the planner stopped without an answer"
    known.troubled[wanted.inputs.digest] = Trouble(
        Reason.PLANNING_FAILED, text, since=world.now, until=world.now + 1000
    )
    world.now += TROUBLE_SETTLES_S
    world.converge()
    said = world.condition("Submitted")
    assert (said["status"], said["reason"]) == ("False", "PlanningFailed")
    assert text in said["message"]
    assert world.status()["phase"] == "Submitted"
    known.troubled.clear()
    world.converge()
    assert world.condition("Submitted")["status"] == "True"
    assert world.status()["widths"]["Counted"] == 3
