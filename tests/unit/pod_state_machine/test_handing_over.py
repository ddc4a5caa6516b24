"""A PE whose runtime hands over stays as it is until the Job's status says that it may go."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.reasons import Reason
from services.launching.core.effects import SILENT_GRACE_S, DeletePod, PatchStatus
from services.launching.core.rules import Observation
from tests.builders import Builder, PeBuilder, PodBuilder, a_job, a_node, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import decided, observed

CHANGED = 3
"""The plan generation that changed the PE."""


def _pe(**runtime: Any) -> PeBuilder:
    """A PE that runs, and is to run something else from this generation on."""
    pe = a_pe().launched(1).with_content("c2").with_spec(generation=CHANGED)
    return pe.with_status(runtime={"launch": 1, "handsOver": True, **runtime})


def _pod() -> PodBuilder:
    return a_pod().on_node("node-1").in_phase("Running")


def _job(generation: int | None = None, *, complete: bool = False, **status: Any) -> Builder:
    """A job in a resize, with the hand-over of a generation."""
    hand_over = None if generation is None else {"generation": generation, "complete": complete}
    more = {} if hand_over is None else {"handOver": hand_over}
    return a_job().with_status(**{"phase": "Resizing", "generation": CHANGED - 1, **more, **status})


@pytest.mark.parametrize(
    "job",
    [_job(), _job(CHANGED), _job(CHANGED - 1, complete=True), _job(CHANGED + 1)],
    ids=["not begun", "goes on", "of an older generation", "of a newer one goes on"],
)
def test_a_changed_pe_is_not_launched_before_its_hand_over_is_complete(job: Builder) -> None:
    """Its new content may be observed before the hand-over that the same resize begins."""
    assert observed(_pe(), _pod(), job) is Observation.REQUEST_WAITS
    assert decided(_pe(), _pod(), job).effects == ()


def test_new_content_waits_also_where_the_resize_itself_is_not_observed_yet() -> None:
    job = _job(phase="Submitted")
    assert observed(_pe(), _pod(), job) is Observation.REQUEST_WAITS


@pytest.mark.parametrize("generation", [CHANGED, CHANGED + 1])
def test_it_is_launched_when_the_hand_over_of_its_generation_is_complete(generation: int) -> None:
    decision = decided(_pe(), _pod(), _job(generation, complete=True))
    [effect] = decision.effects
    assert isinstance(effect, PatchStatus)
    assert decision.reason is Reason.CONTENT_CHANGED


@pytest.mark.parametrize(
    "pe",
    [
        a_pe().launched(1).with_content("c2").with_spec(generation=CHANGED),
        _pe(handsOver=False),
    ],
    ids=["does not report", "does not hand over"],
)
def test_a_pe_whose_running_launch_does_not_hand_over_waits_for_nothing(pe: Builder) -> None:
    assert observed(pe, _pod(), _job(CHANGED)) is Observation.CONTENT_CHANGED


def test_a_launch_that_has_not_reported_yet_is_waited_for_where_an_older_one_did() -> None:
    """It loads the state of that one, and its groups of keys have to be handed over, too."""
    assert observed(_pe(launch=0), _pod(), _job(CHANGED)) is Observation.REQUEST_WAITS


def test_a_job_that_forbids_it_waits_for_nothing() -> None:
    job = _job(CHANGED).with_spec(scaling={"handOverSeconds": 0})
    assert observed(_pe(), _pod(), job) is Observation.CONTENT_CHANGED


def test_an_edit_by_hand_outside_of_a_resize_waits_for_nothing() -> None:
    job = a_job().with_status(phase="Submitted", generation=CHANGED)
    assert observed(_pe(), _pod(), job) is Observation.CONTENT_CHANGED


def test_a_restart_by_hand_in_a_hand_over_is_answered_by_the_launch_with_the_new_content() -> None:
    requested = _pe().with_spec(launchCount=5)
    assert observed(requested, _pod(), _job(CHANGED)) is Observation.REQUEST_WAITS
    assert observed(requested, _pod(), _job(CHANGED, complete=True)) is Observation.LAUNCH_REQUESTED


def test_a_pe_that_the_resize_does_not_change_is_restarted_by_hand_at_once() -> None:
    requested = _pe().with_content("c1").with_spec(launchCount=5)
    assert observed(requested, _pod(), _job(CHANGED)) is Observation.LAUNCH_REQUESTED


def test_a_pe_that_fails_in_a_hand_over_is_restarted_with_its_new_content() -> None:
    pe = _pe()
    failed = _pod().in_phase("Failed")
    [effect] = decided(pe, failed, _job(CHANGED)).effects
    assert isinstance(effect, PatchStatus)
    assert effect.status.content_id == "c2"


def test_a_pod_that_goes_in_a_hand_over_is_not_replaced_before_it_is_gone() -> None:
    assert decided(_pe(), _pod().deleting(), _job(CHANGED), a_node("node-1")).effects == ()


def test_nothing_waits_for_the_hand_over_of_a_job_that_is_deleted() -> None:
    assert observed(_pe(), _pod(), _job(CHANGED).deleting()) is Observation.JOB_GONE


@pytest.mark.parametrize(
    ("runtime", "gone", "grace_s"),
    [
        ({}, [0], SILENT_GRACE_S),
        ({"restsFor": CHANGED}, [0], None),
        ({"restsFor": CHANGED - 1}, [0], SILENT_GRACE_S),
        ({"restsFor": CHANGED}, [], None),
        ({}, [1], None),
    ],
    ids=["silent", "at work", "at rest for another one", "sealed", "another one is gone"],
)
def test_a_launch_that_a_hand_over_went_on_without_and_that_says_nothing_ends_at_once(
    runtime: dict[str, int], gone: list[int], grace_s: int | None
) -> None:
    """One that hangs would take its signal for nothing, and its PE stand still until SIGKILL."""
    hand_over = {"generation": CHANGED, "complete": True, "pes": {"0": 1}, "gone": gone}
    job = a_job().with_status(phase="Resizing", generation=CHANGED - 1, handOver=hand_over)
    pe = a_pe().launched(2).with_content("c2").with_spec(generation=CHANGED)
    pe = pe.with_status(runtime={"launch": 1, "handsOver": True, **runtime})
    [effect] = [each for each in decided(pe, _pod(), job).effects if isinstance(each, DeletePod)]
    assert effect.grace_s == grace_s
