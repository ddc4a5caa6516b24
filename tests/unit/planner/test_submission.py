"""Submission-time values have three spellings; widths have an order of precedence."""

from __future__ import annotations

import pytest

from cli.failing import Misused
from cli.jobs import region_width_of
from contracts.reasons import Reason
from contracts.resources.fields import WIDTH_MAX
from contracts.resources.parallel_region import ParallelRegionSpec
from planner.application.model import SubmissionValue
from planner.application.region_names import matches
from planner.application.submission import resolve_values
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused, shown
from tests.places import ROOT
from tests.unit.planner.adl_writing import Adl, plan_of


def value(
    name: str = "w", composite: str = "ns::Main", *, index: int = 0, literal: str | None = None
) -> SubmissionValue:
    return SubmissionValue(index, "named", composite, name, literal is None, literal)


@pytest.mark.parametrize("spelling", ["w", "ns::Main.w", "Main.w"])
def test_a_value_is_known_by_three_spellings(spelling: str) -> None:
    assert resolve_values([value()], {spelling: "5"}).literals[0] == '"5"'


@pytest.mark.parametrize(
    ("declared", "given", "code"),
    [
        ([value()], {}, "CDISR1146E"),
        ([value()], {"w": "1", "Main.w": "2"}, "CDISR1147E"),
        ([value(), value(composite="ns::Other", index=1)], {"w": "1"}, "CDISR1148E"),
    ],
)
def test_a_missing_repeated_or_ambiguous_value_is_refused_with_its_code(
    declared: list[SubmissionValue], given: dict[str, str], code: str
) -> None:
    with pytest.raises(PlanRefused) as caught:
        resolve_values(declared, given)
    assert caught.value.reason is Reason.SUBMISSION_VALUE_INVALID
    assert "spec.submissionTimeValues.w " in caught.value.message
    assert code in caught.value.message


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(PlanRefused) as caught:
        resolve_values([value("x"), value("y", index=1)], {})
    assert "values.x " in caught.value.message.replace("Values", "values")
    assert "values.y " in caught.value.message.replace("Values", "values")


def test_an_unknown_value_is_a_warning_except_the_display() -> None:
    found = resolve_values([], {"nobody": "1", "streams::pe.display": ":0"})
    assert len(found.warnings) == 1
    assert "nobody" in found.warnings[0]
    assert found.display == ":0"


def test_a_value_is_quoted_and_a_list_is_split() -> None:
    assert resolve_values([value()], {"w": 'a"b\\'}).literals[0] == '"a\\"b\\\\"'
    listed = SubmissionValue(0, "namedList", "Main", "l", True, None)
    assert resolve_values([listed], {"l": "a,b"}).literals[0] == '["a","b"]'


def test_a_value_that_xml_cannot_hold_is_refused() -> None:
    with pytest.raises(PlanRefused) as caught:
        resolve_values([value()], {"w": "a\x00b"})
    assert caught.value.reason is Reason.SUBMISSION_VALUE_INVALID


@pytest.mark.parametrize(
    ("alias", "name", "expected"),
    [
        ("*Region1", "Result.Region1", True),
        ("Result.*", "Result.Region1", True),
        ("*", "anything", True),
        ("R*t.R*1", "Result.Region1", True),
        (" Result . Region1 ", "Result.Region1", True),
        ("Region1", "Result.Region1", False),
        ("a[0].*", "a[0].b", True),
        ("a[0].*", "a0.b", False),
        ("Result.Region1*1", "Result.Region1", False),
        ("*" * 60 + "x", "y" * 1000, False),
    ],
)
def test_an_alias_has_stars_and_is_otherwise_literal(alias: str, name: str, expected: bool) -> None:
    assert matches(alias, name) is expected


def test_widths_come_from_the_region_then_the_job_then_the_value_then_the_adl() -> None:
    adl = Adl().value("width", '"2"').chain("a", "f", "g", "h", "z")
    adl.region("f", "width").region("g", "width").region("h", 3)
    application = adl.application()

    def widths(**more: object) -> dict[str, int]:
        return plan_of(application, Fusion.manual(1), **more).record.widths  # type: ignore[arg-type]

    assert widths() == {"f": 2, "g": 2, "h": 3}
    assert widths(values={"width": "4"}) == {"f": 4, "g": 4, "h": 3}
    overridden = widths(values={"width": "4"}, overrides=[("g", 5), ("*", 6)])
    assert overridden == {"f": 6, "g": 5, "h": 6}
    assert widths(overrides=[("*", 6)], widths={"f": 1, "g": 1, "h": 1}) == dict.fromkeys("fgh", 1)


def test_a_value_reaches_runtime_constants() -> None:
    adl = Adl().value("size", '"1"').operator("a", 0, 0)
    text = adl.text().replace(
        "<runtimeConstants/>",
        '<runtimeConstants><runtimeConstant name="lit$0" value="old"'
        ' submissionTimeValueIndex="0"/></runtimeConstants>',
    )
    adl.text = lambda: text  # type: ignore[method-assign]
    aadl = plan_of(adl, Fusion.legacy(), values={"size": "a & b"}).aadls[0]
    assert '<runtimeConstant name="lit$0" value="&quot;a &amp; b&quot;"/>' in aadl


def test_an_alias_that_is_given_twice_is_planned_with_its_last_width_and_a_warning() -> None:
    adl = Adl().chain("a", "W.f", "z").region("W", 2)
    result = plan_of(adl, Fusion.legacy(), overrides=[("W", 3), ("W", 4)])
    assert result.record.widths == {"W": 4}
    (warning,) = result.warnings
    assert warning.startswith("spec.parallelRegions[W] is given 2 times")


def test_characters_that_a_terminal_obeys_are_escaped_wherever_a_message_names_them() -> None:
    evil = "a\x1b[31m\u202eb"
    refused = PlanRefused(Reason.ADL_INVALID, field=evil, value=evil, message=f"{evil} is bad")
    for text in (refused.field, refused.value, refused.message, str(refused), shown(evil)):
        assert text.isprintable()
        assert "\\x1b[31m\\u202e" in text
    values = {evil: "1"}
    (warning,) = resolve_values((), values).warnings
    assert warning.isprintable()


def test_schema_planner_and_command_have_one_limit_of_widths() -> None:
    """The pages of fields and limits name it."""
    assert f"integer ≥ 1 ≤ {WIDTH_MAX}" in (ROOT / "docs" / "fields.md").read_text()
    assert f"parallel region | {WIDTH_MAX:,} |" in (ROOT / "docs" / "limits.md").read_text()
    schema = ParallelRegionSpec.model_json_schema()["properties"]["width"]
    assert (schema["minimum"], schema["maximum"]) == (1, WIDTH_MAX)
    assert region_width_of("--width", f"b={WIDTH_MAX}") == ("b", WIDTH_MAX)
    with pytest.raises(Misused, match=f"up to {WIDTH_MAX}"):
        region_width_of("--width", f"b={WIDTH_MAX + 1}")
    with pytest.raises(PlanRefused, match=f"a width is at most {WIDTH_MAX}") as caught:
        plan_of(Adl().chain("a", "b").region("b", 1), Fusion.legacy(), {"b": WIDTH_MAX + 1})
    assert caught.value.reason is Reason.WIDTH_REFUSED
