"""What becomes of an edit of the Job's spec, by when it comes: the rules of docs/fields.md."""

from __future__ import annotations

import pytest

from contracts import labels
from tests.unit.fusion_backend.lifecycle.world import JOB, World

PES = 6


def submitted() -> World:
    world = World()
    world.converge()
    return world


def images(world: World) -> dict[str, str | None]:
    """The image that each PE asks for."""
    return {
        name: world.objects["ProcessingElement", name]["spec"].get("image")
        for name in world.named("ProcessingElement")
    }


def test_an_edit_before_the_first_plan_is_simply_the_spec() -> None:
    world = World()
    world.step()
    world.edit("Job", JOB, fusion={"legacy": None, "manual": 1})
    world.converge()
    assert world.status()["processingElements"] == 1


def test_an_edited_template_reaches_the_pes_that_a_resize_adds_and_no_others() -> None:
    world = submitted()
    world.edit("Job", JOB, processingElement={"image": "mine:2"})
    world.converge()
    assert set(images(world).values()) == {None}
    world.resize(0, 3)
    world.converge()
    assert len(images(world)) == PES + 1
    assert {name for name, image in images(world).items() if image} == {f"{JOB}-{PES}"}


def test_an_edited_template_reaches_a_pe_that_is_made_again() -> None:
    world = submitted()
    world.edit("Job", JOB, processingElement={"image": "mine:2"})
    world.remove("ProcessingElement", f"{JOB}-3")
    world.converge()
    assert {name for name, image in images(world).items() if image} == {f"{JOB}-3"}


@pytest.mark.parametrize(
    "edit",
    [
        {"fusion": {"legacy": None, "manual": 1}},
        {"submissionTimeValues": {"width": "5"}},
        {"parallelRegions": [{"alias": "*", "width": 5}]},
        {"bundle": {"file": {"path": "another.sab"}}},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_what_the_first_plan_was_made_from_is_kept_by_every_resize(edit: dict[str, object]) -> None:
    """Even after a crash: it stands beside the plan record."""
    edited, left_alone = submitted(), submitted()
    edited.edit("Job", JOB, **edit)
    edited.crash()
    for world in (edited, left_alone):
        world.resize(1, 2)
        world.converge()
    assert edited.status()["widths"] == {"Counted": 2, "Totals": 2}
    plan = "ConfigMap", labels.plan_name(JOB, 1)
    assert edited.objects[plan]["data"] == left_alone.objects[plan]["data"]
    assert edited.objects[plan]["binaryData"] == left_alone.objects[plan]["binaryData"]


def test_an_edit_is_told_and_never_refused_while_the_job_runs() -> None:
    """Not even what would fail a submission."""
    world = submitted()
    world.edit("Job", JOB, fusion={"legacy": True, "type": "channelIsolation"})
    world.converge()
    assert world.status()["phase"] == "Submitted"
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("True", "FieldsIgnored")
    assert "what runs is as submitted" in accepted["message"]


def test_a_job_whose_plan_records_are_all_lost_is_planned_from_the_spec_of_that_moment() -> None:
    world = submitted()
    world.edit("Job", JOB, fusion={"legacy": None, "manual": 1})
    world.remove("ConfigMap", labels.plan_name(JOB, 0))
    world.crash()
    world.converge()
    assert world.status()["processingElements"] == 1
