"""What a Job says of PEs that run and do not run: its message, Healthy, and Events."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.failures import PASSED_S
from contracts.moments import moment_of
from services.fusion_backend.core.deciding import decide
from tests.unit.fusion_backend.world import JOB, World

PES = 6


def submitted(*, pods_run: bool = True) -> World:
    """A job that is submitted; the phase of its pods is given."""
    world = World()
    world.pods_run = pods_run
    world.converge()
    return world


def let(world: World, phase: str, *pes: int) -> None:
    """Give pods of PEs a phase."""
    for pe in pes:
        world.objects["Pod", f"{JOB}-{pe}"]["status"]["phase"] = phase


def wait(world: World) -> None:
    """Let the time pass until the job looks again, and let it decide."""
    due = decide(world.snapshot(), world.now).requeue_at
    assert due is not None
    world.now = due
    world.converge()


def reasons(world: World) -> list[str]:
    """The reasons of the Events."""
    return [reason for reason, _ in world.events]


def test_the_message_counts_the_pes_that_run_and_not_those_that_exist() -> None:
    world = submitted(pods_run=False)
    assert world.status()["phase"] == "Submitted"
    assert world.status()["message"] == f"0 of {PES} PEs run, widths Counted=2, Totals=1"
    let(world, "Running", *range(PES))
    world.converge()
    assert world.status()["message"] == f"{PES} of {PES} PEs run, widths Counted=2, Totals=1"
    assert "SomeNotRunning" not in reasons(world)


def test_healthy_follows_the_pes_while_it_is_false_in_ever_longer_pauses() -> None:
    world = submitted()
    let(world, "Pending", 5)
    wait(world)
    assert world.condition("Healthy")["message"] == f"1 of {PES} PEs does not run: 5"
    let(world, "Running", 5)
    let(world, "Pending", 2, 4)
    assert decide(world.snapshot(), world.now).effects == (), "the last report is seconds old"
    wait(world)
    assert world.condition("Healthy")["message"] == f"2 of {PES} PEs do not run: 2, 4"
    assert world.status()["message"].startswith(f"{PES - 2} of {PES} PEs run")
    pauses = []
    for pe in (1, 3, 0):
        let(world, "Pending", pe)
        before = world.now
        wait(world)
        pauses.append(world.now - before)
    assert pauses == [15.0, 30.0, 60.0]
    assert reasons(world).count("SomeNotRunning") == 1


def test_a_resize_whose_pods_do_not_come_up_is_warned_of_once() -> None:
    world = submitted()
    world.pods_run = False
    world.resize(0, 4)
    world.converge()
    assert reasons(world)[-1] == "Resized"
    assert world.status()["message"].startswith("2 of 8 PEs run")
    wait(world)
    reason, message = world.events[-1]
    assert reason == "SomeNotRunning"
    assert message.startswith("6 of 8 PEs do not run")
    before = len(world.writes)
    wait(world)
    assert len(world.writes) == before, "nothing changed since the report"


def test_pods_of_a_resize_have_their_time_where_the_job_was_not_healthy_before() -> None:
    """Connections were missing for long: no report is due for that at the end of a resize."""
    world = submitted()
    for pe in range(PES):
        report(world, pe, connectivity="None")
    wait(world)
    world.now += 1_000.0
    world.pods_run = False
    world.resize(0, 4)
    world.converge()
    assert reasons(world)[-1] == "Resized"
    resized_at = world.now
    assert decide(world.snapshot(), world.now).requeue_at == resized_at + 15.0
    wait(world)
    assert reasons(world)[-2:] == ["Resized", "SomeNotRunning"]


def test_a_resize_whose_pods_come_up_writes_healthy_as_often_as_it_must() -> None:
    world = submitted()
    world.pods_run = False
    world.resize(0, 4)
    world.converge()
    before = len(world.writes)
    let(world, "Running", *range(8))
    world.converge()
    world.now += 1_000.0
    world.converge()
    assert len(world.writes) == before + 1


def test_a_pe_whose_restarts_are_exhausted_is_named_with_an_event() -> None:
    world = submitted()
    let(world, "Failed", 3)
    wait(world)
    assert reasons(world)[-1] == "SomeNotRunning"
    world.objects["ProcessingElement", f"{JOB}-3"]["status"] |= {
        "phase": "Failed",
        "reason": "TooManyRestarts",
    }
    wait(world)
    assert world.condition("Healthy")["reason"] == "TooManyRestarts"
    assert "3 (restarts exhausted)" in world.condition("Healthy")["message"]
    assert reasons(world)[-1] == "TooManyRestarts"


def report(world: World, pe: int, **status: Any) -> None:
    """Let the status of a PE whose first launch runs have this."""
    entry = world.objects["ProcessingElement", f"{JOB}-{pe}"]
    content = entry["spec"]["contentId"]
    entry.setdefault("status", {}).update(
        {"phase": "Running", "launchCount": 1, "contentId": content, **status}
    )


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"connectivity": "None"}, "PE 3 is connected to none of its neighbours"),
        ({"connectivity": "Partial"}, "PE 3 is connected to some of its neighbours only"),
        ({"runtime": {"launch": 1}}, "PE 3 has not reported its connections yet"),
        (
            {"connectivity": "Partial", "runtime": {"launch": 1, "message": "waits for PE 5"}},
            "PE 3 reports: waits for PE 5",
        ),
    ],
)
def test_a_pe_that_reports_missing_connections_is_named_with_an_event(
    status: dict[str, Any], why: str
) -> None:
    world = submitted()
    report(world, 3, **status)
    wait(world)
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("False", "SomeNotConnected")
    assert healthy["message"] == f"1 of {PES} PEs lacks connections: {why}"
    assert reasons(world)[-1] == "SomeNotConnected"
    report(world, 3, connectivity="Full")
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


WAITS = {"reason": "OperatorFailed", "message": "operator f failed on N(v=3): ValueError: no"}


def test_a_pe_that_waits_at_a_tuple_is_named_until_it_goes_on() -> None:
    world = submitted()
    report(world, 3, connectivity="Full", runtime={"launch": 1, **WAITS})
    wait(world)
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("False", "OperatorFailed")
    assert healthy["message"] == f"1 of {PES} PEs waits at a tuple: PE 3 {WAITS['message']}"
    assert reasons(world)[-1] == "OperatorFailed"
    report(world, 3, connectivity="Full", runtime={"launch": 1})
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


HANGS = {"reason": "OperatorHangs", "message": "operator f has worked on N(v=3) for more than 30 s"}


def test_a_pe_whose_function_does_not_return_is_named_until_it_does() -> None:
    world = submitted()
    report(world, 3, connectivity="Full", runtime={"launch": 1, **HANGS})
    wait(world)
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("False", "OperatorHangs")
    assert healthy["message"] == f"1 of {PES} PEs waits at a tuple: PE 3 {HANGS['message']}"
    report(world, 3, connectivity="Full", runtime={"launch": 1})
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


CAUSE = f"Container pe: Error, exit code 10: OperatorFailed: {WAITS['message']}"
AT_TUPLE = f"1 of {PES} PEs waits at a tuple: PE 3 {WAITS['message']}"


def restarted(world: World, cause: str = CAUSE) -> dict[str, Any]:
    """The condition of a PE whose newest launch follows one that failed, as of now."""
    return {
        "type": "BackingOff",
        "status": "False",
        "reason": "PodFailed",
        "message": f"Launch 3 follows; restarts in a row: 2. The pod failed. {cause}.",
        "lastTransitionTime": moment_of(world.now),
    }


def without_neighbour(world: World) -> None:
    """PEs 2 and 4 report what follows where PE 3 is away."""
    for pe in (2, 4):
        report(
            world, pe, connectivity="Partial", runtime={"launch": 1, "message": "waits for PE 3"}
        )


@pytest.mark.parametrize("reason", ["BackingOff", "PodFailed"])
def test_a_pe_that_ended_at_a_tuple_is_named_and_not_its_neighbours(reason: str) -> None:
    """With a store: its restart waits, or does not follow."""
    world = submitted()
    let(world, "Failed", 3)
    without_neighbour(world)
    hint = " No restart follows, since spec.restartFailedPod is false: set it."
    report(world, 3, phase="Failed", reason=reason, message=f"It failed. {CAUSE}.{hint}")
    wait(world)
    healthy = world.condition("Healthy")
    assert (healthy["reason"], healthy["message"]) == ("OperatorFailed", AT_TUPLE)


def test_the_operator_is_named_as_soon_as_it_is_known() -> None:
    """A pod is gone some seconds before the status of its PE says why."""
    world = submitted()
    let(world, "Failed", 3)
    wait(world)
    assert world.condition("Healthy")["reason"] == "SomeNotRunning"
    now = world.now
    report(world, 3, phase="Failed", reason="BackingOff", message=CAUSE)
    world.converge()
    assert world.condition("Healthy")["message"] == AT_TUPLE
    assert world.now == now


def test_the_launches_that_follow_one_that_ended_at_a_tuple_change_nothing() -> None:
    """It comes up and connects each time, before it fails again."""
    world = submitted()
    without_neighbour(world)
    report(world, 3, phase="Failed", reason="BackingOff", message=CAUSE)
    wait(world)
    world.now += 200.0
    world.converge()
    before = len(world.writes)
    launch = {"restarts": 2, "conditions": [restarted(world)]}
    for phase, connectivity in (("Waiting", ""), ("Starting", ""), ("Running", "Full")):
        report(world, 3, phase=phase, reason="", connectivity=connectivity, **launch)
        world.converge()
        assert world.condition("Healthy")["message"] == AT_TUPLE
    assert len(world.writes) == before
    for pe in (2, 4):
        report(world, pe, connectivity="Full")
    began = world.now
    wait(world)
    assert world.condition("Healthy")["status"] == "True", "it is past the tuple"
    assert world.now <= began + PASSED_S


def test_what_a_pe_failed_at_long_ago_is_not_why_it_lacks_connections() -> None:
    world = submitted()
    report(world, 3, connectivity="Partial", restarts=2, conditions=[restarted(world)])
    world.now += 601.0
    world.converge()
    assert world.condition("Healthy")["reason"] == "SomeNotConnected"


def test_a_pe_that_waits_at_a_tuple_comes_before_those_that_do_not_run() -> None:
    world = submitted()
    let(world, "Pending", 5)
    report(world, 3, connectivity="Full", runtime={"launch": 1, **WAITS})
    wait(world)
    message = world.condition("Healthy")["message"]
    assert message == f"{AT_TUPLE}; 1 of {PES} PEs does not run: 5"


@pytest.mark.parametrize(("restarts", "status"), [(1, "True"), (2, "False")])
def test_a_pe_that_runs_until_it_fails_again_is_not_healthy(restarts: int, status: str) -> None:
    """A module that fails at its import has a pod that runs, each time for a second or more."""
    world = submitted()
    why = "Container pe: Error, exit code 18: ImportFailed: no module named pandas"
    launch = {"restarts": restarts, "conditions": [restarted(world, why)]}
    report(world, 3, connectivity="", **launch)
    wait(world)
    healthy = world.condition("Healthy")
    assert healthy["status"] == status
    if status == "False":
        assert healthy["message"] == f"1 of {PES} PEs fails again and again: PE 3 ({why})"
    report(world, 3, connectivity="Full", **launch)
    world.now += PASSED_S
    world.converge()
    assert world.condition("Healthy")["status"] == "True", "it is past that"


def test_healthy_says_how_a_pe_ended_that_failed_otherwise() -> None:
    world = submitted()
    let(world, "Failed", 3)
    why = "Container pe: OOMKilled, exit code 137"
    report(world, 3, phase="Failed", reason="BackingOff", message=f"It waits. {why}.")
    wait(world)
    message = world.condition("Healthy")["message"]
    assert message == f"1 of {PES} PEs does not run: 3; PE 3: {why}"


UNSAVED = {"reason": "CheckpointFailed", "message": "x cannot be written: No space left"}


def test_a_pe_that_cannot_keep_its_checkpoints_is_named_until_it_can() -> None:
    world = submitted()
    report(world, 3, connectivity="Full", runtime={"launch": 1, **UNSAVED})
    wait(world)
    healthy = world.condition("Healthy")
    assert (healthy["status"], healthy["reason"]) == ("False", "CheckpointFailed")
    assert healthy["message"] == (
        f"1 of {PES} PEs cannot keep checkpoints: PE 3 {UNSAVED['message']}"
    )
    report(world, 3, connectivity="Partial", runtime={"launch": 1, **UNSAVED})
    wait(world)
    assert "is connected to some of its neighbours" in world.condition("Healthy")["message"]
    report(world, 3, connectivity="Full", runtime={"launch": 1})
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"connectivity": "Full"},
        {"connectivity": "Full", "runtime": {"launch": 0, **WAITS}},
        {"runtime": {"launch": 0}},
        {"connectivity": "Partial", "phase": "Starting"},
        {"connectivity": "Partial", "contentId": "of before"},
    ],
)
def test_a_pe_that_reports_nothing_of_what_runs_is_healthy(status: dict[str, Any]) -> None:
    """An image need not report, and what an older launch reported says nothing."""
    world = submitted()
    report(world, 3, **status)
    world.now += 1_000.0
    world.converge()
    assert world.condition("Healthy")["status"] == "True"


def test_pods_that_do_not_run_come_before_connections_and_many_are_counted() -> None:
    world = submitted()
    for pe in range(PES):
        report(world, pe, connectivity="None")
    wait(world)
    message = world.condition("Healthy")["message"]
    assert message.startswith(f"{PES} of {PES} PEs lack connections: PE 0 is")
    assert message.endswith("PE 4 is connected to none of its neighbours; …")
    let(world, "Pending", 2)
    world.now += 1_000.0
    world.converge()
    assert world.condition("Healthy")["reason"] == "SomeNotRunning"
