"""What is wrong with a state that cannot be saved, or that its type would not give back.

A state is encoded and decoded as it is saved, in C, and never for each tuple. Only where that fails
its parts are looked at one by one, to name the key and the attribute.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from millrace.errors import GraphError, worded
from millrace.runtime.checking import PLACE, shown
from millrace.runtime.endings import StateUnfit
from millrace.tuple_types import class_hints, type_name


def unfit(value: object, type_: Any, problem: BaseException) -> StateUnfit:
    """What is wrong with the state of an operator; `problem`: how saving it failed."""
    return StateUnfit(f"its state: {_reason(value, type_) or worded(problem)}")


def unfit_keys(
    pairs: Iterable[tuple[object, object]], type_: Any, problem: BaseException
) -> StateUnfit:
    """What is wrong with the first key whose state does not fit."""
    for key, value in pairs:
        of_key = f"its state of key {shown(key)}"
        if reason := _reason(value, type_):
            return StateUnfit(f"{of_key}: {reason}")
        if raised := _raised(key, Any):
            return StateUnfit(f"{of_key}: the key cannot be saved: {worded(raised)}")
    return StateUnfit(f"its state: {worded(problem)}")


def _reason(value: object, type_: Any) -> str:
    """Why a state does not fit; empty if it does."""
    if (raised := _raised(value, type_)) is None:
        return ""
    place = PLACE.search(str(raised)) if isinstance(raised, msgspec.MsgspecError) else None
    for name, part in _attributes(value, type_):
        if place is None and _raised(part, Any) is None:
            continue
        if place is None or place["attribute"] == name:
            what = f"{name}={shown(part)} ({type(part).__name__})"
            wanted = f"{name} of {type_.__name__} is {_annotation(type_, name)}"
            return f"it has {what}, and {wanted}: {_where(raised, place)}"
    return f"{shown(value)}: {worded(raised)}"


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
        return type_name(class_hints(type_, "a state").get(name, Any))
    except GraphError:
        return "of another type"


def _where(raised: BaseException, place: re.Match[str] | None) -> str:
    """What does not fit, and its place where that is within the attribute."""
    if place is None:
        return worded(raised)
    text = PLACE.sub("", str(raised))
    return f"{text} - at `{place['attribute']}{place['within']}`" if place["within"] else text
