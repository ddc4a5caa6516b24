"""What the kubelet does next with a pod whose containers are processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.containers.runs import Run, Seen, Verdict
from sandbox.controllers.kubelet_states import Warned
from sandbox.controllers.pod_statuses import Place
from sandbox.controllers.process_states import (
    STEADY_S,
    Decision,
    Memory,
    Sight,
    Start,
    Stop,
    Waiting,
    decide,
)
from sandbox.controllers.process_statuses import status_of
from sandbox.controllers.settings import Settings
from sandbox.store.timestamps import rfc3339

NOW_S = 1_700_000_000.0
PLACE = Place("10.0.0.1", "127.64.0.1")


def pod(*names: str, policy: str = "Never", inits: Any = (), **spec: Any) -> dict[str, Any]:
    body = {
        "restartPolicy": policy,
        "containers": [{"name": name} for name in names or ("pe",)],
        "initContainers": list(inits),
        **spec,
    }
    return {"metadata": {"name": "p"}, "spec": body, "status": {"phase": "Running"}}


def deleted(body: Mapping[str, Any], grace_s: int = 30, ago_s: float = 0.0) -> dict[str, Any]:
    end = rfc3339(NOW_S - ago_s + grace_s)
    stamps = {"deletionTimestamp": end, "deletionGracePeriodSeconds": grace_s}
    return {**body, "metadata": {**body["metadata"], **stamps}}


def run(number: int = 0, *, began_s: float = NOW_S - 5, **more: Any) -> Run:
    return Run(number, began_s, **more)


def over(code: int = 0, number: int = 0, *, ended_s: float = NOW_S, **more: Any) -> Run:
    return run(number, ended_s=ended_s, exit_code=code, **more)


def decision(body: Mapping[str, Any], memory: Memory | None = None, **seen: Run) -> Decision:
    sight = Sight({name: (each,) for name, each in seen.items()}, NOW_S)
    return decide(body, memory or Memory(), sight, Settings())


def shown(body: Mapping[str, Any], found: Decision, **seen: Run) -> Mapping[str, Any]:
    runs: Seen = {name: (each,) for name, each in seen.items()}
    return status_of(body, PLACE, runs, found, NOW_S)


# Starting


def test_all_containers_of_a_pod_start_together() -> None:
    assert decision(pod("a", "b")).effects == (Start("a", 0), Start("b", 0))


def test_init_containers_start_one_by_one_and_the_others_after_the_last() -> None:
    body = pod("pe", inits=[{"name": "i"}, {"name": "j"}])
    assert decision(body).effects == (Start("i", 0),)
    assert decision(body, i=run()).effects == ()
    assert decision(body, i=over()).effects == (Start("j", 0),)
    assert decision(body, i=over(), j=over()).effects == (Start("pe", 0),)


def test_what_waits_for_an_init_container_says_so() -> None:
    body = pod("pe", inits=[{"name": "i"}])
    status = shown(body, decision(body, i=run()), i=run())
    assert status["phase"] == "Pending"
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    condition = next(each for each in status["conditions"] if each["type"] == "Initialized")
    assert (condition["status"], condition["reason"]) == ("False", "ContainersNotInitialized")
    assert condition["message"] == "containers with incomplete status: [i]"
    again = status_of(
        {**body, "status": status}, PLACE, {"i": (run(),)}, decision(body, i=run()), 9
    )
    assert again == status, "nothing changed, so nothing has to be written"


def test_a_pod_whose_init_container_fails_is_over_unless_it_is_restarted() -> None:
    inits = [{"name": "i"}]
    assert decision(pod("pe", inits=inits), i=over(1)).phase == "Failed"
    assert decision(pod("pe", inits=inits, policy="Always"), i=over(1)).effects == (Start("i", 1),)


def test_the_others_start_when_a_sidecar_has_started() -> None:
    body = pod("pe", inits=[{"name": "s", "restartPolicy": "Always"}])
    assert decision(body).effects == (Start("s", 0),)
    assert decision(body, s=run(startup=Verdict.UNKNOWN)).effects == ()
    assert decision(body, s=run()).effects == (Start("pe", 0),)
    assert decision(body, s=over(1), pe=run()).effects == (Start("s", 1),)


def test_nothing_starts_without_its_volumes() -> None:
    sight = Sight({}, NOW_S, unmountable=("no volume",))
    found = decide(pod("pe"), Memory(), sight, Settings())
    assert found.effects == ()
    assert found.waiting == {"pe": Waiting("ContainerCreating")}
    assert found.warnings == (Warned("FailedMount", "no volume"),)
    assert found.wake_at_s is not None


def test_a_container_whose_variables_are_missing_waits_and_the_others_start() -> None:
    sight = Sight({}, NOW_S, bad_configs={"a": 'configmap "x" not found'})
    found = decide(pod("a", "b"), Memory(), sight, Settings())
    assert found.effects == (Start("b", 0),)
    assert found.waiting == {"a": Waiting("CreateContainerConfigError", 'configmap "x" not found')}


# Ending


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 1, "Failed"), ("OnFailure", 0, "Succeeded")],
)
def test_a_pod_is_over_when_no_container_goes_on(policy: str, code: int, phase: str) -> None:
    assert decision(pod("pe", policy=policy), pe=over(code)).phase == phase


@pytest.mark.parametrize(("policy", "code"), [("Always", 0), ("Always", 1), ("OnFailure", 1)])
def test_the_first_restart_is_at_once(policy: str, code: int) -> None:
    found = decision(pod("pe", policy=policy), pe=over(code))
    assert (found.effects, found.memory.crashes) == ((Start("pe", 1),), {"pe": 1})


def test_a_pod_with_one_container_that_runs_is_not_over() -> None:
    assert decision(pod("a", "b"), a=over(1), b=run()).phase == ""


@pytest.mark.parametrize(("crashes", "wait_s"), [(1, 10), (2, 20), (3, 40), (7, 300)])
def test_later_restarts_wait_twice_as_long_each(crashes: int, wait_s: int) -> None:
    memory, body = Memory({"pe": crashes}), pod("pe", policy="Always")
    found = decision(body, memory, pe=over(1, crashes))
    assert (found.effects, found.wake_at_s) == ((), NOW_S + wait_s)
    assert found.waiting["pe"].reason == "CrashLoopBackOff"
    later = over(1, crashes, ended_s=NOW_S - wait_s, began_s=NOW_S - wait_s - 1)
    assert decision(body, memory, pe=later).effects == (Start("pe", crashes + 1),)


def test_a_container_that_ran_for_long_is_restarted_at_once() -> None:
    ran = over(1, 5, began_s=NOW_S - STEADY_S)
    found = decision(pod("pe", policy="Always"), Memory({"pe": 5}), pe=ran)
    assert found.effects == (Start("pe", 6),)
    assert found.memory.crashes == {"pe": 1}


def test_a_restart_without_its_variables_is_no_crash() -> None:
    sight = Sight({"pe": (over(1),)}, NOW_S, bad_configs={"pe": "gone"})
    found = decide(pod("pe", policy="Always"), Memory(), sight, Settings())
    assert (found.effects, found.memory.crashes) == ((), {})
    assert found.waiting["pe"].reason == "CreateContainerConfigError"


def test_sidecars_end_when_all_others_are_over_and_then_the_pod_is() -> None:
    body = pod("pe", inits=[{"name": "s", "restartPolicy": "Always"}])
    ending = decision(body, s=run(), pe=over())
    assert (ending.effects, ending.phase) == ((Stop("s", 30.0),), "")
    assert decision(body, s=over(143), pe=over()).phase == "Succeeded"


def test_a_pod_ends_at_its_deadline() -> None:
    body = pod("pe", activeDeadlineSeconds=60)
    started = {"phase": "Running", "startTime": rfc3339(NOW_S - 59)}
    assert decision({**body, "status": started}, pe=run()).wake_at_s == NOW_S + 1
    late = {**body, "status": {"phase": "Running", "startTime": rfc3339(NOW_S - 60)}}
    assert decision(late, pe=run()).effects == (Stop("pe", 30.0),)
    found = decision(late, pe=over(143))
    assert (found.phase, found.reason) == ("Failed", "DeadlineExceeded")


# Probes


def test_a_container_ends_when_its_liveness_probe_fails_and_gets_the_time_of_the_probe() -> None:
    body = pod("pe", terminationGracePeriodSeconds=7)
    failed = run(liveness=Verdict.FAILED, complaint="Liveness probe failed: no")
    found = decision(body, pe=failed)
    assert found.effects == (Stop("pe", 7.0),)
    assert found.warnings == (Warned("Unhealthy", "Liveness probe failed: no"),)
    body["spec"]["containers"][0]["livenessProbe"] = {"terminationGracePeriodSeconds": 3}
    assert decision(body, pe=failed).effects == (Stop("pe", 3.0),)
    assert decision(body, pe=run(startup=Verdict.FAILED)).effects == (Stop("pe", 7.0),)
    stopping = run(liveness=Verdict.FAILED, is_stopping=True)
    assert decision(body, pe=stopping).effects == ()


def test_a_pod_is_ready_when_all_its_containers_are() -> None:
    body = pod("a", "b")
    unready = run(readiness=Verdict.UNKNOWN)
    status = shown(body, decision(body, a=run(), b=unready), a=run(), b=unready)
    ready = next(each for each in status["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["message"]) == (
        "False",
        "containers with unready status: [b]",
    )
    status = shown(body, decision(body, a=run(), b=run()), a=run(), b=run())
    assert {each["status"] for each in status["conditions"]} == {"True"}


# Deletion


def test_a_deleted_pod_that_never_started_is_removed_at_once() -> None:
    assert decision(deleted(pod("pe"))).remove


def test_a_deleted_pod_is_removed_when_its_containers_have_ended() -> None:
    body = deleted(pod("a", "b"), 20)
    found = decision(body, a=run(), b=run(is_stopping=True))
    assert (found.effects, found.remove) == ((Stop("a", 20.0),), False)
    assert found.wake_at_s == NOW_S + 21
    found = decision(body, a=over(143), b=over(0))
    assert (found.remove, found.phase) == (True, "Failed")


def test_what_is_left_after_the_grace_period_is_killed() -> None:
    body = deleted(pod("pe"), 5, ago_s=7)
    found = decision(body, pe=run(is_stopping=True))
    assert found.effects == (Stop("pe", 0.0),)


def test_sidecars_of_a_deleted_pod_end_last() -> None:
    body = deleted(pod("pe", inits=[{"name": "s", "restartPolicy": "Always"}]))
    assert decision(body, s=run(), pe=run()).effects == (Stop("pe", 30.0),)
    assert decision(body, s=run(), pe=over()).effects == (Stop("s", 30.0),)


# The status


def test_the_status_has_how_a_container_ended_now_and_before() -> None:
    body = pod("pe", policy="Always")
    runs = (over(3, 0, message="oh"), run(1))
    status = status_of(body, PLACE, {"pe": runs}, Decision(Memory()), NOW_S)
    container = status["containerStatuses"][0]
    assert container["restartCount"] == 1
    assert container["state"] == {"running": {"startedAt": rfc3339(NOW_S - 5)}}
    assert container["lastState"]["terminated"] == {
        "exitCode": 3,
        "reason": "Error",
        "message": "oh",
        "startedAt": rfc3339(NOW_S - 5),
        "finishedAt": rfc3339(NOW_S),
    }


def test_a_container_that_waits_for_its_restart_shows_its_last_end() -> None:
    body = pod("pe", policy="Always")
    crashed = over(137, 1, reason="OOMKilled")
    found = decision(body, Memory({"pe": 1}), pe=crashed)
    container = shown(body, found, pe=crashed)["containerStatuses"][0]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["reason"] == "OOMKilled"
    assert shown(body, found, pe=crashed)["phase"] == "Running"


def test_the_address_of_a_pod_is_shown_when_something_of_it_started() -> None:
    body = {**pod("pe"), "status": {"phase": "Pending"}}
    waiting = Decision(Memory(), waiting={"pe": Waiting("ContainerCreating")})
    status = shown(body, waiting)
    assert "podIP" not in status
    assert status["phase"] == "Pending"
    assert shown(body, Decision(Memory()), pe=run())["podIP"] == PLACE.pod_ip
