"""Failed pods that are kept: which, how many, for how long; and pods that do not start."""

from __future__ import annotations

import pytest

from contracts import labels
from services.launching.core.effects import DeletePod, PatchStatus, SetPodAside
from services.launching.core.owners import LaunchStatus, status_patch
from tests.builders import Builder, PodBuilder, a_job, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, decided, submitted

BORN = NOW - 60.0
RUNS = {"reason": "PodRunning", "message": "The pod runs."}


def failed(launch: int) -> PodBuilder:
    return a_pod(launch=launch).in_phase("Failed")


def keeping(**spec: object) -> Builder:
    pe = a_pe().launched(9).with_status(**RUNS)
    return pe.with_spec(deleteFailedPod=False, **spec)


def fate(pe: Builder, *pods: Builder, now: float = NOW) -> dict[str, list[int]]:
    """Launches whose pods are set aside, and those whose pods are deleted."""
    running = a_pod(launch=9).in_phase("Running")
    effects = decided(pe, *pods, running, submitted(), now=now).effects
    uid = pe.build()["metadata"]["uid"]
    numbers = {labels.pod_name("shop", 0, uid, launch): launch for launch in range(1, 10)}
    return {
        kind.__name__: sorted(numbers[each.name] for each in effects if isinstance(each, kind))
        for kind in (SetPodAside, DeletePod)
    }


def test_the_newest_failed_pods_are_set_aside_and_older_ones_go() -> None:
    pods = [failed(launch) for launch in (1, 2, 3, 4)]
    assert fate(keeping(failedPodHistoryLimit=2), *pods) == {
        "SetPodAside": [3, 4],
        "DeletePod": [1, 2],
    }


def test_one_that_is_set_aside_is_not_written_again() -> None:
    aside = failed(4).with_label(labels.SERVICE_ROLE, labels.ROLE_ZOMBIE)
    assert fate(keeping(), aside) == {"SetPodAside": [], "DeletePod": []}


def test_one_that_was_kept_goes_when_its_time_is_over_and_not_before() -> None:
    """Counted from the end of its container; only the requeue time wakes its key."""
    aside = failed(4).with_label(labels.SERVICE_ROLE, labels.ROLE_ZOMBIE)
    aside = aside.ended_at("2026-11-20T00:00:10Z")
    pe = keeping(failedPodTimeToLiveInSeconds=100)
    running = a_pod(launch=9).in_phase("Running")
    decision = decided(pe, aside, running, submitted(), now=BORN + 109)
    assert (decision.effects, decision.requeue_at) == ((), BORN + 110)
    assert fate(pe, aside, now=BORN + 110)["DeletePod"] == [4]


def test_pods_that_did_not_fail_or_are_no_longer_to_be_kept_go() -> None:
    assert fate(keeping(), a_pod(launch=4).in_phase("Succeeded"))["DeletePod"] == [4]
    assert fate(a_pe().launched(9).with_status(**RUNS), failed(4))["DeletePod"] == [4]


def test_a_failed_pod_that_its_job_left_behind_is_looked_at_no_more_after_its_retention() -> None:
    """Nothing is to be done for it: a time that is over would wake its key without end."""
    pe = a_pe().launched(1, phase="Failed").with_status(**RUNS | {"pod": "shop-0-x"})
    pe = pe.with_spec(restartFailedPod=False, failedPodRetentionSeconds=100)
    left = failed(1).ended_at("2026-11-20T00:00:10Z")
    before, after_ = (decided(pe, left, a_job().deleting(), now=BORN + at) for at in (109, 110))
    assert (before.effects, before.requeue_at) == ((), BORN + 110)
    assert (after_.effects, after_.requeue_at) == ((), None)


# --------------------------------------------------------------------------- blocked pods


def started() -> Builder:
    return a_pe().launched(1, phase="Starting")


def after(pe: Builder, effect: object) -> Builder:
    assert isinstance(effect, PatchStatus)
    return pe.with_status(**status_patch(LaunchStatus(), effect.status))


@pytest.mark.parametrize(
    ("pod", "reason", "text"),
    [
        (a_pod().unschedulable("0/4 nodes are available"), "Unschedulable", "0/4 nodes"),
        (a_pod().waiting("ErrImagePull", "no such tag"), "ImagePullBackOff", "no such tag"),
        (a_pod().waiting("ImagePullBackOff"), "ImagePullBackOff", "ImagePullBackOff"),
        (a_pod().waiting("InvalidImageName"), "ImagePullBackOff", "InvalidImageName"),
        (a_pod().waiting("CreateContainerConfigError"), "ContainerNotStarted", "ConfigError"),
    ],
)
def test_a_pod_that_does_not_start_is_recorded_with_the_reason(
    pod: Builder, reason: str, text: str
) -> None:
    """With the message of the scheduler or kubelet, as reason, message and condition; once."""
    (effect,) = decided(started(), pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.reason) == ("Starting", reason)
    assert text in effect.status.message
    condition = effect.status.condition("PodBlocked")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", reason)
    assert decided(after(started(), effect), pod, submitted()).effects == ()


def test_an_image_that_is_pulled_again_and_again_is_recorded_once() -> None:
    """Between two attempts the kubelet reports nothing, and another message at each."""
    first = a_pod().waiting("ErrImagePull", "no such tag")
    (effect,) = decided(started(), first, submitted()).effects
    recorded = after(started(), effect)
    for pod in (a_pod().waiting("ImagePullBackOff"), a_pod().waiting("ContainerCreating")):
        assert decided(recorded, pod, submitted()).effects == ()
    (ran,) = decided(recorded, a_pod().in_phase("Running"), submitted()).effects
    assert isinstance(ran, PatchStatus)
    condition = ran.status.condition("PodBlocked")
    assert condition is not None
    assert condition.status == "False"


@pytest.mark.parametrize(
    "pod",
    [
        a_pod().in_phase("Unknown"),
        a_pod()
        .in_phase("Running")
        .with_status(conditions=[{"type": "Ready", "status": "False", "reason": "NodeNotReady"}]),
    ],
    ids=["phase Unknown", "node not ready"],
)
def test_a_pod_of_unknown_state_may_run_and_blocks_the_next_launch(pod: Builder) -> None:
    pe = a_pe().launched(1).with_status(**RUNS)
    (effect,) = decided(pe, pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.reason) == ("Running", "PodUnknown")
    assert decided(after(pe, effect), pod, submitted()).effects == ()
