"""The status of a PE, and when it is written: the write budget."""

from __future__ import annotations

from dataclasses import replace

from contracts.labels import PE_CONTAINER
from contracts.moments import moment_of
from contracts.resources.processing_element import PePhase
from services.chassis.running.stage import Decision, Urgency, urgency_of
from services.launching.adapters.launches import Launches
from services.launching.core.effects import CreatePod, PatchStatus
from services.launching.core.owners import LaunchStatus, status_patch
from services.launching.core.recording import CROWD, refused_status
from services.launching.core.snapshot import Timing
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.assignments import Assignments
from services.pod_state_machine.adapters.reading import pe_of
from services.pod_state_machine.core.deciding import decide
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import PeSnapshot
from tests.builders import Builder, PeBuilder, a_job, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, PE_KEY, decided, resizing, submitted, world

BORN = NOW - 60.0


def started(launch: int = 1) -> PeBuilder:
    return (
        a_pe()
        .launched(launch, phase="Starting")
        .with_status(reason="PodStarting", message="The pod is created and does not run yet.")
    )


def submitted_since(unix_s: float) -> Builder:
    """A job whose submission or last resize ended at this moment."""
    condition = {"type": "Submitted", "status": "True", "lastTransitionTime": moment_of(unix_s)}
    return submitted().with_status(conditions=[condition])


def test_that_a_pod_runs_is_written_at_once_when_the_job_is_submitted() -> None:
    """Users look at it."""
    (effect,) = decided(started(), a_pod().in_phase("Running").on_node("n1"), submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.node) == (PePhase.RUNNING, "n1")


def test_that_a_pod_runs_waits_while_its_job_is_busy_but_not_for_ever() -> None:
    """A status that only informs must not slow a submission or a resize down."""
    pod = a_pod().in_phase("Running").on_node("n1")
    for job in (a_job(), resizing()):
        early = decided(started(), pod, job, now=BORN + 59.0)
        assert early.effects == ()
        assert early.requeue_at == BORN + 60.0
        assert len(decided(started(), pod, job, now=BORN + 60.0).effects) == 1


def test_a_status_does_not_wait_for_the_time_of_a_clock_that_was_ahead() -> None:
    """The pod is of tomorrow: it would be reported a day late, busy or not, running or not."""
    pod = a_pod().on_node("n1")
    changed = started().with_status(message="It waits.")
    for job, seen in ((a_job(), pod.in_phase("Running")), (submitted(), pod)):
        assert len(decided(changed, seen, job, now=BORN - 86_400.0).effects) == 1


def test_the_first_status_is_written_at_once_and_patiently() -> None:
    """Launch counts depend on it; creates of pods go first."""
    for job in (a_job(), resizing(), submitted()):
        (effect,) = decided(a_pe(), a_pod(), job, now=BORN).effects
        assert isinstance(effect, PatchStatus)
        assert (effect.status.phase, effect.status.launch_count) == (PePhase.STARTING, 1)
        assert urgency_of(effect) is Urgency.PATIENT


def test_in_a_crowd_the_first_status_waits_until_the_pod_runs_but_not_for_ever() -> None:
    """Statuses of a few PEs fit into flight beside the pods; those of many would delay pods."""

    def decided_among(
        pes: int, *builders: Builder, now: float, phase: str = "Pending"
    ) -> Decision[Effect]:
        pod = a_pod().in_phase(phase)
        snapshot = intake.snapshot_of(
            world(a_pe(), pod, *builders), PE_KEY, Launches(), Assignments()
        )
        assert isinstance(snapshot, PeSnapshot)
        return decide(replace(snapshot, pes_of_job=pes), now, Timing())

    waiting = decided_among(CROWD + 1, a_job(), now=BORN + 1.0)
    assert (waiting.effects, waiting.requeue_at) == ((), BORN + 60.0)
    assert len(decided_among(CROWD, a_job(), now=BORN + 1.0).effects) == 1
    starting = decided_among(CROWD + 1, submitted(), now=BORN + 1.0)
    assert (starting.effects, starting.requeue_at) == ((), BORN + Timing().status_settle_s)
    assert len(decided_among(CROWD + 1, submitted(), now=BORN + 5.0).effects) == 1
    assert len(decided_among(CROWD + 1, submitted(), now=BORN + 1.0, phase="Running").effects) == 1
    assert len(decided_among(CROWD + 1, a_job(), now=BORN + 60.0).effects) == 1


def test_a_pod_that_outlived_a_resize_settles_from_the_end_of_the_resize() -> None:
    """It is still in line for the scheduler and its kubelet: the one status says that it runs."""
    waiting = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    pod = a_pod(launch=2, content_id="c2")
    ended_s = BORN + 20.0
    job, settle_s = submitted_since(ended_s), Timing().status_settle_s
    early = decided(waiting, pod, job, now=ended_s + 1.0)
    assert (early.effects, early.requeue_at) == ((), ended_s + settle_s)
    running = pod.in_phase("Running").on_node("n1")
    assert len(decided(waiting, running, job, now=ended_s + 1.0).effects) == 1
    (effect,) = decided(waiting, pod, job, now=ended_s + settle_s).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.launch_count) == (PePhase.STARTING, 2)


def test_a_pod_that_is_younger_than_the_submission_settles_from_its_own_creation() -> None:
    """A restart long after it is reported as before; so is one where the time is not known."""
    waiting = a_pe().launched(2, phase="Waiting")
    for since in (BORN - 3_600.0, NOW + 86_400.0):
        decision = decided(waiting, a_pod(launch=2), submitted_since(since), now=BORN + 1.0)
        assert (decision.effects, decision.requeue_at) == ((), BORN + Timing().status_settle_s)


def test_what_a_pod_lacks_does_not_settle_from_the_end_of_a_resize() -> None:
    """A pod that no node takes, or whose image cannot be pulled, will not run soon."""
    waiting = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    pod = a_pod(launch=2, content_id="c2")
    job = submitted_since(BORN + 20.0)
    for blocked in (pod.unschedulable("0/3 nodes are available"), pod.waiting("ErrImagePull")):
        (effect,) = decided(waiting, blocked, job, now=BORN + 20.0).effects
        assert isinstance(effect, PatchStatus)
        assert effect.status.condition("PodBlocked") is not None


def test_a_pod_that_is_deleted_before_the_first_status_is_recorded_at_once() -> None:
    """Otherwise its absence would look as if it had never been created."""
    for pod in (a_pod().deleting(), a_pod().in_phase("Failed")):
        pe = a_pe().with_spec(restartFailedPod=False)
        (effect,) = decided(pe, pod, a_job(), now=BORN).effects
        assert isinstance(effect, PatchStatus)
        assert effect.status.launch_count == 1


def test_an_intent_is_prompt_and_a_record_is_patient() -> None:
    """A launch waits for its intent; nothing waits for what only informs."""
    changed = a_pe().with_content("c2").launched(1, phase="Running")
    (intent,) = decided(changed, a_pod(), resizing()).effects
    (record,) = decided(started(), a_pod().in_phase("Running"), submitted()).effects
    urgencies = [urgency_of(effect) for effect in (intent, record)]
    assert urgencies == [Urgency.PROMPT, Urgency.PATIENT]


def test_a_relaunch_writes_nothing_between_its_intent_and_its_running_pod() -> None:
    """One status for a changed PE: the intent; the rest settles."""
    waiting = a_pe().with_content("c2").launched(2, phase="Waiting", content_id="c2")
    pod = a_pod(launch=2, content_id="c2")
    for job in (resizing(), submitted()):
        assert decided(waiting, pod, job, now=BORN + 1.0).effects == ()
    (effect,) = decided(waiting, pod.in_phase("Running"), submitted(), now=BORN + 1.0).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.launch_count) == (PePhase.RUNNING, 2)


def test_a_relaunched_pod_that_is_deleted_is_recorded_before_it_is_gone() -> None:
    """Otherwise its absence would look as if it had never been created."""
    waiting = a_pe().launched(2, phase="Waiting")
    pod = a_pod(launch=2).deleting()
    (effect,) = decided(waiting, pod, resizing(), now=BORN + 1.0).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.STARTING


def test_an_end_is_written_at_once_even_while_the_job_is_busy() -> None:
    """Restarts depend on it."""
    pe = started().with_spec(restartFailedPod=False)
    (effect,) = decided(pe, a_pod().in_phase("Failed"), a_job(), now=BORN + 1.0).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.FAILED


def test_the_status_of_a_failed_pod_has_its_exit_code() -> None:
    """The status names container and exit code."""
    containers = [{"name": "pe", "state": {"terminated": {"exitCode": 139, "reason": "Error"}}}]
    pod = a_pod().in_phase("Failed").with_status(containerStatuses=containers)
    (effect,) = decided(started().with_spec(restartFailedPod=False), pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert " Container pe: Error, exit code 139. No restart" in effect.status.message


def test_the_status_of_a_failed_pod_has_what_its_container_wrote_last() -> None:
    """Such as the reason of our runtime, which people else find in the pod alone."""
    ended = {"exitCode": 22, "reason": "Error", "message": "Traceback\nStateRefused: damaged.\n\n"}
    containers = [{"name": "pe", "state": {"terminated": ended}}]
    pod = a_pod().in_phase("Failed").with_status(containerStatuses=containers)
    (effect,) = decided(started().with_spec(restartFailedPod=False), pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert " Error, exit code 22: StateRefused: damaged. No restart" in effect.status.message


def test_nothing_is_written_when_the_status_is_current() -> None:
    """A steady cluster is not written to, however often facts are repeated."""
    running = (
        a_pe().launched(1).with_status(reason="PodRunning", message="The pod runs.", node="n1")
    )
    pod = a_pod().in_phase("Running").on_node("n1")
    for job in (submitted(), resizing(), a_job()):
        decision = decided(running, pod, job, now=NOW + 3600)
        assert decision.effects == ()
        assert decision.requeue_at is None


def test_a_generation_that_a_status_recorded_never_falls() -> None:
    """The schema would refuse it for ever."""
    pe = started().with_status(generation=5)
    (effect,) = decided(pe, a_pod().in_phase("Running"), submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.generation == 5


def test_a_refused_pod_is_tried_again_under_the_same_effect_value() -> None:
    """So its back-off continues, and a corrected spec is tried at once."""
    first = decided(a_pe()).effects
    refused = a_pe().with_status(phase="Waiting", reason="PodRefused", message="quota")
    assert decided(refused).effects == first
    corrected = decided(refused.at_generation(2)).effects
    assert isinstance(corrected[0], CreatePod)
    assert corrected != first


def test_a_refusal_is_recorded_without_a_launch_and_forgotten_when_the_pod_exists() -> None:
    """The status has the message of the API server."""
    status = refused_status(pe_of(a_pe().entry()), "exceeded quota", now=NOW)
    assert status_patch(LaunchStatus(), status) == {
        "phase": "Waiting",
        "reason": "PodRefused",
        "message": "exceeded quota",
        "conditions": [
            {
                "type": "PodBlocked",
                "status": "True",
                "reason": "PodRefused",
                "message": "exceeded quota",
                "lastTransitionTime": moment_of(NOW),
            }
        ],
    }
    refused = a_pe().launched(2, phase="Waiting").with_status(reason="PodRefused", message="quota")
    (effect,) = decided(refused, a_pod(launch=2), resizing(), now=BORN + 1.0).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.reason == "PodStarting"


def test_a_status_patch_has_only_what_changes_and_removes_empty_fields() -> None:
    """A merge patch of the difference; null removes a field."""
    before = LaunchStatus(PePhase.RUNNING, 1, "p", "n1", "c1", 0, 1)
    after = LaunchStatus(PePhase.WAITING, 2, "p", "", "c1", 0, 1)
    assert status_patch(before, after) == {"phase": "Waiting", "launchCount": 2, "node": None}


# --------------------------------------------------------------------------- Running and a report


def of_our_runtime(launch: int = 1) -> PeBuilder:
    return started(launch).with_spec(image="registry.test/millrace/runtime:1")


def running(started_s: float, launch: int = 1) -> Builder:
    """The pod of a launch, whose container started at this moment."""
    state = {"running": {"startedAt": moment_of(started_s)}}
    containers = [{"name": PE_CONTAINER, "state": state}]
    pod = a_pod(launch=launch).in_phase("Running").on_node("n1")
    return pod.with_status(containerStatuses=containers)


def test_that_a_pe_of_our_runtime_runs_waits_for_its_first_report() -> None:
    """Two seconds, and one more, since a moment of the API has no fractions."""
    early = decided(of_our_runtime(), running(NOW), submitted(), now=NOW + 2.9)
    assert (early.effects, early.requeue_at) == ((), NOW + 3.0)
    (effect,) = decided(of_our_runtime(), running(NOW), submitted(), now=NOW + 3.0).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.phase is PePhase.RUNNING


def test_only_a_pe_whose_report_is_due_is_waited_for() -> None:
    reported = {"launch": 1, "handsOver": True}
    silent = of_our_runtime(2)
    for pe, launch, waits in (
        (started(), 1, False),
        (silent, 2, False),
        (silent.with_status(runtime=reported), 2, True),
        (started(2).with_status(runtime=reported), 2, True),
    ):
        decision = decided(pe, running(NOW, launch), submitted(), now=NOW + 0.5)
        assert (decision.effects == ()) is waits, (pe.build(), decision)


def test_nothing_waits_for_a_report_but_the_first_status_that_says_running() -> None:
    """Nor where a clock was ahead, or the kubelet does not say since when the container runs."""
    wrong = of_our_runtime().with_status(phase="Running", reason="PodRunning", message="Old.")
    bare = a_pod().in_phase("Running").on_node("n1")
    for pe, pod in (
        (wrong, running(NOW)),
        (of_our_runtime(), bare),
        (of_our_runtime(), running(NOW + 30.0)),
    ):
        assert len(decided(pe, pod, submitted(), now=NOW + 0.5).effects) == 1
