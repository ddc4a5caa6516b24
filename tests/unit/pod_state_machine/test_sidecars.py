"""A PE beside other containers in its pod: its own one is what counts."""

from __future__ import annotations

from typing import Any

import pytest

from services.launching.core.effects import PatchStatus
from services.launching.core.ending import End
from tests.builders import Builder, PodBuilder, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import decided, situation

Json = dict[str, Any]
RUNS: Json = {"running": {"startedAt": "2026-11-19T23:00:00Z"}}
BEFORE, AFTER = "2026-11-19T23:59:00Z", "2026-11-20T00:00:30Z"
"""A minute before the deletion of `deleting()` pods was requested, and half of one after it."""
RUNNING = a_pe().launched(1)


def ended(code: int, at: str = BEFORE, **more: object) -> Json:
    return {"terminated": {"exitCode": code, "finishedAt": at, **more}}


def pod(phase: str, pe: Json, *, inits: Json | None = None, **others: Json) -> PodBuilder:
    """The pod of a PE; containers come in the order of their names, as a kubelet has them."""
    states = sorted({**others, "pe": pe}.items())
    found = [{"name": name, "state": state} for name, state in states]
    ready = [{"name": name, "state": state} for name, state in (inits or {}).items()]
    return (
        a_pod()
        .on_node("node-1")
        .with_status(phase=phase, containerStatuses=found, initContainerStatuses=ready)
    )


def written(pe: Builder, *others: Builder) -> PatchStatus:
    (effect,) = (each for each in decided(pe, *others).effects if isinstance(each, PatchStatus))
    return effect


@pytest.mark.parametrize(
    ("seen", "end"),
    [
        (pod("Running", ended(137), proxy=RUNS), End.FAILED),
        (pod("Running", ended(0), proxy=RUNS), End.COMPLETED),
        (pod("Running", ended(0), a=ended(1), b=RUNS), End.COMPLETED),
        (pod("Failed", ended(0), a=ended(1)), End.COMPLETED),
        (pod("Failed", ended(0), a=RUNS).with_status(reason="Evicted"), End.FAILED),
        (pod("Running", RUNS, a=ended(1)), None),
        (pod("Running", ended(1), inits={"proxy": RUNS}), End.FAILED),
        (pod("Running", ended(1), proxy=RUNS).deleting(), End.FAILED),
        (pod("Running", ended(143, AFTER), proxy=RUNS).deleting(), None),
        (pod("Failed", ended(1), proxy=ended(143, AFTER)).deleting(), End.FAILED),
        (pod("Running", ended(1), proxy=RUNS).disrupted().deleting(), End.DISRUPTED),
    ],
)
def test_the_end_of_a_launch_is_that_of_the_container_of_the_pe(
    seen: PodBuilder, end: End | None
) -> None:
    assert situation(RUNNING, seen).end is end


def test_a_pe_that_ended_beside_a_sidecar_is_launched_again_and_its_end_is_named() -> None:
    """Its end comes first: sidecars end with an error because the PE has ended."""
    seen = pod("Running", ended(137, reason="OOMKilled"), a=ended(2, reason="Error"), b=RUNS)
    status = written(RUNNING.with_spec(restartFailedPod=True), seen).status
    assert (status.phase.value, status.launch_count) == ("Waiting", 2)
    assert "Container pe: OOMKilled, exit code 137. Container a: Error" in status.message


def test_a_pe_that_completed_beside_a_sidecar_is_completed() -> None:
    status = written(RUNNING, pod("Running", ended(0), proxy=RUNS)).status
    assert (status.phase.value, status.reason) == ("Completed", "PodCompleted")


def test_the_next_launch_does_not_wait_for_the_sidecars_of_the_last() -> None:
    """Nothing of the PE runs there any more."""
    last = pod("Running", ended(1), proxy=RUNS)
    pe = a_pe().launched(2, phase="Waiting").with_status(pod=last.build()["metadata"]["name"])
    assert situation(pe, last).blocking == ()
