"""What Healthy says of lost tuples: until they are acknowledged, or the time is over."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from contracts.losses import LaunchLoss, Losses, losses_field
from contracts.moments import moment_of
from contracts.resources import JobPhase
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.health_due import HEALTH_SETTLES_S
from tests.unit.fusion_backend.world import JOB, World

DAY_S = 86_400.0
ALL_RUN = ("True", "AllRunning")
LOST = ("False", "TuplesLost")


def lose(world: World, total: int, pe: int = 1) -> None:
    """pe-gateway records that the job has lost so many tuples, the last of them at PE `pe`."""
    now = moment_of(world.now)
    row = LaunchLoss(pe, f"u{pe}", 1, total, now, now, "StoppedLate", total)
    world.objects["Job", JOB]["status"]["losses"] = losses_field(Losses(total, now, (row,)))


def acknowledge(world: World, value: str) -> None:
    world.annotate(labels.LOSSES_ACKNOWLEDGED, value)


def healthy(world: World) -> tuple[str, str]:
    """Status and reason of the condition, after all that follows has been done."""
    world.converge()
    found = world.condition("Healthy")
    return found["status"], found["reason"]


def running(**spec: Any) -> World:
    world = World(**spec)
    assert healthy(world) == ALL_RUN
    return world


def test_healthy_says_how_many_were_lost_when_whose_and_how_to_acknowledge() -> None:
    world = running()
    lose(world, 12)
    now = world.now
    assert healthy(world) == LOST
    at, until = moment_of(now), moment_of(now + DAY_S)
    pe = world.snapshot().newest.record.pes[1]  # type: ignore[union-attr]
    assert world.condition("Healthy")["message"] == (
        f"at most 12 tuples were lost: PE {pe.id} ({', '.join(pe.operators)}), launch 1: 12 at"
        f" {at}, StoppedLate; this is shown until {until}, or until you acknowledge it: kubectl"
        f" annotate stj {JOB} {labels.LOSSES_ACKNOWLEDGED}=12 --overwrite"
    )


def test_a_loss_is_shown_at_once_and_its_acknowledgement_too() -> None:
    """Nothing waits for the pauses of pods that come up."""
    world = running()
    lose(world, 12)
    now = world.now
    world.step()
    assert world.condition("Healthy")["reason"] == "TuplesLost"
    acknowledge(world, "12")
    world.step()
    assert world.condition("Healthy")["status"] == "True"
    assert world.now == now


def test_a_loss_after_the_acknowledgement_is_shown_again() -> None:
    world = running()
    lose(world, 12)
    acknowledge(world, "12")
    assert healthy(world) == ALL_RUN
    lose(world, 15)
    assert healthy(world) == LOST
    assert world.condition("Healthy")["message"].startswith("at most 3 tuples were lost")


def test_a_loss_is_forgotten_after_its_time_though_nothing_happens() -> None:
    world = running(lossRetentionSeconds=3_600)
    lose(world, 12)
    began = world.now
    assert healthy(world) == LOST
    due = decide(world.snapshot(), world.now).requeue_at
    while due is not None and due < began + 3_600:
        world.now = due
        world.step()
        due = decide(world.snapshot(), world.now).requeue_at
    assert due == began + 3_600
    assert world.condition("Healthy")["reason"] == "TuplesLost"
    world.now = due
    world.step()
    assert world.condition("Healthy")["status"] == "True"


def test_a_service_that_restarts_forgets_a_loss_at_the_same_time() -> None:
    world = running()
    lose(world, 12)
    began = world.now
    assert healthy(world) == LOST
    world.crash()
    world.now = began + DAY_S - 1
    assert healthy(world) == LOST
    world.now = began + DAY_S
    assert healthy(world) == ALL_RUN


def test_with_a_retention_of_0_the_job_stays_healthy() -> None:
    world = running(lossRetentionSeconds=0)
    lose(world, 12)
    assert healthy(world) == ALL_RUN


def test_a_later_retention_counts_for_a_loss_of_before() -> None:
    world = running()
    lose(world, 12)
    world.now += 60
    assert healthy(world) == LOST
    world.edit("Job", JOB, lossRetentionSeconds=30)
    assert healthy(world) == ALL_RUN


@pytest.mark.parametrize("value", ["13", "-1", "abc", "", "9" * 100])
def test_a_value_that_acknowledges_nothing_leaves_the_loss_and_says_why(value: str) -> None:
    world = running()
    lose(world, 12)
    acknowledge(world, value)
    assert healthy(world) == LOST
    assert ("acknowledges nothing" in world.condition("Healthy")["message"]) is bool(value)


def test_pes_that_do_not_run_come_first_and_are_reported_as_soon_as_of_a_healthy_job() -> None:
    world = running()
    lose(world, 12)
    assert healthy(world) == LOST
    world.now += HEALTH_SETTLES_S + 1
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    world.step()
    assert world.condition("Healthy")["reason"] == "SomeNotRunning"
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Running"
    world.step()
    assert world.condition("Healthy")["reason"] == "TuplesLost"


def test_a_loss_is_shown_at_once_beside_pes_that_do_not_run() -> None:
    """A killed PE is reported as not running first; what it lost is known once it runs again."""
    world = running()
    world.now += HEALTH_SETTLES_S + 1
    world.objects["Pod", f"{JOB}-1"]["status"]["phase"] = "Pending"
    world.step()
    lose(world, 12)
    world.step()
    message = world.condition("Healthy")["message"]
    assert "1 of 6 PEs does not run: 1; at most 12 tuples were lost" in message
    acknowledge(world, "12")
    world.step()
    assert world.condition("Healthy")["message"] == "1 of 6 PEs does not run: 1"


def test_a_loss_is_shown_while_a_resize_goes_on() -> None:
    """A PE that has no node may hold it up for long."""
    world = running()
    world.pods_run = False
    world.resize(0, 4)
    while world.status()["phase"] != "Resizing":
        world.step()
    lose(world, 12)
    world.step()
    found = world.condition("Healthy")
    assert (found["status"], found["reason"]) == LOST
    assert found["message"].startswith("at most 12 tuples were lost")
    assert world.status()["phase"] == "Resizing"


def test_a_loss_that_grows_is_written_once_in_a_while() -> None:
    """A thousand PEs that lose tuples for a minute must not cost a write for each report."""
    world = running()
    begin, writes = world.now, 0
    for total in range(1, 601):
        lose(world, total)
        before = world.condition("Healthy")
        world.step()
        writes += world.condition("Healthy") != before
        world.now = begin + total / 10
    assert writes <= 4
    assert healthy(world) == LOST
    assert "at most 600 tuples" in world.condition("Healthy")["message"]


def test_a_completed_job_shows_a_loss_and_stays_completed() -> None:
    world = running()
    for (kind, _), obj in world.objects.items():
        if kind == "Pod":
            obj["status"]["phase"] = "Succeeded"
        if kind == "ProcessingElement":
            obj["status"] = {**obj["status"], "phase": "Completed"}
    world.converge()
    assert world.status()["phase"] == JobPhase.COMPLETED
    lose(world, 12)
    assert healthy(world) == LOST
    assert world.status()["phase"] == JobPhase.COMPLETED
    acknowledge(world, "12")
    assert healthy(world) == ALL_RUN
    assert world.status()["phase"] == JobPhase.COMPLETED


def test_the_event_of_a_loss_is_that_of_its_pe() -> None:
    world = running()
    lose(world, 12)
    decision = decide(world.snapshot(), world.now)
    changes = [change for each in decision.effects if (change := getattr(each, "change", None))]
    assert [each.announcements for each in changes] == [()]
