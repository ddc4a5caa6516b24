"""The status of a PE that is not restarted names the policy, and how to launch it by hand."""

from __future__ import annotations

import pytest

from contracts import labels
from services.launching.core.effects import PatchStatus
from tests.builders import a_config_map, a_pod
from tests.unit.pod_state_machine.cluster import a_pe, decided, submitted

ASKED = ("metadata", "annotations", labels.RESTART)


@pytest.mark.parametrize(
    ("phase", "policy"), [(None, "restartDeletedPod"), ("Failed", "restartFailedPod")]
)
def test_the_message_of_an_end_has_the_policy_and_the_remedy(
    phase: str | None, policy: str
) -> None:
    pe = a_pe().with_spec(restartFailedPod=False).launched(3)
    pods = [a_pod(launch=3).in_phase(phase)] if phase else []
    (effect,) = decided(pe, *pods, submitted()).effects
    assert isinstance(effect, PatchStatus)
    message = effect.status.message
    for part in (
        f"spec.{policy} is false: set it",
        "raise spec.launchCount above 3",
        "streams.ibm.com/restart",
    ):
        assert part in message


def test_a_pod_that_completed_needs_no_advice() -> None:
    (effect,) = decided(a_pe().launched(1), a_pod().in_phase("Succeeded"), submitted()).effects
    assert isinstance(effect, PatchStatus)
    assert "restart" not in effect.status.message


@pytest.mark.parametrize("phase", ["Failed", "Succeeded", None])
def test_a_request_that_waits_for_its_gates_hides_no_end(phase: str | None) -> None:
    """Else the status says Running of a pod that is gone, until somebody makes the ConfigMap."""
    pods = [a_pod().in_phase(phase)] if phase else []
    pe = a_pe().launched(1, phase="Running")
    is_closed = a_config_map()  # that of the PE is missing
    waiting = decided(pe.having(*ASKED, value="again"), *pods, submitted(), is_closed)
    plain = decided(pe, *pods, submitted(), is_closed)
    assert plain.effects
    assert waiting.rules == plain.rules
    assert waiting.effects


def test_a_request_waits_for_its_gates_while_the_pod_runs() -> None:
    pe = a_pe().launched(1, phase="Running").having(*ASKED, value="again")
    running = a_pod().in_phase("Running")
    assert decided(pe, running, submitted(), a_config_map()).rules["PE"] == "REQUEST_WAITS"
    assert decided(pe, running, submitted()).rules["PE"] == "RESTART_REQUESTED"
