"""The phase of a pod is that of its PE: sidecars may run on, fail or wait."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.facts import project
from contracts.pod_phases import phase_in
from tests.builders import a_pod

Json = dict[str, Any]
RUNS: Json = {"running": {"startedAt": "2026-11-20T00:00:00Z"}}
PULLS: Json = {"waiting": {"reason": "ImagePullBackOff"}}


def ended(code: int | None, **more: object) -> Json:
    return {"terminated": {"exitCode": code, "finishedAt": "2026-11-20T00:01:00Z", **more}}


def status(phase: str, pe: Json | None, *others: Json, **more: object) -> Json:
    """The status of a pod, whose sidecars come before the PE, as by their names."""
    states = [*others, *([pe] if pe is not None else [])]
    names = [f"a-{at}" for at in range(len(others))] + ["pe"]
    found = [{"name": name, "state": state} for name, state in zip(names, states, strict=False)]
    return {"phase": phase, "containerStatuses": found, **more}


@pytest.mark.parametrize(
    ("pod", "phase"),
    [
        (status("Running", ended(137, reason="OOMKilled"), RUNS), "Failed"),
        (status("Running", ended(0), RUNS), "Succeeded"),
        (status("Running", ended(0), RUNS, ended(1), RUNS), "Succeeded"),
        (status("Running", RUNS, ended(1)), "Running"),
        (status("Running", RUNS), "Running"),
        (status("Pending", ended(1), PULLS), "Failed"),
        (status("Pending", RUNS, PULLS), "Pending"),
        (status("Failed", ended(0), ended(1)), "Succeeded"),
        (status("Failed", ended(0), RUNS, reason="Evicted"), "Failed"),
        (status("Failed", ended(0), reason="DeadlineExceeded"), "Failed"),
        (status("Failed", PULLS), "Failed"),
        (status("Failed", None), "Failed"),
        (status("Succeeded", ended(0), ended(0)), "Succeeded"),
        (status("Unknown", RUNS), "Unknown"),
        (status("Running", ended(None), RUNS), "Failed"),
        ({}, "Pending"),
        ({"phase": "Running", "containerStatuses": 7}, "Running"),
        ({"phase": "Running", "containerStatuses": [None, {"name": "pe", "state": 3}]}, "Running"),
    ],
)
def test_a_pod_is_over_as_soon_as_its_pe_is(pod: Json, phase: str) -> None:
    assert phase_in(pod, "pe") == phase


def test_the_facts_of_a_pod_have_the_phase_of_its_pe() -> None:
    """A PE that has ended is reached at no address any more."""
    found = project("Pod", a_pod().with_status(**status("Running", RUNS), podIP="10.0.0.7").build())
    assert found is not None
    assert (found["phase"], found["ip"]) == ("Running", "10.0.0.7")
    over = status("Running", ended(1), RUNS)
    found = project("Pod", a_pod().with_status(**over, podIP="10.0.0.7").build())
    assert found is not None
    assert (found["phase"], "ip" in found) == ("Failed", False)
