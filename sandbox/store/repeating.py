"""Fields that a JSON text names twice, which a decoder alone would not show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as they were written."""


def written_fields(text: bytes, decoded: Any) -> tuple[tuple[str, bool], ...]:
    """The path of every field in its order, and whether it was there before; empty if none was.

    A text that is as long as its decoded form needs no second look.
    """
    if len(orjson.dumps(decoded)) == len(text):
        return ()
    found = tuple(_walk(json.loads(text, object_pairs_hook=_Pairs), ""))
    return found if any(again for _, again in found) else ()


def repeated(written: tuple[tuple[str, bool], ...]) -> list[str]:
    """Paths of what was said twice, once each."""
    return list(dict.fromkeys(path for path, again in written if again))


def _walk(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    if isinstance(value, _Pairs):
        seen = set()
        for name, item in value:
            where = f"{path}.{name}" if path else name
            yield where, name in seen
            seen.add(name)
            yield from _walk(item, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]")
