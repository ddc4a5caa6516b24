"""What the sink of the numbered application wrote is held against the truth."""

from __future__ import annotations

from collections.abc import Sequence

from tests.numbered.app import KEYS
from tests.numbered.checking import found

COUNT = 2 * KEYS


def lines(numbers: Sequence[int], counts: Sequence[int] | None = None) -> list[str]:
    """Lines of these numbers; each has the right count, unless others are given."""
    seen = dict.fromkeys(range(KEYS), 0)
    made = []
    for at, number in enumerate(numbers):
        key = number % KEYS
        seen[key] += 1
        count = counts[at] if counts else seen[key]
        made.append(f'{{"key":{key},"number":{number},"count":{count}}}')
    return made


def test_every_number_once_and_in_order_is_exact() -> None:
    assert found(lines(range(COUNT)), COUNT).is_exact


def test_a_number_that_no_line_has_is_missing() -> None:
    assert found(lines([*range(7), *range(8, COUNT)]), COUNT).missing == [7]


def test_a_number_that_three_lines_have_is_doubled_once() -> None:
    different = found(lines([*range(COUNT), COUNT - 1, COUNT - 1]), COUNT)
    assert (different.doubled, different.missing) == ([COUNT - 1], [])
    assert not different.unordered


def test_a_key_whose_numbers_change_places_is_unordered() -> None:
    numbers = [KEYS + 3, *(each for each in range(COUNT) if each != KEYS + 3)]
    assert found(lines(numbers), COUNT).unordered == [3]


def test_a_key_whose_counts_are_not_one_two_three_is_miscounted() -> None:
    counts = [1] * KEYS + [2] * (KEYS - 1) + [1]
    assert found(lines(range(COUNT), counts), COUNT).miscounted == [(KEYS - 1, COUNT - 1, 1, 2)]
