"""What is nested deeper than Python and its libraries go, kept as text below a certain level.

kube-apiserver takes 10,000 levels. orjson writes 254 of them, and whatever walks an object here
recurses. So from `LEVELS_MAX` on, a part of an object is `Folded`: a value without an inside, which
knows its JSON, is written as it is, and equals what says the same. No schema, struct or rule
reaches down there (structural.SCHEMA_DEPTH_MAX is less); what does, patches and paths, unfolds.
An object without such a part is read and written as ever. JSON text is read in json_text.py.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

import orjson

from sandbox.store import json_text, numbers

LEVELS_MAX = 80
FOLDED_LEVELS_MAX = 200  # of each piece of a folded part, which is written on its own
SHALLOW_BRACKETS_MAX = 200  # what has fewer brackets than this cannot be too deep
_RECURSION = "Recursion limit"  # how orjson says that something is too deep for it
_MARK = f"folded-{secrets.token_hex(16)}-"  # no text that is sent holds it
_MARKED = re.compile(f'"{_MARK}(\\d+)"'.encode())
_LEVELS_OF_ANSWERS = 32  # that lists, tables and events put around an object


class Folded:
    """A part of an object that is kept as its JSON."""

    __slots__ = ("is_object", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.is_object = text.startswith(b"{")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict | list):
            other = folded_whole(other)
        return isinstance(other, Folded) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __deepcopy__(self, memo: object) -> Folded:
        return self

    def __repr__(self) -> str:
        return f"Folded({len(self.text)} bytes)"

    def opened(self) -> Any:
        """The value, folded again further down."""
        return folded(self.unfolded())

    def unfolded(self) -> Any:
        """All of it: to be walked without recursion only."""
        return json_text.parsed(self.text)


def written(value: Any, *, option: int | None = None) -> bytes:
    """As JSON."""
    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError as problem:
        if _RECURSION in str(problem):
            value = folded(value)
    return _written_in_pieces(value, option)


def _written_in_pieces(value: Any, option: int | None) -> bytes:
    """With texts in their places. orjson.Fragment is not for this: many levels around one make
    orjson 3.13 write behind its buffer."""
    texts: list[bytes] = []

    def mark(part: Any) -> str:
        texts.append(_text_of(part))
        return f"{_MARK}{len(texts) - 1}"

    made = orjson.dumps(value, default=mark, option=option)
    return _MARKED.sub(lambda found: texts[int(found[1])], made)


def _text_of(part: Any) -> bytes:
    if isinstance(part, Folded):
        return part.text
    if isinstance(part, json_text.BeyondDouble):
        return part.text.encode()
    raise TypeError(f"no JSON: {type(part).__name__}")


class _Part:
    """A container on the way down, and what is known of it on the way up."""

    __slots__ = ("depth", "holder", "key", "parent", "reach")

    def __init__(self, parent: _Part | None, holder: Any, key: Any, depth: int) -> None:
        self.parent = parent
        self.holder = holder
        self.key = key
        self.depth = depth
        self.reach = depth  # the deepest level in it


def is_deep(value: Any) -> bool:
    """Whether it has to be folded: it, or an answer with it, would be too deep to be written."""
    wrapped = value
    for _ in range(_LEVELS_OF_ANSWERS):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped, default=_nothing)
    except orjson.JSONEncodeError as problem:
        if _RECURSION not in str(problem):
            raise
        return True
    return False


def _nothing(part: Any) -> None:
    return None


def folded(value: Any) -> Any:
    """A copy in which nothing is deeper than `LEVELS_MAX`, and nothing above is folded."""
    return measured(value)[0]


def folded_whole(value: Any) -> Any:
    """A value that belongs below the levels which are kept, as what it is there."""
    return _folded(value, LEVELS_MAX)[0]


def measured(value: Any) -> tuple[Any, int]:
    """As `folded`, and how many levels there are."""
    return _folded(value, 0)


def _folded(value: Any, above: int) -> tuple[Any, int]:
    root = [value]
    parts = _parts(root, above + 1)
    for part in reversed(parts):
        if _is_folded_at(part.depth):
            made = part.holder[part.key]
            part.holder[part.key] = Folded(_written_in_pieces(made, orjson.OPT_SORT_KEYS))
        if part.parent is not None:
            part.parent.reach = max(part.parent.reach, part.reach)
    return root[0], parts[0].reach if parts else 0


def _parts(root: list[Any], depth: int = 1) -> list[_Part]:
    """Every container, parents first, each as a copy of its own."""
    parts = [_Part(None, root, 0, depth)] if _is_container(root[0]) else []
    for part in parts:
        value = part.holder[part.key]
        if isinstance(value, Folded):
            value = value.unfolded()
        if isinstance(value, dict):
            made: Any = dict(value)
            pairs: Any = made.items()
        else:
            made = list(value)
            pairs = enumerate(made)
        part.holder[part.key] = made
        below = part.depth + 1
        for key, item in list(pairs):
            if not item and isinstance(item, dict | list) and not _is_folded_at(below):
                made[key] = {} if isinstance(item, dict) else []
                part.reach = max(part.reach, below)  # there may be a million of them
            elif _is_container(item):
                parts.append(_Part(part, made, key, below))
            elif part.depth > LEVELS_MAX and numbers.is_number(item):
                made[key] = numbers.read_back(item)
    return parts


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | Folded)


def _is_folded_at(depth: int) -> bool:
    return depth > LEVELS_MAX and (depth - LEVELS_MAX - 1) % FOLDED_LEVELS_MAX == 0


def unfolded(value: Any) -> Any:
    """A copy with everything in it: to be walked without recursion only."""
    root = [value]
    _parts(root)
    return root[0]


def emptied(value: Any) -> Any:
    """As libraries may see it, which know no folded parts: these are empty there."""
    return _mapped(value, lambda part: {} if part.is_object else [])


def _mapped(value: Any, shown: Callable[[Folded], Any]) -> Any:
    if isinstance(value, Folded):
        return shown(value)
    if isinstance(value, dict):
        return {key: _mapped(item, shown) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, shown) for item in value]
    return value
