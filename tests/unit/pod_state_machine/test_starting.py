"""PEs that start last: their first pods wait until the other PEs of the job are on nodes."""

from __future__ import annotations

import pytest

from services.launching.core.effects import CreatePod
from services.pod_state_machine.core.snapshot import PeKey
from tests.builders import NAMESPACE, Builder, a_pe, a_pod
from tests.unit.pod_state_machine.cluster import decided, resizing, snapshot_of, woken, world

OTHER = a_pe(pe_id=1)
ON_NODE = a_pod(pe_id=1).on_node("n1")


def last() -> Builder:
    return a_pe().with_spec(startsLast=True)


def is_created(*builders: Builder) -> bool:
    effects = decided(*builders, resizing()).effects
    return any(isinstance(each, CreatePod) for each in effects)


@pytest.mark.parametrize(
    ("others", "creates"),
    [
        pytest.param((), True, id="alone"),
        pytest.param((OTHER,), False, id="no pod"),
        pytest.param((OTHER, a_pod(pe_id=1)), False, id="on no node"),
        pytest.param((OTHER, ON_NODE), True, id="on a node"),
        pytest.param((OTHER.with_content("c2"), ON_NODE), False, id="of its content before"),
        pytest.param((OTHER.launched(1, phase="Completed"),), True, id="completed"),
        pytest.param((OTHER.launched(1, phase="Stopped"),), True, id="stopped"),
        pytest.param(
            (OTHER.with_content("c2").launched(1, phase="Failed"),), False, id="failed before"
        ),
        pytest.param((OTHER.with_spec(startsLast=True),), True, id="starts last itself"),
        pytest.param((OTHER.deleting(),), True, id="being deleted"),
    ],
)
def test_the_first_pod_waits_for_each_pe_that_is_not_on_a_node(
    others: tuple[Builder, ...], creates: bool
) -> None:
    assert is_created(last(), *others) is creates


def test_only_the_first_launch_waits() -> None:
    """A second one, a pod that exists and a launch that people request do not."""
    assert snapshot_of(last(), OTHER).awaited_pe == "shop-1"
    assert not snapshot_of(last().with_spec(launchCount=2), OTHER).awaited_pe
    assert not snapshot_of(last(), a_pod(), OTHER).awaited_pe
    later = a_pe().with_spec(startsLast=True).launched(2, phase="Waiting")
    assert not snapshot_of(later, OTHER).awaited_pe


def test_the_status_names_the_pe_that_is_awaited() -> None:
    (effect,) = decided(last(), OTHER, resizing()).effects
    assert "starts when shop-1 is on a node" in effect.status.message  # type: ignore[union-attr]


def test_a_pod_that_is_bound_wakes_those_that_start_last_when_it_is_the_last_one() -> None:
    waiting, third = PeKey(NAMESPACE, "shop-0"), a_pe(pe_id=2)
    assert waiting in woken(world(last(), OTHER, ON_NODE), ON_NODE)
    assert waiting not in woken(world(last(), OTHER, ON_NODE, third), ON_NODE)
    assert waiting not in woken(world(a_pe(), OTHER, ON_NODE), ON_NODE)


def test_a_pe_that_is_gone_or_at_rest_wakes_those_that_start_last() -> None:
    waiting = PeKey(NAMESPACE, "shop-0")
    assert waiting in woken(world(last()), OTHER)
    stopped = OTHER.launched(1, phase="Stopped")
    assert waiting in woken(world(last(), stopped), stopped)
