"""A width without a placement is tried again for as long as a submission may take, not longer."""

from __future__ import annotations

import pytest

from services.fusion_backend.core.snapshot import SUBMISSION_TIME_OUT_S
from tests.unit.fusion_backend.hosted_world import PLACEMENT, HostedWorld, hosted
from tests.unit.fusion_backend.world import JOB, Obj

REGION = ("ParallelRegion", f"{JOB}-0")


def status_of(world: HostedWorld) -> Obj:
    return dict(world.objects[REGION]["status"])


def refused(width: int = 5) -> HostedWorld:
    world = hosted()
    world.resize(0, width)
    world.converge()
    return world


def requested(world: HostedWorld) -> list[int]:
    """The generations that the Placement has requested."""
    return [int(each["generation"]) for each in world.asked]


def later(world: HostedWorld, seconds: float) -> None:
    """Time passes; at each second the job is decided on."""
    for _ in range(int(seconds)):
        world.now += 1.0
        world.converge()


def test_it_waits_visibly_and_comes_into_force_when_nodes_join() -> None:
    world = refused()
    status = status_of(world)
    assert (status["width"], status["reason"]) == (2, "WidthWaits")
    assert "width 5 waits for a placement, and is tried again within" in status["message"]
    assert "spec.submissionTimeOutInSeconds (300)" in status["message"]
    world.counting = 10
    later(world, 6.0)
    assert (status_of(world)["width"], status_of(world)["reason"]) == (5, "WidthInForce")
    assert status_of(world).get("refused") is None


def test_attempts_are_further_and_further_apart_and_leave_nothing() -> None:
    world = refused()
    before = {key: each for key, each in world.meaning().items() if key != REGION}
    later(world, 60.0)
    attempts = status_of(world)["refused"]["attempts"]
    assert attempts == 4, "after 0, 5, 15 and 35 seconds"
    generations = requested(world)[1:]
    assert generations == [1, 0] * attempts, "each attempt ends before the next begins"
    assert {key: each for key, each in world.meaning().items() if key != REGION} == before


def test_it_is_refused_for_good_when_its_time_is_over() -> None:
    """Hours later it would surprise, also beside a newer plan."""
    world = refused()
    later(world, SUBMISSION_TIME_OUT_S + 1.0)
    status = status_of(world)
    assert status["reason"] == "WidthRefused"
    assert "no placement within spec.submissionTimeOutInSeconds (300)" in status["message"]
    world.counting, before = 10, requested(world)
    world.crash()
    later(world, 100.0)
    assert requested(world) == before
    world.resize(1, 3)
    world.converge()
    assert world.status()["widths"] == {"Counted": 2, "Totals": 3}
    assert status_of(world)["refused"]["generation"] == 1
    world.resize(0, 4)
    world.converge()
    assert world.status()["widths"]["Counted"] == 4


@pytest.mark.parametrize("width", [2, 3])
def test_setting_any_width_ends_it(width: int) -> None:
    world = refused()
    world.resize(0, width)
    world.converge()
    before = requested(world)
    later(world, 60.0)
    assert requested(world) == before
    assert (status_of(world)["width"], status_of(world)["reason"]) == (width, "WidthInForce")


def test_a_restarted_service_goes_on_with_the_attempts() -> None:
    world, other = refused(), refused()
    for _ in range(60):
        world.crash()
        later(world, 1.0)
        later(other, 1.0)
    assert status_of(world) == status_of(other)


def test_one_that_waits_for_capacity_in_an_attempt_has_no_more_time_for_it() -> None:
    world = refused()
    later(world, 3.0)
    world.waits = True
    later(world, SUBMISSION_TIME_OUT_S - 10.0)
    assert status_of(world)["reason"] == "WidthWaits"
    assert world.objects[PLACEMENT]["spec"]["generation"] == 1
    later(world, 10.0)
    assert status_of(world)["reason"] == "WidthRefused"
