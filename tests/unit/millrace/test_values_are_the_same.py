"""Tuples, states, keys and windows of 500 types are the same in one process and in other PEs.

Each is what it was, to the last bit, or is refused: where the graph is built, or by its operator.
All types are played by `make exact`, the first hundred every time.
"""

from __future__ import annotations

import dataclasses
import os
import typing
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace import App, GraphError, tumbling
from millrace.codecs import Codec
from millrace.graph import Operator
from millrace.runtime.assembling import encoder_of
from millrace.runtime.checking import Checker
from millrace.runtime.clock import ManualClock
from millrace.runtime.endings import StateUnfit
from millrace.runtime.executing import execution_of
from millrace.runtime.failing import Give, Left, Take
from millrace.runtime.inheriting import _decoded, saved_left
from millrace.runtime.splitting import channel_of, group_of
from millrace.runtime.stores import Keyed, Single
from millrace.state import state_spec
from millrace.tuple_types import TupleType, tuple_type
from tests.unit.millrace.odd_values import PLAIN, Making, seen

_IF_EXACT = (
    pytest.mark.piece("exact/0"),
    pytest.mark.skipif("MILLRACE_EXACT_SCHEDULES" not in os.environ, reason="`make exact`"),
)
BLOCKS = [
    pytest.param(range(first, first + 50), marks=_IF_EXACT if first >= 100 else ())
    for first in range(0, 500, 50)
]
TUPLES = 3
GROUPS = 16


@dataclasses.dataclass
class Number:
    value: int


def types_of(seeds: range) -> Iterator[tuple[int, Making, TupleType]]:
    """Types that a graph can be built of; one of two gets values that may not fit."""
    for seed in seeds:
        making = Making(seed)
        class_ = making.tuple_type()
        making.is_odd = seed % 2 == 1
        try:
            yield seed, making, tuple_type(class_, "a test")
        except GraphError:
            assert has_init_var(class_)


def has_init_var(hint: Any) -> bool:
    """Whether a type, or one in it, was made with a field that only its constructor knows."""
    fields = getattr(hint, "__dataclass_fields__", {})
    inside = typing.get_args(hint) or [*getattr(hint, "__annotations__", {}).values()]
    return "init_only" in fields or any(map(has_init_var, inside))


def same(value: Any) -> Any:
    return value


def played(making: Making, type_: TupleType) -> tuple[App, list[Any], list[Any]]:
    """An application, what its source gives, and what its sink got in one process."""
    app = App("tests::Values")
    got: list[Any] = []
    given = [making.tuple(type_.python) for _ in range(TUPLES)]
    stream = app.source(lambda: given, returns=type_.python, name="Source", on_error="skip")
    stream.map(same, returns=type_.python, name="Same").sink(got.append)
    app.run()
    return app, given, got


def in_another_pe(type_: TupleType, values: list[Any]) -> list[Any]:
    return Codec(type_.value).decode(memoryview(encoder_of(type_)(values)))


def left_by(operator: Operator, left: Left) -> list[Any]:
    kind, data = saved_left(left, operator)
    return _decoded(operator, kind, data)


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_tuples_are_the_same_fused_or_not(seeds: range) -> None:
    for seed, making, type_ in types_of(seeds):
        app, given, got = played(making, type_)
        here = [seen(each) for each in got]
        if not making.is_odd:
            assert here == [seen(each) for each in given], seed
        assert [seen(each) for each in in_another_pe(type_, got)] == here, seed
        operator = app.graph.operator("Same")
        for left in (Take(got), Give(got)):
            assert [seen(each) for each in left_by(operator, left)] == here, seed


def state_class(making: Making, hint: Any, value: Any) -> Any:
    factory: Callable[[], Any] = lambda: value  # noqa: E731 - one of many
    fields = [("part", hint, dataclasses.field(default_factory=factory)), ("count", int, 0)]
    return dataclasses.make_dataclass("State", fields, slots=making.chance.random() < 0.3)


def resized(store: Keyed[Any], class_: Any, width: int) -> dict[Any, Any]:
    """The values of all channels after a resize."""
    channels = [Keyed[Any](class_, class_) for _ in range(width)]
    for group, data in store.save(GROUPS).items():
        channels[channel_of(group, width, GROUPS)].load(data)
    return {key: value for each in channels for key, value in each.values.items()}


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_new_states_are_the_same_after_a_restart_and_a_resize(seeds: range) -> None:
    for seed in seeds:
        making = Making(seed)
        hint = making.hint(2)
        making.is_odd = seed % 2 == 1
        class_ = state_class(making, hint, making.value(hint))
        try:
            state_spec(class_, "Counted")
        except GraphError:
            assert making.is_odd or has_init_var(hint), seed
            continue
        single, again = Single[Any](class_, class_), Single[Any](class_, class_)
        again.load(single.save())
        assert seen(again.value) == seen(single.value), seed
        keyed = Keyed[Any](class_, class_)
        keys = [*(f"k{n}" for n in range(20)), *range(5), ("a", 1), b"x", True]
        for key in keys:
            keyed.get(key).count += 1
        found = resized(keyed, class_, 3)
        wanted = {key: seen(value) for key, value in keyed.values.items()}
        assert {key: seen(value) for key, value in found.items()} == wanted, seed
        assert {key: type(key) for key in found} == {key: type(key) for key in keyed.values}


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_states_that_changed_are_saved_as_their_types_say_or_are_refused(seeds: range) -> None:
    """A number or text of a subclass is saved as what a tuple of that type would carry."""
    for seed in seeds:
        making = Making(seed)
        hint = making.hint(1)
        if has_init_var(hint):
            continue
        class_ = state_class(making, hint, None)
        making.is_odd = True
        store: Any = Single(class_, class_)
        store.value.part = making.value(hint)
        try:
            data = store.save()
        except StateUnfit:
            continue
        again: Any = Single(class_, class_)
        again.load(data)
        assert seen(again.value) == seen(carried(hint, store.value)), seed


def carried(hint: Any, state: Any) -> Any:
    """The state with its part as a tuple carries it."""
    class_ = dataclasses.make_dataclass("Carrying", [("part", hint)])
    made = class_(state.part)
    if Checker(tuple_type(class_, "a test")).first_refused([made]) is not None:
        raise AssertionError("a state is saved that no tuple carries")
    return type(state)(made.part, state.count)


@pytest.mark.parametrize("hint", [str, int, bool, bytes])
def test_keys_are_the_same_in_their_group_and_after_a_restart(hint: Any) -> None:
    class_ = dataclasses.make_dataclass("Keyed", [("key", hint)])
    type_, making = tuple_type(class_, "a test"), Making(0)
    for at in range(200):
        making.is_odd = at % 2 == 1
        given = class_(making.value(hint))
        if Checker(type_).first_refused([given]) is not None:
            continue
        (there,) = in_another_pe(type_, [given])
        store, again = (Keyed[Any](Number, lambda: Number(0)) for _ in range(2))
        store.get(given.key)
        for data in store.save(GROUPS).values():
            again.load(data)
        (loaded,) = again.values
        assert seen(loaded) == seen(given.key) == seen(there.key)
        assert len({group_of(each, GROUPS) for each in (loaded, given.key, there.key)}) == 1


@pytest.mark.parametrize("seeds", BLOCKS, ids=str)
def test_windows_are_the_same_after_a_restart(seeds: range) -> None:
    for seed, making, type_ in types_of(seeds):
        making.is_odd = False
        window = tumbling(count=TUPLES) if seed % 2 else tumbling(seconds=1)
        items = [making.tuple(type_.python) for _ in range(TUPLES)]
        got: list[Any] = []

        def counted(inside: list[Any], into: list[Any] = got) -> Number:
            into += inside
            return Number(len(inside))

        app = App("tests::Windows")
        stream = app.source(lambda: (), returns=type_.python)
        stream.window(window).aggregate(counted, name="Counted").sink(print)
        first, second = (
            execution_of(app.graph.operator("Counted"), {}, ManualClock()) for _ in range(2)
        )
        first.process(items[:2])
        for group in typing.cast(Keyed[Any], first.store).save(GROUPS).values():
            typing.cast(Keyed[Any], second.store).load(group)
        second.resume()
        second.process(items[2:])
        second.finish()
        assert [seen(each) for each in got] == [seen(each) for each in items], seed


def test_every_type_of_an_attribute_is_played() -> None:
    making = Making(0)
    hints = {making.hint(0) for _ in range(200)}
    assert hints.issuperset(PLAIN), SimpleNamespace(**{"missing": set(PLAIN) - hints})


BERLIN = datetime(1, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))


class Marked(typing.TypedDict, total=False):
    number: typing.Required[int]
    at: datetime


@dataclasses.dataclass
class Fixed:
    number: typing.Final[int]
    at: datetime


@dataclasses.dataclass
class Made:
    number: int
    at: datetime

    def __new__(cls, _number: int, _at: datetime) -> typing.Self:
        return object.__new__(cls)


@pytest.mark.parametrize(
    "value", [{"number": 1, "at": BERLIN}, {"number": 1}, Fixed(1, BERLIN), Made(1, BERLIN)]
)
def test_what_annotations_and_new_say_of_an_attribute_does_not_matter(value: Any) -> None:
    type_ = tuple_type(Marked if isinstance(value, dict) else type(value), "a test")
    assert Checker(type_).first_refused([value]) is None
    (there,) = in_another_pe(type_, [value])
    assert seen(there) == seen(value)


@dataclasses.dataclass
class Moment:
    at: datetime


def own_zone() -> zoneinfo.ZoneInfo:
    """A zone of a file, under a key that nobody else knows."""
    key = "Europe/Berlin"
    for folder in zoneinfo.TZPATH:
        if (file := Path(folder, key)).exists():
            with file.open("rb") as opened:
                return zoneinfo.ZoneInfo.from_file(opened, key="tests/Own")
    with resources.files("tzdata").joinpath("zoneinfo", key).open("rb") as packed:
        return zoneinfo.ZoneInfo.from_file(packed, key="tests/Own")


def test_a_zone_that_another_pe_does_not_find_becomes_its_offset() -> None:
    given = Moment(datetime(2024, 7, 1, tzinfo=own_zone()))
    type_ = tuple_type(Moment, "a test")
    assert Checker(type_).first_refused([given]) is None
    assert seen(given.at) == seen(datetime(2024, 7, 1, tzinfo=timezone(timedelta(hours=2))))
    assert seen(in_another_pe(type_, [given])) == seen([given])


def test_a_zone_whose_name_has_half_a_character_is_refused() -> None:
    given = Moment(datetime(2024, 7, 1, tzinfo=timezone(timedelta(hours=1), "\ud800")))
    refused = Checker(tuple_type(Moment, "a test")).first_refused([given])
    assert refused is not None
    assert "surrogates not allowed" in str(refused[1])


def test_a_type_that_no_connection_carries_is_refused_when_the_graph_is_built() -> None:
    class_ = dataclasses.make_dataclass("Odd", [("x", dict[tuple[datetime, ...], int])])
    app = App("tests::Odd")
    reason = "Odd, which no connection carries: TypeError: a datetime within a key"
    with pytest.raises(GraphError, match=reason):
        app.source(lambda: (), returns=class_)
    with pytest.raises(GraphError, match=reason):
        app.import_(class_, application="A", stream="S")


@dataclasses.dataclass
class Chain:
    value: float = 0.0
    next: Chain | None = None
    at: datetime = datetime(2024, 1, 1, tzinfo=UTC)


def test_a_state_within_itself_is_saved_as_its_type_says_it() -> None:
    store, again = (Single[Any](Chain, Chain) for _ in range(2))
    store.value = Chain(1, Chain(2, Chain(3)))
    again.load(store.save())
    assert seen(again.value) == seen(Chain(1.0, Chain(2.0, Chain(3.0))))
