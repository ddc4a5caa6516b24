"""The rounds of `make test-real` say whether all was green."""

from __future__ import annotations

import pytest

from tests.real.__main__ import FAILED, NOTHING_SELECTED, RoundEnd, exit_code_of


@pytest.mark.parametrize(
    ("codes", "selecting", "expected"),
    [
        ((0, 0, 0), False, 0),
        ((0, 1, 0), False, FAILED),
        ((0, 2, 0), True, FAILED),
        ((0, NOTHING_SELECTED), False, FAILED),
        ((0, NOTHING_SELECTED), True, 0),
        ((NOTHING_SELECTED, NOTHING_SELECTED), True, NOTHING_SELECTED),
        ((NOTHING_SELECTED,), False, NOTHING_SELECTED),
    ],
)
def test_a_run_is_green_only_where_something_was_selected_and_all_of_it_was_green(
    codes: tuple[int, ...], selecting: bool, expected: int
) -> None:
    """Words that select nothing anywhere are a mistake; a folder without tests is one, too."""
    ends = [RoundEnd("tests/real", code, 1.0) for code in codes]
    assert exit_code_of(ends, selecting=selecting) == expected


def test_a_round_says_its_folder_its_time_and_its_outcome() -> None:
    """One line a round is what people read of a run of many minutes."""
    assert "tests/e2e" in RoundEnd("tests/e2e", 0, 12.4).sentence
    assert RoundEnd("tests/e2e", 0, 12.4).sentence.endswith("12 s  green")
    assert RoundEnd("tests/e2e", 1, 2.0).sentence.endswith("failed (exit code 1)")
