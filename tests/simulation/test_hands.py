"""People delete, restart and re-create objects by hand; what was requested still comes about."""

from __future__ import annotations

from pathlib import Path

from sandbox.http.in_process import Fault, When
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import Request, World, simulate

COVERS = ("services/fusion_backend/core/children.py", "services/launching/core/rules.py")


def test_a_pod_that_somebody_deleted_for_good_does_not_hold_up_a_resize(tmp_path: Path) -> None:
    """Its PE stays Stopped, as its policy says; the generation is complete all the same."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        untouched = "j-4"
        pod = world.live_pods("j")[untouched]["metadata"]["name"]
        world.store.delete(world.kind("pods"), "default", pod, DeleteOptions())
        await world.until("gone", lambda: untouched not in world.live_pods("j"))
        world.resize("j", "Counted", 2)
        await world.until("phase Resizing", lambda: world.phase("j") == "Resizing")
        await world.until("phase Submitted", lambda: world.phase("j") == "Submitted")
        await world.settle()
        (region,) = world.objects("streamsprs", "j").values()
        assert region["status"]["width"] == 2
        assert len(world.objects("streamspes", "j")) == 2 + OUTSIDE
        assert world.objects("streamspes", "j")[untouched]["status"]["phase"] == "Stopped"

    simulate(tmp_path, test)


def test_a_job_after_an_orphaned_one_of_its_name_fails_at_once_and_takes_nothing(
    tmp_path: Path,
) -> None:
    """The old plan record holds the name: the new Job says so, long before its time-out."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        jobs, orphaned = world.kind("streamsjobs"), DeleteOptions(propagation="Orphan")
        world.store.delete(jobs, "default", "j", orphaned)
        await world.until("orphaned", lambda: "j" not in world.objects("streamsjobs"))
        pods = world.objects("pods", "j").keys()
        submit_example(world, "j", width=3)
        await world.until("refused", lambda: world.phase("j") == "Failed", wait_s=60.0)
        await world.settle()
        status = world.objects("streamsjobs")["j"]["status"]
        assert status["reason"] == "NameTaken"
        assert "ConfigMap j.plan.0" in status["message"]
        assert len(world.objects("streamspes", "j")) == 3 + OUTSIDE
        assert world.objects("pods", "j").keys() == pods

    simulate(tmp_path, test)


def delete_by_force(world: World, pod: str) -> None:
    """Gone at once, as `kubectl delete --force --grace-period=0` does it."""
    world.store.delete(world.kind("pods"), "default", pod, DeleteOptions(grace_period_s=0))


def test_a_pod_deleted_by_force_before_any_status_says_so_is_not_launched_again(
    tmp_path: Path,
) -> None:
    """Its launch has been: the PE is Stopped, and a person may ask for the next launch."""

    async def test(world: World) -> None:
        deleted: list[str] = []

        def before_the_first_status(request: Request) -> Fault | None:
            if deleted or "streamspes/j-1/status" not in request.path:
                return None
            deleted.append(world.live_pods("j")["j-1"]["metadata"]["name"])
            delete_by_force(world, deleted[0])
            return Fault(lost=When.BEFORE)

        world.faults = before_the_first_status
        world.start()
        submit_example(world, "j", width=2)
        await world.until("phase Submitted", lambda: world.phase("j") == "Submitted")
        assert deleted
        await world.settle()
        status = world.objects("streamspes", "j")["j-1"]["status"]
        assert (status["phase"], status["launchCount"]) == ("Stopped", 1)
        assert "j-1" not in world.live_pods("j")
        patch = {"spec": {"launchCount": 2}}
        world.store.patch(world.kind("streamspes"), "default", "j-1", patch, MERGE)
        await world.until("running again", lambda: world.is_running("j"))

    simulate(tmp_path, test)


def test_a_value_that_the_application_does_not_know_is_reported_in_an_event_and_in_fused(
    tmp_path: Path,
) -> None:
    """Along the whole way: API, planner, plan record, Job; and only once."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=2, nope="4")
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        conditions = world.objects("streamsjobs")["j"]["status"]["conditions"]
        (fused,) = (each for each in conditions if each["type"] == "Fused")
        told = "spec.submissionTimeValues.nope is ignored"
        assert told in fused["message"]
        events = [each for each in world.objects("events").values() if told in each["message"]]
        assert [(each["reason"], each["type"]) for each in events] == [("WithoutEffect", "Warning")]

    simulate(tmp_path, test)
