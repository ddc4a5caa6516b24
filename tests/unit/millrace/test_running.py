"""`App.run`: tuples go where the graph says, in order, and a finite source ends everything."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace import App, MillraceError, OperatorFailed, ParameterError, channel
from millrace.runtime.feeding import LIMIT
from millrace.runtime.queues import QUEUE_TUPLES
from millrace.runtime.turns import BATCH_MAX
from tests.patience import patient
from tests.unit.millrace import words as w


@dataclass
class Number:
    value: int


@dataclass
class Half:
    value: int
    by: int


def numbers(upto: int = 10) -> Iterator[Number]:
    yield from map(Number, range(upto))


async def numbers_in_time(upto: int = 10) -> AsyncIterator[Number]:
    for value in range(upto):
        yield Number(value)


def doubled(number: Number) -> Number:
    return Number(number.value * 2)


async def doubled_later(number: Number) -> Number:
    await asyncio.sleep(0)
    return Number(number.value * 2)


def is_even(number: Number) -> bool:
    return number.value % 2 == 0


async def is_even_later(number: Number) -> bool:
    return number.value % 2 == 0


async def twice(number: Number) -> AsyncIterator[Number]:
    yield number
    yield number


def inverse(number: Number) -> Number:
    return Number(100 // number.value)


def values(found: list[Number]) -> list[int]:
    return [each.value for each in found]


@pytest.mark.parametrize("source", [numbers, numbers_in_time])
def test_a_chain_keeps_the_order_of_a_source(source: object) -> None:
    app, found = App("demo::Chain"), list[Number]()
    stream = app.source(source, returns=Number, fn_kwargs={"upto": 5_000})  # type: ignore[call-overload]
    stream.map(doubled).filter(is_even).sink(found.append)
    result = app.run()
    assert values(found) == list(range(0, 10_000, 2))
    assert (result["doubled"].taken, result["is_even"].given) == (5_000, 5_000)


def test_async_functions_keep_the_order_too() -> None:
    app, found = App("demo::Async"), list[Number]()
    stream = app.source(numbers).map(doubled_later).filter(is_even_later)
    stream.flat_map(twice).sink(found.append)
    app.run()
    assert values(found) == [each for value in range(0, 20, 2) for each in (value, value)]


def test_streams_that_are_read_twice_and_united_have_all_tuples() -> None:
    app, found = App("demo::Union"), list[Number]()
    source = app.source(numbers)
    source.map(doubled).union(source.filter(is_even)).sink(found.append)
    app.run()
    assert Counter(values(found)) == Counter([*range(0, 20, 2), *range(0, 10, 2)])


@given(st.lists(st.text(max_size=3), max_size=60), st.integers(1, 7))
def test_tuples_of_one_key_reach_one_channel_in_order(keys: list[str], width: int) -> None:
    app, found = App("demo::Keys"), list[w.Count]()
    region = app.import_(w.Word, subscription="true", name="In").parallel(width, key="word")
    counts = region.key_by("word").map(w.counted, state=w.Total, name="Counted")
    counts.end_parallel().sink(found.append)
    app.run(imports={"In": [w.Word(each) for each in keys]})
    by_key = {key: [each.count for each in found if each.word == key] for key in keys}
    assert by_key == {key: list(range(1, times + 1)) for key, times in Counter(keys).items()}


@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_regions_in_regions_lose_and_double_nothing(
    count: int, outer: int, inner: int, broadcast: bool
) -> None:
    app, found = App("demo::Nested"), list[Number]()
    region = app.import_(Number, subscription="true", name="In").parallel(outer, name="Outer")
    deep = region.map(doubled, name="First").parallel(inner, broadcast=broadcast)
    deep.map(doubled, name="Deep").end_parallel().map(doubled).end_parallel().sink(found.append)
    result = app.run(imports={"In": [Number(each) for each in range(count)]})
    times = inner if broadcast else 1
    assert Counter(values(found)) == Counter(list(range(0, count * 8, 8)) * times)
    assert result["Deep"].taken == count * times


def test_channels_take_turns_without_a_key() -> None:
    app = App("demo::Turns")
    app.source(numbers).parallel(3).map(doubled).end_parallel().sink(print)
    result = app.run()
    assert [result.instances[f"doubled[{each}]"].taken for each in range(3)] == [4, 3, 3]
    assert [*result] == ["numbers", "doubled", "print"], "operators, not their channels"


def test_channels_of_async_functions_overlap() -> None:
    inside: list[int] = []
    most = 0

    async def slow(number: Number) -> Number:
        nonlocal most
        inside.append(number.value)
        most = max(most, len(inside))
        await asyncio.sleep(0.001)
        inside.remove(number.value)
        return number

    app = App("demo::Overlap")
    app.source(numbers).parallel(5).map(slow).end_parallel().sink(print)
    app.run()
    assert most == 5


def test_a_parallel_source_shares_its_work() -> None:
    def mine() -> Iterator[Number]:
        here = channel()
        yield from map(Number, range(here.index, 10, here.count))

    app, found = App("demo::Shared"), list[Number]()
    app.source(mine, parallel=3).end_parallel().sink(found.append)
    app.run()
    assert sorted(values(found)) == list(range(10))


def test_a_function_that_raises_fails_the_run_with_operator_and_tuple() -> None:
    app = App("demo::Fails")
    app.source(numbers).map(inverse).sink(print)
    with pytest.raises(OperatorFailed, match=r"operator inverse failed on Number\(value=0\): Zero"):
        app.run()


def test_a_function_that_raises_may_be_skipped_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, found = App("demo::Skips"), list[Number]()
    source = app.source(numbers).flat_map(lambda n: [n, Number(0)], returns=Number)
    source.map(inverse, on_error="skip").sink(found.append)
    with caplog.at_level(logging.WARNING, "millrace"):
        assert app.run()["inverse"].skipped == 11
    assert len(found) == 9
    assert len(caplog.records) == 1
    assert "operator inverse skips Number(value=0)" in caplog.text


def test_what_a_function_yields_before_it_raises_is_not_submitted() -> None:
    def half(number: Number) -> Iterator[Number]:
        yield number
        yield Number(1 // number.value)

    app, found = App("demo::Half"), list[Number]()
    app.source(numbers, fn_kwargs={"upto": 2}).flat_map(half, on_error="skip").sink(found.append)
    app.run()
    assert values(found) == [1, 1]


@pytest.mark.parametrize(("on_error", "fails"), [("fail", True), ("skip", False)])
def test_a_source_that_raises_fails_or_ends(on_error: str, fails: bool) -> None:
    def broken() -> Iterator[Number]:
        yield Number(1)
        raise OSError("gone")

    app, found = App("demo::Broken"), list[Number]()
    app.source(broken, on_error=on_error).sink(found.append)  # type: ignore[call-overload]
    if fails:
        with pytest.raises(OperatorFailed, match="operator broken failed: OSError: gone"):
            app.run()
    else:
        assert app.run()["broken"].skipped == 1
    assert values(found) == [1]


def test_a_run_ends_after_some_seconds_and_what_sources_gave_is_processed() -> None:
    def endless() -> Iterator[Number]:
        for value in range(10**9):
            yield Number(value)

    app, found = App("demo::Endless"), list[Number]()
    app.source(endless).parallel(2).map(doubled).end_parallel().sink(found.append)
    result = app.run(seconds=0.05)
    assert len(found) == result["endless"].given > 0


def test_a_slow_sink_holds_the_source_back() -> None:
    given_out, before = 0, 0

    def quick() -> Iterator[Number]:
        nonlocal given_out
        for given_out in range(50_000):
            yield Number(given_out)

    async def slow(number: Number) -> None:
        nonlocal before
        if number.value == 0:
            await asyncio.sleep(0.1)
            before = given_out

    app = App("demo::Slow")
    app.source(quick).sink(slow)
    assert app.run()["slow"].taken == 50_000
    assert 0 < before <= QUEUE_TUPLES + 3 * BATCH_MAX + LIMIT


def test_a_plain_source_may_wait_in_its_thread() -> None:
    """While one waits, another gives what it has."""
    may_end = threading.Event()

    def waiting() -> Iterator[Number]:
        yield Number(-1)
        may_end.wait(timeout=patient(30))

    def last(number: Number) -> Number:
        if number.value == 9:
            may_end.set()
        return number

    app, found = App("demo::Waits"), list[Number]()
    app.source(waiting).sink(found.append)
    app.source(numbers).map(last).sink(found.append)
    begin = time.monotonic()
    app.run()
    assert time.monotonic() - begin < patient(20)
    assert Counter(values(found)) == Counter(range(-1, 10))


def test_submission_time_values_are_checked_before_anything_runs() -> None:
    app = App("demo::Values")
    width = app.param("width", default=2)
    least = app.required_param("least", int)
    app.source(numbers, fn_kwargs={"upto": least}).parallel(width).map(doubled).sink(print)
    with pytest.raises(ParameterError, match="has no submission-time value widht: it has width"):
        app.run({"widht": 3})
    with pytest.raises(ParameterError, match="least is required and not given"):
        app.run()
    with pytest.raises(ParameterError, match="width is 'many', which is not of type int"):
        app.run({"width": "many", "least": 1})
    with pytest.raises(ParameterError, match="width is 0, and a region has from 1 to 1024"):
        app.run({"width": 0, "least": 1})
    assert app.run({"width": "3", "least": "4"})["doubled"].taken == 4


def test_an_import_that_does_not_exist_is_named() -> None:
    app = App("demo::Import")
    app.source(numbers).sink(print)
    with pytest.raises(MillraceError, match="demo::Import has no import In"):
        app.run(imports={"In": []})


async def test_a_notebook_awaits_a_run() -> None:
    app, found = App("demo::Notebook"), list[Number]()
    app.source(numbers).sink(found.append)
    await app.run_async()
    assert len(found) == 10


def in_channel(half: Half) -> Half:
    return Half(channel().index, channel().count)


async def in_channel_later(half: Half) -> Half:
    found = Half(channel().index, channel().count)
    await asyncio.sleep(0)
    assert found == Half(channel().index, channel().count)
    return found


class InChannel:
    """Knows its channel from the beginning."""

    def __init__(self) -> None:
        self._own = channel()

    def __call__(self, half: Half) -> Half:
        assert self._own == channel()
        return half


def outside(half: Half) -> Half:
    assert (channel().index, channel().count) == (0, 1)
    return half


def nine() -> Iterator[Half]:
    yield from (Half(number, 0) for number in range(9))


def test_each_function_of_a_region_knows_its_channel() -> None:
    app, found = App("demo::Channels"), list[Half]()
    region = app.source(nine).map(outside).parallel(3, name="Region")
    region = region.map(in_channel_later).map(in_channel).map(InChannel).end_parallel()  # type: ignore[arg-type]
    region.map(outside, name="After").sink(found.append)
    app.run()
    assert (
        sorted((each.value, each.by) for each in found)
        == [(0, 3)] * 3 + [(1, 3)] * 3 + [(2, 3)] * 3
    )
