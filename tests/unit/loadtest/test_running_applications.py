"""The benchmark of applications compares the same work."""

from __future__ import annotations

import pytest

from loadtest.running import CASES, Work, measured


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_application_and_its_bare_loop_have_one_result(case: tuple[Work, Work]) -> None:
    found = measured(*case, tuples=2_000, turns=1)
    assert found.ratio > 0
