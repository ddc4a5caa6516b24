"""A PE that somebody deletes comes back if its flag permits; else the Job says what is missing."""

from __future__ import annotations

from contracts import labels
from tests.unit.fusion_backend.world import JOB, World

PE = "ProcessingElement"
FORBIDDEN = {"processingElement": {"restartFailedPod": False}}


def running(**spec: object) -> World:
    world = World(**spec)  # type: ignore[arg-type]
    world.converge()
    world.now += 60.0
    return world


def recorded(world: World) -> list[int]:
    return list(world.status().get("deletedProcessingElements") or ())


def test_a_pe_whose_flag_permits_comes_back() -> None:
    world = running(processingElement={"restartFailedPod": True})
    world.remove(PE, f"{JOB}-1")
    world.converge()
    assert f"{JOB}-1" in world.named(PE)
    assert recorded(world) == []


def test_a_pe_whose_flag_forbids_stays_away_and_the_job_says_how_to_restore_it() -> None:
    world = running(**FORBIDDEN)
    world.remove(PE, f"{JOB}-1")
    world.converge()
    assert f"{JOB}-1" not in world.named(PE)
    assert recorded(world) == [1]
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("False", "PeDeleted")
    assert f"{JOB}-1 was deleted" in healthy["message"]
    assert f"kubectl annotate stj {JOB} {labels.RETRY}=" in healthy["message"]
    assert [reason for reason, _ in world.events].count("PeDeleted") == 1
    assert world.status()["phase"] == "Submitted"


def test_it_stays_away_over_a_crash_and_over_resizes() -> None:
    world = running(**FORBIDDEN)
    world.remove(PE, f"{JOB}-1")
    world.converge()
    for width in (3, 1, 4):
        world.crash()
        world.resize(0, width)
        world.converge()
        assert world.status()["phase"] == "Submitted"
        assert f"{JOB}-1" not in world.named(PE)
        assert recorded(world) == [1]
        assert world.condition("Healthy")["reason"] == "PeDeleted"


def test_one_that_is_deleted_before_a_crash_is_recorded_after_it() -> None:
    """A plan that was in force had all its PEs: nothing else shows who deleted one."""
    world = running(**FORBIDDEN)
    world.remove(PE, f"{JOB}-1")
    world.crash()
    world.converge()
    assert recorded(world) == [1]


def test_one_that_is_deleted_in_the_middle_of_a_resize_stays_away_too() -> None:
    world = running(**FORBIDDEN)
    world.pods_run = False
    world.resize(0, 3)
    while world.status()["phase"] != "Resizing":
        world.step()
    world.remove(PE, f"{JOB}-0")
    world.converge()
    assert world.status()["phase"] == "Submitted"
    assert recorded(world) == [0]


def test_a_new_value_of_the_annotation_restores_it_once() -> None:
    world = running(**FORBIDDEN)
    world.remove(PE, f"{JOB}-1")
    world.converge()
    world.annotate(labels.RETRY, "now")
    world.converge()
    assert f"{JOB}-1" in world.named(PE)
    assert recorded(world) == []
    assert world.status()["observedRetry"] == "now"
    assert world.condition("Healthy")["status"] == "True"
    world.now += 60.0
    world.remove(PE, f"{JOB}-1")
    world.converge()
    assert recorded(world) == [1]


def test_a_restoration_that_a_crash_interrupts_is_finished() -> None:
    world = running(**FORBIDDEN)
    for pe in (0, 1):
        world.remove(PE, f"{JOB}-{pe}")
    world.converge()
    world.annotate(labels.RETRY, "now")
    for _ in range(3):
        world.step(lambda effect: getattr(effect, "name", "") == f"{JOB}-1")
    assert recorded(world) == [0, 1]
    world.crash()
    world.converge()
    assert {f"{JOB}-0", f"{JOB}-1"} <= world.named(PE)
    assert recorded(world) == []


def test_a_resize_without_the_deleted_pe_forgets_it() -> None:
    world = running(width=3, **FORBIDDEN)
    gone = max(world.named(PE))
    world.remove(PE, gone)
    world.converge()
    assert recorded(world) == [int(gone.rpartition("-")[2])]
    world.resize(0, 1)
    world.converge()
    assert recorded(world) == []
    assert world.condition("Healthy")["status"] == "True"


def test_a_job_with_a_deleted_pe_is_not_completed() -> None:
    world = running(**FORBIDDEN)
    world.remove(PE, f"{JOB}-1")
    world.converge()
    for name in world.named(PE):
        world.objects[PE, name]["status"] |= {"phase": "Completed"}
        world.objects["Pod", name]["status"]["phase"] = "Succeeded"
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_pes_that_are_launched_again_when_they_complete_complete_no_job() -> None:
    world = running(processingElement={"restartCompletedPod": True})
    for name in world.named(PE):
        world.objects[PE, name]["status"] |= {"phase": "Completed", "reason": "BackingOff"}
        world.objects["Pod", name]["status"]["phase"] = "Succeeded"
    world.converge()
    assert world.status()["phase"] == "Submitted"
    for name in world.named(PE):
        world.edit(PE, name, restartCompletedPod=False)
        world.objects[PE, name]["status"]["reason"] = "PodCompleted"
    world.converge()
    assert world.status()["phase"] == "Completed"
