"""Fields that a JSON text names twice, which a decoder alone would not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbox.store.folding import LEVELS_MAX, written
from sandbox.store.json_text import parsed


class _Pairs(list[tuple[str, Any]]):
    """The members of an object as they were written."""


Step = tuple[Any, ...]
"""The steps above, and how this one is written behind them: a path that is put together late."""


def written_fields(text: bytes, decoded: Any) -> tuple[tuple[str, bool], ...]:
    """The path of every field in its order, and whether it was there before; empty if none was.

    A text that is as long as its decoded form needs no second look. Far down only what was there
    before is named: nothing else of it is ever used, and each path is as long as it is deep.
    """
    if len(written(decoded)) == len(text):
        return ()
    found = [
        (step, again)
        for step, depth, again in _walk(parsed(text, _Pairs))
        if again or depth <= LEVELS_MAX
    ]
    if not any(again for _, again in found):
        return ()
    return tuple((_path(step), again) for step, again in found)


def repeated(written: tuple[tuple[str, bool], ...]) -> list[str]:
    """Paths of what was given twice, once each."""
    return list(dict.fromkeys(path for path, again in written if again))


def _walk(value: Any) -> Iterator[tuple[Step, int, bool]]:
    """Every field, in the order of the text, without recursion."""
    going = [_fields(value, (), 0)]
    while going:
        found = next(going[-1], None)
        if found is None:
            going.pop()
            continue
        step, depth, again, item = found
        if again is not None:
            yield step, depth, again
        if isinstance(item, list):
            going.append(_fields(item, step, depth))


def _fields(value: Any, above: Any, depth: int) -> Iterator[tuple[Step, int, bool | None, Any]]:
    """The members of an object, or the items of a list, without an entry (None)."""
    if isinstance(value, _Pairs):
        seen = set()
        for name, item in value:
            yield (above, f".{name}" if above else name), depth + 1, name in seen, item
            seen.add(name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (above, f"[{index}]"), depth + 1, None, item


def _path(step: Step) -> str:
    parts = []
    while step:
        step, part = step
        parts.append(part)
    return "".join(reversed(parts))
