"""A source that raises, or gives what does not fit: it fails, or goes on, as its policy says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App, OperatorFailed
from tests.unit.millrace.odd_numbers import (
    COUNT,
    GOT,
    ODD,
    Number,
    numbers,
)


@pytest.fixture(autouse=True)
def _nothing_was_got() -> None:
    GOT.clear()


class Stubborn:
    """An iterator that raises at one tuple, and can be read on."""

    def __init__(self) -> None:
        self.next = 0

    def __iter__(self) -> Stubborn:
        return self

    def __next__(self) -> Number:
        self.next += 1
        if self.next > COUNT:
            raise StopIteration
        if self.next - 1 == ODD:
            raise OSError("an answer with the status 503")
        return Number(self.next - 1)


class StubbornAsync(Stubborn):
    """The same, async."""

    __iter__ = None  # type: ignore[assignment]

    def __aiter__(self) -> StubbornAsync:
        return self

    async def __anext__(self) -> Number:
        try:
            return self.__next__()
        except StopIteration:
            raise StopAsyncIteration from None


@dataclass
class Position:
    next: int = 0


def positioned(position: Position) -> Iterator[Number]:
    while position.next < COUNT:
        number = position.next
        position.next += 1
        if number == ODD:
            raise OSError("an answer with the status 503")
        yield Number(number)


async def cancels_itself(position: Position) -> AsyncIterator[Number]:
    """An async source that cancels the task that reads it, once."""
    while position.next < COUNT:
        number = position.next
        position.next += 1
        if number == ODD:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
        yield Number(number)


class Leaving(Stubborn):
    """An iterator that raises what a generator is closed with."""

    def __next__(self) -> Number:
        try:
            return super().__next__()
        except OSError:
            raise GeneratorExit from None


class LeavingAsync(StubbornAsync):
    """The same, async."""

    async def __anext__(self) -> Number:
        try:
            return await super().__anext__()
        except OSError:
            raise GeneratorExit from None


SOURCES: dict[str, tuple[Any, Any, list[int]]] = {
    "an iterator": (Stubborn, None, [0, 1, 2, 4, 5]),
    "an async iterator": (StubbornAsync, None, [0, 1, 2, 4, 5]),
    "a generator with state": (positioned, Position, [0, 1, 2, 4, 5]),
    "GeneratorExit": (Leaving, None, [0, 1, 2, 4, 5]),
    "an async GeneratorExit": (LeavingAsync, None, [0, 1, 2, 4, 5]),
    "a source that cancels itself": (cancels_itself, Position, [0, 1, 2, 4, 5]),
}


@pytest.mark.parametrize(("source", "state", "given"), SOURCES.values(), ids=SOURCES)
def test_a_source_that_skips_goes_on(source: Any, state: Any, given: Sequence[int]) -> None:
    app = App("demo::GoesOn")

    def begin(*arguments: Any) -> Any:
        return source(*arguments)

    app.source(begin, returns=Number, state=state, on_error="skip").sink(GOT.append)
    result = app.run()
    assert [each.value for each in GOT] == given
    assert result["begin"].skipped == 1


@pytest.mark.parametrize(("source", "state", "given"), SOURCES.values(), ids=SOURCES)
def test_a_source_that_fails_is_named(source: Any, state: Any, given: Sequence[int]) -> None:
    app = App("demo::Fails")

    def begin(*arguments: Any) -> Any:
        return source(*arguments)

    app.source(begin, returns=Number, state=state, name="Op").sink(GOT.append)
    with pytest.raises(OperatorFailed, match=r"operator Op failed: (OSError|Gen|Cancelled)"):
        app.run()
    assert [each.value for each in GOT] == [0, 1, 2]


class Exits:
    """A function that cannot be made."""

    def __init__(self) -> None:
        raise SystemExit(0)

    def __call__(self, number: Number) -> None:
        """Take it."""


def test_a_class_that_exits_where_it_is_made_is_named() -> None:
    app = App("demo::Fails")
    app.source(numbers).sink(Exits, name="Op")
    with pytest.raises(OperatorFailed, match="operator Op failed: SystemExit: 0"):
        app.run()


def raising() -> Iterator[Number]:
    yield Number(0)
    raise OSError("an answer with the status 503")


def test_a_generator_without_state_says_that_it_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    app = App("demo::Ends")
    app.source(raising, name="Op", on_error="skip").sink(GOT.append)
    with caplog.at_level(logging.ERROR):
        result = app.run()
    assert (len(GOT), result["Op"].skipped) == (1, 1)
    assert "source Op has ended, since its generator raised" in caplog.text


class Closing(StubbornAsync):
    """An async iterator that raises at its end."""

    async def aclose(self) -> None:
        raise OSError("nobody listens")


class Unready:
    """What is no iterator yet."""

    def __aiter__(self) -> StubbornAsync:
        raise OSError("not yet")


@pytest.mark.parametrize("source", [Closing, Unready])
def test_an_iterator_that_raises_where_it_begins_or_ends_fails_the_run(source: Any) -> None:
    app = App("demo::Ends")

    def begin() -> Any:
        made = source()
        made.next = ODD + 1
        return made

    app.source(begin, returns=Number, name="Op").sink(GOT.append)
    with pytest.raises(OperatorFailed, match="operator Op failed: OSError: no"):
        app.run()


def gives_odd() -> Iterator[Any]:
    yield from (Number(2**70) if each == ODD else Number(each) for each in range(COUNT))


def test_a_source_that_gives_what_does_not_fit_skips_it_alone() -> None:
    app = App("demo::Odd")
    app.source(gives_odd, returns=Number, name="Op", on_error="skip").sink(GOT.append)
    assert app.run()["Op"].skipped == 1
    assert [each.value for each in GOT] == [0, 1, 2, 4, 5]


def test_a_source_that_gives_what_does_not_fit_fails_after_what_it_gave_before() -> None:
    app = App("demo::Odd")
    app.source(gives_odd, returns=Number, name="Op").sink(GOT.append)
    with pytest.raises(OperatorFailed, match=r"operator Op failed on Number\(value=11805916"):
        app.run()
    assert [each.value for each in GOT] == [0, 1, 2]


def exits(number: Number) -> Number:
    if number.value == ODD:
        raise SystemExit(0)
    return number


def test_a_source_that_skips_does_not_catch_what_comes_from_behind_it() -> None:
    app = App("demo::Behind")
    app.source(numbers, on_error="skip").map(exits, name="Op").sink(GOT.append)
    with pytest.raises(OperatorFailed, match=r"operator Op failed on Number\(value=3\)"):
        app.run()
