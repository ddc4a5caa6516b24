"""Section 7 of the fusion backend's specification: what a submission changes of an application."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.model import SubmissionValue
from planner.application.submission import resolve_values
from planner.numbering.records import Fusion
from planner.planning import plan
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl, plan_of
from tests.unit.planner.test_adl_rules import aadl_of, edited, source

ONE = Fusion.manual(1)
MISSING, DUPLICATE, AMBIGUOUS, EXTRA = "CDISR1146E", "CDISR1147E", "CDISR1148E", "CDISR1149W"


def declared(*names: str, literal: str | None = None) -> list[SubmissionValue]:
    """Values by qualified name; required where there is no default."""
    found = []
    for index, name in enumerate(names):
        composite, _, own = name.rpartition(".")
        found.append(SubmissionValue(index, "named", composite, own, literal is None, literal))
    return found


# --------------------------------------------------------------------------- 7.1 matching


@pytest.mark.parametrize(
    ("values", "given", "codes"),
    [
        (declared("n::A.x"), {}, {MISSING: "x"}),
        (declared("n::A.x"), {"A.x": "1"}, {}),
        (declared("n::A.x"), {"n::A.x": "1"}, {}),
        (declared("A.x"), {"A.x": "1"}, {}),
        (declared("a::b::A.x"), {"A.x": "1"}, {}),
        (declared("a::b::A.x"), {"b::A.x": "1"}, {MISSING: "x", EXTRA: "b::A.x"}),
        (declared("n::A.x"), {"x": "1", "A.x": "1"}, {DUPLICATE: "x"}),
        (declared("n::A.x"), {"x": "1", "A.x": "1", "n::A.x": "1"}, {DUPLICATE: "x"}),
        (declared("n::A.x", literal='"1"'), {"A.x": "1", "n::A.x": "1"}, {DUPLICATE: "n::A.x"}),
        (declared("n::A.x", "n::B.x"), {"x": "1"}, {AMBIGUOUS: "x"}),
        (declared("n::A.x", "m::A.x"), {"A.x": "1"}, {AMBIGUOUS: "A.x"}),
        (declared("n::A.x", "n::B.x"), {"A.x": "1", "B.x": "2"}, {}),
        (
            declared("n::A.x", "n::B.x", "n::A.y", "n::A.z"),
            {"x": "1", "z": "1", "A.z": "1", "other": "1", "streams::pe.display": ":0"},
            {MISSING: "y", DUPLICATE: "z", AMBIGUOUS: "x", EXTRA: "other"},
        ),
        (declared("n::A.X"), {"x": "1", "X": "2"}, {}),  # names differ in case
    ],
)
def test_every_fault_of_the_values_is_reported_with_its_code(
    values: list[SubmissionValue], given: dict[str, str], codes: dict[str, str]
) -> None:
    """One refusal holds all of them; what nobody requested is a warning if all else is right."""
    errors = [code for code in codes if code.endswith("E")]
    if not errors:
        found = resolve_values(values, given)
        assert len(found.warnings) == sum(name not in known(values) for name in given)
        return
    with pytest.raises(PlanRefused) as caught:
        resolve_values(values, given)
    assert caught.value.reason is Reason.SUBMISSION_VALUE_INVALID
    sentences = caught.value.message.split("; ")
    for code, name in codes.items():
        assert any(
            sentence.startswith(f"spec.submissionTimeValues.{name} ") and code in sentence
            for sentence in sentences
        )
    assert {code for code in (MISSING, DUPLICATE, AMBIGUOUS, EXTRA) if code in str(sentences)} == {
        *codes
    }


def known(values: list[SubmissionValue]) -> set[str]:
    spellings = set()
    for value in values:
        qualified = f"{value.composite}.{value.name}"
        spellings |= {value.name, qualified, qualified.rpartition(":")[2]}
    return spellings


def test_a_required_value_must_be_given_even_where_it_has_a_default() -> None:
    adl = edited(source().value("v", '"1"'), ('required="false"', 'required="true"'))
    with pytest.raises(PlanRefused) as caught:
        plan_of(adl, ONE)
    assert MISSING in caught.value.message
    assert plan_of(adl, ONE, values={"v": "1"}).warnings == ()


@pytest.mark.parametrize("required", ["true", "false"])
def test_a_value_that_the_document_has_already_wins_over_its_default(required: str) -> None:
    adl = edited(
        source().value("v", '"d"'),
        ('required="false"', f'required="{required}" value="&quot;w&quot;"'),
        ("<runtimeConstants/>", constant("old", index=0)),
    )
    assert 'name="c" value="&quot;w&quot;"' in aadl_of(adl)
    assert 'name="c" value="&quot;g&quot;"' in aadl_of(adl, values={"v": "g"})


def constant(value: str, *, index: int) -> str:
    return (
        f'<runtimeConstants><runtimeConstant name="c" value="{value}"'
        f' submissionTimeValueIndex="{index}"/></runtimeConstants>'
    )


@pytest.mark.parametrize(
    ("kind", "default", "given", "literal"),
    [
        ("named", '"d"', None, "&quot;d&quot;"),
        ("named", "  7 ", None, "  7 "),
        ("named", '"d"', "", "&quot;&quot;"),
        ("named", '"d"', 'a"b\\c', "&quot;a\\&quot;b\\\\c&quot;"),
        ("named", '"d"', "a,b", "&quot;a,b&quot;"),
        ("namedList", '["d"]', None, "[&quot;d&quot;]"),
        ("namedList", '["d"]', "a", "[&quot;a&quot;]"),
        ("namedList", '["d"]', 'a,"b",c', "[&quot;a&quot;,&quot;\\&quot;b\\&quot;&quot;,&quot;c"),
    ],
)
def test_a_value_is_rendered_as_an_spl_literal_and_a_default_verbatim(
    kind: str, default: str, given: str | None, literal: str
) -> None:
    adl = edited(
        source().value("v", default),
        ('kind="named"', f'kind="{kind}"'),
        ("<runtimeConstants/>", constant("old", index=0)),
    )
    values = {} if given is None else {"v": given}
    assert f'name="c" value="{literal}' in aadl_of(adl, values=values)


def test_a_constant_keeps_its_text_where_nobody_gives_a_value() -> None:
    adl = edited(
        source().value("v", '"1"'),
        (""" defaultValue='"1"'""", ""),
        ("<runtimeConstants/>", constant("old", index=0)),
    )
    assert 'name="c" value="old"' in aadl_of(adl)


def display(value: str, index: int | None = None) -> str:
    by_value = "" if index is None else f' submissionTimeValueIndex="{index}"'
    return f'<runtimeConstants/><display name="d" value="{value}"{by_value}/>'


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, ":1"), ({"v": ":2"}, ":2"), ({"streams::pe.display": ":3", "v": ":2"}, ":3")],
)
def test_the_display_is_that_of_the_submission_without_quotes(
    given: dict[str, str], expected: str
) -> None:
    adl = edited(source().value("v", '":1"'), ("<runtimeConstants/>", display("x", 0)))
    assert f' display="{expected}"' in aadl_of(adl, values=given)


def test_operators_of_one_pe_with_different_displays_are_refused() -> None:
    first, second = display(":1"), f"{display(':2')}<sharedObject"
    old = "<runtimeConstants/>"
    adl = edited(Adl().chain("a", "b"), (old, first), (f"{old}<sharedObject", second))
    with pytest.raises(PlanRefused) as caught:
        plan_of(adl, ONE)
    assert "CDISR1378E" in caught.value.message
    assert caught.value.message.endswith(": :1 of 'a', :2 of 'b'")
    assert len(plan_of(adl, Fusion.legacy()).aadls) == 2


# --------------------------------------------------------------------------- 7.2 widths


def three() -> Adl:
    """Regions as in `Parallel.adl`: widths by value, default 1."""
    adl = Adl().chain("Source", "R.Region1", "R.Region2", "R.Region3", "Sink")
    for number in (1, 2, 3):
        adl.value(f"width{number}", '"1"').region(f"R.Region{number}", f"width{number}")
    return adl


@pytest.mark.parametrize(
    ("values", "overrides", "widths"),
    [
        ({}, [], (1, 1, 1)),
        ({"width1": "3"}, [("R.Region2", 7)], (3, 7, 1)),
        ({"width1": "3"}, [("R.Region1", 7)], (7, 1, 1)),
        ({}, [("*Region1", 6), ("*Region3", 5)], (6, 1, 5)),
        ({}, [("R.Region2", 4), ("*", 9)], (9, 4, 9)),
        ({}, [("R.*", 4), ("R.R*2", 5), ("*", 9)], (4, 5, 4)),
        ({}, [("R.R*", 5), ("R.*", 4)], (5, 5, 5)),
        ({"width3": " 4 "}, [], (1, 1, 4)),
        ({"width3": "+4"}, [], (1, 1, 4)),
    ],
)
def test_a_width_is_that_of_the_last_alias_in_order_then_of_the_value_then_of_the_adl(
    values: dict[str, str], overrides: list[tuple[str, int]], widths: tuple[int, ...]
) -> None:
    found = plan_of(three(), ONE, values=values, overrides=overrides).record.widths
    assert found == {f"R.Region{number}": width for number, width in enumerate(widths, start=1)}


@pytest.mark.parametrize("text", ["wide", "", "1.5", "2x", "0x2", "\u0662"])
def test_a_width_that_is_no_whole_number_is_a_bad_value(text: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        plan_of(three(), ONE, values={"width2": text})
    assert caught.value.reason is Reason.SUBMISSION_VALUE_INVALID
    assert caught.value.field == "spec.submissionTimeValues.width2"
    assert caught.value.code == "CDISR1143E"


@pytest.mark.parametrize(
    ("values", "overrides"),
    [({"width2": "0"}, []), ({"width2": "-1"}, []), ({}, [("*2", 0)]), ({}, [("*2", -5)])],
)
def test_a_width_below_one_has_its_code(
    values: dict[str, str], overrides: list[tuple[str, int]]
) -> None:
    with pytest.raises(PlanRefused) as caught:
        plan_of(three(), ONE, values=values, overrides=overrides)
    assert caught.value.reason is Reason.WIDTH_REFUSED
    assert "CDISR1164E" in caught.value.message


# --------------------------------------------------------------------------- 7.3 other overrides


def overridden(**more: Any) -> str:
    application = read_application(Adl().chain("a", "b").bundle())
    return plan(
        PlanRequest(
            application=application,
            bundle_digest="d",
            job_name="job",
            job_id=7,
            fusion=ONE,
            **more,
        )
    ).aadls[0]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, '<a:tracingUpdate level="error"/>'),
        ({"tracing": "debug"}, '<a:tracingUpdate level="debug"/>'),
        ({"tracing": "info:x=y"}, '<a:tracingUpdate level="info"/>'),
        ({"data_directory": "/data"}, ' dataDirectory="/data"'),
    ],
)
def test_data_directory_and_tracing_replace_those_of_the_application(
    more: dict[str, str], says: str
) -> None:
    assert says in overridden(**more)


def test_a_level_of_tracing_that_nobody_knows_is_refused() -> None:
    with pytest.raises(PlanRefused) as caught:
        overridden(tracing="loud:x")
    assert caught.value.field == "tracing"
