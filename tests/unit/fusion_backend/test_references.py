"""ParallelRegions and HostPools that name a Job, an alias or an index that does not exist."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import NoteReference, ReportReference
from services.fusion_backend.core.references import WRONG_SETTLES_S
from tests.unit.fusion_backend.world import JOB, World

REGION = {"job": JOB, "alias": "Counted", "width": 2}


def submitted() -> World:
    """A world whose job is submitted and steady."""
    world = World()
    world.converge()
    return world


def put(world: World, kind: str, name: str, spec: dict[str, Any], **marks: str) -> None:
    """An object that somebody creates by hand."""
    meta = {"name": name, "generation": 1, "labels": marks}
    world._put(kind, {"metadata": meta, "spec": spec, "status": {}})


def accepted(world: World, kind: str, name: str) -> dict[str, Any] | None:
    """The condition Accepted of an object."""
    conditions = world.objects[kind, name]["status"].get("conditions") or ()
    return next((each for each in conditions if each["type"] == "Accepted"), None)


def lasting(world: World) -> None:
    """Some seconds later."""
    world.converge()
    world.now += WRONG_SETTLES_S
    world.converge()


WRONG = [
    ("ParallelRegion", {**REGION, "alias": "Nowhere"}, "spec.alias is Nowhere: Job shop has"),
    ("ParallelRegion", {**REGION, "index": 7}, "spec.index is 7: Job shop has the parallel"),
    ("HostPool", {"job": JOB, "hostpool": {"name": "gpu"}}, "spec.hostpool.name is gpu: Job shop"),
    (
        "HostPool",
        {"job": JOB, "hostpool": {"name": "$default", "index": 9}},
        "spec.hostpool.index is 9: Job shop has the host pool 0",
    ),
]


@pytest.mark.parametrize(("kind", "spec", "message"), WRONG)
def test_what_an_object_names_wrongly_is_reported_by_field_and_value(
    kind: str, spec: dict[str, Any], message: str
) -> None:
    world = submitted()
    put(world, kind, "stray", spec)
    lasting(world)
    found = accepted(world, kind, "stray")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "InvalidReference")
    assert found["message"].startswith(message)


@pytest.mark.parametrize("marks", [{}, {labels.JOB: JOB}])
@pytest.mark.parametrize("kind", ["ParallelRegion", "HostPool"])
def test_an_object_that_names_no_job_there_is_says_so_until_there_is_one(
    kind: str, marks: dict[str, str]
) -> None:
    world = World()
    world.remove("Job", JOB)
    spec = REGION if kind == "ParallelRegion" else {"job": JOB, "hostpool": {"name": "$default"}}
    put(world, kind, "stray", spec, **marks)
    lasting(world)
    found = accepted(world, kind, "stray")
    assert found is not None
    assert found["message"] == f"spec.job is {JOB}: namespace default has no Job of that name"
    world.submit()
    world.step()
    assert accepted(world, kind, "stray") is None


def test_nothing_is_written_for_a_reference_that_is_wrong_for_a_moment() -> None:
    """As that of an object that is created before its Job."""
    world = World()
    world.remove("Job", JOB)
    put(world, "ParallelRegion", "stray", REGION)
    before = list(world.writes)
    world.converge()
    world.now += WRONG_SETTLES_S - 1
    world.converge()
    assert world.writes == before
    assert decide(world.snapshot(), world.now).requeue_at == world.now + 1
    world.submit()
    world.step()
    world.remove("Job", JOB)
    world.now += 2
    assert decide(world.snapshot(), world.now).effects != ()  # noted again: no time counts on
    world.converge()
    assert not [each for each in world.writes if each[2] == "stray"]


def test_children_of_a_job_that_is_deleted_are_left_to_the_garbage_collector() -> None:
    world = submitted()
    world.remove("Job", JOB)
    assert world.snapshot().strays == ()


def test_what_is_reported_is_neither_noted_nor_written_again() -> None:
    world = submitted()
    put(world, "ParallelRegion", "stray", {**REGION, "alias": "Nowhere"})
    lasting(world)
    world.crash()
    world.now += 1000
    effects = decide(world.snapshot(), world.now).effects
    assert not [each for each in effects if isinstance(each, NoteReference | ReportReference)]


def test_a_second_object_for_a_region_says_that_it_has_no_effect() -> None:
    world = submitted()
    put(world, "ParallelRegion", "stray", REGION)
    lasting(world)
    found = accepted(world, "ParallelRegion", "stray")
    assert found is not None
    assert found["reason"] == "WithoutEffect"
    assert "metadata.name is stray" in found["message"]


EDITS = [
    ({"alias": "Nowhere"}, "spec.alias is Nowhere: Job shop has the parallel regions Counted"),
    ({"alias": "Totals"}, "spec.alias is Totals: shop-0 is Counted of Job shop"),
    ({"index": 7}, "spec.index is 7: Job shop has"),
    ({"job": "other"}, "spec.job is other: the object belongs to Job shop"),
]


@pytest.mark.parametrize(("edit", "message"), EDITS)
def test_a_planned_region_that_is_edited_says_what_it_names_wrongly_and_keeps_its_width(
    edit: dict[str, Any], message: str
) -> None:
    world = submitted()
    before = dict(world.objects["ParallelRegion", f"{JOB}-0"]["spec"])
    world.edit("ParallelRegion", f"{JOB}-0", **edit)
    world.converge()
    found = accepted(world, "ParallelRegion", f"{JOB}-0")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "InvalidReference")
    assert found["message"].startswith(message)
    world.resize(0, 3)
    world.converge()
    assert world.status()["widths"]["Counted"] == 3
    world.put_back("ParallelRegion", f"{JOB}-0", {**before, "width": 3})
    world.converge()
    found = accepted(world, "ParallelRegion", f"{JOB}-0")
    assert found is not None
    assert (found["status"], found["reason"]) == ("True", "WidthInForce")
