"""What becomes of an edit of the Job's spec, by when it comes: the rules of docs/fields.md."""

from __future__ import annotations

import copy

import pytest

from contracts import labels
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.world import JOB, World

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


def test_an_edited_template_is_taken_up_by_what_the_next_resize_adds_or_changes() -> None:
    """And by nothing before: condition Accepted says what waits."""
    world = submitted()
    world.edit("Job", JOB, processingElement={"image": "mine:2"})
    world.converge()
    assert set(images(world).values()) == {None}
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("True", "EditTakenUpLater")
    assert "spec.processingElement" in accepted["message"]
    before = world.versions()
    world.resize(0, 3)
    world.converge()
    assert len(images(world)) == PES + 1
    written = {
        name
        for name in images(world)
        if world.versions()["ProcessingElement", name] != before.get(("ProcessingElement", name))
    }
    assert {name for name, image in images(world).items() if image} == written
    assert f"{JOB}-{PES}" in written
    assert set(images(world)) - written, "a PE that is no neighbour is not written"
    assert world.condition("Accepted")["reason"] == "Accepted"


def test_a_pe_that_is_made_again_is_made_of_the_template_of_its_plan() -> None:
    world = submitted()
    world.edit("Job", JOB, processingElement={"image": "mine:2"})
    world.remove("ProcessingElement", f"{JOB}-3")
    world.converge()
    assert set(images(world).values()) == {None}


def test_pes_load_the_bundle_that_their_plan_is_of() -> None:
    """Whatever the spec says since."""
    world = submitted()
    world.edit("Job", JOB, bundle={"name": "another.sab"})
    world.resize(0, 3)
    world.converge()
    bundles = {
        world.objects["ProcessingElement", name]["spec"]["bundleName"]
        for name in world.named("ProcessingElement")
    }
    assert bundles == {"shop.sab"}
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "EditRefused")
    for told in ("spec.bundle.name", "another.sab", "shop.sab", "set it back"):
        assert told in accepted["message"]


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


REFUSED: list[tuple[str, dict[str, object]]] = [
    ("spec.fusion", {"fusion": {"legacy": None, "manual": 1}}),
    ("spec.fusion", {"fusion": {"legacy": None}}),
    ("spec.fusion.automatic", {"fusion": {"legacy": None, "automatic": False}}),
    ("spec.submissionTimeValues.width", {"submissionTimeValues": {"width": "5"}}),
    ("spec.submissionTimeValues.more", {"submissionTimeValues": {"more": "5"}}),
    ("spec.parallelRegions[*].width", {"parallelRegions": [{"alias": "*", "width": 5}]}),
    ("spec.bundle.file.path", {"bundle": {"file": {"path": "another.sab"}}}),
    ("spec.fusion", {"fusion": {"type": "channelIsolation"}}),
    ("spec.threadingModel", {"threadingModel": {"manual": True}}),
]


@pytest.mark.parametrize(("field", "edit"), REFUSED, ids=[field for field, _ in REFUSED])
def test_an_edit_that_is_refused_is_reported_taken_up_in_no_part_and_heals_when_taken_back(
    field: str, edit: dict[str, object]
) -> None:
    """The condition and an Event name field and value; a template beside it is not taken up."""
    world = submitted()
    before = world.objects["Job", JOB]["spec"]
    good = copy.deepcopy(before)
    world.edit("Job", JOB, processingElement={"image": "mine:2"}, **edit)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "EditRefused")
    assert field in accepted["message"]
    assert accepted["observedGeneration"] == world.status()["observedGeneration"] == 2
    assert ("EditRefused", accepted["message"]) in world.events
    world.resize(1, 2)
    world.converge()
    assert world.status()["widths"] == {"Counted": 2, "Totals": 2}
    assert set(images(world).values()) == {None}
    world.put_back("Job", JOB, good)
    world.converge()
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("True", "Accepted")
    assert decide(world.snapshot(), world.now).effects == ()


@pytest.mark.parametrize("moment", ["Submitting", "Resizing"])
def test_an_edit_in_the_middle_of_work_is_reported_when_the_work_is_done(moment: str) -> None:
    world = World()
    if moment == "Resizing":
        world.converge()
        world.resize(0, 3)
    while world.status().get("phase") != moment or not world.named("ProcessingElement"):
        world.step()
    world.edit("Job", JOB, fusion={"legacy": None, "manual": 1})
    world.converge()
    assert world.condition("Accepted")["reason"] == "EditRefused"


def test_an_edit_of_the_time_out_alone_is_accepted_and_waits_for_nothing() -> None:
    world = submitted()
    world.edit("Job", JOB, submissionTimeOutInSeconds=7)
    world.converge()
    assert world.condition("Accepted")["reason"] == "Accepted"
    assert world.status()["observedGeneration"] == 2


def test_a_job_that_says_no_to_automatic_fusion_and_yes_to_no_other_is_refused() -> None:
    world = World(fusion={"automatic": False})
    world.converge()
    assert (world.status()["phase"], world.status()["reason"]) == ("Failed", "FusionInvalid")
    assert "spec.fusion.automatic" in world.status()["message"]


def test_a_job_whose_plan_records_are_all_lost_is_planned_from_the_spec_of_that_moment() -> None:
    """But for the widths, which are those in force."""
    world = submitted()
    world.resize(0, 3)
    world.converge()
    world.edit("Job", JOB, fusion={"legacy": None, "manual": 1})
    for generation in (0, 1):
        world.remove("ConfigMap", labels.plan_name(JOB, generation))
    world.crash()
    world.converge()
    assert world.status()["processingElements"] == 1
    assert world.status()["widths"] == {"Counted": 3, "Totals": 1}


def test_an_edit_of_a_width_says_how_the_width_of_a_running_job_is_changed() -> None:
    world = World()
    world.converge()
    world.edit("Job", JOB, parallelRegions=[{"alias": "*", "width": 4}])
    world.converge()
    assert f"`millrace scale {JOB} REGION=WIDTH`" in world.condition("Accepted")["message"]
