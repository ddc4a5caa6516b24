"""What code of an author raises: what to catch, what to log once, and how a source goes on."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextvars import Context
from typing import Any, Final
from weakref import WeakSet

from millrace.errors import InputRefused, OperatorFailed, worded
from millrace.graph import Operator
from millrace.runtime.checking import shown
from millrace.runtime.clock import pause_of

LOG = logging.getLogger("millrace")
READ_ON_S: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits of a source that raised and goes on; the last one is repeated until it gives a tuple."""


class SourceRaised(Exception):
    """A source raised while it was read. What comes from behind it is never this."""

    def __init__(self, problem: BaseException) -> None:
        """What it raised."""
        super().__init__(worded(problem))
        self.problem = problem


async def apart(work: Awaitable[object], context: Context | None = None) -> BaseException | None:
    """Await code of an author in a task of its own; returns what it raised.

    It may cancel the task that it runs in, which must not be one of ours: a node whose task is
    cancelled would do nothing any more, and look well.
    """
    raised: BaseException | None = None

    async def caught() -> None:
        nonlocal raised
        try:
            await work
        except BaseException as problem:  # noqa: BLE001 - an event loop would end by some of them
            raised = problem

    known = cancellations()
    task = asyncio.get_running_loop().create_task(caught(), context=context)
    with contextlib.suppress(asyncio.CancelledError):
        await task  # who cancels ours cancels this one
    if cancellations() > known:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if inspect.iscoroutine(work):
            work.close()  # the task may have been cancelled before it began
        raise asyncio.CancelledError
    return asyncio.CancelledError() if raised is None and task.cancelled() else raised


def cancellations() -> int:
    """How often the task that we run in was cancelled so far."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def uncancelled(known: int) -> bool:
    """Take back what a plain function did to our task since `cancellations`; whether it did."""
    task = asyncio.current_task()
    if task is None or task.cancelling() <= known:
        return False
    while task.cancelling() > known:
        task.uncancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)  # it comes with the next wait
    return True


class Skips:
    """What an operator skips, by its policy: counted, and logged once for each cause."""

    def __init__(self, operator: Operator) -> None:
        """Nothing was skipped yet."""
        self.count = 0
        self._operator = operator
        self._causes: set[tuple[type, int]] = set()

    def failure_at(self, item: object, problem: BaseException) -> OperatorFailed | None:
        """What was raised at a tuple (None for a source); None if that is skipped."""
        if self._operator.on_error == "fail":
            return OperatorFailed(self._operator.name, item, problem)
        self.count += 1
        self._note(item, problem)
        return None

    def _note(self, item: object, problem: BaseException) -> None:
        """Log it with the traceback, if its cause is new."""
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause = (type(problem), trace.tb_lineno if trace else 0)
        if cause in self._causes:
            return
        self._causes.add(cause)
        LOG.error(
            "operator %s skips %s: %s; others with this cause are only counted, in metric"
            " millrace_tuples_skipped_total",
            self._operator.name,
            "what it would have read" if item is None else shown(item),
            worded(problem),
            exc_info=problem if trace is not None else None,
        )


Note = Callable[[BaseException], None]


def going_on(begin: Callable[[], Any], note: Note, end: Note, *, has_state: bool) -> Any:
    """What a source gives, and goes on with after it raised, which `note` is called with.

    An iterator that is no generator is read on. A generator has ended; with state, its function
    `begin` is called again, and goes on from its state. Without, `end` is called, which may raise.
    """
    first = begin()
    if isinstance(first, list | tuple):
        return first
    again = begin if has_state else None
    if isinstance(first, AsyncIterable):
        return _read_on_async(first, again, note, end)
    return _read_on(first, again, note, end)


def _read_on(source: Any, again: Callable[[], Any] | None, note: Note, end: Note) -> Iterator[Any]:
    items, failures = iter(source), 0
    while True:
        try:
            if items is None and again is not None:
                items = iter(again())
            item = next(items)
        except StopIteration:
            return
        except BaseException as raised:  # noqa: BLE001 - code of the author
            problem = raised
        else:
            failures = 0
            yield item
            continue
        if inspect.isgenerator(items):
            if again is None:
                end(problem)
                return
            items = None
        note(problem)
        if not _is_passed(problem):
            time.sleep(pause_of(READ_ON_S, failures))
            failures += 1


async def _read_on_async(
    source: Any, again: Callable[[], Any] | None, note: Note, end: Note
) -> AsyncIterator[Any]:
    items, failures = aiter(source), 0
    try:
        while True:
            try:
                if items is None and again is not None:
                    items = aiter(again())
                item = await anext(items)
            except StopAsyncIteration:
                return
            except BaseException as raised:
                if is_ours(raised):
                    raise
                problem = raised
            else:
                failures = 0
                yield item
                continue
            if inspect.isasyncgen(items):
                if again is None:
                    end(problem)
                    return
                items = None
            note(problem)
            if _is_passed(problem):
                await asyncio.sleep(0)
                continue
            await asyncio.sleep(pause_of(READ_ON_S, failures))
            failures += 1
    finally:
        await closed(items)


def _is_passed(problem: BaseException) -> bool:
    """Whether the source goes on behind what it could not read: no pause would change that."""
    return isinstance(problem, InputRefused) and problem.is_passed


def cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task that reads a source: no failure of the source is what that raises."""
    _CANCELLED.add(task)
    task.cancel()


def is_ours(problem: BaseException) -> bool:
    """Whether what was raised where a source is read comes of `cancel`.

    Else the source cancelled its own task, which is taken back.
    """
    task = asyncio.current_task()
    if task is None or task in _CANCELLED:
        return isinstance(problem, asyncio.CancelledError)
    while task.cancelling():
        task.uncancel()
    return False


_CANCELLED: Final[WeakSet[asyncio.Task[None]]] = WeakSet()


async def closed(items: Any) -> None:
    """Close an async iterator that can be closed."""
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()
