"""What of a class changes its objects when they are made again, in another PE or after a restart.

A connection and a store keep the values of fields alone. An object is made of them without
`__init__`, and with `__post_init__`. So a class is refused

1. that has `InitVar`: nobody has its value any more;
2. whose `__post_init__` assigns a field that the constructor takes, too, and does not come to the
   same the second time: `name.strip()` does, `boots + 1` does not. Sample objects are made and made
   again. Where no sample passes the class's own checks, nobody knows, and the class is refused. A
   field with `init=False` is computed of the others again.

What `__post_init__` does by other ways shows in its values alone: they are refused where they
are given or saved (`runtime/checking.py`, `runtime/stores.py`).
"""

from __future__ import annotations

import copy
import dataclasses
import dis
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import CodeType
from typing import Any, Final

from millrace.errors import GraphError
from millrace.sameness import is_same

_SETTERS: Final = ("__setattr__", "setattr")
_SCALARS: Final[Mapping[Any, tuple[Any, Any]]] = {
    str: ("Ab c", " -x_Y "),
    int: (3, -7),
    float: (2.5, -0.3),
    bool: (True, False),
    bytes: (b"Ab", b"\x00 "),
    datetime: (datetime(2024, 7, 1, 12, 30, 15, 7, UTC), datetime(1999, 12, 31, tzinfo=UTC)),
    Decimal: (Decimal("2.50"), Decimal("-7")),
}
"""Two samples of each type: what a function leaves as it is in one, it changes in the other."""


def refuse_what_changes(class_: Any, who: str) -> None:
    """Raises GraphError if a dataclass would not come back as it was."""
    if names := [each.name for each in _fields(class_) if _is_init_var(each)]:
        raise GraphError(
            f"{who} is {class_.__name__}, whose {', '.join(names)} is an InitVar: nobody has its "
            "value in another PE or after a restart: make it a field, or give it to a classmethod "
            "that makes the object"
        )
    given = {each.name for each in dataclasses.fields(class_) if each.init}
    names = sorted(given.intersection(_assigned(class_)))
    if names and not _comes_to_the_same(class_):
        raise GraphError(
            f"{who} is {class_.__name__}, whose __post_init__ changes {', '.join(names)}: it runs "
            "again in another PE and after a restart, on what it made before: use field(init=False)"
            " for what it computes, or a classmethod that makes the object"
        )


def remade(class_: Any, values: Mapping[str, Any]) -> Any:
    """An object of a dataclass made of the values of its fields, as msgspec makes it.

    Raises what `__post_init__` raises.
    """
    made = _new_of(class_)(class_)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    if (complete := getattr(made, "__post_init__", None)) is not None:
        complete()
    return made


@lru_cache
def _new_of(class_: Any) -> Any:
    """What makes an object of a class: Python's own `__new__`, and none that authors wrote."""
    found = (each.__dict__.get("__new__") for each in class_.__mro__)
    return next(each for each in found if isinstance(each, types.BuiltinFunctionType))


def _fields(class_: Any) -> Iterator[Any]:
    yield from class_.__dataclass_fields__.values()


def _is_init_var(field: Any) -> bool:
    return getattr(field._field_type, "name", "") == "_FIELD_INITVAR"


def _assigned(class_: Any) -> set[str]:
    """The attributes that `__post_init__` assigns, as far as its code shows."""
    found: set[str] = set()
    for each in class_.__mro__:
        code = getattr(each.__dict__.get("__post_init__"), "__code__", None)
        if isinstance(code, CodeType):
            found |= {e.argval for e in dis.get_instructions(code) if e.opname == "STORE_ATTR"}
            if not set(_SETTERS).isdisjoint(code.co_names):
                found |= {name for name in code.co_consts if isinstance(name, str)}
    return found


# ---------------------------------------------------------------------- sample objects


def _comes_to_the_same(class_: Any) -> bool:
    """Whether sample objects that are made again are as they were."""
    tried = [_is_same_again(class_, which) for which in (0, 1, None)]
    return False not in tried and True in tried


def _is_same_again(class_: Any, which: int | None) -> bool | None:
    """None where no such object can be made. `which`: the samples; None: defaults where it can."""
    try:
        first = _made(class_, which, ())
        values = {e.name: getattr(first, e.name) for e in dataclasses.fields(class_)}
        return is_same(first, remade(class_, copy.deepcopy(values)))
    except Exception:  # noqa: BLE001 - checks of the author refuse a sample
        return None


def _made(class_: Any, which: int | None, around: tuple[Any, ...]) -> Any:
    hints = typing.get_type_hints(class_)
    taken = [each for each in dataclasses.fields(class_) if each.init]
    if which is None:
        taken = [each for each in taken if not _has_default(each)]
    inside = (*around, class_)
    return class_(**{e.name: _sample(hints[e.name], which or 0, inside) for e in taken})


def _has_default(field: Any) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _sample(hint: Any, which: int, around: tuple[Any, ...]) -> Any:
    """A value of a type. Raises LookupError where nobody knows one."""
    if hint in _SCALARS:
        return _SCALARS[hint][which]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        others = [each for each in parts if each is not type(None)]
        return None if which and len(others) < len(parts) else _sample(others[0], which, around)
    if origin is typing.Literal:
        return parts[-which]
    if origin in (list, set, frozenset):
        return origin([_sample(parts[0], each, around) for each in (which, 1 - which)])
    if origin is tuple:
        own = (parts[0], parts[0]) if parts[-1] is Ellipsis else parts
        return tuple(_sample(each, which, around) for each in own)
    if origin is dict:
        return {_sample(parts[0], which, around): _sample(parts[1], which, around)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[-which]
    if dataclasses.is_dataclass(hint) and hint not in around:
        return _made(hint, which, around)
    raise LookupError(hint)
