"""A state that no store could give back: what is wrong is named, key by key and attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict
from zoneinfo import ZoneInfo

import msgspec
import pytest

from millrace import App
from millrace.runtime.barriers import STOP, Barrier
from millrace.runtime.endings import StateUnfit
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.stores import Keyed, Single, saved_by


@dataclass
class Total:
    count: int = 0
    names: list[str] = field(default_factory=list)
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0


class Named(TypedDict, total=False):
    name: str


@dataclass
class Checked:
    count: int = 0

    def __post_init__(self) -> None:
        if self.count < 0:
            raise SystemExit("below zero")


@dataclass
class Word:
    text: str


@dataclass
class Tree:
    below: list[Tree] = field(default_factory=list)
    seen: set[datetime] = field(default_factory=set)


def test_moments_in_a_set_are_compared_with_their_zones() -> None:
    """Before, they were kept, and had another zone after a restart: as sets they are equal."""
    noon = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    store = Single(Tree, Tree)
    store.value.below.append(Tree(seen={noon.astimezone(UTC)}))
    assert isinstance(saved_by(store), bytes)
    store.value.below.append(Tree(seen={noon}))
    unfit = saved_by(store)
    assert isinstance(unfit, StateUnfit)
    assert "below of Tree" in str(unfit)


def keyed(change: Callable[[Any], object], type_: type[Any] = Total, key: object = "a") -> str:
    """Why a state that was changed so cannot be kept, among many that fit."""
    store: Keyed[Any] = Keyed(type_, type_)
    for each in range(100):
        store.get(f"fits{each}")
    change(store.get(key))
    unfit = saved_by(store, 1)
    assert isinstance(unfit, StateUnfit)
    return str(unfit)


def setting(name: str, value: object) -> Callable[[Any], object]:
    return lambda state: setattr(state, name, value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("count", "many", "it has count='many' (str), and count of Total is int: Expected `int`"),
        ("count", 2**70, "it has count=1180591620717411303424 (int), and count of Total is int: "),
        ("names", ["a", 7], "it has names=['a', 7] (list), and names of Total is list[str]: "),
        ("names", ["\ud800"], r"it has names=['\ud800'] (list), and names of Total is list[str]: "),
        ("limit", -1, "it has limit=-1 (int), and limit of Total is int: Expected `int` >= 0"),
    ],
)
def test_the_key_the_attribute_and_the_value_are_named(
    name: str, value: object, words: str
) -> None:
    assert keyed(setting(name, value)).startswith(f"its state of key 'a': {words}")


def test_an_object_that_nobody_can_encode_is_named() -> None:
    text = keyed(setting("count", object()))
    assert "it has count=<object object at " in text
    assert text.endswith("Encoding objects of type object is unsupported")


def test_the_place_of_a_wrong_part_is_named() -> None:
    assert keyed(setting("names", ["a", 7])).endswith("Expected `str`, got `int` - at `names[1]`")


def test_a_state_of_keys_is_named_by_its_key_in_one_line() -> None:
    text = keyed(setting("names", ["a\nb", 7]), key=("a\n", 1))
    assert text.startswith(r"its state of key ('a\n', 1): it has names=['a\nb', 7] (list)")


def test_a_key_that_nobody_can_encode_is_named() -> None:
    text = keyed(lambda _: None, key="\ud800")
    assert text.startswith(r"its state of key '\ud800': the key cannot be saved: ")


def test_a_dictionary_with_a_wrong_value_is_named() -> None:
    text = keyed(lambda state: state.update(name=7), Named)
    assert text.startswith("its state of key 'a': it has name=7 (int), and name of Named is str: ")


def test_what_a_state_itself_refuses_as_it_is_read_is_named() -> None:
    """Its code runs at each start of a launch: what it raises would end that."""
    text = keyed(setting("count", -1), Checked)
    assert text == "its state of key 'a': Checked(count=-1): SystemExit: below zero"


def test_state_without_a_key_is_named_without_one() -> None:
    store: Single[Any] = Single(Total, Total)
    store.value.count = "many"
    assert str(saved_by(store)).startswith("its state: it has count='many' (str), and count of ")


def test_state_that_fits_after_all_is_saved_as_before() -> None:
    """A subclass, an int for a float: the codec decides, which reads it back."""
    store: Keyed[Any] = Keyed(Total, Total)
    store.get("a").count = True + 1
    found = saved_by(store, 1)
    assert found == {0: msgspec.msgpack.encode([("a", Total(2))])}
    assert saved_by(None) is None


def read(total: Total) -> Iterable[Word]:
    return ()


def test_a_source_whose_state_does_not_fit_goes_on_all_the_same() -> None:
    app = App("tests::Source")
    app.source(read, state=Total, name="Words").sink(print)
    store: Single[Any] = Single(Total, Total)
    operator = app.graph.operator("Words")
    source = SourceNode("Words", operator, lambda: (), store)
    store.value.count = "many"
    source.hold(Barrier("checkpoint", 1))
    source.go_on(Barrier("checkpoint", 1), until=STOP)
    assert isinstance(source.saved[STOP], StateUnfit)
