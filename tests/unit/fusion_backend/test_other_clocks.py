"""A moment in a status that is hours ahead was written by a wrong clock: it holds up nothing."""

from __future__ import annotations

from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.hosted_world import HostedWorld, hosted
from tests.unit.fusion_backend.test_admission import FIRST, PES, submitted
from tests.unit.fusion_backend.test_retries import failed
from tests.unit.fusion_backend.world import JOB, World

DAY_S = 86_400.0
"""How far the clock was ahead that wrote the statuses."""


def test_healthy_turns_false_after_a_clock_that_was_ahead() -> None:
    world = World()
    world.now += DAY_S
    world.converge()
    assert world.condition("Healthy")["status"] == "True"
    world.now -= DAY_S
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    world.converge()
    assert world.condition("Healthy")["message"] == f"1 of {PES} PEs does not run: 1"


def test_the_message_of_healthy_follows_after_a_report_of_a_clock_that_was_ahead() -> None:
    world = World()
    world.converge()
    world.now += DAY_S
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    world.converge()
    world.now -= DAY_S
    world.objects["Pod", f"{JOB}-2"]["status"]["phase"] = "Pending"
    world.converge()
    assert world.condition("Healthy")["message"] == f"2 of {PES} PEs do not run: 1, 2"
    due = decide(world.snapshot(), world.now).requeue_at
    assert due is not None, "the next change has its pause again"
    assert world.now < due < world.now + DAY_S


def test_an_unschedulable_pod_is_looked_into_after_a_clock_that_was_ahead() -> None:
    world = submitted(pes_max=PES - 1)
    world.now += DAY_S
    world.leave_out(FIRST)
    world.now -= DAY_S
    world.converge()
    assert world.placed == ("False", "InsufficientCapacity")


def test_a_pod_that_fits_is_reported_as_left_out_after_a_clock_that_was_ahead() -> None:
    world = submitted()
    world.now += DAY_S
    world.leave_out(FIRST)
    world.after(2.0)
    world.now -= DAY_S
    world.converge()
    assert world.placed == ("False", "Unschedulable")


def test_a_width_is_tried_again_after_a_clock_that_was_ahead() -> None:
    world: HostedWorld = hosted()
    world.now += DAY_S
    world.resize(0, 5)
    world.converge()
    world.now -= DAY_S
    world.counting = 10
    world.converge()
    assert world.status()["widths"]["Counted"] == 5


def test_a_failed_job_is_tried_again_after_a_clock_that_was_ahead() -> None:
    world = failed()
    world.now -= DAY_S
    world.refusal = None
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_the_time_for_retries_begins_again_after_a_clock_that_was_ahead() -> None:
    world = failed(retrySeconds=60)
    world.now -= DAY_S
    world.converge()
    attempts = world.status()["attempts"]
    for _ in range(100):
        world.now += 1.0
        world.converge()
    assert world.status()["attempts"] > attempts
    assert "since spec.retrySeconds is 60" in world.status()["message"]
