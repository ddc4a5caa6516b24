"""What code of an author raises: what to catch, what to log once, and how a source goes on."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from typing import Any, Final

from millrace.errors import OperatorFailed
from millrace.graph import Operator
from millrace.runtime.checking import shown
from millrace.runtime.clock import pause_of

LOG = logging.getLogger("millrace")
READ_ON_S: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits of a source that raised and goes on; the last one is repeated until it gives a tuple."""
_RAISED: Final = (Exception, SystemExit, asyncio.CancelledError)


class SourceRaised(Exception):
    """A source raised while it was read. What comes from behind it is never this."""

    def __init__(self, problem: BaseException) -> None:
        """What it raised."""
        super().__init__(str(problem))
        self.problem = problem


def raised_by_the_author() -> tuple[type[BaseException], ...]:
    """What to catch around an async function of an author, in the clause of an `except`.

    A function may raise CancelledError itself, as `await task` does where that task was cancelled.
    It is ours to pass on only while somebody cancels the task that we run in. The clause is
    evaluated when something was raised.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        return (Exception, SystemExit, KeyboardInterrupt)
    return (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError)


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
            "operator %s skips %s: %s: %s; others with this cause are only counted, in metric"
            " millrace_tuples_skipped_total",
            self._operator.name,
            "what it would have read" if item is None else shown(item),
            type(problem).__name__,
            problem,
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
            for item in items:
                failures = 0
                yield item
            return
        except _RAISED as raised:
            problem = raised
        if inspect.isgenerator(items):
            if again is None:
                end(problem)
                return
            items = None
        note(problem)
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
                async for item in items:
                    failures = 0
                    yield item
                return
            except raised_by_the_author() as raised:
                problem = raised
            if inspect.isasyncgen(items):
                if again is None:
                    end(problem)
                    return
                items = None
            note(problem)
            await asyncio.sleep(pause_of(READ_ON_S, failures))
            failures += 1
    finally:
        await closed(items)


async def closed(items: Any) -> None:
    """Close an async iterator that can be closed."""
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()
