"""Time goes to the API and back without loss."""

from __future__ import annotations

import pytest

from contracts.moments import micro_moment_of, moment_of, unix_s_of


def test_a_moment_is_utc_in_whole_seconds() -> None:
    assert moment_of(1_700_000_000.9) == "2023-11-14T22:13:20Z"
    assert unix_s_of("2023-11-14T22:13:20Z") == 1_700_000_000.0


def test_a_micro_moment_keeps_the_fraction() -> None:
    assert micro_moment_of(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"
    assert unix_s_of(micro_moment_of(1_700_000_000.25)) == 1_700_000_000.25


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        unix_s_of("yesterday")
