"""Text of pods and users, of any length, fits into the status of a PE."""

from __future__ import annotations

from contracts.labels import RESTART
from contracts.resources.fields import MESSAGE_CHARS_MAX, TEXT_CHARS_MAX
from services.launching.core.effects import PatchStatus
from services.launching.core.pods import POD_TEXT_CHARS_MAX
from tests.builders import a_pod
from tests.unit.pod_state_machine.cluster import a_pe, decided, snapshot_of, submitted


def test_a_message_of_a_pod_is_cut() -> None:
    pe = a_pe().with_spec(restartFailedPod=False).launched(1)
    pod = a_pod().in_phase("Failed").having("status", "message", value="x" * 200_000)
    (effect,) = decided(pe, pod, submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert POD_TEXT_CHARS_MAX < len(effect.status.message) < MESSAGE_CHARS_MAX


def test_a_restart_annotation_is_cut_to_what_a_status_can_hold() -> None:
    pe = a_pe().launched(1).having("metadata", "annotations", RESTART, value="x" * 200_000)
    snapshot = snapshot_of(pe)
    assert snapshot.owner is not None
    assert len(snapshot.owner.restart) == TEXT_CHARS_MAX
