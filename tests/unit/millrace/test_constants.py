"""What an author writes reaches a PE as it is, or is refused and named when the graph is built."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace import App
from millrace.adl import adl_of
from millrace.code import Code
from millrace.errors import GraphError
from millrace.parameters import TEXT_BYTES_MAX
from millrace.runtime.reading import description_of
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from tests.unit.millrace import words as w
from tests.unit.planner.adl_writing import plan_of


class Level(IntEnum):
    LOW = 1


class Odd(str):
    """A text of another type."""


BAD = "a\uffffb"
NESTED: list[Any] = []
NESTED.append(NESTED)


def lines_of(text: Any) -> list[w.Line]:
    return [w.Line(str(text))]


def adl(app: App) -> bytes:
    """Its description, as if it was written at the top of `app.py`."""
    return adl_of(app.graph, app.pools, Code("app", "app", "1.0.0", Path("app.py"), Path()))


def sent(value: Any) -> Any:
    """A constant, as a PE reads it."""
    app = App("demo::Constants")
    app.source(lines_of, fn_kwargs={"text": value}, name="Lines").sink(print)
    plan = plan_of(read_application(open_bundle(pack(adl(app)), BundleLimits())), Fusion("legacy"))
    found = [description_of(plan.aadls[each.id].encode()) for each in plan.record.pes]
    (source,) = [each for pe in found for each in pe.operators if each.name == "Lines"]
    return source.constants["argument.text"]


CONSTANTS = [
    "\uffff",
    "\ufffe",
    "\ud800",
    "\udfff and \ud800",
    "".join(map(chr, range(0xA1))),
    "\u2028\u2029\x85\ufeff\r\n\t 😀",
    {"\uffff": ["\ud801", {"\x00": None}]},
    {"b": 1, "a": 2},
    ["NaN", math.inf, -math.inf, -0.0, 1e-320, 10**400, -(2**64), True, None],
    "<&>\"']]>&#65535;\\uffff",
]


@pytest.mark.parametrize("value", CONSTANTS, ids=range(len(CONSTANTS)))
def test_a_constant_reaches_a_pe_as_it_is(value: Any) -> None:
    assert repr(sent(value)) == repr(value)


def test_a_constant_that_is_no_number_reaches_a_pe() -> None:
    assert math.isnan(sent(math.nan))


@settings(max_examples=15)
@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_a_text_reaches_a_pe_as_it_is_or_is_refused(text: str) -> None:
    if re.search("[\ud800-\udbff][\udc00-\udfff]", text):
        with pytest.raises(GraphError, match="text="):
            sent(text)
    else:
        assert sent(text) == text


REFUSED: list[tuple[Any, str]] = [
    ("\ud83d\ude00", "would come back from a bundle as '\\U0001f600'"),
    ((1, 2), "would come back from a bundle as list, and it is tuple"),
    ({"a": [(1,)]}, "list, and it is tuple (at ['a'][0])"),
    ({1: "a"}, "a dict with other keys: use text for keys"),
    ({"1": 1, 1: 2}, "a dict with other keys"),
    (Level.LOW, "int, and it is Level"),
    ([Odd("a")], "str, and it is Odd (at [0])"),
    (OrderedDict(a=1), "dict, and it is OrderedDict"),
    (b"a", "cannot be written into a bundle"),
    ({1, 2}, "cannot be written into a bundle"),
    (NESTED, "cannot be written into a bundle"),
    (10**5000, "text=(int) cannot be written into a bundle"),
    ("a" * TEXT_BYTES_MAX, "is longer than 5,000,000 bytes"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_constant_that_would_come_back_as_another_is_refused(value: Any, message: str) -> None:
    app = App("demo::Constants")
    with pytest.raises(GraphError) as refused:
        app.source(lines_of, fn_kwargs={"text": value}, name="Lines")
    assert str(refused.value).startswith("operator Lines: text=")
    assert message in str(refused.value)
    assert str(refused.value).isprintable()


def named(**more: Any) -> list[w.Line]:
    return []


def app_and_stream() -> tuple[App, Any]:
    app = App("demo::Texts")
    return app, app.source(w.lines, name="Lines")


TEXTS: dict[str, Callable[[], object]] = {
    "operator Lines: its host": lambda: app_and_stream()[1].host(BAD),
    "the name of a host pool": lambda: App("demo::P").host_pool(BAD),
    "host pool gpu: a tag": lambda: App("demo::P").host_pool("gpu", tags=[BAD]),
    "the version of demo::V": lambda: App("demo::V", version=BAD),
    "its name": lambda: app_and_stream()[1].export(BAD),
    "the name of a property": lambda: app_and_stream()[1].export(properties={BAD: 1}),
    "import Import: its application": lambda: App("demo::I").import_(
        w.Line, application=BAD, stream="s"
    ),
    "import Import: its stream": lambda: App("demo::I").import_(
        w.Line, application="a", stream=BAD
    ),
    "import Import: its subscription": lambda: App("demo::I").import_(w.Line, subscription=BAD),
    "import Import: its filter": lambda: App("demo::I").import_(
        w.Line, subscription="a", filter=BAD
    ),
    "the name of an argument": lambda: App("demo::K").source(named, fn_kwargs={BAD: 1}),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_text_that_xml_cannot_hold_is_named_when_the_graph_is_built(what: str) -> None:
    with pytest.raises(GraphError) as refused:
        TEXTS[what]()
    assert f"{what} is 'a\\uffffb', and its character U+FFFF cannot be" in str(refused.value)


@pytest.mark.parametrize("values", ["a\uffffb", ["a\ud800b"], "a\x00b"], ids=range(3))
def test_a_property_reaches_the_plan_whatever_its_text_has(values: Any) -> None:
    app, stream = app_and_stream()
    stream.export(properties={"kind": values})
    read_application(open_bundle(pack(adl(app)), BundleLimits()))


Strange = TypedDict("Strange", {BAD: int})  # type: ignore[misc]


def strange() -> list[Strange]:
    return []


def test_an_attribute_that_xml_cannot_hold_is_named() -> None:
    app = App("demo::Attributes")
    app.source(strange).sink(print)
    with pytest.raises(GraphError, match=r"name of a attribute of demo::Attributes is 'a"):
        adl(app)


def test_a_default_of_a_submission_that_cannot_be_printed_is_named() -> None:
    app = App("demo::Defaults")
    text = app.param("text", default=BAD)
    app.source(lines_of, fn_kwargs={"text": text}).sink(print)
    with pytest.raises(GraphError, match="submission-time value text: its default"):
        adl(app)
