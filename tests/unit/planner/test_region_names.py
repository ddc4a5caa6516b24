"""The one rule by which people name parallel regions."""

from __future__ import annotations

import pytest

from contracts.reasons import Reason
from planner.application.region_names import region_named, regions_named
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from tests.unit.planner.adl_writing import Adl, plan_of

NAMES = ("Words", "Result.Region1", "Result.Region2", "Other.Region2", "ns::Main.Deep")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Words", ["Words"]),
        (" Result.Region1 ", ["Result.Region1"]),
        ("Region1", ["Result.Region1"]),
        ("Main.Deep", ["ns::Main.Deep"]),
        ("Other.Region2", ["Other.Region2"]),
        ("*Region2", ["Other.Region2", "Result.Region2"]),
        ("Result.*", ["Result.Region1", "Result.Region2"]),
        ("*", sorted(NAMES)),
    ],
)
def test_a_region_is_named_by_its_name_its_end_or_a_pattern(words: str, found: list[str]) -> None:
    assert [*regions_named(words, NAMES, field="f")] == found


@pytest.mark.parametrize("words", ["egion1", "Result", "words", "Region3", "", ".Region1"])
def test_what_names_nothing_is_refused_with_what_there_is(words: str) -> None:
    """An end is whole parts of a name, and names differ in case."""
    with pytest.raises(PlanRefused) as caught:
        regions_named(words, NAMES, field="REGION")
    assert caught.value.reason is Reason.UNKNOWN_REGION
    assert caught.value.code == "CDISR1411E"
    assert "it has: Other.Region2, Result.Region1, Result.Region2, Words" in caught.value.message


def test_the_end_of_several_names_lists_them() -> None:
    with pytest.raises(PlanRefused) as caught:
        regions_named("Region2", NAMES, field="REGION")
    assert caught.value.code == "CDISR1405E"
    assert "(CDISR1405E): Other.Region2, Result.Region2; give" in caught.value.message


def test_a_full_name_that_is_also_an_end_means_the_region_of_that_name() -> None:
    assert region_named("R", ["R", "A.R", "B.R"], field="f") == "R"


def test_where_one_region_is_meant_a_pattern_of_several_is_refused() -> None:
    assert region_named("*1", NAMES, field="f") == "Result.Region1"
    with pytest.raises(PlanRefused, match=r"CDISR1405E\): Other.Region2, Result.Region2"):
        region_named("*Region2", NAMES, field="f")


@pytest.mark.parametrize(
    ("overrides", "width"),
    [
        ([("f", 3)], 3),
        ([("f", 3), ("*", 4)], 3),
        ([("N.f", 5), ("f", 3)], 5),
        ([("f", 3), ("N.f", 5), ("z*", 6), ("N.*", 4)], 5),
    ],
)
def test_the_most_exact_alias_of_a_jobs_spec_counts(
    overrides: list[tuple[str, int]], width: int
) -> None:
    """A full name wins over the end of it, and that over a pattern."""
    adl = Adl().operator("N.f", 0, 0).operator("z", 0, 0).region("N.f", 2).region("z", 2)
    found = plan_of(adl, Fusion.legacy(), overrides=overrides).record.widths
    assert found["N.f"] == width


def test_the_end_of_several_regions_in_a_jobs_spec_is_refused_with_its_field() -> None:
    adl = Adl().operator("N.f", 0, 0).operator("M.f", 0, 0).region("N.f", 2).region("M.f", 2)
    with pytest.raises(PlanRefused, match=r"^spec.parallelRegions\[f\].alias names 'f'"):
        plan_of(adl, Fusion.legacy(), overrides=[("f", 3)])
