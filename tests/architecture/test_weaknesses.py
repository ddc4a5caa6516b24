"""The table of weaknesses names every one of them, and only tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.architecture.naming_tests import names_in
from tests.places import ROOT

TABLE = ROOT / "docs" / "weaknesses.md"
LIMITS = ROOT / "docs" / "limits.md"
NUMBERS = (
    *(f"W{number}" for number in range(1, 71)),
    *(f"N{number}" for number in range(1, 12)),
    *(f"D{number}" for number in range(1, 18)),
)
NOT_YET = "not yet: "


def rows() -> dict[str, tuple[str, str, str]]:
    """What went wrong, what millrace does, and what shows it, by number."""
    found: dict[str, tuple[str, str, str]] = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch(r"[WND]\d+", cells[0]):
            assert cells[0] not in found, f"{cells[0]} has two rows"
            found[cells[0]] = (cells[1], cells[2], cells[3])
    return found


ROWS = rows()


def test_no_weakness_is_missing_and_none_is_invented() -> None:
    """Seventy of the original, what its notes left open, and what only documents promised."""
    assert tuple(ROWS) == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_weakness_is_shown_to_be_gone_or_is_reported_to_be_there(number: str) -> None:
    """By tests that exist, or by a line of limits.md that names it."""
    what, ours, shown = ROWS[number]
    assert what
    if ours.startswith(NOT_YET):
        assert re.search(rf"\b{number}\b", LIMITS.read_text()), f"limits.md is silent on {number}"
        return
    named = re.findall(r"`([^`:]+)::(\w+)`", shown)
    assert ours
    assert named, f"{number}: nothing shows it"
    for path, name in named:
        assert (ROOT / path).exists(), f"{number}: {path}"
        assert name in names_in(path), f"{number}: {path} has no {name}"
