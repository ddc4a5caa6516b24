"""Which ends of a pod lead to a new launch, and how restarts are spaced."""

from __future__ import annotations

import pytest

from contracts.moments import moment_of
from contracts.resources.processing_element import PePhase
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus, SetPodAside
from services.launching.core.owners import LaunchStatus, status_patch
from services.launching.core.rules import Observation
from tests.builders import PeBuilder, PodBuilder, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, decided, observed, submitted

RESTART = Observation.RESTART_DUE


def running(**policies: object) -> PeBuilder:
    return a_pe().launched(1).with_spec(**policies)


@pytest.mark.parametrize(
    ("policy", "observation"),
    [(True, RESTART), (None, RESTART), (False, Observation.POD_FAILED)],
)
def test_a_failed_pod_is_restarted_unless_its_policy_is_false(
    policy: bool | None, observation: Observation
) -> None:
    """fusion-backend resolves null by the application; left open it means restartable."""
    pod = a_pod().in_phase("Failed")
    assert observed(running(restartFailedPod=policy), pod) is observation


@pytest.mark.parametrize(
    ("policy", "observation"), [(True, RESTART), (False, Observation.POD_SUCCEEDED)]
)
def test_a_completed_pod_is_restarted_only_if_its_policy_is_true(
    policy: bool, observation: Observation
) -> None:
    """By default completion is the end of a PE."""
    pod = a_pod().in_phase("Succeeded")
    assert observed(running(restartCompletedPod=policy), pod) is observation


@pytest.mark.parametrize(
    ("policy", "observation"), [(True, RESTART), (False, Observation.POD_ABSENT)]
)
def test_a_deleted_pod_is_restarted_only_if_its_policy_is_true(
    policy: bool, observation: Observation
) -> None:
    """By default deleting the pod stops the PE."""
    assert observed(running(restartDeletedPod=policy)) is observation


def test_a_pe_whose_pod_a_user_deleted_is_recorded_as_stopped() -> None:
    """The status has the reason why nothing runs."""
    (effect,) = decided(running(), submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.reason) == (PePhase.STOPPED, "PodDeleted")
    assert effect.status.launch_count == 1


@pytest.mark.parametrize("phase", ["Running", "Failed", "Succeeded"])
def test_a_pod_that_the_cluster_takes_away_has_failed(phase: str) -> None:
    """An eviction is no request to stop the PE, whatever the exit code."""
    pod = a_pod().in_phase(phase).disrupted().deleting()
    assert observed(running(), pod) is RESTART
    assert observed(running(restartFailedPod=False), pod) is not RESTART


def test_a_pod_that_completed_is_not_restarted_because_its_node_is_drained_later() -> None:
    """The end that the status recorded first counts."""
    pe = a_pe().launched(1, phase="Completed")
    pod = a_pod().in_phase("Succeeded").disrupted()
    assert observed(pe, pod) is Observation.POD_SUCCEEDED


@pytest.mark.parametrize("phase", ["Failed", "Completed"])
def test_a_pe_that_ended_is_not_restarted_when_its_pod_is_cleaned_up(phase: str) -> None:
    """The end was handled when it happened."""
    policy = {"restartFailedPod": False}
    assert decided(a_pe().launched(1, phase=phase).with_spec(**policy), submitted()).effects == ()


def test_the_intent_of_a_restart_is_written_before_the_failed_pod_goes() -> None:
    """A crash between the two must not make a failure look like a deletion."""
    effects = decided(running(), a_pod().in_phase("Failed"), submitted()).effects
    (intent,) = effects
    assert isinstance(intent, PatchStatus)
    assert (intent.status.launch_count, intent.status.reason) == (2, "PodFailed")
    waiting = a_pe().launched(2, phase="Waiting")
    created, removed = decided(waiting, a_pod().in_phase("Failed"), submitted()).effects
    assert isinstance(created, CreatePod)
    assert isinstance(removed, DeletePod)


def test_a_failed_pod_that_is_kept_for_its_logs_does_not_delay_the_next() -> None:
    """deleteFailedPod=false."""
    waiting = a_pe().launched(2, phase="Waiting").with_spec(deleteFailedPod=False)
    failed = a_pod().in_phase("Failed")
    created, aside = decided(waiting, failed, submitted()).effects
    assert isinstance(created, CreatePod)
    assert aside == SetPodAside(
        failed.build()["metadata"]["name"], failed.build()["metadata"]["uid"]
    )


def failed_at(age_s: float) -> tuple[PodBuilder, float]:
    """A failed pod, and the time `age_s` seconds after its creation."""
    return a_pod().in_phase("Failed"), NOW - 60.0 + age_s


@pytest.mark.parametrize(("restarts", "delay_s"), [(0, 1), (1, 2), (5, 32), (9, 300), (90, 300)])
def test_restarts_in_a_row_wait_twice_as_long_each_time_up_to_five_minutes(
    restarts: int, delay_s: float
) -> None:
    """A PE that crashes on start must not keep the cluster busy."""
    pe = running().with_status(restarts=restarts)
    pod, early = failed_at(delay_s - 0.5)
    assert observed(pe, pod, now=early) is Observation.FAILED_BACKING_OFF
    decision = decided(pe, pod, submitted(), now=early)
    assert decision.requeue_at == early + 0.5
    (effect,) = decision.effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.reason) == (PePhase.FAILED, "BackingOff")
    assert observed(pe, pod, now=early + 0.5) is RESTART


def test_a_restart_counts_and_a_pod_that_lived_long_resets_the_count() -> None:
    """Ten minutes count as healthy."""
    pe = running().with_status(restarts=6)
    for age_s, restarts in ((599.0, 7), (600.0, 1)):
        pod, now = failed_at(age_s)
        ended = pod.ended_at(moment_of(now))
        (effect,) = decided(pe, ended, submitted(), now=now).effects
        assert isinstance(effect, PatchStatus)
        assert effect.status.restarts == restarts


def test_backing_off_ends_by_itself_and_is_written_once() -> None:
    """While it lasts nothing is written, and the key is requeued at its end."""
    pod, now = failed_at(1.5)
    pe = running().with_status(restarts=1)
    (effect,) = decided(pe, pod, submitted(), now=now).effects
    assert isinstance(effect, PatchStatus)
    again = pe.with_status(**status_patch(LaunchStatus(), effect.status))
    decision = decided(again, pod, submitted(), now=now)
    assert decision.effects == ()
    assert decision.requeue_at == NOW - 60.0 + 2.0


def test_a_pe_that_completes_again_and_again_backs_off_as_completed() -> None:
    """Its phase is never Failed."""
    pe = running(restartCompletedPod=True).with_status(restarts=3)
    pod, now = a_pod().in_phase("Succeeded"), NOW - 60.0 + 1.0
    (effect,) = decided(pe, pod, submitted(), now=now).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.COMPLETED


def test_a_relaunch_that_a_user_requests_resets_the_count_of_restarts() -> None:
    """A new content deserves a fresh start."""
    pe = running().with_content("c2").with_status(restarts=6)
    intent = decided(pe, a_pod().in_phase("Failed"), submitted()).effects[0]
    assert isinstance(intent, PatchStatus)
    assert intent.status.restarts == 0
    assert intent.status.reason == "ContentChanged"
