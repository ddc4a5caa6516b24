"""Counts that were posted say which tuples were lost or doubled."""

from __future__ import annotations

from tests.node.counting.app import KEYS, SHOWN_EVERY, Count
from tests.node.counts import wrong


def count(key: int, times: int, *, shift: int = 0) -> Count:
    """The count that a key has after so many tuples; `shift`: tuples lost before."""
    return Count((times - 1 + shift) * KEYS + key, key, times)


RIGHT = [count(key, times) for key in (0, 7) for times in (SHOWN_EVERY, 2 * SHOWN_EVERY)]


def test_counts_of_every_tuple_are_right() -> None:
    assert wrong(RIGHT) == []


def test_a_tuple_that_was_not_counted_shows() -> None:
    (problem,) = wrong([count(3, SHOWN_EVERY, shift=1)])
    assert problem == "count 20 of key 3 is of 1003, not 953"


def test_a_tuple_that_was_counted_twice_shows() -> None:
    (problem,) = wrong([count(3, SHOWN_EVERY, shift=-1)])
    assert problem == "count 20 of key 3 is of 903, not 953"


def test_a_count_that_never_came_shows() -> None:
    assert wrong([count(0, 2 * SHOWN_EVERY)]) == ["counts [20] of key 0 never came"]


def test_a_count_that_came_twice_shows() -> None:
    assert wrong([*RIGHT, RIGHT[0]]) == ["counts [20] of key 0 came more than once"]
