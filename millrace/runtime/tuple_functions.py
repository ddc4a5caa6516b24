"""Executes the operators whose function takes one tuple: map, filter, flat_map and sink.

Those that collect tuples in windows are in `windowing.py`.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from operator import length_hint
from types import FunctionType, MethodType
from typing import Any, Final

from millrace.errors import OperatorFailed
from millrace.graph import Operator
from millrace.runtime.checking import ended, is_true
from millrace.runtime.failing import Give, Stuck, Take
from millrace.runtime.operators import Batch, Execution, kind_of, with_state
from millrace.runtime.raising import apart


class PlainExecution(Execution):
    """Map, filter, flat_map and sink with a plain function."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance of one of these kinds."""
        super().__init__(operator, values)
        self._call = with_state(self)
        self._loop = MethodType(_copied(_LOOPS[kind_of(operator)]), self)

    def process(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that fails is skipped. Raises Stuck."""
        done: list[Any] = []
        rest, begin = iter(batch), 0
        while True:
            made: list[Any] = []
            ends: list[int] = []
            problem: BaseException | None = None
            try:
                self._loop(rest, made, ends)
            except BaseException as raised:  # noqa: BLE001 - code of the author, even SystemExit
                problem = raised
            end = len(batch) - length_hint(rest)
            behind = () if problem is None else (Take(batch[end - 1 :]),)
            fitting = self._fitting(batch, begin, made, ends, done, behind)
            if problem is None:
                return done + fitting if done else fitting
            done += fitting
            begin = end
            if failure := self.failure_at(batch[end - 1], problem):
                raise Stuck(done, behind, failure)

    def _fitting(
        self,
        batch: Batch,
        begin: int,
        made: list[Any],
        ends: list[int],
        done: list[Any],
        behind: tuple[Take, ...],
    ) -> list[Any]:
        """What was made of the tuples from `begin` on, without what does not fit.

        Raises Stuck with what was done before, and `behind` left.
        """
        if self.checker is None or self.checker.first_refused(made) is None:
            return made
        fitting: list[Any] = []
        left: list[Take | Give] = []
        first: OperatorFailed | None = None
        before = 0
        for place, end in enumerate(ends or range(1, len(made) + 1), begin):
            given = made[before:end]
            before = end
            if (refused := self.checker.first_refused(given)) is None:
                if first is None:
                    fitting += given
                else:
                    left.append(Give(given))
            elif first := first or self.failure_at(batch[place], refused[1]):
                left.append(Take(batch[place : place + 1]))  # later ones fail at their turn
        if first is not None:
            raise Stuck(done + fitting, (*left, *behind), first)
        return fitting

    # Each takes tuples until one fails. `ends`: how many results there were after each tuple.

    def _map(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        add, call = made.append, self._call
        for item in rest:
            add(call(item))

    def _filter(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        add, call = made.append, self._call
        for item in rest:
            flag = call(item)
            if flag is True or (flag is not False and is_true(flag, says_bool=self._says_bool)):
                add(item)

    def _flat_map(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        call, end = self._call, ends.append
        for item in rest:
            made += list(call(item))
            end(len(made))

    def _sink(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        call = self._call
        for item in rest:
            if (result := call(item)) is not None:
                ended(result)


_LOOPS: Final[Mapping[str, Callable[..., None]]] = {
    "Map": PlainExecution._map,
    "Filter": PlainExecution._filter,
    "FlatMap": PlainExecution._flat_map,
    "Sink": PlainExecution._sink,
}


def _copied(loop: Callable[..., None]) -> FunctionType:
    """A loop for one operator. Python prepares a call for what was called at that place before.

    In a loop that all operators of a PE share, that is mostly the function of another one.
    """
    assert isinstance(loop, FunctionType), "loops are plain functions"
    return FunctionType(loop.__code__.replace(), loop.__globals__, loop.__name__)


class AsyncExecution(Execution):
    """Map, filter, flat_map and sink with an async function, one tuple after the other."""

    is_async = True

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance of one of these kinds."""
        super().__init__(operator, values)
        self._call = with_state(self)
        self._kind = kind_of(operator)
        self._context: Context | None = None
        self._batch: Batch = ()
        self._rest: Iterator[Any] = iter(())

    async def process_async(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that fails is skipped. Raises Stuck."""
        done: list[Any] = []
        self._batch, self._rest = batch, iter(batch)
        self._calls += 1
        self._context = self._context or copy_context()
        try:
            while problem := await apart(self._go_through(self._rest, done), self._context):
                place = len(batch) - length_hint(self._rest) - 1
                if failure := self.failure_at(batch[place], problem):
                    raise Stuck(done, (Take(batch[place:]),), failure)
            return done
        finally:
            self._batch = ()

    @property
    def works_on(self) -> tuple[object, object, str] | None:
        """As of all; nothing is counted for each tuple."""
        left = length_hint(self._rest)
        if left < len(self._batch):
            return (self._calls, left), self._batch[len(self._batch) - left - 1], ""
        return super().works_on

    async def _go_through(self, rest: Iterator[Any], done: list[Any]) -> None:
        """Take tuples until one fails."""
        task = asyncio.current_task()
        assert task is not None, "it runs in a task"
        for item in rest:
            given = await self._of(item)
            if task.cancelling():
                raise CancelledError  # or the next tuple would be blamed
            if self.checker is not None:
                self.checker.check(given)
            done += given

    async def _of(self, item: Any) -> Sequence[Any]:
        made = self._call(item)
        if isinstance(made, AsyncIterator):
            return [each async for each in made]
        result = await made
        match self._kind:
            case "Map":
                return (result,)
            case "Filter":
                return (item,) if is_true(result, says_bool=self._says_bool) else ()
            case "FlatMap":
                return list(result)
            case _:
                ended(result)
                return ()
