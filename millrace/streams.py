"""`Stream` and what can be done with one: each method adds an operator and returns a stream.

Types are checked twice: by a type checker, and when the method is called, by the annotations of the
function (`building.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic, Required, TypedDict, TypeVar, Unpack, overload

from millrace.adapters.kinds import Writer
from millrace.bounds import Bounded
from millrace.building import Drafting, Inlet, Result, Step, check_attributes
from millrace.errors import GraphError
from millrace.graph import OnError, Operator
from millrace.placing import Placed
from millrace.state import State
from millrace.windows import Window

T = TypeVar("T")
U = TypeVar("U")
S = TypeVar("S")
StateOf = type[S] | State[S]
Several = Iterable[U] | AsyncIterator[U]


class More(TypedDict, Generic[U], total=False):
    """Further arguments of steps that give tuples of a type."""

    name: str | None
    on_error: OnError
    returns: type[U]


class WithValues(More[U], total=False):
    """The same of a function that takes more than tuple and state: values by keyword."""

    fn_kwargs: Required[Mapping[str, Any]]


class Stream(Bounded, Generic[T]):
    """A stream of tuples of one type. `App.source` and `App.import_` make the first ones."""

    @overload
    def map(self, function: Callable[[T], Awaitable[U]], **more: Unpack[More[U]]) -> Stream[U]: ...
    @overload
    def map(self, function: Callable[[T], U], **more: Unpack[More[U]]) -> Stream[U]: ...
    @overload
    def map(
        self,
        function: Callable[[T, S], Awaitable[U]],
        *,
        state: StateOf[S],
        **more: Unpack[More[U]],
    ) -> Stream[U]: ...
    @overload
    def map(
        self, function: Callable[[T, S], U], *, state: StateOf[S], **more: Unpack[More[U]]
    ) -> Stream[U]: ...
    @overload
    def map(
        self, function: Callable[..., U], *, state: Any = ..., **more: Unpack[WithValues[U]]
    ) -> Stream[U]: ...

    def map(
        self,
        function: Any,
        *,
        name: str | None = None,
        state: Any = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """One tuple for each tuple.

        >>> def shout(line: Line) -> Line:
        ...     return Line(line.text.upper())
        >>> loud = lines.map(shout)

        Args:
            function: A plain or an async function. An async one gets the next tuple when it has
                returned.
            name: The operator's name; by default that of the function.
            state: A dataclass: the function takes one more argument, which it may change. There is
                one for the operator, and in a parallel region one for each channel; with `key_by`
                one for each key.
            returns: The type of the result, where the function has no annotation.
            on_error: What happens if the function raises: `fail` ends the processing element,
                `skip` counts the tuple and goes on.
            fn_kwargs: Keyword arguments of the function: constants or submission-time values.
        """
        return self._step(
            "Map",
            "one",
            function,
            name=name,
            state=state,
            returns=returns,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    @overload
    def flat_map(
        self, function: Callable[[T], Several[U]], **more: Unpack[More[U]]
    ) -> Stream[U]: ...
    @overload
    def flat_map(
        self, function: Callable[[T, S], Several[U]], *, state: StateOf[S], **more: Unpack[More[U]]
    ) -> Stream[U]: ...
    @overload
    def flat_map(
        self,
        function: Callable[..., Several[U]],
        *,
        state: Any = ...,
        **more: Unpack[WithValues[U]],
    ) -> Stream[U]: ...

    def flat_map(
        self,
        function: Any,
        *,
        name: str | None = None,
        state: Any = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """Any number of tuples for each tuple: what the function yields. Arguments as of `map`.

        If the function raises, what it has yielded for that tuple before is not submitted.

        >>> def words(line: Line) -> Iterator[Word]:
        ...     for word in line.text.split():
        ...         yield Word(word)
        >>> found = lines.flat_map(words)
        """
        return self._step(
            "FlatMap",
            "several",
            function,
            name=name,
            state=state,
            returns=returns,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    def filter(
        self,
        function: Callable[..., bool | Awaitable[bool]],
        *,
        name: str | None = None,
        state: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[T]:
        """The tuples for which the function returns true. Arguments as of `map`."""
        return self._step(
            "Filter",
            "flag",
            function,
            name=name,
            state=state,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    def sink(
        self,
        function: Callable[..., object] | Writer[T],
        *,
        name: str | None = None,
        state: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Sink:
        """The end of a stream: the function is called with each tuple. Arguments as of `map`.

        >>> found: list[Count] = []
        >>> counts.sink(found.append)
        """
        if isinstance(function, Writer):
            step = function.step(name, on_error)
            if self._inlet.region is not None:
                step = replace(step, state=None)  # it could not follow a changed width
        else:
            step = Step("Sink", "sink", "nothing", function, name, state, on_error=on_error)
            step = replace(step, fn_kwargs=fn_kwargs or {})
        return Sink(self._draft, self._draft.add(step, self._inlet))

    def key_by(self, *attributes: str) -> KeyedStream[T]:
        """The stream, seen by the values of these attributes: state and windows are per key."""
        return KeyedStream(self._draft, self._inlet, attributes)

    def window(self, window: Window) -> WindowedStream[T]:
        """The stream, seen in windows: `stream.window(tumbling(seconds=10)).aggregate(total)`."""
        return WindowedStream(self._draft, self._inlet, (), window)

    def _step(self, kind: str, result: Result, function: Any, **more: Any) -> Stream[Any]:
        return _stepped(self._draft, self._inlet, kind, result, function, **more)


def _stepped(
    draft: Drafting,
    inlet: Inlet,
    kind: str,
    result: Result,
    function: Any,
    *,
    fn_kwargs: Mapping[str, Any] | None,
    **more: Any,
) -> Stream[Any]:
    """The stream behind one more operator, of arguments that the caller's signature has checked."""
    step = Step(kind, "step", result, function, fn_kwargs=fn_kwargs or {}, **more)
    operator = draft.add(step, inlet)
    return Stream(draft, (operator,), operator.gives, operator.region)


class Sink(Placed):
    """The end of a stream; it can be placed, as a stream can."""

    def __init__(self, draft: Drafting, operator: Operator) -> None:
        """The sink that is this operator."""
        self._draft = draft
        self._operator = operator

    @property
    def _placed(self) -> Operator:
        return self._operator


class KeyedStream(Generic[T]):
    """A stream that is seen by a key: `Stream.key_by` makes one. State and windows are per key."""

    def __init__(self, draft: Drafting, inlet: Inlet, key: tuple[str, ...]) -> None:
        """The stream of an inlet, by these attributes."""
        if not key:
            raise GraphError("key_by: name at least one attribute")
        check_attributes("key_by", key, inlet.type)
        self._draft = draft
        self._inlet = inlet
        self._key = key

    @overload
    def map(
        self,
        function: Callable[[T, S], Awaitable[U]],
        *,
        state: StateOf[S],
        **more: Unpack[More[U]],
    ) -> Stream[U]: ...
    @overload
    def map(
        self, function: Callable[[T, S], U], *, state: StateOf[S], **more: Unpack[More[U]]
    ) -> Stream[U]: ...
    @overload
    def map(
        self, function: Callable[..., U], *, state: StateOf[S], **more: Unpack[WithValues[U]]
    ) -> Stream[U]: ...

    def map(
        self,
        function: Any,
        *,
        state: Any,
        name: str | None = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """As `Stream.map`, with one state for each key.

        >>> @dataclass
        ... class Total:
        ...     count: int = 0
        >>> def counted(word: Word, total: Total) -> Count:
        ...     total.count += 1
        ...     return Count(word.word, total.count)
        >>> counts = words.key_by("word").map(counted, state=Total)
        """
        return self._step(
            "KeyedMap",
            "one",
            function,
            name=name,
            state=state,
            returns=returns,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    @overload
    def flat_map(
        self, function: Callable[[T, S], Several[U]], *, state: StateOf[S], **more: Unpack[More[U]]
    ) -> Stream[U]: ...
    @overload
    def flat_map(
        self,
        function: Callable[..., Several[U]],
        *,
        state: StateOf[S],
        **more: Unpack[WithValues[U]],
    ) -> Stream[U]: ...

    def flat_map(
        self,
        function: Any,
        *,
        state: Any,
        name: str | None = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """As `Stream.flat_map`, with one state for each key."""
        return self._step(
            "KeyedFlatMap",
            "several",
            function,
            name=name,
            state=state,
            returns=returns,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    def filter(
        self,
        function: Callable[..., bool | Awaitable[bool]],
        *,
        state: StateOf[S],
        name: str | None = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[T]:
        """As `Stream.filter`, with one state for each key."""
        return self._step(
            "KeyedFilter",
            "flag",
            function,
            name=name,
            state=state,
            on_error=on_error,
            fn_kwargs=fn_kwargs,
        )

    def window(self, window: Window) -> WindowedStream[T]:
        """Windows of each key for itself."""
        return WindowedStream(self._draft, self._inlet, self._key, window)

    def _step(self, kind: str, result: Result, function: Any, **more: Any) -> Stream[Any]:
        return _stepped(self._draft, self._inlet, kind, result, function, key=self._key, **more)


class WindowedStream(Generic[T]):
    """A stream that is seen in windows: `window` of a stream or keyed stream makes one."""

    def __init__(self, draft: Drafting, inlet: Inlet, key: tuple[str, ...], window: Window) -> None:
        """The stream of an inlet, in windows of each key or of all tuples."""
        self._draft = draft
        self._inlet = inlet
        self._key = key
        self._window = window

    @overload
    def aggregate(self, function: Callable[[list[T]], U], **more: Unpack[More[U]]) -> Stream[U]: ...
    @overload
    def aggregate(self, function: Callable[..., U], **more: Unpack[WithValues[U]]) -> Stream[U]: ...

    def aggregate(
        self,
        function: Any,
        *,
        name: str | None = None,
        returns: Any = None,
        on_error: OnError = "fail",
        fn_kwargs: Mapping[str, Any] | None = None,
    ) -> Stream[Any]:
        """One tuple for each window: the function takes the tuples of the window, oldest first.

        A window is never empty. With a key all of its tuples have the same.

        >>> def total(words: list[Word]) -> Count:
        ...     return Count(words[0].word, len(words))
        >>> counts = words.key_by("word").window(tumbling(seconds=10)).aggregate(total)
        """
        how: dict[str, Any] = {"key": self._key, "window": self._window, "takes_list": True}
        how |= {"name": name, "returns": returns, "on_error": on_error, "fn_kwargs": fn_kwargs}
        return _stepped(self._draft, self._inlet, "Aggregate", "one", function, **how)
