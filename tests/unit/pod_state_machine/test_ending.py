"""What ended a launch: the pod itself, the cluster, or a user who deleted the pod."""

from __future__ import annotations

import pytest

from contracts import labels
from services.launching.adapters.launches import Launches
from services.launching.core.effects import PatchStatus
from services.launching.core.ending import End
from services.launching.core.rules import Observation
from services.launching.core.snapshot import Launched
from tests.builders import Builder, PodBuilder, a_node, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, decided, observed, situation, submitted

BEFORE, AFTER = "2026-11-19T23:59:00Z", "2026-11-20T00:00:00Z"
"""A minute before the deletion of `deleting()` pods was requested, and that moment."""
NODE = "node-1"
RUNNING = a_pe().launched(1).with_status(node=NODE)


def end_of(pe: Builder, *others: Builder, gone: Builder | None = None) -> End | None:
    return situation(pe, *others, gone=gone).end


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (a_pod().in_phase("Running").disrupted(), End.DISRUPTED),
        (a_pod().in_phase("Running").disrupted().deleting(), End.DISRUPTED),
        (a_pod().in_phase("Succeeded").disrupted().deleting(), End.DISRUPTED),
        (a_pod().in_phase("Running").deleting(), End.DELETED),
        (a_pod().in_phase("Running"), End.DELETED),
        (a_pod().in_phase("Failed"), End.FAILED),
        (a_pod().in_phase("Succeeded"), End.COMPLETED),
        (a_pod().in_phase("Failed").deleting().ended_at(BEFORE), End.FAILED),
        (a_pod().in_phase("Failed").deleting().ended_at(AFTER), End.DELETED),
        (a_pod().in_phase("Succeeded").deleting().ended_at(BEFORE, 0), End.COMPLETED),
    ],
    ids=[
        "condition, then gone at once",
        "condition, deletion, gone",
        "even with exit code 0",
        "deleted by hand",
        "deleted by force",
        "failed",
        "completed",
        "failed, then deleted",
        "failed because it was deleted",
        "completed, then deleted",
    ],
)
def test_a_pod_that_is_gone_ended_as_in_its_last_observed_state(last: Builder, end: End) -> None:
    """Facts coalesce: nothing may have been decided between condition, deletion and end."""
    assert end_of(RUNNING, a_node(NODE), gone=last) is end


@pytest.mark.parametrize(
    ("node", "end"),
    [
        (a_node(NODE), End.DELETED),
        (None, End.DISRUPTED),
        (a_node(NODE, ready="Unknown"), End.DISRUPTED),
        (a_node(NODE).with_spec(unschedulable=True), End.DISRUPTED),
        (a_node(NODE).with_spec(taints=[{"key": "x", "effect": "NoExecute"}]), End.DISRUPTED),
        (a_node(NODE).with_spec(taints=[{"key": "x", "effect": "NoSchedule"}]), End.DELETED),
        (a_node(NODE).with_spec(taints=[{"key": labels.OUT_OF_SERVICE_TAINT}]), End.DISRUPTED),
    ],
    ids=[
        "well",
        "gone",
        "not ready",
        "cordoned",
        "evicting",
        "tainted for new pods",
        "out of service",
    ],
)
def test_the_node_decides_on_a_pod_whose_end_was_not_observed(
    node: Builder | None, end: End
) -> None:
    """Service or watch were down: neither its condition nor its deletion was observed."""
    assert end_of(RUNNING, *([node] if node else [])) is end


@pytest.mark.parametrize(
    ("node", "end"),
    [
        (a_node(NODE).with_spec(unschedulable=True), End.DISRUPTED),
        (a_node(NODE), End.DELETED),
        (None, End.DELETED),
    ],
    ids=["drained", "well", "gone"],
)
def test_a_pod_that_a_drain_deletes_without_a_word_is_disrupted(
    node: Builder | None, end: End
) -> None:
    """An API server marks only pods that run; one that starts is deleted as by a user."""
    gone = a_pod().in_phase("Pending").on_node(NODE).deleting()
    pe = a_pe().launched(1, phase="Starting")
    assert end_of(pe, *([node] if node else []), gone=gone) is end


@pytest.mark.parametrize(
    ("phase", "gone", "end"),
    [
        ("Waiting", None, End.DISRUPTED),
        ("Starting", None, End.DISRUPTED),
        ("Running", None, End.DELETED),
        ("Starting", a_pod(launch=2).in_phase("Pending"), End.DELETED),
    ],
    ids=["not recorded", "not bound", "it ran", "it was seen to wait for a node"],
)
def test_a_pod_that_no_fact_showed_is_disrupted(phase: str, gone: Builder | None, end: End) -> None:
    """It came to a node and was drained while watch-ingest was away: no user deleted it."""
    launches = Launches()
    launches.note("uid-shop-0", Launched(2, a_pod(launch=2).build()["metadata"]["name"], "c1"))
    pe = a_pe().launched(2, phase=phase).with_status(node="")
    assert situation(pe, a_node(NODE), gone=gone, launches=launches).end is end


@pytest.mark.parametrize(("node", "end"), [(a_node(NODE), End.DELETED), (None, End.DISRUPTED)])
def test_the_node_of_a_pod_decides_before_any_status_names_it(
    node: Builder | None, end: End
) -> None:
    """While a job is busy the status of a relaunched PE waits, and its node with it."""
    gone = a_pod().in_phase("Running").on_node(NODE)
    pe = a_pe().launched(1, phase="Starting")
    assert end_of(pe, *([node] if node else []), gone=gone) is end


@pytest.mark.parametrize(
    ("phase", "end"),
    [("Failed", End.FAILED), ("Completed", End.COMPLETED), ("Stopped", End.DELETED)],
)
def test_an_end_that_the_status_recorded_is_not_judged_again(phase: str, end: End) -> None:
    """Nor does a drain of the node afterwards make a failure of it."""
    pe = a_pe().launched(1, phase=phase).with_spec(restartFailedPod=False)
    assert end_of(pe) is end


def test_a_disruption_that_backs_off_is_still_one_when_its_pod_is_gone() -> None:
    """The condition records it, over a restart of the service as well."""
    backing_off = {
        "type": "BackingOff",
        "status": "True",
        "reason": "Disrupted",
        "message": "m",
        "lastTransitionTime": AFTER,
    }
    failed = a_pe().launched(1, phase="Failed")
    pe = failed.with_status(reason="BackingOff", conditions=[backing_off])
    assert end_of(pe) is End.DISRUPTED


def test_a_pod_that_is_to_be_disrupted_and_runs_has_not_ended() -> None:
    """The eviction may still be cancelled."""
    pod = a_pod().in_phase("Running").disrupted()
    assert end_of(RUNNING, pod) is None
    assert observed(RUNNING, pod) is Observation.POD_RUNNING


def test_a_disrupted_pe_that_is_not_restarted_has_failed_with_the_reason() -> None:
    """It is not Stopped: no user deleted it."""
    pe = RUNNING.with_spec(restartFailedPod=False, restartDeletedPod=True)
    pod = a_pod().in_phase("Running").disrupted("DeletionByTaintManager").deleting()
    (effect,) = decided(pe, pod, submitted()).effects
    status = effect.status  # type: ignore[union-attr]
    assert (status.phase, status.reason) == ("Failed", "Disrupted")
    assert "DeletionByTaintManager" in status.message


@pytest.mark.parametrize(
    ("reason", "counted"), [("EvictionByEvictionAPI", 4), ("TerminationByKubelet", 5)]
)
def test_only_what_the_pod_did_itself_counts_as_a_restart_in_a_row(
    reason: str, counted: int
) -> None:
    """A kubelet evicts a pod that uses too much; a drain is no fault of the PE."""
    pe = RUNNING.with_status(restarts=4)
    pod: PodBuilder = a_pod().in_phase("Failed").disrupted(reason)
    (effect,) = decided(pe, pod, submitted(), now=NOW).effects
    assert effect.status.restarts == counted  # type: ignore[union-attr]


def test_the_time_that_a_pod_lived_ends_with_its_container() -> None:
    """A service that was away for an hour does not take a crash for an hour of health."""
    pe = RUNNING.with_status(restarts=4)
    pod = a_pod().in_phase("Failed").ended_at("2026-11-20T00:00:01Z")
    (effect,) = decided(pe, pod, submitted(), now=NOW + 3600).effects
    assert effect.status.restarts == 5  # type: ignore[union-attr]


def test_a_launch_that_was_lost_out_of_view_does_not_count_as_one_with_newer_content() -> None:
    """Else a PE whose policies restart nothing would never run what a resize made of it."""
    flags = dict.fromkeys(("restartFailedPod", "restartDeletedPod", "restartCompletedPod"), False)
    pe = a_pe().launched(2, phase="Waiting").with_content("c2").with_spec(**flags)
    lost = a_pod(launch=2).build()["metadata"]["name"]
    (effect,) = decided(pe, ended=frozenset({lost})).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.content_id == "c1"
