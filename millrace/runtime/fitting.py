"""What is wrong with a state that cannot be saved, or that its type would not give back.

A state is encoded and decoded as it is saved, in C, and never for each tuple. Only where that fails
its parts are looked at one by one, to name the key and the attribute.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from millrace.errors import GraphError, worded
from millrace.runtime.checking import PLACE, place_of, shown, typed, wrong_part
from millrace.runtime.endings import StateUnfit
from millrace.sameness import is_same
from millrace.tuple_types import ValueType, bare_hint, class_hints, type_name


def unfit(value: object, type_: Any, problem: BaseException) -> StateUnfit:
    """What is wrong with the state of an operator; `problem`: how saving it failed."""
    return StateUnfit(f"its state: {_reason(value, type_) or worded(problem)}")


def state_of_key(key: object) -> str:
    """The name of a state for its author."""
    return f"its state of key {shown(key)}"


def unfit_keys(
    pairs: Iterable[tuple[Any, object]],
    type_: Any,
    problem: BaseException,
    name: Callable[[Any], str],
) -> StateUnfit:
    """What is wrong with the first key whose state does not fit; `name`: that of its state."""
    for key, value in pairs:
        of_key = name(key)
        if reason := _reason(value, type_):
            return StateUnfit(f"{of_key}: {reason}")
        if raised := _raised(key, Any):
            return StateUnfit(f"{of_key}: the key cannot be saved: {worded(raised)}")
    return StateUnfit(f"its state: {worded(problem)}")


def changed(value: object, back: object, type_: ValueType) -> str:
    """What of a state would be another value after it was saved and loaded."""
    known = _attributes(back, type_.python)
    others = dict(known)
    for name, part in _attributes(value, type_.python):
        wanted = f"{name} of {type_.python.__name__} is {_annotation(type_.python, name)}"
        if name not in others:
            return f"it has {name}={typed(part)}, and {type_.python.__name__} has no {name}"
        if not is_same(part, other := others[name]) and not _is_scalar(part, other):
            return (
                f"it has {name}={typed(part)}, and {wanted}: it would come back as {typed(other)}"
            )
    return f"{typed(value)} would come back as {typed(back)}"


def _is_scalar(value: object, back: object) -> bool:
    """Whether a value of a subclass is kept as its type says it."""
    return isinstance(value, int | float | str | bytes) and value == back


def _reason(value: object, type_: Any) -> str:
    """Why a state does not fit; empty if it does."""
    if (raised := _raised(value, type_)) is None:
        return ""
    found = wrong_part(_attributes(value, type_), raised, _can_be_saved)
    if found is None:
        return f"{shown(value)}: {worded(raised)}"
    name, what = found
    wanted = f"{name} of {type_.__name__} is {_annotation(type_, name)}"
    return f"it has {what}, and {wanted}: {_where(raised)}"


def _can_be_saved(value: object) -> bool:
    return _raised(value, Any) is None


def _raised(value: object, type_: Any) -> BaseException | None:
    """What saving and loading a value raises; None if it fits."""
    try:
        msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type_)
    except BaseException as raised:  # noqa: BLE001 - code of the author, which may even exit
        return raised
    return None


def _attributes(value: object, type_: Any) -> list[tuple[str, object]]:
    """Those that the state has, by name; one that was deleted is missing."""
    if isinstance(value, Mapping):
        return [(str(name), part) for name, part in value.items()]
    names = [each.name for each in dataclasses.fields(type_)]
    return [(each, getattr(value, each)) for each in names if hasattr(value, each)]


def _annotation(type_: Any, name: str) -> str:
    """The type of an attribute as its author writes it."""
    try:
        return type_name(bare_hint(class_hints(type_, "a state").get(name, Any)))
    except GraphError:
        return "another type"


def _where(raised: BaseException) -> str:
    """What does not fit, and its place where that is within the attribute."""
    if (place := place_of(raised)) is None:
        return worded(raised)
    text = PLACE.sub("", str(raised))
    return f"{text} - at `{place['attribute']}{place['within']}`" if place["within"] else text
