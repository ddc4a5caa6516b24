"""A job has ended when all of its PEs report it; its status says so, and then they end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.fusion_backend.handing_over import HandingOver

PE = "ProcessingElement"


def end(world: HandingOver, *names: str) -> None:
    """The runtimes of these PEs report that nothing is left to do."""
    for name in names:
        status = world.objects[PE, name]["status"]
        status["runtime"] = {"launch": status["launchCount"], "handsOver": True, "ended": True}


def complete(world: HandingOver, *names: str) -> None:
    """The processes of these PEs have ended."""
    for name in names:
        world.objects[PE, name]["status"]["phase"] = "Completed"
        world.objects["Pod", name]["status"]["phase"] = "Succeeded"


def ended(**spec: Any) -> HandingOver:
    """A job that has nothing left to do."""
    world = HandingOver(width=2, **spec)
    end(world, *world.named(PE))
    world.converge()
    return world


def test_a_job_has_ended_once_all_of_its_pes_report_it() -> None:
    world = HandingOver(width=2)
    first, *others = sorted(world.named(PE))
    end(world, *others)
    world.converge()
    assert "hasEnded" not in world.status()
    end(world, first)
    world.writes.clear()
    world.converge()
    assert world.status()["hasEnded"]
    assert world.status()["phase"] == "Submitted"
    assert world.status_writes() == 1


def test_what_an_older_launch_reported_does_not_count() -> None:
    world = HandingOver(width=2)
    first, *others = sorted(world.named(PE))
    end(world, first, *others)
    world.objects[PE, first]["status"]["launchCount"] += 1
    world.converge()
    assert "hasEnded" not in world.status()


def test_a_pe_of_another_image_has_ended_when_it_has_completed() -> None:
    world = HandingOver(width=2)
    first, *others = sorted(world.named(PE))
    complete(world, first)
    end(world, *others)
    world.converge()
    assert world.status()["hasEnded"]


def test_a_job_is_completed_once_all_of_its_pes_are() -> None:
    world = ended()
    complete(world, *world.named(PE))
    world.converge()
    assert world.status()["phase"] == "Completed"
    assert world.condition("Healthy")["status"] == "True"
    assert world.condition("Completed")["status"] == "True"


@pytest.mark.parametrize("connectivity", ["None", "Partial"])
def test_a_pe_that_ends_after_its_neighbours_lacks_no_connections(connectivity: str) -> None:
    world = ended()
    last, *others = sorted(world.named(PE))
    complete(world, *others)
    status = world.objects[PE, last]["status"]
    status |= {"phase": "Running", "contentId": world.contents()[last]}
    status["connectivity"] = connectivity
    world.now += 1_000.0
    world.converge()
    assert world.condition("Healthy")["status"] == "True"
    assert "SomeNotConnected" not in [reason for reason, _ in world.events]


def test_a_completed_job_stays_well_when_somebody_deletes_its_pods() -> None:
    world = ended()
    complete(world, *world.named(PE))
    world.converge()
    deleted, again, *_ = sorted(world.named(PE))
    world.objects[PE, deleted]["status"]["contentId"] = world.contents()[deleted]
    world.objects.pop(("Pod", deleted))
    world.others = lambda: None  # type: ignore[method-assign]
    world.objects[PE, again]["status"]["phase"] = "Running"
    world.converge()
    complete(world, again)
    world.converge()
    assert world.status()["phase"] == "Completed"
    assert world.condition("Healthy")["status"] == "True"


def test_a_job_whose_pe_runs_again_is_not_completed() -> None:
    world = ended()
    complete(world, *world.named(PE))
    world.converge()
    world.objects[PE, sorted(world.named(PE))[0]]["status"]["phase"] = "Running"
    world.converge()
    assert world.condition("Completed")["status"] == "False"


def test_nothing_has_ended_while_a_plan_is_put_in_force() -> None:
    world = HandingOver(width=2)
    world.resize(0, 3)
    world.converge()
    end(world, *world.named(PE))
    world.converge()
    assert world.status()["phase"] == "Resizing"
    assert "hasEnded" not in world.status()


@pytest.mark.parametrize("is_completed", [True, False])
def test_a_width_of_a_job_that_has_ended_waits_for_no_pe(is_completed: bool) -> None:
    """They have nothing to hand over; what the plan adds ends at once."""
    world = ended()
    names = world.named(PE)
    if is_completed:
        complete(world, *names)
        world.converge()
    world.resize(0, 4)
    world.converge()
    hand_over = world.hand_over
    assert hand_over["complete"]
    assert hand_over["gone"] == sorted(map(int, hand_over["pes"]))
    assert "HandOverTimedOut" not in [reason for reason, _ in world.events]
    assert (world.status()["phase"], world.status()["widths"]["Counted"]) == ("Submitted", 4)
    assert set(names) < set(world.named(PE))
    complete(world, *world.named(PE))
    world.converge()
    assert world.status()["phase"] == "Completed"
    assert world.status()["hasEnded"]


def test_pes_that_are_launched_again_when_they_complete_are_no_completed_job() -> None:
    world = ended(processingElement={"restartCompletedPod": True})
    complete(world, *world.named(PE))
    world.converge()
    assert world.status()["phase"] == "Submitted"
