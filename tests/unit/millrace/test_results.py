"""What a function gives is checked by its type: what a connection can carry fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Any, TypedDict

import msgspec
import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace import App
from millrace.errors import worded
from millrace.runtime.assembling import assembled
from millrace.runtime.checking import BATCHES, FIRST_TUPLES, Checker
from millrace.runtime.clock import SystemClock
from millrace.runtime.exact_types import exact_check
from millrace.runtime.frames import FRAME_BYTES_MAX
from millrace.runtime.nodes import Node
from millrace.runtime.reading import description_of
from millrace.tuple_types import tuple_type
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from tests.unit.planner.adl_writing import plan_of


@dataclass
class Number:
    value: int


@dataclass
class Made:
    value: int
    ratio: float = 0.5
    text: str = "é"
    flag: bool = True
    data: bytes = b"x"
    more: list[int] = field(default_factory=lambda: [1])
    by: dict[str, float] = field(default_factory=lambda: {"a": 1.0})
    inner: Number | None = None
    at: datetime | None = None
    exact: Decimal = Decimal("1.5")


@dataclass
class Larger(Made):
    besides: int = 0


class Row(TypedDict):
    value: int
    text: str


class Text(str):
    """A text of the author's own."""


class Level(IntEnum):
    LOW = 1


class Zone(tzinfo):
    """A zone that cannot say how far it is from UTC."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        raise OSError("no zone data")

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None


def numbers() -> Iterator[Number]:
    yield Number(0)


MADE = Checker(tuple_type(Made, "a test"))
ROW = Checker(tuple_type(Row, "a test"))

FITTING = {
    "exact types": Made(1),
    "an int for a float": Made(1, ratio=2),
    "an enum for an int": Made(Level.LOW),
    "a text subclass": Made(1, text=Text("x")),
    "a nested tuple": Made(1, inner=Number(2)),
    "a moment": Made(1, at=datetime(2026, 1, 1, tzinfo=timezone.utc)),  # noqa: UP017
    "a moment before all others": Made(
        1, at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    ),
}


@pytest.mark.parametrize("made", FITTING.values(), ids=FITTING)
def test_what_a_connection_can_carry_fits(made: Made) -> None:
    assert MADE.first_refused([Made(0), made]) is None


class Open(dict[str, Any]):
    """Its items are its attributes, too."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": (None, "it gave None, and gives Made: does every way return a tuple?"),
    "another object": (5, "it gave 5 (int), and gives Made"),
    "a dict": ({"value": 1}, "it gave {'value': 1} (dict), and gives Made"),
    "a dict with attributes": (Open(value=1), "it gave {'value': 1} (Open), and gives Made"),
    "a generator": (numbers(), "it gave a generator, whose body nobody runs"),
    "a large int": (Made(2**70), "it gave value=1180591620717411303424 (int), and value of Made"),
    "a float for an int": (Made(3.0), "it gave value=3.0 (float), and value of Made is int"),  # type: ignore[arg-type]
    "a flag for an int": (Made(True), "it gave value=True (bool), and value of Made is int"),
    "a subclass": (Larger(1), "another PE would get Made(value=1, "),
    "a tuple for a list": (
        Made(1, more=(1, 2)),  # type: ignore[arg-type]
        "it gave more=(1, 2) (tuple), and more of Made is list[int]: another PE would get [1, 2] ",
    ),
    "half a character": (Made(1, text="\ud800"), "it gave text='\\ud800' (str), and text of Made"),
    "None": (Made(1, data=None), "it gave data=None (NoneType), and data of Made is bytes"),  # type: ignore[arg-type]
    "an element": (Made(1, more=[1, "2"]), "it gave more=[1, '2'] (list), and more of Made is"),  # type: ignore[list-item]
    "a value of a dict": (Made(1, by={"a": "b"}), "it gave by={'a': 'b'} (dict), and by of Made"),  # type: ignore[dict-item]
    "a nested attribute": (Made(1, inner=Number("2")), "and inner of Made is"),  # type: ignore[arg-type]
    "a moment of no zone": (Made(1, at=datetime(2026, 1, 1, tzinfo=Zone())), "and at of Made is"),
    "too long": (Made(1, data=bytes(FRAME_BYTES_MAX)), "a frame between two PEs has at most"),
}


@pytest.mark.parametrize(("made", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_connection_can_carry_is_refused(made: Any, message: str) -> None:
    found = MADE.first_refused([Made(0), made])
    assert found is not None
    assert (found[0], message in str(found[1])) == (1, True), found[1]


@dataclass
class Polygon:
    rings: list[list[list[float]]]
    by: dict[str, dict[str, list[list[str]]]]
    parts: list[Made]


def test_containers_in_containers_are_checked_however_deep() -> None:
    type_ = tuple_type(Polygon, "a test")
    well = Polygon([[[1.0]], []], {"a": {"b": [["long enough"], []]}}, [Made(1)])
    odd = Polygon([], {"a": {"b": [[1]]}}, [])  # type: ignore[list-item]
    assert Checker(type_).first_refused([well]) is None
    found = Checker(type_).first_refused([well, odd])
    assert found is not None
    assert "by of Polygon is" in str(found[1])


@dataclass
class Positive:
    value: Annotated[int, msgspec.Meta(ge=0)]


@dataclass
class Checked:
    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("it is negative")


def _negative() -> Checked:
    made = Checked(1)
    made.value = -1
    return made


LEAKS: dict[str, tuple[Any, Any, str]] = {
    "a rule of an annotation": (Positive, Positive(-1), "value of Positive"),
    "a rule of __post_init__": (Checked, _negative(), "it is negative"),
    "one item too many": (Row, {"value": 1, "text": "a", "more": object()}, "is unsupported"),
    "another class with fewer attributes": (Made, Number(1), "it gave Number(value=1) (Number)"),
}


@pytest.mark.parametrize(("type_", "made", "message"), LEAKS.values(), ids=LEAKS)
def test_what_has_the_right_types_and_cannot_be_sent_is_refused(
    type_: Any, made: Any, message: str
) -> None:
    found = Checker(tuple_type(type_, "a test")).first_refused([made])
    assert found is not None
    assert message in str(found[1])


def test_a_typed_dict_is_checked_by_its_items() -> None:
    well, odd = Row(value=1, text="a"), {"value": 1}
    assert ROW.first_refused([well]) is None
    found = ROW.first_refused([well, odd])
    assert found is not None
    assert "it gave {'value': 1}, which has no text" in str(found[1])
    assert ROW.first_refused([Made(1)]) is not None


def test_a_batch_of_ordinary_tuples_needs_no_codec() -> None:
    """The cheap check alone has to pass them: it costs a tenth of the other."""
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)  # noqa: UP017
    exact = exact_check(tuple_type(Made, "a test"))
    assert exact is not None
    assert exact([Made(1, inner=Number(2), at=at), Made(2)])
    assert not exact([Made(1), Larger(1)])


def test_at_full_speed_all_types_are_compared_and_attributes_now_and_then() -> None:
    checker = Checker(tuple_type(Number, "a test"))
    many, odd = [Number(1)] * 256, [*[Number(1)] * 255, Number("2")]  # type: ignore[arg-type]
    for _ in range(FIRST_TUPLES // 256):
        assert checker.first_refused(many) is None
    assert checker.first_refused([*many, None]) is not None, "a type"
    checker.in_full = False
    found = [checker.first_refused(odd) for _ in range(BATCHES)]
    first = next(place for place, each in enumerate(found) if each is not None)
    assert None not in found[first:], "after one that does not fit, everything is checked in full"
    assert checker.first_refused(odd[-3:]) is not None, "a small batch"


def _same(number: Number) -> Number:
    return number


def _is_even(number: Number) -> bool:
    return number.value % 2 == 0


leaving = App("demo::Leaving")
_stream = leaving.source(numbers, name="Source").colocate("pe")
for _name in ("First", "Last"):
    _stream = _stream.map(_same, name=_name).colocate("pe")
_stream.filter(_is_even, name="Even").colocate("pe").sink(print, name="Sink")


def test_what_leaves_a_pe_is_checked_in_full_also_in_front_of_a_filter() -> None:
    application = read_application(open_bundle(pack(leaving.adl()), BundleLimits()))
    plan = plan_of(application, Fusion("legacy"))
    texts = [plan.aadls[each.id].encode() for each in plan.record.pes]
    (description,) = [e for e in map(description_of, texts) if len(e.operators) == 4]
    made = assembled(description, leaving.graph, SystemClock(), lambda *_: Node("outlet"))
    checkers = {
        each.operator.name: each.node.execution.checker
        for each in made.placed
        if each.node.execution is not None and each.node.execution.checker is not None
    }
    assert {name: each.in_full for name, each in checkers.items()} == {"First": False, "Last": True}


def test_a_problem_without_words_is_worded_by_its_type() -> None:
    assert worded(AssertionError()) == "AssertionError"
