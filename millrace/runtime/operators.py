"""Executes one instance of an operator: tuples in, tuples out, in batches.

An execution knows nothing of threads, queues, connections or neighbours. Batches keep the order of
tuples; how long they are changes nothing in what comes out. What runs an execution calls `process`
with one batch after the other, `on_time` when `due` has come, and `finish` at the end of its input.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from millrace.errors import OperatorFailed
from millrace.graph import Operator
from millrace.parameters import Parameter
from millrace.runtime.splitting import key_reader
from millrace.runtime.stores import Keyed, Single

LOG = logging.getLogger("millrace")
Batch = Sequence[Any]
Store = Keyed[Any] | Single[Any] | None


class Execution:
    """One instance of an operator. Subclasses process batches, in a plain or an async way.

    `due`: when `on_time` has to be called, in seconds since 1970, or None. `skipped`: tuples whose
    function raised, with the policy `skip`.
    """

    is_async = False
    due: float | None = None

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance with the values of submission-time values by name."""
        assert operator.function is not None
        self.operator = operator
        self.skipped = 0
        self.store: Store = _store_of(operator)
        self._causes: set[tuple[type, int]] = set()
        self._function = bound(operator, values)

    def process(self, batch: Batch) -> list[Any]:
        """What the operator submits for these tuples. Raises OperatorFailed."""
        raise NotImplementedError

    async def process_async(self, batch: Batch) -> list[Any]:
        """As `process`, for executions that are async."""
        return self.process(batch)

    def on_time(self, now: float) -> list[Any]:
        """What the operator submits because of the time."""
        return []

    def finish(self) -> list[Any]:
        """What the operator submits at the end of its input."""
        return []

    def resume(self) -> None:
        """Go on with state that was loaded into the store."""

    async def flush(self) -> None:
        """Let out what the function holds back: the method `flush` of an object is called."""
        await self._call_method("flush")

    async def close(self) -> None:
        """Let go of what the function holds: an object with `close` is closed."""
        await self._call_method("close")

    async def _call_method(self, name: str) -> None:
        method: Any = getattr(self._function, name, None)
        if callable(method) and not inspect.isroutine(self._function):
            result = method()
            if inspect.isawaitable(result):
                await result

    def failed(self, item: object, problem: Exception) -> None:
        """Count and log what a function raised, or raise OperatorFailed, as its policy says."""
        if self.operator.on_error == "fail":
            raise OperatorFailed(self.operator.name, item, problem) from problem
        self.skipped += 1
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause = (type(problem), trace.tb_lineno if trace else 0)
        if cause not in self._causes:
            self._causes.add(cause)
            LOG.error(
                "operator %s skips %r; others with this cause are only counted, in metric"
                " millrace_tuples_skipped_total",
                self.operator.name,
                item,
                exc_info=problem,
            )


def bound(operator: Operator, values: Mapping[str, Any]) -> Callable[..., Any]:
    """The operator's function with its keyword arguments; a class is instantiated with them."""
    assert operator.function is not None
    keywords = {
        name: values[value.name] if isinstance(value, Parameter) else value
        for name, value in operator.fn_kwargs.items()
    }
    if inspect.isclass(operator.function):
        factory: Any = operator.function
        return cast(Callable[..., Any], factory(**keywords))
    return functools.partial(operator.function, **keywords) if keywords else operator.function


def _store_of(operator: Operator) -> Store:
    if operator.state is None:
        return None
    kind = Keyed if operator.key else Single
    return kind(operator.state.type, operator.state.type)


def with_state(execution: Execution) -> Callable[[Any], Any]:
    """The function of one tuple: with the state of its key, or of the operator, or without any."""
    function, store, operator = execution._function, execution.store, execution.operator
    if isinstance(store, Keyed):
        assert operator.takes is not None
        return _with_keyed(function, store, key_reader(operator.key, operator.takes.access))
    if isinstance(store, Single):
        single = store
        return lambda item: function(item, single.value)
    return function


def _with_keyed(
    function: Callable[..., Any], store: Keyed[Any], read: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def call(item: Any) -> Any:
        key = read(item)
        state = store.values.get(key)
        return function(item, store.get(key) if state is None else state)

    return call


class PlainExecution(Execution):
    """Map, filter, flat_map and sink with a plain function."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance of one of these kinds."""
        super().__init__(operator, values)
        self._call = with_state(self)
        self._loop = _LOOPS[kind_of(operator)]

    def process(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that raises is skipped or fails."""
        done: list[Any] = []
        rest = iter(batch)
        while True:
            try:
                self._loop(self._call, rest, done)
            except _Raised as raised:
                self.failed(raised.item, raised.problem)
            else:
                return done


class _Raised(Exception):
    def __init__(self, item: object, problem: Exception) -> None:
        super().__init__()
        self.item = item
        self.problem = problem


def _map(call: Callable[[Any], Any], rest: Iterable[Any], done: list[Any]) -> None:
    add = done.append
    item = None
    try:
        for item in rest:
            add(call(item))
    except Exception as problem:  # noqa: BLE001 - code of the author
        raise _Raised(item, problem) from None


def _filter(call: Callable[[Any], Any], rest: Iterable[Any], done: list[Any]) -> None:
    add = done.append
    item = None
    try:
        for item in rest:
            if call(item):
                add(item)
    except Exception as problem:  # noqa: BLE001 - code of the author
        raise _Raised(item, problem) from None


def _flat_map(call: Callable[[Any], Any], rest: Iterable[Any], done: list[Any]) -> None:
    item = None
    try:
        for item in rest:
            done += list(call(item))
    except Exception as problem:  # noqa: BLE001 - code of the author
        raise _Raised(item, problem) from None


def _sink(call: Callable[[Any], Any], rest: Iterable[Any], done: list[Any]) -> None:
    item = None
    try:
        for item in rest:
            call(item)
    except Exception as problem:  # noqa: BLE001 - code of the author
        raise _Raised(item, problem) from None


_LOOPS = {"Map": _map, "Filter": _filter, "FlatMap": _flat_map, "Sink": _sink}


def kind_of(operator: Operator) -> str:
    """Map, Filter, FlatMap or Sink."""
    if operator.role == "sink":
        return "Sink"
    return operator.kind.removeprefix("millrace::").removeprefix("Keyed")


class AsyncExecution(Execution):
    """Map, filter, flat_map and sink with an async function, one tuple after the other."""

    is_async = True

    def __init__(self, operator: Operator, values: Mapping[str, Any]) -> None:
        """An instance of one of these kinds."""
        super().__init__(operator, values)
        self._call = with_state(self)
        self._kind = kind_of(operator)

    async def process_async(self, batch: Batch) -> list[Any]:
        """What the function makes of each tuple; one that raises is skipped or fails."""
        done: list[Any] = []
        for item in batch:
            try:
                done += await self._of(item)
            except Exception as problem:  # noqa: BLE001 - code of the author
                self.failed(item, problem)
        return done

    async def _of(self, item: Any) -> Iterable[Any]:
        made = self._call(item)
        if isinstance(made, AsyncIterator):
            return [each async for each in made]
        result = await made
        match self._kind:
            case "Map":
                return (result,)
            case "Filter":
                return (item,) if result else ()
            case "FlatMap":
                return list(result)
            case _:
                return ()
