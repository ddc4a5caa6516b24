"""Whether a pod template's spec has the shape of a PodSpec: known fields, each of its type.

The schema of our definitions says the same (`pod_structure.py`); this is for what was stored under
an older one, which kept every field of a template. Which fields there are is generated
(`pod_schema.py`); what a field may say beyond its type is for the API server to judge.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .pod_schema import SCHEMA

POD_SPEC: Final = "PodSpec"
LIKENESS_MIN: Final = 0.75
"""The least likeness of two names of which one may be a typing error of the other (1: equal)."""
QUANTITIES: Final = frozenset({"limits", "requests", "overhead", "sizeLimit", "divisor"})
"""Fields of text that take a plain number as well."""
_SIMPLE: Final[Mapping[str, tuple[type, str]]] = {
    "str": (str, "text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
}


class Misshapen(NamedTuple):
    """A field of another type than it has."""

    field: str
    value: Any
    why: str


class Unknown(NamedTuple):
    """A field that no PodSpec has; `meant` is the one that is likely meant, or nothing."""

    field: str
    value: Any
    meant: str


def misshapen(spec: Any, place: str, group: str = POD_SPEC) -> Iterator[Misshapen]:
    """The fields of a spec (as JSON, found at `place`) that have another type."""
    return (each for each in _look(spec, group, place, "") if isinstance(each, Misshapen))


def unknown(spec: Any, place: str, group: str = POD_SPEC) -> Iterator[Unknown]:
    """The fields of a spec (as JSON, found at `place`) that there are not."""
    return (each for each in _look(spec, group, place, "") if isinstance(each, Unknown))


@functools.cache
def groups() -> Mapping[str, Mapping[str, str]]:
    """The fields of each group with their types, as `pod_schema.py` writes types."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in SCHEMA.strip().splitlines():
        words = line.split()
        if not line.startswith(" "):
            fields = found[words.pop(0)] = {}
        fields.update((name, type_) for name, _, type_ in (each.partition("=") for each in words))
    return found


def _look(value: Any, type_: str, place: str, name: str) -> Iterator[Misshapen | Unknown]:
    """What is wrong with a value that should be of a type; null is what absence is."""
    if value is None or type_ == "any":
        return
    if type_.startswith("["):
        yield from _look_at_list(value, type_[1:-1], place)
    elif type_.startswith("{"):
        yield from _look_at_map(value, place, name)
    elif type_ in _SIMPLE:
        yield from _look_at_simple(value, type_, place, name)
    elif not isinstance(value, Mapping):
        yield Misshapen(place, value, "it must be an object")
    else:
        yield from _look_at_group(value, groups()[type_], place)


def _look_at_list(value: Any, type_: str, place: str) -> Iterator[Misshapen | Unknown]:
    if not isinstance(value, list):
        yield Misshapen(place, value, "it must be a list")
        return
    for at, each in enumerate(value):
        yield from _look(each, type_, f"{place}[{at}]", "")


def _look_at_map(value: Any, place: str, name: str) -> Iterator[Misshapen | Unknown]:
    if not isinstance(value, Mapping):
        yield Misshapen(place, value, "it must be an object")
        return
    for key, each in value.items():
        yield from _look_at_simple(each, "str", f"{place}.{key}", name)


def _look_at_simple(value: Any, type_: str, place: str, name: str) -> Iterator[Misshapen]:
    wanted, called = _SIMPLE[type_]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if type_ == "str" and name in QUANTITIES and is_number:
        return
    is_other = type_ == "int" and isinstance(value, bool)
    if is_other or not isinstance(value, wanted):
        yield Misshapen(place, value, f"it must be {called}")


def _look_at_group(
    value: Mapping[str, Any], fields: Mapping[str, str], place: str
) -> Iterator[Misshapen | Unknown]:
    for name, each in value.items():
        if name in fields:
            yield from _look(each, fields[name], f"{place}.{name}", name)
        else:
            yield Unknown(f"{place}.{name}", each, _meant(name, fields))


def _meant(name: str, fields: Mapping[str, str]) -> str:
    by_lower = {field.lower(): field for field in fields}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=LIKENESS_MIN)
    return by_lower[found[0]] if found else ""
