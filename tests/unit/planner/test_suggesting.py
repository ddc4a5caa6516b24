"""A name that there is not: what was likely meant, and what there is, in bounds."""

from __future__ import annotations

import pytest

from planner.application.suggesting import meant, suggested

REGIONS = ("Result.Region1", "Result.Region2", "Other.Region1", "Words")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Region2", ("Result.Region2",)),
        ("Region1", ("Other.Region1", "Result.Region1")),
        ("result.region1", ("Result.Region1",)),
        ("ns::Region2", ("Result.Region2",)),
        ("Wrods", ("Words",)),
        ("*Word", ("Words",)),
        ("Result.Regoin2", ("Result.Region2", "Result.Region1")),
        ("nothing of the kind", ()),
        ("", ()),
        ("*", ()),
    ],
)
def test_what_ends_so_or_resembles_is_meant(said: str, found: tuple[str, ...]) -> None:
    """The last part of a name is what people say; the likeliest comes first."""
    assert meant(said, REGIONS) == found


def test_what_there_is_stays_a_sentence() -> None:
    """An application may have thousands of regions, and names that nobody wants to read."""
    names = [f"Region{number}" for number in range(5_000)]
    said = suggested("Regoin77", names)
    assert said.endswith(" and 4992 more")
    assert len(said) < 300
    assert suggested("a", []) == "it has: none"
    assert "\x1b" not in suggested("a", ["\x1b[2J"])
