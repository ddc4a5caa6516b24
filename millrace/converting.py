"""Values that are equal to one of their type, and are of another class: made what the type says.

So what a function gives is the same in its own process and in another PE: an `int` for a `float`, a
float of numpy, an `IntEnum` for an `int`, a `Counter` for a `dict[str, int]`. What is not equal
then (a tuple for a list, an object of a subclass) is left as it is, and is refused by the caller.

A zone that is neither a `datetime.timezone` nor a `ZoneInfo` with a key becomes its offset.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from millrace.state_types import state_type
from millrace.tuple_types import ValueType, is_dataclass_type


@dataclass(frozen=True, slots=True)
class Rules:
    """What is made of scalars, by their type; and whether containers of subclasses become plain."""

    scalars: Mapping[str, Callable[[Any], Any]]
    containers: bool


def converted(value: Any, type_: ValueType, rules: Rules) -> Any:
    """The value as its type says it, or itself where it is so already or cannot be made so.

    Raises what code of the author raises.
    """
    match type_.name:
        case "optional":
            inner = type_.parts[0]
            return None if value is None else converted(value, inner, rules)
        case "tuple":
            return _tuple(value, type_, rules)
        case "again":
            return _tuple(value, _around(type_.python), rules)
        case "list" | "set" | "map" | "fixed":
            return _container(value, type_, rules)
    make = rules.scalars.get(type_.name)
    return value if make is None else make(value)


@lru_cache
def _around(class_: Any) -> ValueType:
    """The type of a class that contains itself."""
    return state_type(class_, class_.__name__)


def convert_attributes(value: Any, type_: ValueType, rules: Rules) -> bool:
    """Make the attributes of a tuple what its type says, in place; whether any was another."""
    has_attributes = is_dataclass_type(type_.python)
    changes = _changes(value, type_, rules)
    for name, new in changes.items():
        if has_attributes:
            object.__setattr__(value, name, new)  # of a frozen one, too
        else:
            value[name] = new
    return bool(changes)


def _changes(value: Any, type_: ValueType, rules: Rules) -> dict[str, Any]:
    has_attributes = is_dataclass_type(type_.python)
    found: dict[str, Any] = {}
    for each in type_.attributes:
        if not (hasattr(value, each.name) if has_attributes else each.name in value):
            continue
        old = getattr(value, each.name) if has_attributes else value[each.name]
        if (new := converted(old, each.type, rules)) is not old:
            found[each.name] = new
    return found


def _tuple(value: Any, type_: ValueType, rules: Rules) -> Any:
    if is_dataclass_type(type_.python):
        if type(value) is not type_.python:
            return value
        changes = _changes(value, type_, rules)
        if not changes:
            return value
        made = copy.copy(value)  # its author may go on with it
        for name, new in changes.items():
            object.__setattr__(made, name, new)
        return made
    if not isinstance(value, dict) or (type(value) is not dict and not rules.containers):
        return value
    changes = _changes(value, type_, rules)
    return value if type(value) is dict and not changes else {**value, **changes}


def _container(value: Any, type_: ValueType, rules: Rules) -> Any:
    kind = type_.python
    kinds: Any = (set, frozenset) if type_.name == "set" else kind
    if not isinstance(value, kinds) or (type(value) is not kind and not rules.containers):
        return value
    if isinstance(value, dict):
        keys = _items(list(value), type_, 0, rules)
        items = _items(list(value.values()), type_, 1, rules)
        is_exact = type(value) is kind and _are(keys, value) and _are(items, value.values())
        return value if is_exact else dict(zip(keys, items, strict=True))
    made = _items(list(value), type_, None, rules)
    return value if type(value) is kind and _are(made, value) else kind(made)


def _items(values: list[Any], type_: ValueType, at: int | None, rules: Rules) -> list[Any]:
    """Elements; those of a tuple of fixed length have a type each."""
    if type_.name == "fixed":
        pairs = zip(values, type_.parts, strict=False)
        made = [converted(each, part, rules) for each, part in pairs]
        return [*made, *values[len(made) :]]
    part = type_.parts[at or 0]
    return [converted(each, part, rules) for each in values]


def _are(made: list[Any], values: Any) -> bool:
    return all(new is old for new, old in zip(made, values, strict=True))


def _text(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return int.__int__(value) if is_number and type(value) is not int else value


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return float.__float__(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        made = float(int.__int__(value))
    except OverflowError:
        return value
    return made if made == value else value


def _bytes(value: Any) -> Any:
    if type(value) is bytes or not isinstance(value, bytes | bytearray | memoryview):
        return value
    made = memoryview(value).tobytes()
    return made if made == value else value


def _exact(value: Any) -> Any:
    return Decimal(value) if isinstance(value, Decimal) and type(value) is not Decimal else value


def _moment(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    made = value if type(value) is datetime else _plain(value)
    zone = made.tzinfo
    if zone is None or type(zone) is timezone or is_keyed(zone):
        return made
    offset = made.utcoffset()
    return value if offset is None else made.replace(tzinfo=timezone(offset))


def _plain(value: datetime) -> datetime:
    """A moment without its class; itself where that is not all of it, as of nanoseconds."""
    try:
        made = datetime.combine(value.date(), value.time(), value.tzinfo)
        return made if made == value and type(made) is datetime else value
    except Exception:  # noqa: BLE001 - code of another library
        return value


def is_keyed(zone: Any) -> bool:
    """Whether it is a zone that another process finds by its key."""
    return type(zone) is ZoneInfo and zone.key is not None and _is_found(zone.key)


@lru_cache
def _is_found(key: str) -> bool:
    """Whether there is such a zone: `ZoneInfo.from_file` takes any key."""
    try:
        ZoneInfo(key)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _float_of_int(value: Any) -> Any:
    return _number(value) if type(value) is int else value


_SCALARS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "rstring": _text,
    "int64": _whole,
    "float64": _number,
    "blob": _bytes,
    "decimal128": _exact,
    "timestamp": _moment,
}
OF_TUPLES: Final = Rules(_SCALARS, containers=True)
OF_STATES: Final = Rules(_SCALARS, containers=False)
"""For states that are saved: an author who has a subclass of a container needs what it does."""
OF_NEW_STATES: Final = Rules({"float64": _float_of_int}, containers=False)
