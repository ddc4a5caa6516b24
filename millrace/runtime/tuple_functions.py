"""Executes the operators whose function takes one tuple: map, filter, flat_map and sink.

Those that collect tuples in windows are in `windowing.py`.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from itertools import islice
from operator import length_hint
from types import FunctionType, MethodType
from typing import Any, Final

from millrace.errors import OperatorFailed
from millrace.graph import Operator
from millrace.runtime.checking import ended, is_true
from millrace.runtime.failing import Give, Stuck, Take
from millrace.runtime.operators import Batch, Execution, kind_of, with_state
from millrace.runtime.raising import apart
from millrace.runtime.weighing import LARGE_BYTES, STRETCH, Load


class PlainExecution(Execution):
    """Map, filter, flat_map and sink with a plain function."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance of one of these kinds."""
        super().__init__(operator, values)
        self._call = with_state(self)
        self._load = Load(self.checker.type if self.checker else None)
        kind = kind_of(operator)
        kind = "WeighingMap" if kind == "Map" and self._load.weigh is not None else kind
        self._loop = MethodType(_copied(_LOOPS[kind]), self)

    def process(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that fails is skipped. Raises Stuck."""
        done: list[Any] = []
        rest, begin = iter(batch), 0
        self.unprocessed = ()
        self._load.begin()
        while True:
            made: list[Any] = []
            ends: list[int] = []
            problem: BaseException | None = None
            try:
                self._loop(rest, made, ends)
            except BaseException as raised:  # noqa: BLE001 - code of the author, even SystemExit
                problem = raised
            end = len(batch) - length_hint(rest)
            left = batch[end if problem is None else end - 1 :]
            behind = (Take(left),) if left else ()
            fitting = self._fitting(batch, begin, made, ends, done, behind)
            if problem is None:
                self.unprocessed = left
                self.gives_light = not (self._load.is_full or self._load.is_alert)
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

    def _map_weighing(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        """As `_map`, where results may be large: it returns before `rest` ends, too."""
        add, call, load, weigh = made.append, self._call, self._load, self._load.weigh
        assert weigh is not None, "tuples differ in size"
        is_alert = load.is_alert
        if not is_alert:
            for light in islice(rest, load.offset):
                add(call(light))
        for item in rest:
            add(given := call(item))
            if is_alert or weigh(given) > LARGE_BYTES:
                load.add((given,))
                if load.is_full:
                    return
                is_alert = load.is_alert
            else:
                for light in islice(rest, STRETCH):
                    add(call(light))

    def _filter(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        add, call = made.append, self._call
        for item in rest:
            flag = call(item)
            if flag is True or (flag is not False and is_true(flag, says_bool=self._says_bool)):
                add(item)

    def _flat_map(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        """Returns before `rest` ends, too, if what it made is heavy."""
        call, end, load = self._call, ends.append, self._load
        weighed = due = 0
        for item in rest:
            made += list(call(item))
            count = len(made)
            end(count)
            if count > due:
                due = count + load.add(made[weighed:])
                weighed = count
                if load.is_full:
                    return

    def _sink(self, rest: Iterator[Any], made: list[Any], ends: list[int]) -> None:
        call = self._call
        for item in rest:
            if (result := call(item)) is not None:
                ended(result)


_LOOPS: Final[Mapping[str, Callable[..., None]]] = {
    "Map": PlainExecution._map,
    "WeighingMap": PlainExecution._map_weighing,
    "Filter": PlainExecution._filter,
    "FlatMap": PlainExecution._flat_map,
    "Sink": PlainExecution._sink,
}


def _copied(loop: Callable[..., None]) -> FunctionType:
    """A loop for one operator, with inline caches of its own.

    CPython specializes a call for the function that it called there before. In a loop that all
    operators of a PE share, that is mostly the function of another operator.
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
        self._load = Load(self.checker.type if self.checker else None)
        self._context: Context | None = None
        self._batch: Batch = ()
        self._rest: Iterator[Any] = iter(())

    async def process_async(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that fails is skipped. Raises Stuck."""
        done: list[Any] = []
        self._batch, self._rest, self.unprocessed = batch, iter(batch), ()
        self._calls += 1
        self._context = self._context or copy_context()
        self._load.begin()
        try:
            while problem := await apart(self._go_through(self._rest, done), self._context):
                place = len(batch) - length_hint(self._rest) - 1
                if failure := self.failure_at(batch[place], problem):
                    raise Stuck(done, (Take(batch[place:]),), failure)
            self.unprocessed = batch[len(batch) - length_hint(self._rest) :]
            self.gives_light = not (self._load.is_full or self._load.is_alert)
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
        """Take tuples until one fails, or what they gave is heavy."""
        task, load, weighed = asyncio.current_task(), self._load, len(done)
        due = weighed
        assert task is not None, "it runs in a task"
        for item in rest:
            given = await self._of(item)
            if task.cancelling():
                raise CancelledError  # or the next tuple would be blamed
            if self.checker is not None:
                self.checker.check(given)
            done += given
            if (count := len(done)) > due:
                due = count + load.add(done[weighed:])
                weighed = count
                if load.is_full:
                    return

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
