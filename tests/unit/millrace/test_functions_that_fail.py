"""A function that fails in any way: its operator, the tuple and the cause are named."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App, GraphError, OperatorFailed, Stream, tumbling
from millrace.errors import worded
from tests.unit.millrace.odd_numbers import (
    COUNT,
    GOT,
    ODD,
    PROBLEMS,
    Number,
    numbers,
)


@pytest.fixture(autouse=True)
def _nothing_was_got() -> None:
    GOT.clear()


def _of(step: Callable[[Stream[Number], Any, str], None], function: Any, policy: str) -> App:
    app = App("demo::Results")
    step(app.source(numbers), function, policy)
    return app


def _map(stream: Stream[Number], function: Any, policy: Any) -> None:
    stream.map(function, returns=Number, name="Op", on_error=policy).sink(GOT.append)


def _flat_map(stream: Stream[Number], function: Any, policy: Any) -> None:
    stream.flat_map(function, returns=Number, name="Op", on_error=policy).sink(GOT.append)


def _filter(stream: Stream[Number], function: Any, policy: Any) -> None:
    stream.filter(function, name="Op", on_error=policy).sink(GOT.append)


def _aggregate(stream: Stream[Number], function: Any, policy: Any) -> None:
    windows = stream.window(tumbling(count=1))
    windows.aggregate(function, returns=Number, name="Op", on_error=policy).sink(GOT.append)


def _sink(stream: Stream[Number], function: Any, policy: Any) -> None:
    stream.sink(function, name="Op", on_error=policy)


def at_odd(otherwise: Callable[[Number], Any], then: Callable[[], Any]) -> Callable[..., Any]:
    """A function that does something else at one tuple."""

    def function(item: Any) -> Any:
        number = item[0] if isinstance(item, list) else item
        return then() if number.value == ODD else otherwise(number)

    return function


def at_odd_async(otherwise: Callable[[Number], Any], then: Callable[[], Any]) -> Any:
    async def function(item: Number) -> Any:
        return then() if item.value == ODD else otherwise(item)

    return function


def awaiting(then: Callable[[], Awaitable[Any]]) -> Any:
    async def function(item: Number) -> Any:
        return await then() if item.value == ODD else item

    return function


def nothing() -> None:
    """What a forgotten `return` gives."""


def exits() -> None:
    raise SystemExit(0)


def ends_the_process() -> None:
    os._exit(7)  # with 0 a run of tests that ends here would look well


def cancels() -> None:
    raise asyncio.CancelledError


def lacks_memory() -> None:
    raise MemoryError


async def later() -> None:
    """What a caller has to await."""


def raises(problem: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise problem

    return function


async def cancels_itself() -> Number:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)
    return Number(ODD)


async def cancels_itself_and_returns() -> Number:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return Number(ODD)


async def waits_for_what_is_cancelled() -> Number:
    task = asyncio.create_task(asyncio.sleep(1))
    asyncio.get_running_loop().call_soon(task.cancel)
    await task
    return Number(ODD)


def same(number: Number) -> Number:
    return number


def one(number: Number) -> list[Number]:
    return [number]


def wrapped(number: Number) -> None:
    GOT.append(number)


WAYS: dict[str, tuple[Any, Any, str]] = {
    "map gives None": (_map, at_odd(same, nothing), "it gave None, and gives Number"),
    "map gives a coroutine": (_map, at_odd(same, later), "it gave a coroutine, which nobody"),
    "map exits": (_map, at_odd(same, exits), "SystemExit"),
    "map ends the process": (_map, at_odd(same, ends_the_process), "SystemExit: os._exit(7)"),
    "async map ends the process": (_map, at_odd_async(same, ends_the_process), "os._exit(7)"),
    "map cancels": (_map, at_odd(same, cancels), "CancelledError"),
    "map lacks memory": (_map, at_odd(same, lacks_memory), "MemoryError"),
    "async map gives None": (_map, at_odd_async(same, nothing), "it gave None, and gives Number"),
    "async map cancels": (_map, at_odd_async(same, cancels), "CancelledError"),
    "async map exits": (_map, at_odd_async(same, exits), "SystemExit"),
    "flat_map gives one odd": (_flat_map, at_odd(one, lambda: [Number(1), 2]), "it gave 2 (int)"),
    "flat_map gives None": (_flat_map, at_odd(one, nothing), "TypeError"),
    "filter gives a coroutine": (_filter, at_odd(bool, later), "it gave a coroutine"),
    "filter gives a generator": (_filter, at_odd(bool, numbers), "it gave a generator"),
    "aggregate gives None": (_aggregate, at_odd(same, nothing), "it gave None, and gives Number"),
    "sink gives a coroutine": (_sink, at_odd(wrapped, later), "it gave a coroutine"),
    "sink gives a generator": (_sink, at_odd(wrapped, numbers), "it gave a generator"),
    "async sink gives a coroutine": (_sink, at_odd_async(wrapped, later), "it gave a coroutine"),
    **{
        f"{kind} raises {name}": (step, at(otherwise, raises(problem)), cause)
        for kind, step, at, otherwise in (
            ("map", _map, at_odd, same),
            ("async map", _map, at_odd_async, same),
            ("flat_map", _flat_map, at_odd, one),
            ("aggregate", _aggregate, at_odd, same),
            ("sink", _sink, at_odd, wrapped),
        )
        for name, problem, cause in PROBLEMS
    },
    "async map cancels itself": (_map, awaiting(cancels_itself), "CancelledError"),
    "async map cancels itself and returns": (
        _map,
        awaiting(cancels_itself_and_returns),
        "CancelledError",
    ),
    "async map waits for what is cancelled": (
        _map,
        awaiting(waits_for_what_is_cancelled),
        "CancelledError",
    ),
}


@pytest.mark.parametrize(("step", "function", "cause"), WAYS.values(), ids=WAYS)
def test_the_run_fails_and_names_the_operator_the_tuple_and_the_cause(
    step: Any, function: Any, cause: str
) -> None:
    app = _of(step, function, "fail")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OperatorFailed) as failed:
            app.run()
    assert str(failed.value).startswith("operator Op failed on ")
    assert f"Number(value={ODD})" in str(failed.value)
    assert cause in str(failed.value)
    assert len(str(failed.value)) < 1_000
    assert len(str(failed.value).splitlines()) == 1


@pytest.mark.parametrize(("step", "function", "cause"), WAYS.values(), ids=WAYS)
def test_the_tuple_alone_is_skipped_and_its_cause_is_logged(
    step: Any, function: Any, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        result = _of(step, function, "skip").run()
    assert [each.value for each in GOT] == [each for each in range(COUNT) if each != ODD]
    assert result["Op"].skipped == 1
    assert f"operator Op skips Number(value={ODD})" in caplog.text
    assert cause in caplog.text


def test_what_a_function_gave_before_it_failed_is_counted_to_the_right_tuples() -> None:
    """Two things are wrong in one batch: a result, and what a later tuple raises."""

    def function(number: Number) -> Any:
        if number.value == 4:
            raise ValueError
        return None if number.value == 1 else number

    with pytest.raises(OperatorFailed, match=r"failed on Number\(value=1\): ResultRefused"):
        _of(_map, function, "fail").run()
    assert [Number(0)] == GOT, "what was given before it"
    GOT.clear()
    assert _of(_map, function, "skip").run()["Op"].skipped == 2
    assert [each.value for each in GOT] == [0, 2, 3, 5]


def test_a_filter_without_an_annotation_may_give_none() -> None:
    """As `re.match` does; one that says bool has forgotten a return."""

    def says(number: Number) -> bool:
        if number.value != ODD:
            return True
        return None  # type: ignore[return-value]

    _of(_filter, lambda number: None if number.value == ODD else number, "fail").run()
    assert len(GOT) == COUNT - 1
    with pytest.raises(OperatorFailed, match="it gave None, and gives bool"):
        _of(_filter, says, "fail").run()


def test_a_keyboard_interrupt_is_never_skipped() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(OperatorFailed, match="KeyboardInterrupt"):
        _of(_map, at_odd(same, interrupted), "skip").run()


def test_a_run_that_is_cancelled_is_no_failure_of_a_function() -> None:
    async def waits(number: Number) -> Number:
        await asyncio.sleep(3_600)
        return number

    async def cancelled() -> None:
        running = asyncio.create_task(_of(_map, waits, "skip").run_async())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_method_that_raises_when_its_operator_ends_is_named() -> None:
    class Closing:
        def __call__(self, number: Number) -> None:
            """Take it."""

        def close(self) -> None:
            raise OSError("the disk is gone")

    with pytest.raises(OperatorFailed, match="Op failed in close: OSError: the disk is gone"):
        _of(_sink, Closing(), "fail").run()


def test_a_class_that_raises_when_it_is_made_is_named() -> None:
    class Connecting:
        def __init__(self) -> None:
            raise OSError("nobody answers")

        def __call__(self, number: Number) -> None:
            """Never called."""

    with pytest.raises(OperatorFailed, match="operator Op failed: OSError: nobody answers"):
        _of(_sink, Connecting, "fail").run()


@dataclass
class Total:
    count: int = 0


def with_total(number: Number, total: Total) -> Number:
    return Number(number.value + total.count)


def decorated(function: Callable[[Number], Awaitable[None]]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


def of_one(number: Number) -> Number:
    return number


ARGUMENTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "state is forgotten": (
        lambda numbers: numbers.map(with_total),
        "operator with_total: its function with_total takes number, total, and gets the tuple; a"
        " function with state needs state=",
    ),
    "state is not taken": (
        lambda numbers: numbers.map(same, state=Total),
        "operator same: its function same takes number, and gets the tuple and the state",
    ),
    "an object for a state": (
        lambda numbers: numbers.map(with_total, state=Total()),
        "operator with_total: its state is an object, Total(count=0): name its class alone",
    ),
    "one tuple for a window": (
        lambda n: n.window(tumbling(count=2)).aggregate(of_one),
        "its function of_one takes Number, and gets the tuples of a window: annotate it with list",
    ),
    "two of a window": (
        lambda n: n.window(tumbling(count=2)).aggregate(with_total, returns=Number),
        "takes number, total, and gets the tuples of a window",
    ),
}


@pytest.mark.parametrize(("write", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_function_with_another_number_of_arguments_is_refused(
    write: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(GraphError) as refused:
        write(App("demo::Arguments").source(numbers))
    assert message in str(refused.value)


def test_arguments_with_a_default_or_a_value_of_fn_kwargs_are_not_missing() -> None:
    def more(number: Number, by: int, plus: int = 0, *others: int) -> Number:
        return Number(number.value * by + plus)

    app = App("demo::Bound")
    app.source(numbers).map(more, fn_kwargs={"by": 2}).sink(GOT.append)
    app.run()
    assert [each.value for each in GOT] == [0, 2, 4, 6, 8, 10]


def cancels_our_task(number: Number) -> Number:
    task = asyncio.current_task()
    if number.value == ODD and task is not None:
        task.cancel()
    return number


def test_a_plain_function_that_cancels_the_task_it_runs_in_is_named() -> None:
    """Which of the tuples of a batch it was at, nobody knows; none of them is lost."""
    with pytest.raises(OperatorFailed, match="operator Op failed: CancelledError"):
        _of(_map, cancels_our_task, "fail").run()
    GOT.clear()
    assert _of(_map, cancels_our_task, "skip").run()["Op"].skipped == 1
    assert [each.value for each in GOT] == list(range(COUNT))


class CancelsItsFlush:
    """A sink whose flush ends the task that it runs in."""

    def __call__(self, number: Number) -> None:
        """Take it."""

    async def flush(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)


def test_a_flush_that_cancels_itself_is_named() -> None:
    with pytest.raises(OperatorFailed, match="operator Op failed in flush: CancelledError"):
        _of(_sink, CancelsItsFlush(), "fail").run()


def test_half_of_a_character_is_worded_as_what_every_report_can_hold() -> None:
    """No JSON of a report, and no file in UTF-8, has one."""
    assert worded(ValueError("\ud800")) == r"ValueError: \ud800"
