"""What `why` says of a PE that failed, or that runs again after failures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.moments import moment_of
from history.why.answering import Answer, answer_of
from tests.builders import Builder, PodBuilder, a_host_pool, a_pe, a_pod
from tests.unit.history.troubles import (
    NOW_S,
    Scene,
    a_blocked_pe,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    condition,
    ill,
)
from tests.unit.history.why_cases import CASES

EXHAUSTED = a_blocked_pe("TooManyRestarts", "restarts in a row: 3, exit code 1.", phase="Failed")
LOG = "millrace logs shop-0 -n default"


def failed_pod(launch: int = 4, message: str = "") -> PodBuilder:
    ended = {"terminated": {"exitCode": 1, "message": message}}
    pod = a_pod(launch=launch).in_phase("Failed")
    return pod.with_status(containerStatuses=[{"name": "pe", "state": ended}])


def answer(*things: Builder) -> Answer:
    return answer_of(ill(EXHAUSTED, *things).gathered())


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ((failed_pod(),), f"Read its log (`{LOG}`). Once the cause is gone"),
        ((failed_pod(3), failed_pod(4)), f"Read its log (`{LOG}`). Once"),
        ((failed_pod(3), a_pod(launch=4)), f"Read its log (`{LOG} --previous`). Once"),
        ((a_pod(launch=4).in_phase("Pending"),), "Its log went with its pod; to keep the next"),
        ((), "Its log went with its pod; to keep the next one, set spec.processingElement.delete"),
    ],
)
def test_the_log_that_is_named_is_there(pods: tuple[Builder, ...], words: str) -> None:
    """The newest pod is that of the failed launch until another launch replaces it."""
    assert answer(*pods).remedy.startswith(words)


def test_the_last_line_that_a_failed_container_left_is_part_of_the_cause() -> None:
    found = answer(failed_pod(message="Traceback\nKeyError: 'price'\n"))
    assert found.cause.endswith("exit code 1; its last line: KeyError: 'price'")


def test_the_last_line_of_the_log_is_part_of_the_cause_where_the_status_has_none() -> None:
    pod = failed_pod()
    lines = {str(pod.build()["metadata"]["name"]): "KeyError: 'price'"}
    found = answer_of(replace(ill(EXHAUSTED, pod).gathered(), last_lines=lines))
    assert found.cause.endswith("exit code 1; its last line: KeyError: 'price'")


def a_restarted_job(began_s: float, **status: object) -> Scene:
    """A job whose PE runs since a moment."""
    ready = {**condition("Ready", "True"), "lastTransitionTime": moment_of(began_s)}
    pe = a_pe().launched(5).with_status(**status)
    pod = a_running_pod().with_status(conditions=[ready])
    return Scene((a_submitted_job(), pe, pod, a_ready_node()))


OVER = {
    **condition("RestartsExhausted", "False", "TooManyRestarts"),
    "lastTransitionTime": moment_of(NOW_S - 20),
}


DELETED = {**OVER, "type": "BackingOff", "reason": "PodDeleted"}
"""Somebody deleted its pod: no failure."""
RESIZED = {**OVER, "type": "BackingOff", "reason": "PodFailed"}
"""A launch failed, another one ran, and a resize launched the PE again: that counts no restart."""


@pytest.mark.parametrize(
    ("status", "words"),
    [({"restarts": 3}, " (restarts in a row: 3)"), ({"conditions": [OVER]}, "")],
)
@pytest.mark.parametrize("target", [("Job", "shop"), ("ProcessingElement", "shop-0")])
def test_a_pe_that_runs_since_some_seconds_after_failures_is_not_called_well(
    target: tuple[str, str], status: dict[str, object], words: str
) -> None:
    found = answer_of(a_restarted_job(NOW_S - 12, **status).about(*target).gathered())
    assert "nothing is wrong" not in found.cause
    assert f"PE shop-0 runs only since 12 s, and its launch before failed{words}" in found.cause
    assert found.trouble is None
    assert LOG in found.remedy


@pytest.mark.parametrize(
    ("began_s", "status"),
    [
        (NOW_S - 12, {}),
        (NOW_S - 12, {"restarts": 1, "conditions": [DELETED]}),
        (NOW_S - 12, {"conditions": [RESIZED]}),
        (NOW_S - 700, {"restarts": 3, "conditions": [OVER]}),
    ],
)
def test_a_pe_that_never_failed_or_runs_for_long_is_well(
    began_s: float, status: dict[str, object]
) -> None:
    found = answer_of(a_restarted_job(began_s, **status).gathered())
    assert found.cause.startswith("nothing is wrong")


SKIPPED = {"launch": 1, "skippedTuples": 7}


@pytest.mark.parametrize("target", [("Job", "shop"), ("ProcessingElement", "shop-0")])
@pytest.mark.parametrize("phase", ["Running", "Completed"])
def test_who_skipped_tuples_is_named_beside_that_nothing_is_wrong(
    phase: str, target: tuple[str, str]
) -> None:
    job, pod, node = a_submitted_job(), a_running_pod(), a_ready_node()
    if phase == "Completed":
        job, pod = job.with_status(phase=phase), a_pod().in_phase("Succeeded")
    pe = a_pe().launched(1).with_status(connectivity="Full", phase=phase, runtime=SKIPPED)
    found = answer_of(Scene((job, pe, pod, node)).about(*target).gathered())
    assert found.trouble is None
    assert found.cause.startswith("nothing is wrong")
    assert found.cause.endswith(
        '; shop-0 skipped 7 tuples since the launch, as on_error="skip" says'
    )
    older = pe.with_status(runtime={"launch": 2, "skippedTuples": 7})
    found = answer_of(Scene((job, older, pod, node)).about(*target).gathered())
    assert "skipped" not in found.cause


AGAIN = "Launch 1 begins with no state of those before it: what source a gave may come twice."


@pytest.mark.parametrize("target", [("Job", "shop"), ("ProcessingElement", "shop-0")])
def test_sources_that_may_have_given_again_are_named_while_that_is_recent(
    target: tuple[str, str],
) -> None:
    def cause(**changed: object) -> str:
        runtime = {"launch": 1, "readsAgain": AGAIN, **changed}
        pe = a_pe().launched(1).with_status(connectivity="Full", phase="Running", runtime=runtime)
        job = a_submitted_job().with_spec(lossRetentionSeconds=kept_s)
        return answer_of(
            Scene((job, pe, a_running_pod(), a_ready_node())).about(*target).gathered()
        ).cause

    kept_s = 86_400
    assert cause().endswith(f"; shop-0: {AGAIN.rstrip('.')}")
    assert "twice" not in cause(launch=2)
    kept_s = 0
    assert "twice" not in cause()


def test_sources_that_may_have_given_again_are_named_beside_a_trouble() -> None:
    runtime = {"launch": 1, "readsAgain": AGAIN, "reason": "CheckpointFailed", "message": "full"}
    pe = a_pe().launched(1).with_status(connectivity="Full", phase="Running", runtime=runtime)
    found = answer_of(Scene((a_submitted_job(), pe, a_running_pod(), a_ready_node())).gathered())
    assert found.trouble == "CHECKPOINTS_FAIL"
    assert f"shop-0: {AGAIN.rstrip('.')}" in found.also


def test_a_pool_of_the_application_is_named_with_its_object() -> None:
    refused = condition("Placed", "False", "TagMissing", "the pool gpu asks for nodes")
    scene = CASES["placement refused"].scene
    job, *others = scene.things
    found = replace(scene, things=(job.with_status(conditions=[refused]), *others, a_host_pool()))
    assert "(HostPool/shop-1 is the pool gpu)" in answer_of(found.gathered()).cause
