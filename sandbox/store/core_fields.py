"""Core kinds read as Go reads them: types, unknown fields, and what is left out when it is empty.

A real API server decodes JSON into structs and writes structs out again. So a field that no
struct has is gone, null is the same as nothing, what is zero is left out unless the field is
always written, and times and quantities come back in one form. The structs are data, in
core_fields.txt; how their values are read is in core_values.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.store.core_values import (
    READERS,
    ZEROES,
    Read,
    mistyped,
    path_under,
)
from sandbox.store.strategies import Body

_FILE = Path(__file__).with_name("core_fields.txt")
_FIELD = re.compile(r"([^!?:]+)([!?]?)(?::(.+))?")
_NOT_OF_STRUCTS = frozenset({"apiVersion", "kind"})


@dataclass(slots=True)
class Struct:
    """What a struct knows: how to read each field, and which are written in any case."""

    name: str
    readers: dict[str, Read] = field(default_factory=dict)
    omitted: set[str] = field(default_factory=set)  # when zero
    always: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def read(self, value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
        if not isinstance(value, dict):
            raise mistyped(value, path)
        result: Body = {}
        readers, omitted = self.readers, self.omitted
        for name, item in value.items():
            reader = readers.get(name)
            if reader is None:
                unknown.append(path_under(path, name))
            elif item is not None:
                made = reader(item, (path, name), unknown)
                if made or name not in omitted:
                    result[name] = made
        for name, zero in self.always.items():
            if name not in result:
                result[name] = zero()
        return result

    def zero(self) -> Body:
        """The struct without any field."""
        return {name: zero() for name, zero in self.always.items()}


def read_kind(kind: str, body: Mapping[str, Any], unknown: list[str]) -> Body:
    """An object as its kind keeps it; paths of unknown fields go to `unknown`. Raises Misread."""
    given = {name: value for name, value in body.items() if name not in _NOT_OF_STRUCTS}
    heads = {name: body[name] for name in _NOT_OF_STRUCTS if name in body}
    return {**heads, **_STRUCTS[kind].read(given, (), unknown)}


def knows(kind: str) -> bool:
    """Whether a kind is read by its struct."""
    return kind in _STRUCTS


def declared() -> dict[str, dict[str, str]]:
    """Every struct with the types of its fields, as in the file."""
    return {
        struct: {name: kind for name, _, kind in fields} for struct, fields in _entries().items()
    }


def _entries() -> dict[str, list[tuple[str, str, str]]]:
    """Name, mark and type of every field, by struct."""
    text = "".join(
        line for line in _FILE.read_text().splitlines(keepends=True) if not line.startswith("#")
    )
    found = {}
    for entry in text.replace("\n  ", " ").splitlines():
        struct, *words = entry.split()
        found[struct] = [_field(word) for word in words]
    return found


def _field(word: str) -> tuple[str, str, str]:
    parts = _FIELD.fullmatch(word)
    assert parts, word
    return parts[1], parts[2], parts[3] or "string"


def _structs() -> dict[str, Struct]:
    entries = _entries()
    structs = {name: Struct(name) for name in entries}
    for name, fields in entries.items():
        struct = structs[name]
        for key, mark, kind in fields:
            struct.readers[key], zero = _reader(kind, structs)
            if mark == "!":
                struct.always[key] = zero
            elif not mark:
                struct.omitted.add(key)
    return structs


def _reader(kind: str, structs: Mapping[str, Struct]) -> tuple[Read, Callable[[], Any]]:
    """How a type is read, and its zero value."""
    if kind.startswith("[]"):
        return _list_reader(*_reader(kind[2:], structs)), lambda: None
    if kind.startswith("{}"):
        return _map_reader(*_reader(kind[2:], structs)), lambda: None
    if kind.startswith("boolOr"):
        below = structs[kind.removeprefix("boolOr")].read
        return _bool_or(below), lambda: None
    if kind in structs:
        return structs[kind].read, structs[kind].zero
    return READERS[kind], lambda: ZEROES[kind]


def _list_reader(read: Read, zero: Callable[[], Any]) -> Read:
    def read_list(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
        if not isinstance(value, list):
            raise mistyped(value, path)
        return [
            zero() if item is None else read(item, (path, index), unknown)
            for index, item in enumerate(value)
        ]

    return read_list


def _map_reader(read: Read, zero: Callable[[], Any]) -> Read:
    def read_map(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
        if not isinstance(value, dict):
            raise mistyped(value, path)
        return {
            name: zero() if item is None else read(item, (path, name), unknown)
            for name, item in value.items()
        }

    return read_map


def _bool_or(read: Read) -> Read:
    def read_either(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
        return value if isinstance(value, bool) else read(value, path, unknown)

    return read_either


_STRUCTS = _structs()
