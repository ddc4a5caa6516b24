"""A job's attempts, edits and end: what passes, what is refused, what a deletion leaves."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from planner.planning import PlanResult
from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from services.chassis.process.errors import Transient
from services.fusion_backend.adapters.job_ids import JOB_ID_MAX
from services.fusion_backend.adapters.planner import InlinePlanner, PlanTask
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import Request, World, simulate

COVERS = (
    "services/fusion_backend/core/attempts.py",
    "services/fusion_backend/core/status_rules.py",
    "services/fusion_backend/core/clean_up_rules.py",
    "services/fusion_backend/core/clearing.py",
    "services/fusion_backend/core/spec/editing.py",
    "services/fusion_backend/adapters/job_ids.py",
)

Obj = dict[str, Any]
PLURALS = ("pods", "configmaps", "services", "streamspes", "streamsprs", "streamshostpools")
MANY = 200


def status(world: World, job: str = "j") -> Obj:
    return dict(world.objects("streamsjobs")[job].get("status") or {})


def phases(world: World) -> set[str]:
    """The phases of all Jobs."""
    jobs = world.objects("streamsjobs").values()
    return {str((each.get("status") or {}).get("phase")) for each in jobs}


def condition(world: World, type_: str, job: str = "j") -> Obj:
    conditions = status(world, job).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), {})


def left(world: World, job: str = "j") -> dict[str, list[str]]:
    """What there is of a job beside the Job."""
    found = {plural: sorted(world.objects(plural, job)) for plural in PLURALS}
    return {plural: names for plural, names in found.items() if names}


def edit(world: World, patch: Obj, job: str = "j") -> None:
    world.store.patch(world.kind("streamsjobs"), "default", job, patch, MERGE)


def retry(world: World, value: str) -> None:
    edit(world, {"metadata": {"annotations": {labels.RETRY: value}}})


def with_time_out(world: World, seconds: int, *, width: int = 2) -> None:
    """Submit the example with a time-out of its own."""
    submit_example(world, "j", width=width)
    edit(world, {"spec": {"submissionTimeOutInSeconds": seconds}})


PlanOf = Callable[[InlinePlanner, PlanTask], Awaitable[PlanResult]]


def planner_of(monkeypatch: pytest.MonkeyPatch, plan: PlanOf) -> PlanOf:
    """Put another planner in place; returns the real one."""
    real: PlanOf = InlinePlanner.plan
    monkeypatch.setattr(InlinePlanner, "plan", plan)
    return real


async def hang(planner: InlinePlanner, task: PlanTask) -> PlanResult:
    await asyncio.Event().wait()
    raise AssertionError("nobody wakes it")


# --------------------------------------------------------------------------- attempts


def test_a_planner_that_hangs_keeps_no_time_out_from_passing_and_no_other_job_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt fails, leaves nothing, and a retry with a planner that answers runs."""

    async def test(world: World) -> None:
        async def plan(planner: InlinePlanner, task: PlanTask) -> PlanResult:
            if task.inputs.job_name == "j":
                return await hang(planner, task)
            return await real(planner, task)

        real = planner_of(monkeypatch, plan)
        world.start()
        with_time_out(world, 60)
        submit_example(world, "other", width=2)
        await world.until("other runs", lambda: world.is_running("other"), wait_s=30.0)
        assert world.phase("j") == "Submitting"
        await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=90.0)
        assert status(world)["reason"] == "SubmissionTimedOut"
        assert "planning did not end" in status(world)["message"]
        await world.settle()
        assert left(world) == {}
        monkeypatch.setattr(InlinePlanner, "plan", real)
        retry(world, "1")
        await world.until("running", lambda: world.is_running("j"), wait_s=30.0)

    simulate(tmp_path, test)


def test_a_planner_that_dies_is_requested_again_and_the_job_says_so_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With growing pauses; when it answers, the condition heals."""

    async def test(world: World) -> None:
        asked: list[float] = []

        async def plan(planner: InlinePlanner, task: PlanTask) -> PlanResult:
            asked.append(world.clock.now())
            if len(asked) > 8:
                return await real(planner, task)
            raise Transient("the planner died with signal 9", outcome_unknown=False)

        real = planner_of(monkeypatch, plan)
        world.start()
        submit_example(world, "j", width=2)
        await world.until(
            "told", lambda: condition(world, "Submitted").get("reason") == "PlanningFailed"
        )
        assert "signal 9" in condition(world, "Submitted")["message"]
        assert condition(world, "Submitted")["status"] == "False"
        await world.until("running", lambda: world.is_running("j"))
        pauses = [after - before for before, after in itertools.pairwise(asked)]
        assert pauses[-1] > 4 * pauses[0]
        assert condition(world, "Submitted")["status"] == "True"

    simulate(tmp_path, test)


@pytest.mark.parametrize("code", [403, 500], ids=["quota", "server error"])
@pytest.mark.parametrize("plural", ["services", "streamspes", "pods"])
def test_what_cannot_be_written_until_the_time_out_fails_the_job_and_leaves_a_clean_slate(
    tmp_path: Path, plural: str, code: int
) -> None:
    """A retry requested during the clean-up, and another after it, begin when nothing is left."""

    async def test(world: World) -> None:
        def refuse(request: Request) -> Fault | None:
            path = request.path.partition("?")[0]
            is_met = request.method == "POST" and path.endswith(f"/{plural}")
            return Fault(status=code) if is_met else None

        world.faults = refuse
        world.start()
        with_time_out(world, 60)
        if plural != "pods":
            await world.until(
                "told", lambda: condition(world, "Submitted").get("reason") == "WriteFailed"
            )
            assert str(code) in condition(world, "Submitted")["message"]
        await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=90.0)
        assert status(world)["reason"] == "SubmissionTimedOut"
        assert condition(world, "Healthy")["status"] == "False"
        retry(world, "1")  # in the middle of the clean-up
        await world.until("anew", lambda: world.phase("j") == "Submitting")
        await world.until("failed again", lambda: world.phase("j") == "Failed", wait_s=90.0)
        # The attempt that follows by itself may wait for its back-off longer than a world settles.
        await world.until("cleaned up", lambda: left(world) == {}, wait_s=150.0)
        world.faults = None
        retry(world, "2")
        await world.until("running", lambda: world.is_running("j"), wait_s=200.0)
        assert status(world)["id"] == 0

    simulate(tmp_path, test)


def test_a_retry_that_is_requested_during_an_attempt_counts_when_the_attempt_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not asked of the attempt that had begun before."""

    async def test(world: World) -> None:
        asked: list[PlanTask] = []

        async def plan(planner: InlinePlanner, task: PlanTask) -> PlanResult:
            asked.append(task)
            return await (hang if len(asked) == 1 else real)(planner, task)

        real = planner_of(monkeypatch, plan)
        world.start()
        with_time_out(world, 30)
        await world.until("planning", lambda: bool(asked))
        retry(world, "a")
        await world.until("running", lambda: world.is_running("j"))
        assert status(world)["observedRetry"] == "a"
        assert len(asked) == 2

    simulate(tmp_path, test)


def test_a_counter_of_job_ids_that_cannot_be_made_is_reported_and_times_out(tmp_path: Path) -> None:
    """The Job has a phase and a clock before it has an id."""

    async def test(world: World) -> None:
        world.faults = lambda request: (
            Fault(status=403)
            if request.method == "POST" and request.path.partition("?")[0].endswith("/configmaps")
            else None
        )
        world.start()
        with_time_out(world, 30)
        await world.until(
            "told", lambda: "job id" in condition(world, "Submitted").get("message", "")
        )
        assert world.phase("j") == "Submitting"
        await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=90.0)
        world.faults = None
        retry(world, "1")
        await world.until("running", lambda: world.is_running("j"))

    simulate(tmp_path, test)


def test_a_job_says_that_no_job_id_is_left_and_goes_on_when_one_is(tmp_path: Path) -> None:
    """A Job of the namespace has the highest id, and says so in its own status."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "last", width=1)
        await world.until("running", lambda: world.is_running("last"))
        world.store.delete(
            world.kind("configmaps"), "default", labels.JOB_IDS_NAME, DeleteOptions()
        )
        submit_example(world, "holder", width=1)
        highest = {"status": {"id": JOB_ID_MAX}}
        jobs = world.kind("streamsjobs")
        world.store.patch(jobs, "default", "holder", highest, MERGE, subresource="status")
        submit_example(world, "j", width=1)
        await world.until(
            "told", lambda: condition(world, "Submitted").get("reason") == "JobIdsUsedUp"
        )
        assert "Job holder has one of the last" in condition(world, "Submitted")["message"]
        assert world.phase("j") == "Submitting"
        world.store.delete(jobs, "default", "holder", DeleteOptions())
        await world.until("running", lambda: world.is_running("j"))
        assert status(world)["id"] == status(world, "last")["id"] + 1

    simulate(tmp_path, test)


def test_two_hundred_jobs_at_once_all_run_and_no_id_is_given_twice(tmp_path: Path) -> None:
    """Also when the counter is deleted afterwards: the next id is above all others."""

    async def test(world: World) -> None:
        world.watches = ()  # they look at every object after every write
        world.start()
        names = [f"j{number}" for number in range(MANY)]
        began_s = time.process_time()
        for name in names:
            submit_example(world, name, width=1)
            edit(world, {"spec": {"fusion": {"legacy": None, "manual": 1}}}, name)
        await world.until("submitted", lambda: phases(world) == {"Submitted"})
        print(f"{MANY} jobs in {time.process_time() - began_s:.1f} s of CPU")  # noqa: T201
        ids = {each["status"]["id"] for each in world.objects("streamsjobs").values()}
        assert ids == set(range(MANY))
        counter = labels.JOB_IDS_NAME
        world.store.delete(world.kind("configmaps"), "default", counter, DeleteOptions())
        submit_example(world, "later", width=1)
        await world.until("later", lambda: world.phase("later") == "Submitted")
        assert status(world, "later")["id"] == MANY

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- edits


def test_an_edit_of_a_running_job_is_taken_up_by_the_next_resize_or_refused_and_heals(
    tmp_path: Path,
) -> None:
    """Nothing that a resize does not change is written, whatever the spec says."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        before = world.objects("streamspes", "j")
        edit(
            world,
            {
                "spec": {
                    "processingElement": {"image": "mine:2"},
                    "fusion": {"manual": 2, "legacy": None},
                }
            },
        )
        await world.until("refused", lambda: condition(world, "Accepted")["status"] == "False")
        assert "spec.fusion" in condition(world, "Accepted")["message"]
        edit(world, {"spec": {"fusion": {"manual": None, "legacy": True}}})
        await world.until(
            "accepted", lambda: condition(world, "Accepted")["reason"] == "EditTakenUpLater"
        )
        await world.settle()
        assert {n: each["metadata"]["resourceVersion"] for n, each in before.items()} == {
            n: each["metadata"]["resourceVersion"]
            for n, each in world.objects("streamspes", "j").items()
        }
        world.resize("j", "Counted", 4)
        await world.until(
            "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == 4 + OUTSIDE
        )
        await world.settle()
        after = world.objects("streamspes", "j")
        for name, pe in after.items():
            is_touched = name not in before or (
                pe["spec"]["contentId"] != before[name]["spec"]["contentId"]
            )
            assert pe["spec"].get("image") == ("mine:2" if is_touched else None), name
        assert condition(world, "Accepted")["reason"] == "Accepted"

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- deletions


async def before_the_id(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.faults = lambda request: Fault(status=500) if "configmaps" in request.path else None
    submit_example(world, "j", width=3)
    await world.clock.sleep(2.0)


async def while_it_is_planned(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    planner_of(monkeypatch, hang)
    submit_example(world, "j", width=3)
    await world.until("planning", lambda: world.phase("j") == "Submitting")


async def while_its_children_are_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    submit_example(world, "j", width=3)
    await world.until("some children", lambda: len(world.objects("streamspes", "j")) > 2)


async def while_it_is_resized(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    submit_example(world, "j", width=3)
    await world.until("running", lambda: world.is_running("j"))
    world.resize("j", "Counted", 6)
    await world.until("resizing", lambda: world.phase("j") == "Resizing")


async def after_it_failed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    submit_example(world, "j", width=0)
    await world.until("failed", lambda: world.phase("j") == "Failed")


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
@pytest.mark.parametrize(
    "moment",
    [
        before_the_id,
        while_it_is_planned,
        while_its_children_are_written,
        while_it_is_resized,
        after_it_failed,
    ],
)
def test_a_job_that_is_deleted_at_any_time_leaves_nothing_and_one_of_its_name_may_follow_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: Any, propagation: str
) -> None:
    """The new one is another job, with an id of its own."""

    async def test(world: World) -> None:
        real = InlinePlanner.plan
        world.start()
        await moment(world, monkeypatch)
        options = DeleteOptions(propagation=propagation)
        world.store.delete(world.kind("streamsjobs"), "default", "j", options)
        world.faults = None
        monkeypatch.setattr(InlinePlanner, "plan", real)
        await world.until("gone", lambda: "j" not in world.objects("streamsjobs"))
        submit_example(world, "j", width=2)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        uid = world.objects("streamsjobs")["j"]["metadata"]["uid"]
        for plural in PLURALS:
            for each in world.objects(plural, "j").values():
                assert each["metadata"]["labels"][labels.JOB_UID] == uid
        assert len(world.objects("streamspes", "j")) == 2 + OUTSIDE
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("nothing left", lambda: left(world) == {})

    simulate(tmp_path, test)


def test_a_job_that_a_finalizer_holds_says_that_it_is_being_deleted(tmp_path: Path) -> None:
    """Its children do not wait for it, and nothing is made again."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        edit(world, {"metadata": {"finalizers": ["example.com/hold"]}})
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("nothing left", lambda: left(world) == {})
        await world.until("told", lambda: world.phase("j") == "Deleting")
        assert condition(world, "Healthy")["status"] == "False"
        await world.settle()
        assert left(world) == {}
        edit(world, {"metadata": {"finalizers": None}})
        await world.until("gone", lambda: "j" not in world.objects("streamsjobs"))

    simulate(tmp_path, test)
