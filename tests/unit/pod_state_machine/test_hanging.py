"""Pods that are being deleted and do not end: when they hang, and when they count as gone."""

from __future__ import annotations

import pytest

from contracts import labels
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus
from services.launching.core.rules import Observation
from tests.builders import Builder, PodBuilder, a_node, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import NOW, decided, observed, submitted

NODE = "n1"
DUE = NOW - 60.0
"""The deletion timestamp of the pods of this file."""
NOT_READY = a_node(NODE, ready="Unknown")
OUT_OF_SERVICE = NOT_READY.with_spec(taints=[{"key": labels.OUT_OF_SERVICE_TAINT}])
TAINTED_BY_OTHERS = NOT_READY.with_spec(
    taints=[{"key": "example.com/out-of-service", "effect": "NoExecute"}]
)


def leaving() -> PodBuilder:
    pod = a_pod().in_phase("Running").on_node(NODE).deleting()
    return pod.having("metadata", "deletionGracePeriodSeconds", value=30)


def waiting(**spec: object) -> Builder:
    return a_pe().launched(2, phase="Waiting").with_spec(**spec)


def removals(*builders: Builder, now: float) -> list[DeletePod]:
    effects = decided(*builders, submitted(), now=now).effects
    return [each for each in effects if isinstance(each, DeletePod)]


@pytest.mark.parametrize(
    ("node", "hangs_at"), [(NOT_READY, 10.0), (None, 10.0), (a_node(NODE), 300.0)]
)
def test_a_pod_hangs_soon_if_its_node_is_not_ready_and_late_if_it_is(
    node: Builder | None, hangs_at: float
) -> None:
    """Until then nothing is written, and the key is requeued."""
    nodes = [node] if node else []
    early = decided(waiting(), leaving(), *nodes, submitted(), now=DUE + hangs_at - 1)
    assert (early.effects, early.requeue_at) == ((), DUE + hangs_at)
    stuck = observed(waiting(nodeLossTimeOutInSeconds=301), leaving(), *nodes, now=DUE + 301)
    assert stuck is Observation.PREDECESSOR_STUCK


def test_a_pod_that_hangs_is_recorded_with_its_node_and_the_remedy() -> None:
    (effect,) = decided(waiting(), leaving(), NOT_READY, submitted(), now=DUE + 20).effects
    assert isinstance(effect, PatchStatus)
    (condition,) = effect.status.conditions
    assert (condition.type, condition.status) == ("StuckTerminating", "True")
    for words in (NODE, labels.OUT_OF_SERVICE_TAINT, "delete the Node object", "forceRelaunch"):
        assert words in condition.message


@pytest.mark.parametrize("phase", ["Starting", "Running"])
def test_a_pod_that_a_user_deleted_is_recorded_as_stuck_as_well(phase: str) -> None:
    """No launch waits for it; its phase stays, because it may run."""
    pe = a_pe().launched(1, phase=phase)
    (effect,) = decided(pe, leaving(), NOT_READY, submitted(), now=DUE + 20).effects
    assert isinstance(effect, PatchStatus)
    assert (effect.status.phase, effect.status.reason) == (phase, "StuckTerminating")


@pytest.mark.parametrize(
    ("nodes", "spec", "is_gone"),
    [
        ((), {}, True),
        ((OUT_OF_SERVICE,), {}, True),
        ((NOT_READY,), {}, False),
        ((TAINTED_BY_OTHERS,), {}, False),
        ((a_node(NODE),), {}, False),
        ((NOT_READY,), {"forceRelaunch": True}, True),
        ((a_node(NODE),), {"forceRelaunch": True}, True),
    ],
    ids=[
        "gone",
        "out of service",
        "not ready",
        "tainted by others",
        "ready",
        "not ready, forced",
        "ready, forced",
    ],
)
def test_after_the_time_out_a_pod_is_gone_with_its_node_or_by_force(
    nodes: tuple[Builder, ...], spec: dict[str, object], is_gone: bool
) -> None:
    """Not a second earlier; a node that is only not ready may still run it."""
    assert removals(waiting(**spec), leaving(), *nodes, now=DUE + 299) == []
    forced = removals(waiting(**spec), leaving(), *nodes, now=DUE + 300)
    assert [each.grace_s for each in forced] == [0] * is_gone
    assert all(each.lost_node == ("" if spec else NODE) for each in forced)


def test_the_next_launch_waits_until_the_pod_that_counts_as_gone_was_deleted_by_force() -> None:
    """A pod that only finalizers hold after that does not run."""
    held = leaving().having("metadata", "deletionGracePeriodSeconds", value=0)
    first = decided(waiting(), leaving(), submitted(), now=DUE + 300).effects
    assert not any(isinstance(each, CreatePod) for each in first)
    (created,) = decided(waiting(), held, submitted(), now=DUE + 300).effects
    assert isinstance(created, CreatePod)


@pytest.mark.parametrize(
    ("disrupted", "phase"), [(True, "Waiting"), (False, "Stopped")], ids=["evicted", "deleted"]
)
def test_a_launch_that_is_gone_with_its_node_ends_as_it_was_deleted(
    disrupted: bool, phase: str
) -> None:
    """An evicted pod is restarted; one that a user deleted is not."""
    pod = leaving().disrupted() if disrupted else leaving()
    effects = decided(a_pe().launched(1), pod, submitted(), now=DUE + 300).effects
    (status,) = [each.status for each in effects if isinstance(each, PatchStatus)]
    assert status.phase == phase


def test_a_pod_that_never_got_a_node_does_not_hang_on_a_lost_one() -> None:
    """The pod garbage collector removes it; the time-out is that of a node that is well."""
    pod = a_pod().deleting()
    assert observed(waiting(), pod, now=DUE + 299) is Observation.PREDECESSOR_ALIVE
    assert removals(waiting(), pod, now=DUE + 400) == []
