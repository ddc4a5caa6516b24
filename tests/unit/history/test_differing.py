"""The difference of two frozen values is readable and bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from history.differing import TEXT_CHARS_MAX, Change, changes_between, short


@dataclass(frozen=True)
class Pod:
    name: str
    phase: str = "Pending"
    labels: dict[str, str] = field(default_factory=dict)
    cached: int = field(default=0, compare=False)


class Pair(NamedTuple):
    left: int
    right: Any


def texts(before: object, after: object) -> list[str]:
    return [str(each) for each in changes_between(before, after).first]


def test_equal_values_have_no_changes() -> None:
    assert not changes_between(Pod("a", cached=1), Pod("a", cached=2))
    assert not changes_between({"a": [1, {2}]}, {"a": [1, {2}]})


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (Pod("a"), Pod("a", "Running"), ["phase: Pending → Running"]),
        (Pod("a", labels={"x": "1"}), Pod("a"), ["labels.x: 1 → nothing"]),
        ({"a/b": 1}, {"a/b": 2}, ["[a/b]: 1 → 2"]),
        ({("Pod", "default"): 1}, {}, ["[Pod/default]: 1 → nothing"]),
        (Pair(1, (2, 3)), Pair(1, (2, 4)), ["right[1]: 3 → 4"]),
        (frozenset({1, 2}), frozenset({2, 3}), ["all: 1 → nothing", "all: nothing → 3"]),
        (None, Pod("a"), ["all: None → Pod(name=a, phase=Pending, labels={})"]),
        (1, True, []),
        (1, "1", ["all: 1 → 1"]),
    ],
)
def test_a_change_has_its_path_and_both_values(
    before: object, after: object, found: list[str]
) -> None:
    assert texts(before, after) == found


def test_members_of_a_sequence_are_matched_by_their_names() -> None:
    before = (Pod("a"), Pod("b"), Pod("c"))
    after = (Pod("b", "Running"), Pod("c"))
    assert texts(before, after) == [
        "a: Pod(name=a, phase=Pending, labels={}) → nothing",
        "b.phase: Pending → Running",
    ]


def test_changes_are_bounded_in_number_and_length() -> None:
    found = changes_between(dict.fromkeys(range(100), 0), dict.fromkeys(range(100), 1), most=5)
    assert len(found.first) == 5
    assert found.has_more
    (change,) = changes_between({"a": "x" * 10_000}, {"a": "y" * 10_000}).first
    assert len(change.before) == len(change.after) == TEXT_CHARS_MAX
    assert len(short(dict.fromkeys(range(1000), "x" * 1000))) == TEXT_CHARS_MAX


def test_values_that_cannot_be_compared_are_shown() -> None:
    class Sly:
        def __eq__(self, other: object) -> bool:
            raise TypeError

        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "sly"

    assert changes_between([Sly()], [Sly()]).first == (Change("[0]", "sly", "sly"),)
