"""500 submission-time values are the same in one process and in PEs, fused or not, after a resize.

What XML cannot hold is refused before a job is made; a default of another type, where it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace import App
from millrace.adl import adl_of
from millrace.code import Code
from millrace.errors import ParameterError
from millrace.runtime.assembling import _values
from millrace.runtime.reading import description_of
from planner.application.adl import read_application
from planner.numbering.records import Fusion, PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from tests.unit.millrace import words as w
from tests.unit.millrace.odd_values import seen, submitted
from tests.unit.planner.adl_writing import plan_of

COUNT = 100
"""Values of one application."""
SOURCE, REGION = "Lines", "Wide"


def application(given: Mapping[str, Any], got: list[dict[str, Any]]) -> App:
    """One whose source and region take all values; half of them are required."""
    app = App("demo::Submitted")
    values = {
        name: app.required_param(name, type(value))
        if at % 2
        else app.param(name, default=type(value)())
        for at, (name, value) in enumerate(given.items())
    }

    def lines(**found: Any) -> list[w.Line]:
        got.append(found)
        return [w.Line("a")]

    def same(line: w.Line, **found: Any) -> w.Line:
        got.append(found)
        return line

    stream = app.source(lines, returns=w.Line, fn_kwargs=values, name=SOURCE)
    region = stream.parallel(2, name=REGION)
    region.map(same, returns=w.Line, fn_kwargs=values, name="Same").end_parallel().sink(
        [].append, name="End"
    )
    return app


def planned(
    app: App, texts: Mapping[str, str], fusion: Fusion, previous: PlanRecord | None = None
) -> PlanResult:
    code = Code("app", "app", "1.0.0", Path("app.py"), Path())
    read = read_application(open_bundle(pack(adl_of(app.graph, app.pools, code)), BundleLimits()))
    widths = {} if previous is None else {REGION: 3}
    return plan_of(read, fusion, widths, previous=previous, values=dict(texts))


def in_pes(app: App, plan: PlanResult) -> list[dict[str, Any]]:
    """The values that each PE's functions get."""
    operators = {each.name: each for each in app.graph.operators}
    return [
        _values(operators[name], each.constants)
        for pe in plan.aadls.values()
        for each in description_of(pe.encode()).operators
        if (name := each.name.rpartition(".")[2]) in (SOURCE, "Same")
    ]


@pytest.mark.parametrize("seed", range(5))
def test_values_are_the_same_fused_or_not_and_after_a_resize(seed: int) -> None:
    chance = Random(seed)
    given = {f"p{each}": submitted(chance) for each in range(COUNT)}
    got: list[dict[str, Any]] = []
    app = application(given, got)
    app.run(given)
    assert {str(seen(each)) for each in got} == {str(seen(given))}
    texts = {name: str(value) for name, value in given.items()}
    for fusion in (Fusion("legacy"), Fusion("manual", 1)):
        first = planned(app, texts, fusion)
        wider = planned(app, texts, fusion, first.record)
        for plan, operators in ((first, 3), (wider, 4)):
            there = in_pes(app, plan)
            assert [seen(each) for each in there] == [seen(given)] * operators


@pytest.mark.parametrize("text", ["\x00", "a\x1bb", "\ud800", "\uffff"], ids=ascii)
def test_a_text_that_xml_cannot_hold_is_refused_by_the_plan(text: str) -> None:
    app = application({"p0": text, "p1": text}, [])
    with pytest.raises(PlanRefused, match="p1 holds characters that XML cannot hold"):
        planned(app, {"p1": text}, Fusion("legacy"))


OTHERS: list[tuple[Any, Any]] = [
    (True, int),
    (1.5, int),
    ("x", int),
    ("x", float),
    (2, bool),
    (10**5000, int),
]


@pytest.mark.parametrize(("default", "type_"), OTHERS, ids=range(len(OTHERS)))
def test_a_default_of_another_type_is_refused_where_it_is_given(default: Any, type_: Any) -> None:
    app = App("demo::Submitted")
    with pytest.raises(ParameterError, match="submission-time value count is"):
        app.param("count", default=default, type=type_)
    count = app.required_param("count", type=type_)

    def lines(count: Any) -> list[w.Line]:
        return [w.Line(str(count))]

    app.source(lines, fn_kwargs={"count": count}).sink(print)
    with pytest.raises(ParameterError, match="submission-time value count is"):
        app.run({"count": default})
