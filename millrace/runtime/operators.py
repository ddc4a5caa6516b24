"""Executes one instance of an operator: tuples in, tuples out, in batches.

An execution knows nothing of threads, queues, connections or neighbours. Batches keep the order of
tuples; how long they are changes nothing in what comes out. What runs an execution calls `process`
with one batch after the other, `on_time` when `due` has come, and `finish` at the end of its input.
What processes the tuples is in `tuple_functions.py` and `windowing.py`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from millrace.errors import OperatorFailed
from millrace.graph import Operator
from millrace.parameters import Parameter
from millrace.runtime.checking import Checker
from millrace.runtime.failing import Stuck, Take
from millrace.runtime.raising import Skips, apart, cancellations, uncancelled
from millrace.runtime.splitting import key_reader
from millrace.runtime.stores import Keyed, Single, with_keyed
from millrace.signatures import signature_of

Batch = Sequence[Any]
Store = Keyed[Any] | Single[Any] | None


class Execution:
    """One instance of an operator. Subclasses process batches, in a plain or an async way.

    `due`: when `on_time` has to be called, in seconds since 1970, or None. `checker`: of what it
    gives; None for a filter, which gives what it took, and for a sink. `is_let_go`: its function is
    flushed and closed, which happens once.
    """

    is_async = False
    due: float | None = None
    is_let_go = False
    unprocessed: Sequence[Any] = ()
    """What of a batch `process` has left: what it gave of the tuples before is heavy."""
    gives_light = False
    """Whether `process` gave no large tuple lately, so that nobody has to look for one."""
    _calls = 0
    _method_called = ""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance with the values of submission-time values by name."""
        assert operator.function is not None
        self.operator = operator
        self.store: Store = _store_of(operator)
        self._skips = Skips(operator)
        self.checker = _checker_of(operator)
        self._function = bound(operator, values)
        self._says_bool = _says_bool(operator)

    @property
    def skipped(self) -> int:
        """How many tuples were skipped."""
        return self._skips.count

    def process(self, batch: Batch) -> list[Any]:
        """What the operator submits for these tuples, without those `unprocessed`. Raises Stuck."""
        raise NotImplementedError

    async def process_async(self, batch: Batch) -> list[Any]:
        """As `process`, for executions that are async."""
        return self.process(batch)

    async def given_by(self, call: Callable[..., list[Any]], *args: Any) -> list[Any]:
        """What one of the plain calls gives. Raises Stuck, also where it cancels our task."""
        task = asyncio.current_task()
        assert task is not None, "a node runs in a task"
        known = task.cancelling()
        try:
            given = call(*args)
        except Stuck:
            await uncancelled(known)
            raise
        was_cancelled = task.cancelling() > known and await uncancelled(known)
        if was_cancelled and (failure := self.failure_at(None, CancelledError())):
            raise Stuck(given, (Take(self.unprocessed),) if self.unprocessed else (), failure)
        return given

    def on_time(self, now: float) -> list[Any]:
        """What the operator submits because of the time. Raises Stuck."""
        return []

    def finish(self) -> list[Any]:
        """What the operator submits at the end of its input. Raises Stuck."""
        return []

    def resume(self) -> None:
        """Go on with state that was loaded into the store."""

    async def flush(self) -> None:
        """Let out what the function holds back: the method `flush` of an object is called."""
        await self._call_method("flush")

    async def close(self) -> None:
        """Let go of what the function holds: an object with `close` is closed."""
        await self._call_method("close")

    async def let_go(self) -> None:
        """The end: flush and close. Raises OperatorFailed; it may be called again then."""
        if not self.is_let_go:
            await self.flush()
            await self.close()
            self.is_let_go = True

    @property
    def holds_back(self) -> bool:
        """Whether the function has something to flush or to close."""
        return any(self._method(name) is not None for name in ("flush", "close"))

    @property
    def works_on(self) -> tuple[object, object, str] | None:
        """What is awaited: how far it got, and the tuple, or the name of a method; else None."""
        called = self._method_called
        return (self._calls, None, called) if called else None

    def _method(self, name: str) -> Callable[[], Any] | None:
        function: Any = self._function
        if isinstance(function, functools.partial):
            function = function.func  # an object with arguments
        method = None if inspect.isroutine(function) else getattr(function, name, None)
        return method if callable(method) else None

    async def _call_method(self, name: str) -> None:
        if (method := self._method(name)) is None:
            return
        problem, known = None, cancellations()
        self._calls, self._method_called = self._calls + 1, name
        try:
            result = method()
        except BaseException as raised:  # noqa: BLE001 - code of the author
            problem = raised
        else:
            if inspect.isawaitable(result):
                problem = await apart(result)
        self._method_called = ""
        if await uncancelled(known):
            problem = problem or CancelledError()
        if problem is not None:
            raise OperatorFailed(self.operator.name, None, problem, method=name) from problem

    def failure_at(self, item: object, problem: BaseException) -> OperatorFailed | None:
        """What a function raised at a tuple; None if its policy skips it, which is counted.

        KeyboardInterrupt is never skipped: somebody wants the run to end.
        """
        if isinstance(problem, KeyboardInterrupt):
            return OperatorFailed(self.operator.name, item, problem)
        return self._skips.failure_at(item, problem)

    def remembered(self, item: Any) -> Callable[[], None]:
        """What puts the state of a tuple back to what it is now.

        A function that changes its state, fails, and is tried again, changes it once that way.
        """
        try:
            return self._remembered(item)
        except Exception:  # noqa: BLE001 - state of the author, which no store could keep either
            return _nothing

    def _remembered(self, item: Any) -> Callable[[], None]:
        store, operator = self.store, self.operator
        if isinstance(store, Single):
            data = store.save()
            store.load(data)  # or it could not be put back
            return lambda: store.load(data)
        if isinstance(store, Keyed) and operator.window is None:
            assert operator.takes is not None
            put_back = store.remembered(key_reader(operator.key, operator.takes.access)(item))
            put_back()
            return put_back
        return _nothing


def _nothing() -> None:
    """A window takes a tuple in when its function has returned."""


def bound(operator: Operator, values: Mapping[str, Any]) -> Callable[..., Any]:
    """The operator's function with its keyword arguments; a class is instantiated with them.

    Raises OperatorFailed if the class raises.
    """
    assert operator.function is not None
    keywords = {
        name: values[value.name] if isinstance(value, Parameter) else value
        for name, value in operator.fn_kwargs.items()
    }
    if inspect.isclass(operator.function):
        factory: Any = operator.function
        try:
            return cast(Callable[..., Any], factory(**keywords))
        except BaseException as problem:
            raise OperatorFailed(operator.name, None, problem) from problem
    return functools.partial(operator.function, **keywords) if keywords else operator.function


def _says_bool(operator: Operator) -> bool:
    """Whether the function of a filter has that annotation; read for filters alone."""
    if kind_of(operator) != "Filter":
        return False
    assert operator.function is not None, "a filter has a function"
    return signature_of(operator.function, operator.name).returns is bool


def _checker_of(operator: Operator) -> Checker | None:
    """A filter gives what it took, which was checked where it was made."""
    if operator.gives is None or kind_of(operator) == "Filter":
        return None
    return Checker(operator.gives)


def _store_of(operator: Operator) -> Store:
    if operator.state is None:
        return None
    kind = Keyed if operator.key else Single
    return kind(operator.state.type, operator.state.type)


def kind_of(operator: Operator) -> str:
    """Map, Filter, FlatMap or Sink."""
    if operator.role == "sink":
        return "Sink"
    return operator.kind.removeprefix("millrace::").removeprefix("Keyed")


def with_state(execution: Execution) -> Callable[[Any], Any]:
    """The function of one tuple: with the state of its key, or of the operator, or without any."""
    function, store, operator = execution._function, execution.store, execution.operator
    if isinstance(store, Keyed):
        assert operator.takes is not None
        return with_keyed(function, store, key_reader(operator.key, operator.takes.access))
    if isinstance(store, Single):
        single = store
        return lambda item: function(item, single.value)
    return function
