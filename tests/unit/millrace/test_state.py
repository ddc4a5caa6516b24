"""State is saved and loaded by key group, and a group belongs to one channel at each width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace import App
from millrace.runtime.clock import ManualClock
from millrace.runtime.executing import execution_of
from millrace.runtime.splitting import Splitter, channel_of, group_of, key_bytes
from millrace.runtime.stores import Keyed, Single
from millrace.state import KEY_GROUPS
from tests.unit.millrace import words as w

KEYS = st.one_of(st.text(max_size=4), st.integers(-5, 5), st.booleans(), st.binary(max_size=3))


@dataclass
class Seen:
    names: list[str] = field(default_factory=list)
    total: int = 0


@given(KEYS | st.tuples(KEYS, KEYS), KEYS | st.tuples(KEYS, KEYS))
def test_equal_keys_have_equal_bytes(first: object, second: object) -> None:
    if first == second:
        assert key_bytes(first) == key_bytes(second)


def test_the_group_of_a_key_is_the_same_in_every_release() -> None:
    keys = ["", "word", 7, True, b"\0", ("a", 1)]
    assert [group_of(each, 128) for each in keys] == [0, 31, 59, 5, 10, 47]


@pytest.mark.parametrize("width", [2, 3, 5, 8])
@pytest.mark.parametrize(
    "keys",
    [
        list("abcdefghijklmnopqrstuvwxyz"),
        [f"w{number}" for number in range(100)],
        [f"sensor-{number:03}" for number in range(200)],
        list(range(100)),
        [("a", number) for number in range(100)],
    ],
    ids=["letters", "words", "sensors", "numbers", "tuples"],
)
def test_keys_that_are_alike_are_spread_over_all_channels(keys: list[object], width: int) -> None:
    """As evenly as random ones: chi-squared below its 0.999999 quantile, 6.2 for one degree."""
    channels = Counter(channel_of(group_of(each, KEY_GROUPS), width, KEY_GROUPS) for each in keys)
    fair = len(keys) / width
    chi_squared = sum((channels[each] - fair) ** 2 / fair for each in range(width))
    assert chi_squared / (width - 1) < 6, channels


@given(st.integers(1, 300))
def test_each_channel_has_a_run_of_groups_of_about_equal_length(width: int) -> None:
    groups = KEY_GROUPS
    channels = [channel_of(each, width, groups) for each in range(groups)]
    assert channels == sorted(channels)
    sizes = [channels.count(each) for each in range(width)]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.text(max_size=3)), st.integers(1, 9), st.integers(1, 9))
def test_state_moves_with_its_groups_when_a_width_changes(
    names: list[str], before: int, after: int
) -> None:
    """Each key of the old channels is found in the new channel that its tuples reach."""

    def channels(width: int) -> list[Keyed[Seen]]:
        return [Keyed(Seen, Seen) for _ in range(width)]

    groups = 128
    old, new = channels(before), channels(after)
    for name in names:
        store = old[channel_of(group_of(name, groups), before, groups)]
        store.get(name).total += 1
    for store in old:
        for group, data in store.save(groups).items():
            new[channel_of(group, after, groups)].load(data)
    for name in names:
        store = new[channel_of(group_of(name, groups), after, groups)]
        assert store.values[name].total == names.count(name)
    assert sum(len(store.values) for store in new) == len(set(names))


def test_keys_of_several_attributes_are_tuples_again() -> None:
    store: Keyed[Seen] = Keyed(Seen, Seen)
    store.get(("a", 1)).names.append("x")
    other: Keyed[Seen] = Keyed(Seen, Seen)
    for data in store.save(128).values():
        other.load(data)
    assert other.values == {("a", 1): Seen(["x"])}
    other.drop(range(128), of=128)
    assert other.values == {}


def test_state_of_an_operator_is_one_value() -> None:
    store: Single[Seen] = Single(Seen, Seen)
    store.value.total = 7
    other: Single[Seen] = Single(Seen, Seen)
    other.load(store.save())
    assert other.value == Seen([], 7)


def test_an_operator_goes_on_with_the_state_that_was_loaded() -> None:
    app = App("demo::State")
    stream = app.import_(w.Word, subscription="true")
    stream.key_by("word").map(w.counted, state=w.Total).sink(print)
    first, second = (
        execution_of(app.graph.operator("counted"), {}, ManualClock()) for _ in range(2)
    )
    first.process([w.Word("a"), w.Word("a")])
    assert isinstance(first.store, Keyed)
    assert isinstance(second.store, Keyed)
    for data in first.store.save(128).values():
        second.store.load(data)
    assert second.process([w.Word("a"), w.Word("b")]) == [w.Count("a", 3), w.Count("b", 1)]


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5), st.integers(1, 7))
def test_a_splitter_keeps_all_tuples_and_their_order(
    items: list[int], width: int, batch: int
) -> None:
    for kind, key in (("RoundRobin", None), ("Hash", lambda item: item % 9)):
        splitter = Splitter(kind, width, 128, key)  # type: ignore[arg-type]
        channels: list[list[int]] = [[] for _ in range(width)]
        indexed = list(enumerate(items))
        for begin in range(0, len(items), batch):
            part = [value for _, value in indexed[begin : begin + batch]]
            for channel, found in enumerate(splitter.split(part)):
                channels[channel] += found
        assert sorted(each for channel in channels for each in channel) == sorted(items)
        if kind == "RoundRobin":
            assert channels == [items[first::width] for first in range(width)]
