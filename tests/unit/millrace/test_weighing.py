"""What tuples weigh: about what they take up in memory, whatever is in them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from millrace.runtime.weighing import ALERT, LARGE_BYTES, STRETCH, Load, Scale
from millrace.tuple_types import tuple_type

MB = 1_000_000


@dataclass
class Blob:
    number: int
    data: bytes


@dataclass
class Number:
    number: int


@dataclass
class Rich:
    text: str = ""
    note: str | None = None
    parts: list[bytes] = field(default_factory=list)
    deeper: list[list[str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    blob: Blob | None = None
    blobs: list[Blob] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)


@pytest.mark.parametrize(
    "rich",
    [
        Rich(text="x" * MB),
        Rich(text="\N{SNOWMAN}" * (MB // 2)),
        Rich(note="x" * MB),
        Rich(parts=[bytes(1_000)] * 1_000),
        Rich(parts=[b"", bytes(MB), b""]),
        Rich(deeper=[["x" * 1_000] * 10] * 100),
        Rich(counts={str(number).zfill(900): 1 for number in range(1_000)}),
        Rich(names={str(number): "x" * 900 for number in range(1_000)}),
        Rich(blob=Blob(1, bytes(MB))),
        Rich(blobs=[Blob(1, bytes(10_000))] * 100),
        Rich(numbers=list(range(25_000))),
        Rich(tags={str(number).zfill(900) for number in range(1_000)}),
    ],
    ids=lambda rich: next(name for name in vars(rich) if getattr(rich, name)),
)
def test_a_tuple_of_a_megabyte_weighs_about_that(rich: Rich) -> None:
    scale = Scale(tuple_type(Rich, "a test"))
    assert 0.8 * MB < scale.bytes_of([rich]) < 1.5 * MB


def test_a_container_of_millions_is_weighed_by_some_of_its_elements() -> None:
    scale = Scale(tuple_type(Rich, "a test"))
    found = scale.bytes_of([Rich(parts=[bytes(100)] * MB)])
    assert 100 * MB < found < 200 * MB


@pytest.mark.parametrize("wrong", [None, 3, "x", Number(1), object()])
def test_what_is_no_tuple_weighs_something(wrong: object) -> None:
    """Sources may give anything; it is refused where it is checked."""
    assert Scale(tuple_type(Rich, "a test")).bytes_of([wrong]) > 0


def test_tuples_of_one_size_are_not_weighed() -> None:
    assert not Scale(tuple_type(Number, "a test")).has_to_weigh
    assert Scale(tuple_type(Blob, "a test")).has_to_weigh


def test_behind_a_large_tuple_each_is_weighed_until_many_small_ones_came() -> None:
    scale = Scale(tuple_type(Blob, "a test"))
    small, large = Blob(0, b""), Blob(1, bytes(2 * LARGE_BYTES))
    assert STRETCH // 2 <= scale.stretch < 2 * STRETCH
    assert scale.large(large) > 2 * LARGE_BYTES
    assert [scale.large(small), scale.stretch] == [0, 0]
    for _ in range(ALERT):
        scale.large(small)
    assert scale.stretch > 0


def test_no_pattern_hides_large_tuples_among_small_ones() -> None:
    for period in (2, 8, STRETCH, 2 * STRETCH):
        for phase in range(period):
            scale = Scale(tuple_type(Blob, "a test"))
            number = 0
            for _ in range(20 * period):  # one of them is large in each period
                if scale.large(Blob(0, bytes(MB * (number % period == phase)))):
                    break
                number += 1 + scale.stretch
            assert scale.is_alert, (period, phase)


def test_a_load_is_full_of_one_large_result() -> None:
    load = Load(tuple_type(Blob, "a test"))
    load.begin()
    assert load.add([Blob(0, b"")]) > 0
    assert load.add([Blob(0, bytes(2 * MB))]) == 0
    was_full = load.is_full
    load.begin()
    assert [was_full, load.is_full, load.is_alert] == [True, False, True]
