"""The status of a PE that is not restarted names the policy, and how to launch it by hand."""

from __future__ import annotations

import pytest

from services.pod_state_machine.core.effects import PatchPeStatus
from tests.builders import a_pod
from tests.unit.pod_state_machine.cluster import a_pe, decided, submitted


@pytest.mark.parametrize(
    ("phase", "policy"), [(None, "restartDeletedPod"), ("Failed", "restartFailedPod")]
)
def test_the_message_of_an_end_has_the_policy_and_the_remedy(
    phase: str | None, policy: str
) -> None:
    pe = a_pe().with_spec(restartFailedPod=False).launched(3)
    pods = [a_pod(launch=3).in_phase(phase)] if phase else []
    (effect,) = decided(pe, *pods, submitted()).effects
    assert isinstance(effect, PatchPeStatus)
    message = effect.status.message
    for part in (
        f"spec.{policy} is false: set it",
        "raise spec.launchCount above 3",
        "streams.ibm.com/restart",
    ):
        assert part in message


def test_a_pod_that_completed_needs_no_advice() -> None:
    (effect,) = decided(a_pe().launched(1), a_pod().in_phase("Succeeded"), submitted()).effects
    assert isinstance(effect, PatchPeStatus)
    assert "restart" not in effect.status.message
