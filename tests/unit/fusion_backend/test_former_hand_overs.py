"""Which hand-overs before the newest one a status still has: those that PEs begin with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
import pytest

from contracts.canonical import canonical_bytes
from contracts.resources.hand_over import FORMER_MAX, HandOver, hand_over_in
from millrace import protocol
from services.fusion_backend.core.former_hand_overs import (
    LISTED_MAX,
    complete_in,
    is_full,
    needed,
)
from services.fusion_backend.core.hand_over_changes import HandOverChange, hand_over_patch


def former(generation: int, *, gone: bool = False) -> protocol.HandOver:
    """Of PEs 1 and 2, whose first launches have sealed, but for one that is `gone`."""
    return listed(generation, {1: 1, 2: 1}, {1: 1} if gone else {1: 1, 2: 1})


def listed(
    generation: int, pes: dict[int, int], sealed: dict[int, int], **more: Any
) -> protocol.HandOver:
    return protocol.HandOver(generation=generation, pes=pes, sealed=sealed, complete=True, **more)


@pytest.mark.parametrize(
    ("gone", "absent", "kept"),
    [
        ([], [], []),
        ([], [3], [3]),
        ([], [1], [1]),
        ([], [1, 3], [3, 1]),
        ([3], [], []),
        ([3], [3], [3, 2, 1]),
        ([2], [2, 3], [3, 2, 1]),
        ([1], [2], [2]),
    ],
)
def test_a_hand_over_is_kept_for_pes_that_begin_with_it_and_for_those_that_look_into_it(
    gone: Collection[int], absent: Collection[int], kept: list[int]
) -> None:
    """`gone`: a PE did not seal for these; `absent`: a PE has not begun since these."""
    every = [former(generation, gone=generation in gone) for generation in (3, 2, 1)]
    found = needed(every, lambda each: each.generation in absent)
    assert [each.generation for each in found] == kept


def test_what_is_recorded_comes_back() -> None:
    kept = (former(3, gone=True), former(1))
    change = HandOverChange(4, ((1, 2),), is_complete=True, lasts_s=30, former=kept)
    field = hand_over_patch(None, change, 0.0)
    HandOver.model_validate({name: each for name, each in field.items() if each is not None})
    newest = listed(4, {1: 2}, {}, deadline=30.0, former=kept)
    assert complete_in(hand_over_in({"handOver": field})) == (newest, *kept)


def test_a_change_with_former_ones_can_be_recorded_in_a_decision() -> None:
    change = HandOverChange(4, ((1, 2),), former=(former(3),))
    recorded = orjson.loads(canonical_bytes(change))["former"]
    assert [each["generation"] for each in recorded] == [3]


def test_a_hand_over_that_is_replaced_before_its_end_is_not_kept() -> None:
    change = HandOverChange(4, ((1, 2),), lasts_s=30, former=(former(3),))
    field = hand_over_patch(None, change, 0.0)
    assert complete_in(hand_over_in({"handOver": field})) == (former(3),)


def test_what_changes_later_leaves_those_before_as_they_are() -> None:
    change = HandOverChange(4, ((1, 2),), sealed=((1, 2),), is_complete=True)
    assert "former" not in hand_over_patch({}, change, 0.0)


def test_a_status_has_room_for_so_many() -> None:
    assert not is_full([former(1)] * (FORMER_MAX - 1))
    assert is_full([former(1)] * FORMER_MAX)
    assert is_full([listed(1, dict.fromkeys(range(LISTED_MAX), 1), {})])
