"""Many ids as a short text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.id_runs import IDS_MAX, ids_of, runs_of


def test_neighbours_become_a_run() -> None:
    assert runs_of([12, 0, 1, 2, 3, 3]) == "0-3,12"


def test_no_ids_are_an_empty_text() -> None:
    assert (runs_of([]), ids_of("")) == ("", ())


@given(st.sets(st.integers(min_value=0, max_value=300)))
def test_what_is_written_is_read(ids: set[int]) -> None:
    assert ids_of(runs_of(ids)) == tuple(sorted(ids))


@pytest.mark.parametrize(
    "text", ["a", "-1", "1-", "3-1", "1,,2", "1 ", "0-9-12", "٣", f"0-{IDS_MAX}", "0-9" * 50]
)
def test_what_is_no_run_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="id"):
        ids_of(text)
