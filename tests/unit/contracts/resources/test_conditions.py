"""Setting conditions of a status."""

from __future__ import annotations

from typing import Any

from contracts.resources import (
    Condition,
    ConditionStatus,
    StatedCondition,
    condition_holds,
    with_condition,
)

EARLIER, LATER = "2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z"


def fused(
    conditions: list[dict[str, Any]], *, status: str = "True", now: str, reason: str = "Fused"
) -> list[dict[str, Any]]:
    return with_condition(
        conditions,
        type_="Fused",
        status=ConditionStatus(status),
        reason=reason,
        message="3 PEs",
        observed_generation=2,
        now=now,
    )


def test_a_new_condition_is_added_beside_the_others_in_a_stable_order() -> None:
    (first,) = fused([], now=EARLIER)
    submitted = {**first, "type": "Submitted", "status": "False", "observedGeneration": 1}
    (_, kept) = both = fused([submitted], now=LATER)
    assert [each["type"] for each in both] == ["Fused", "Submitted"]
    assert kept == submitted


def test_saying_the_same_again_later_changes_nothing() -> None:
    first = fused([], now=EARLIER)
    assert fused(first, now=LATER) == first


def test_the_transition_time_moves_only_with_the_status() -> None:
    first = fused([], now=EARLIER)
    (other_reason,) = fused(first, now=LATER, reason="Resized")
    (fallen,) = fused(first, now=LATER, status="False")
    assert other_reason["lastTransitionTime"] == EARLIER
    assert fallen["lastTransitionTime"] == LATER


def test_what_is_set_is_a_valid_condition() -> None:
    (stated,) = fused([], now=EARLIER)
    assert Condition.model_validate(stated).observed_generation == 2


def test_a_condition_holds_only_when_it_is_there_and_true() -> None:
    assert condition_holds(fused([], now=EARLIER), "Fused")
    assert not condition_holds(fused([], now=EARLIER, status="Unknown"), "Fused")
    assert not condition_holds([], "Fused")


def test_a_condition_that_names_no_spec_is_read_and_written_without_one() -> None:
    """A processing element's do: null in its place would be another value."""
    (with_spec,) = fused([], now=EARLIER)
    without = {name: value for name, value in with_spec.items() if name != "observedGeneration"}
    for each in (with_spec, without):
        assert StatedCondition.of(each).to_json() == each
