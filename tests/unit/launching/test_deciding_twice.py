"""What a decision recorded leads to the same end in the next one, however often it is decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from contracts.reasons import Reason
from contracts.resources import StatedCondition
from contracts.resources.processing_element import PePhase
from contracts.scheduling.nodes import Node
from services.chassis.running.rules import RuleDefect
from services.launching.core.conditions import BACKING_OFF
from services.launching.core.deciding import decide_launches
from services.launching.core.effects import CreatePod, PatchStatus
from services.launching.core.owners import LaunchStatus, RestartPolicies
from services.launching.core.pods import Pod
from services.launching.core.situation import Situation
from services.launching.core.snapshot import LaunchSnapshot, Timing
from tests.unit.launching.test_other_owners import NOW, READY, WORKER, Worker, pod

RUNNING = LaunchStatus(phase=PePhase.RUNNING, launch_count=5, pod="sort-7-5", content_id="c")
AFTER_DISRUPTION = StatedCondition(
    BACKING_OFF, "False", Reason.DISRUPTED.value, "", "2026-01-01T00:00:00Z"
)


def statuses(worker: Worker, *pods: Pod, last: Pod | None = None, times: int) -> Iterator[Worker]:
    """The worker after each of so many decisions, a second apart; its pods do not change."""
    for at in range(times):
        snapshot = LaunchSnapshot(owner=worker, pods=pods, last=last, nodes=(Node("n"),))
        decision = decide_launches(Situation(snapshot, worker, READY, NOW + at, Timing()))
        assert not any(isinstance(each, CreatePod) for each in decision.effects)
        for effect in decision.effects:
            if isinstance(effect, PatchStatus):
                worker = replace(worker, status=effect.status)
        yield worker


def failed(launch: int) -> Pod:
    """A pod that failed after a second."""
    return replace(pod(launch, "Failed"), created_at=NOW - 2, finished_at=NOW - 1)


def test_a_failure_after_a_restart_for_a_disruption_is_exhausted_for_good() -> None:
    policies = RestartPolicies(restarts_max=3)
    status = replace(RUNNING, restarts=3, conditions=(AFTER_DISRUPTION,))
    worker = replace(WORKER, policies=policies, status=status)
    reasons = [each.status.reason for each in statuses(worker, failed(5), times=4)]
    assert reasons == [Reason.TOO_MANY_RESTARTS.value] * 4


def test_a_failure_that_is_not_restarted_stays_a_failure_after_a_disruption() -> None:
    policies = RestartPolicies(restart_failed=False)
    worker = replace(
        WORKER, policies=policies, status=replace(RUNNING, conditions=(AFTER_DISRUPTION,))
    )
    reasons = [each.status.reason for each in statuses(worker, failed(5), times=3)]
    assert reasons == [Reason.POD_FAILED.value] * 3


@pytest.mark.parametrize("restart_failed", [True, False])
def test_a_deleted_pod_is_restarted_after_its_back_off(restart_failed: bool) -> None:
    """Whatever the policy for failures, and however many restarts of failures are allowed."""
    policies = RestartPolicies(restart_failed=restart_failed, restart_deleted=True, restarts_max=5)
    worker = replace(WORKER, policies=policies, status=replace(RUNNING, restarts=5))
    last = replace(pod(5, "Running"), created_at=NOW - 1, is_deleting=True)
    after = list(statuses(worker, last=last, times=32))
    assert after[0].status.reason == Reason.BACKING_OFF.value
    (condition,) = after[0].status.conditions
    assert (condition.type, condition.reason) == (BACKING_OFF, Reason.POD_DELETED.value)
    assert after[30].status.reason == Reason.BACKING_OFF.value
    assert after[-1].status.launch_count == 6
    assert after[-1].status.reason == Reason.POD_DELETED.value


def test_a_deleted_pod_that_is_there_after_all_counts_as_failed() -> None:
    policies = RestartPolicies(restart_failed=False, restart_deleted=True)
    held = StatedCondition(BACKING_OFF, "True", Reason.POD_DELETED.value, "", "")
    status = replace(
        RUNNING, phase=PePhase.FAILED, reason=Reason.BACKING_OFF.value, conditions=(held,)
    )
    (after,) = statuses(replace(WORKER, policies=policies, status=status), failed(5), times=1)
    assert after.status.reason == Reason.POD_FAILED.value


def test_restarts_stay_exhausted_for_a_pod_that_ended_without_a_time() -> None:
    """As one that the kubelet refuses: it does not seem to live on."""
    policies = RestartPolicies(restarts_max=1)
    worker = replace(WORKER, policies=policies, status=replace(RUNNING, restarts=1))
    refused = replace(failed(5), finished_at=0.0)
    (*_, after) = statuses(worker, refused, times=700)
    assert after.status.reason == Reason.TOO_MANY_RESTARTS.value
    assert after.status.launch_count == 5


def test_an_owner_created_with_a_raised_floor_tells_what_its_pod_waits_for() -> None:
    context = replace(READY, awaited="The worker waits for its gang.")
    worker = replace(WORKER, launch_floor=3, created_at=NOW - 100)
    snapshot = LaunchSnapshot(owner=worker, nodes=(Node("n"),))
    (effect,) = decide_launches(Situation(snapshot, worker, context, NOW, Timing())).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.message == "The worker waits for its gang."


@pytest.mark.parametrize("request_", [{"content_id": "after"}, {"restart": "now"}])
def test_what_is_observed_is_recorded_while_a_requested_launch_waits_for_its_gates(
    request_: dict[str, str],
) -> None:
    context = replace(READY, has_mounts=False)
    worker = replace(WORKER, status=replace(RUNNING, phase=PePhase.STARTING), **request_)  # type: ignore[arg-type]
    running = LaunchSnapshot(owner=worker, pods=(pod(5, "Running"),), nodes=(Node("n"),))
    (effect,) = decide_launches(Situation(running, worker, context, NOW, Timing())).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.launch_count) == (PePhase.RUNNING, 5)


@pytest.mark.parametrize(
    ("policies", "node"),
    [
        (RestartPolicies(restart_deleted=True), Node("n")),
        (RestartPolicies(), Node("n", ready=False)),
        (RestartPolicies(restart_failed=False), Node("n", unschedulable=True)),
        (RestartPolicies(), Node("n")),
    ],
)
def test_a_pod_that_was_out_of_view_is_recorded_as_it_is(
    policies: RestartPolicies, node: Node
) -> None:
    """As one whose labels somebody took away for a moment: its launch had not ended."""
    worker = replace(WORKER, policies=policies, status=replace(RUNNING, restarts=3))
    seen = replace(pod(5, "Running"), created_at=NOW - 1)
    absent = LaunchSnapshot(owner=worker, last=seen, nodes=(node,))
    (effect,) = decide_launches(Situation(absent, worker, READY, NOW, Timing())).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase in (PePhase.FAILED, PePhase.STOPPED)
    again = replace(worker, status=effect.status)
    (after,) = statuses(again, seen, times=1)
    assert after.status.phase is PePhase.RUNNING
    assert {each.status for each in after.status.conditions} <= {"False"}


def test_a_pod_that_failed_and_runs_again_is_a_defect() -> None:
    """No kubelet says so; nothing is done."""
    status = replace(RUNNING, phase=PePhase.FAILED, reason=Reason.POD_FAILED.value)
    with pytest.raises(RuleDefect, match="POD_RUNNING is observed in phase Failed"):
        list(statuses(replace(WORKER, status=status), pod(5, "Running"), times=1))


def test_a_request_that_waits_for_its_gates_does_not_hide_that_a_trouble_is_over() -> None:
    silent = replace(pod(5, "Running"), is_unreported=True)
    (worker,) = statuses(replace(WORKER, status=RUNNING), silent, times=1)
    assert worker.status.reason == Reason.POD_UNKNOWN.value
    changed = replace(worker, content_id="c2")
    snapshot = LaunchSnapshot(owner=changed, pods=(pod(5, "Running"),), nodes=(Node("n"),))
    context = replace(READY, has_mounts=False)
    (effect,) = decide_launches(Situation(snapshot, changed, context, NOW, Timing())).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.reason == Reason.POD_RUNNING.value
    recovered = replace(changed, status=effect.status)
    again = replace(snapshot, owner=recovered)
    decision = decide_launches(Situation(again, recovered, context, NOW, Timing()))
    assert (decision.effects, decision.rules["worker"]) == ((), "REQUEST_WAITS")
