"""Types whose objects would come back changed are refused when the graph is built."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta, timezone
from enum import IntEnum
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pytest

from millrace import App, GraphError, TypeMismatch
from millrace.codecs import Codec
from millrace.runtime.assembling import encoder_of
from millrace.runtime.stores import Single
from millrace.tuple_types import tuple_type
from tests.unit.millrace.odd_values import BERLIN, Level, Real, seen


@dataclass
class Number:
    value: int


@dataclass
class Booted:
    boots: int = 0

    def __post_init__(self) -> None:
        self.boots += 1


@dataclass(frozen=True)
class Frozen:
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name + "!")


@dataclass
class Inheriting(Booted):
    more: int = 0


@dataclass
class Initial:
    value: int = 0
    start: InitVar[int] = 0


@dataclass
class Holding:
    inside: list[Booted] = field(default_factory=list)


@dataclass
class Area:
    """What `__post_init__` computes is the same each time."""

    side: int = 2
    area: int = field(init=False)

    def __post_init__(self) -> None:
        if self.side < 0:
            raise ValueError("below zero")
        self.area = self.side**2


@dataclass(frozen=True)
class Normal:
    """What `__post_init__` makes of a value, it leaves as it is the second time."""

    name: str
    at: datetime | None = None
    tags: list[str] = field(default_factory=list)
    inside: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip().lower())
        object.__setattr__(self, "tags", sorted(self.tags))
        if self.at is None:
            object.__setattr__(self, "at", datetime.now(ZONE))


@dataclass
class Growing:
    """Its values are shared with the object that it was made of."""

    parts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parts = self.parts
        self.parts.append(1)


@dataclass
class Turned:
    """Its samples below zero alone come to another value."""

    value: int = 0

    def __post_init__(self) -> None:
        self.value = self.value if self.value >= 0 else self.value + 1


@dataclass
class Strict:
    """No sample passes its own checks."""

    word: str

    def __post_init__(self) -> None:
        if self.word != "the only one":
            raise ValueError(self.word)
        self.word = self.word.strip()


ZONE = timezone(timedelta(hours=2), "CEST")


@dataclass
class Timed:
    """It sets an attribute that is no field."""

    at: datetime

    def __post_init__(self) -> None:
        if self.at.year > 2025:
            raise ValueError("too late")
        vars(self)["day"] = f"{self.at:%Y-%m-%d}"


def nothing(_: Any = None) -> Any:
    return ()


def kept(number: Number, state: Any) -> Number:
    return number


def with_state(class_: Any) -> App:
    app = App("tests::Types")
    app.source(nothing, returns=Number).map(kept, state=class_, name="Kept").sink(print)
    return app


REMADE_OTHERWISE = (Booted, Frozen, Inheriting, Initial, Holding, Growing, Turned, Strict)


@pytest.mark.parametrize("class_", REMADE_OTHERWISE)
def test_a_class_whose_objects_are_not_made_twice_is_refused(class_: Any) -> None:
    words = "whose (__post_init__ changes|start is an InitVar)"
    with pytest.raises(GraphError, match=words):
        App("tests::Types").source(nothing, returns=class_)
    with pytest.raises(GraphError, match=f"operator Kept: its state.* {words}"):
        with_state(class_)


def test_a_post_init_that_computes_or_refuses_is_kept() -> None:
    App("tests::Types").source(nothing, returns=Area)
    with_state(Area)


def test_a_post_init_that_comes_to_the_same_again_is_kept() -> None:
    App("tests::Types").source(nothing, returns=Normal)
    with_state(of(Normal, default_factory=lambda: Normal("a")))


@pytest.mark.parametrize("zone", [None, timezone.utc, ZONE, BERLIN])  # noqa: UP017
def test_post_init_runs_on_arrival_whatever_the_zone_of_a_moment(zone: Any) -> None:
    """What it sets beside the fields is there, too."""
    codec = Codec(tuple_type(Timed, "a test").value)
    (back,) = codec.decode(codec.encode([Timed(datetime(2024, 7, 1, tzinfo=zone))]))
    assert back.day == "2024-07-01"


@pytest.mark.parametrize("zone", [timezone.utc, ZONE])  # noqa: UP017
def test_what_post_init_refuses_on_arrival_is_no_value_whatever_the_zone(zone: Any) -> None:
    codec, late = Codec(tuple_type(Timed, "a test").value), Timed(datetime(2024, 7, 1, tzinfo=zone))
    late.at = late.at.replace(year=2030)
    with pytest.raises(msgspec.ValidationError, match="too late"):
        codec.decode(codec.encode([late]))


def of(hint: Any, **options: Any) -> Any:
    """A state with one attribute."""
    return dataclass(
        type("State", (), {"__annotations__": {"part": hint}, "part": field(**options)})
    )


BARE: tuple[Any, ...] = (
    list,
    dict,
    set,
    tuple,
    object,
    Any,
    list[Any],
    dict[str, object],
    Iterable[int],
)


@pytest.mark.parametrize("hint", BARE, ids=repr)
def test_a_state_whose_types_nobody_knows_is_refused(hint: Any) -> None:
    with pytest.raises(GraphError, match="operator Kept: its state: attribute part of State is"):
        with_state(of(hint, default_factory=lambda: None))


class Plain(IntEnum):
    ONE = 1


OTHERS = {
    "a defaultdict": (dict[str, int], defaultdict(int)),
    "an ordered dict": (dict[str, int], OrderedDict()),
    "a tuple for a list": (list[int], (1, 2)),
    "a set for a frozenset": (frozenset[int], {1}),
    "an enum for an int": (int, Plain.ONE),
    "a float of numpy": (float, Real(1.5)),
    "another type": (int, "many"),
    "None": (int, None),
    "half a character": (str, "\ud800"),
    "a large int": (int, 2**70),
}


@pytest.mark.parametrize(("hint", "value"), OTHERS.values(), ids=OTHERS)
def test_a_state_that_begins_as_another_type_is_refused(hint: Any, value: Any) -> None:
    with pytest.raises(GraphError, match=r"operator Kept: .*State"):
        with_state(of(hint, default_factory=lambda: value))


def test_the_message_names_attribute_and_both_values() -> None:
    with pytest.raises(GraphError) as refused:
        with_state(of(dict[str, int], default_factory=lambda: defaultdict(int)))
    assert str(refused.value) == (
        "operator Kept: part of its state State is dict[str, int], and begins as defaultdict(<class"
        " 'int'>, {}) (defaultdict): after a restart it would be {} (dict): begin with that"
    )


KEPT = {
    "an int for a float": (float, 0, 0.0),
    "an enum": (Level, Level.LOW, Level.LOW),
    "a literal": (Literal["a", 1], 1, 1),
    "a union": (int | str | None, "a", "a"),
    "a tuple of several types": (tuple[int, str], (1, "a"), (1, "a")),
    "moments": (
        dict[str, datetime | None],
        {"a": datetime(1, 1, 1, tzinfo=ZONE), "b": datetime(2024, 7, 1, tzinfo=BERLIN), "c": None},
        {"a": datetime(1, 1, 1, tzinfo=ZONE), "b": datetime(2024, 7, 1, tzinfo=BERLIN), "c": None},
    ),
}


@pytest.mark.parametrize(("hint", "value", "begins"), KEPT.values(), ids=KEPT)
def test_other_states_are_the_same_from_their_begin(hint: Any, value: Any, begins: Any) -> None:
    class_ = of(hint, default_factory=lambda: value)
    with_state(class_)
    store, again = Single[Any](class_, class_), Single[Any](class_, class_)
    again.load(store.save())
    assert seen(store.value.part) == seen(begins) == seen(again.value.part)


class Row(TypedDict):
    name: str
    note: NotRequired[str]


class Full(TypedDict):
    name: str
    note: str


def full(row: Full) -> Full:
    return row


def test_a_function_that_needs_an_item_takes_no_stream_that_may_lack_it() -> None:
    stream = App("tests::Types").source(nothing, returns=Row)
    with pytest.raises(TypeMismatch, match="with the attribute note, and a Row of the stream may"):
        stream.map(full)  # type: ignore[arg-type]


def test_a_stream_is_not_keyed_by_what_its_tuples_may_lack() -> None:
    stream = App("tests::Types").source(nothing, returns=Row)
    with pytest.raises(GraphError, match="its key note may be missing"):
        stream.key_by("note").map(lambda row, state: row, returns=Row, state=of(int, default=0))


@dataclass
class Same:
    value: int


def test_streams_of_two_classes_are_no_union() -> None:
    """The next PE would make all of them of one."""
    app = App("tests::Types")
    first, second = (app.source(nothing, returns=each) for each in (Number, Same))
    with pytest.raises(GraphError, match="one carries Same, and the other one Number"):
        first.union(second)


def test_an_item_that_may_be_missing_arrives_as_it_was() -> None:
    well: list[Any] = [{"name": "a"}, {"name": "b", "note": "c"}]
    given = [*well, {"note": "c"}, {"name": "d", "more": 1}]
    app, got = App("tests::Types"), list[Any]()
    source = app.source(lambda: given, returns=Row, on_error="skip")
    source.sink(got.append, name="Got")
    app.run()
    assert got == well
    type_ = tuple_type(Row, "a test")
    assert Codec(type_.value).decode(encoder_of(type_)(got)) == got


class Late(TypedDict, total=False):
    at: datetime
    count: int
    inside: NotRequired[dict[str, datetime]]


@pytest.mark.parametrize("zone", [None, BERLIN])
def test_a_dict_with_a_moment_keeps_the_order_of_its_items(zone: Any) -> None:
    """Else it is refused, and a state in it cannot be kept."""
    at = datetime(2024, 7, 1, tzinfo=zone)
    given: list[Late] = [
        {"count": 1, "at": at},
        {"inside": {"b": at, "a": at}, "at": at, "count": 2},
        {"at": at, "count": 3},
    ]
    type_ = tuple_type(Late, "a test")
    back = Codec(type_.value).decode(memoryview(encoder_of(type_)(given)))
    assert [seen(each) for each in back] == [seen(each) for each in given]
    store: Any = Single(Late, Late)
    store.value.update(given[1])
    again: Any = Single(Late, Late)
    again.load(store.save())
    assert seen(again.value) == seen(given[1])
