"""The first new width is taken up at once; those that closely follow gather, and the newest counts.

The start of a generation is in its plan record, so that a restarted service decides the same.
"""

from __future__ import annotations

from typing import Any

from contracts import labels
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.world import JOB, World

REGION = ("ParallelRegion", f"{JOB}-0")


def submitted(**scaling: Any) -> World:
    world = World(scaling=scaling)
    world.converge()
    world.now += 0.25
    return world


def set_in_a_row(world: World, *widths: int) -> None:
    """Widths of one region, 0.4 s apart."""
    for width in widths:
        world.resize(0, width)
        world.converge()
        world.now += 0.4


def launches(world: World) -> int:
    """How often the PE that has been launched most often was."""
    pods = [obj for (kind, _), obj in world.objects.items() if kind == "Pod"]
    return max(int(pod["metadata"]["labels"][labels.LAUNCH_COUNT]) for pod in pods)


def test_four_widths_in_a_row_restart_each_channel_at_most_twice() -> None:
    world = submitted()
    before = launches(world)
    set_in_a_row(world, 3, 4, 5, 6)
    status = world.objects[REGION]["status"]
    assert status["width"] == 3, "the first is taken up at once"
    world.now += 2.0
    world.converge()
    assert world.status()["widths"]["Counted"] == 6
    assert world.status()["generation"] == 2
    assert launches(world) - before <= 2


def test_a_single_resize_starts_at_once_and_so_does_one_after_the_time() -> None:
    world = submitted()
    for generation, width in ((1, 3), (2, 4)):
        world.resize(0, width)
        world.converge()
        assert world.status()["generation"] == generation
        world.now += 2.0


def test_it_is_looked_at_again_when_the_time_is_over_and_nothing_is_written_until_then() -> None:
    world = submitted()
    set_in_a_row(world, 3)
    before = world.versions()
    world.resize(0, 4)
    moment = world.versions()[REGION]
    world.crash()
    world.converge()
    assert world.versions() == before | {REGION: moment}
    requeue_at = decide(world.snapshot(), world.now).requeue_at
    assert requeue_at is not None
    assert 1.5 < requeue_at - world.now <= 1.6


def test_a_width_that_is_taken_back_meanwhile_starts_nothing() -> None:
    world = submitted()
    set_in_a_row(world, 3, 4, 3)
    world.now += 2.0
    world.converge()
    assert world.status()["generation"] == 1


def test_0_switches_it_off() -> None:
    world = submitted(settleSeconds=0)
    set_in_a_row(world, 3, 4, 5)
    assert world.status()["generation"] == 3


def test_the_time_may_be_changed_while_the_job_runs() -> None:
    world = submitted(settleSeconds=60)
    set_in_a_row(world, 3, 4)
    assert world.status()["generation"] == 1
    world.edit("Job", JOB, scaling={"settleSeconds": 0})
    world.converge()
    assert world.status()["generation"] == 2


def test_a_region_says_which_width_gathers_when_the_one_before_comes_into_force() -> None:
    world = submitted()
    world.resize(0, 3)
    for _ in range(20):
        if labels.plan_name(JOB, 1) not in world.named("ConfigMap"):
            world.step()
    world.resize(0, 4)
    world.converge()
    status = world.objects[REGION]["status"]
    assert (status["width"], status["reason"]) == (3, "WidthWaits")
    assert (
        "width 4 follows the last resize within spec.scaling.settleSeconds (2)"
        in (status["message"])
    )
    assert status["conditions"][0]["reason"] == "Gathering"


def test_a_moment_of_another_clock_holds_up_nothing() -> None:
    world = submitted()
    set_in_a_row(world, 3)
    world.now -= 600.0
    world.resize(0, 4)
    world.converge()
    assert world.status()["generation"] == 2
