"""What the annotations of a function say: what it takes and returns, and how it is called."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from millrace.errors import GraphError
from millrace.tuple_types import type_name

MISSING: Final = inspect.Parameter.empty
_ITERABLES: Final = (
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.AsyncGenerator,
    collections.abc.Sequence,
    list,
    tuple,
    set,
    frozenset,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as its annotations describe it; MISSING where it has none.

    `takes`: the annotations of its positional parameters, `positional` their names, and `optional`
    those with a default. `takes_more`: it has `*args`, or nobody knows. `keywords`: the names that
    can be bound by keyword, None if it takes any.
    """

    name: str
    takes: tuple[Any, ...]
    positional: tuple[str, ...]
    optional: frozenset[str]
    takes_more: bool
    returns: Any
    keywords: frozenset[str] | None
    required: frozenset[str]
    is_async: bool

    def parameter(self, position: int) -> Any:
        """The annotation of a positional parameter."""
        return self.takes[position] if position < len(self.takes) else MISSING


def signature_of(function: Callable[..., Any], operator: str) -> Signature:
    """The signature of a function, a method, a partial or an object with `__call__`.

    Of a class: its objects are called, and what is bound by keyword is for `__init__`.
    """
    if inspect.isclass(function):
        called = signature_of(functools.partial(function.__call__, None), operator)
        made = _signature_of(function, operator)
        return replace(called, name=made.name, keywords=made.keywords, required=made.required)
    return _signature_of(function, operator)


def _signature_of(function: Callable[..., Any], operator: str) -> Signature:
    plain = _plain(function)
    name = function_name(function)
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # of a builtin without one
        return Signature(
            name, (), (), frozenset(), True, MISSING, None, frozenset(), is_async=False
        )
    hints = _hints(plain, operator, name)
    parameters = list(found.parameters.values())
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    named = [each for each in parameters if each.kind in _NAMED]
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    return Signature(
        name=name,
        takes=tuple(hints.get(each.name, MISSING) for each in positional),
        positional=tuple(each.name for each in positional),
        optional=frozenset(e.name for e in positional if e.default is not MISSING),
        takes_more=any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters),
        returns=hints.get("return", MISSING),
        keywords=None if takes_any else frozenset(each.name for each in named),
        required=frozenset(
            each.name
            for each in parameters
            if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is MISSING
        ),
        is_async=inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain),
    )


_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _plain(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return getattr(function, "__call__", function)  # noqa: B004 - the bound method is wanted


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function as its author wrote it."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _hints(plain: Any, operator: str, name: str) -> dict[str, Any]:
    if inspect.isclass(plain):
        plain = plain.__init__
    try:
        return typing.get_type_hints(plain)
    except NameError as problem:
        raise GraphError(
            f"operator {operator}: the annotations of its function {name} cannot be resolved "
            f"({problem}): define the types at the top of the module, or import them there, "
            "outside of `if TYPE_CHECKING`"
        ) from None
    except TypeError:  # of a builtin
        return {}


def element_of(annotation: Any, operator: str, name: str, *, is_taken: bool = False) -> Any:
    """The type of the elements of `Iterable[T]`, `list[T]`, `AsyncIterator[T]` and the like.

    Raises GraphError; `is_taken`: the function takes them, as the tuples of a window.
    """
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) in _ITERABLES and arguments:
        return arguments[0]
    if is_taken:
        raise GraphError(
            f"operator {operator}: its function {name} takes {type_name(annotation)}, and gets the "
            "tuples of a window: annotate it with list[T]"
        )
    raise GraphError(
        f"operator {operator}: its function {name} returns {type_name(annotation)}, and has to "
        "return several tuples: annotate it with Iterable[T] or Iterator[T]"
    )
