"""Text of pods, nodes and the API server in a PE's status is harmless and bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from contracts.resources.processing_element import PePhase
from services.launching.core.effects import PatchStatus
from services.launching.core.owners import LaunchStatus, status_patch
from services.launching.core.pods import POD_TEXT_CHARS_MAX
from services.launching.core.recording import REFUSAL_CHARS_MAX, refused_status
from services.pod_state_machine.adapters.reading import pe_of
from tests.builders import Builder, PeBuilder, PodBuilder, a_pe, a_pod
from tests.hostile import HOSTILE, harm
from tests.unit.pod_state_machine.cluster import NOW, decided, submitted

TEXTS = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
SENTENCE_CHARS_MAX = 400
"""Limit for our own text around theirs."""


def ended(text: str) -> PodBuilder:
    state = {"terminated": {"exitCode": 1, "reason": text, "message": text}}
    return a_pod().with_status(
        phase="Failed",
        reason=text,
        message=text,
        containerStatuses=[{"name": "pe", "state": state}],
    )


def disrupted(text: str) -> PodBuilder:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": text, "message": text}
    return a_pod().with_status(phase="Failed", message=text, conditions=[condition])


PODS: Mapping[str, Callable[[str], PodBuilder]] = {
    "failed": ended,
    "disrupted": disrupted,
    "unschedulable": lambda text: a_pod().unschedulable(text),
    "image": lambda text: a_pod().waiting("ErrImagePull", text),
    "waiting": lambda text: a_pod().waiting(text or "x", text),
}


def starting() -> PeBuilder:
    return a_pe().launched(1, phase="Starting")


def check(status: LaunchStatus, chars_max: int) -> None:
    parts = [status.message, status.reason, *(each.message for each in status.conditions)]
    assert harm("".join(parts), ends_of_lines=False) == ""
    assert max(map(len, parts)) <= chars_max


@TEXTS
@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize(
    "policies",
    [{}, {"restartFailedPod": True}, {"restartFailedPod": False}],
    ids=["default", "restarts", "stays"],
)
def test_text_of_a_pod_is_harmless_bounded_and_written_once(
    text: str, pod: str, policies: Mapping[str, bool]
) -> None:
    """A status that never becomes current would be written for ever."""
    pe: Builder = starting().with_spec(**policies, failedPodRetentionSeconds=1_000_000)
    statuses = written(pe, PODS[pod](text))
    assert statuses
    for status in statuses:
        check(status, 2 * POD_TEXT_CHARS_MAX + SENTENCE_CHARS_MAX)
        pe = pe.with_status(**status_patch(pe_of(pe.entry()).status, status))
    again = written(pe, PODS[pod](text))
    assert again == [] or again[0].phase is PePhase.WAITING


def written(pe: Builder, pod: Builder) -> list[LaunchStatus]:
    effects = decided(pe, pod, submitted(), now=NOW + 100_000.0).effects
    return [each.status for each in effects if isinstance(each, PatchStatus)]


@TEXTS
def test_the_refusal_of_a_pod_by_the_api_server_is_harmless_and_bounded(text: str) -> None:
    """It quotes the field of the template."""
    status = refused_status(pe_of(a_pe().entry()), f"spec.nodeName: Invalid: {text}", now=NOW)
    check(status, REFUSAL_CHARS_MAX)
    assert status.message.startswith("spec.nodeName: Invalid: ")
