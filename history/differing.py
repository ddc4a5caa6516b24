"""The difference between two frozen values, as people read it: where, before, after.

Values are made of dataclasses, named tuples, mappings, sets, sequences and plain values. Members of
sequences that have a name, an id or a uid are matched by it, others by their places. Whatever is
equal costs one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Any, Final

CHANGES_MAX: Final = 20
TEXT_CHARS_MAX: Final = 120
_IDENTITIES: Final = ("ref", "name", "id", "uid", "key")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class _Absent:
    """In place of a value that is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Change:
    """One place in a value where two differ, such as `pe.spec.launchCount`; both as short texts."""

    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path or 'all'}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Changes:
    """The first changes between two values, and whether there are more."""

    first: tuple[Change, ...] = ()
    has_more: bool = False

    def __bool__(self) -> bool:
        return bool(self.first)


def changes_between(before: object, after: object, *, most: int = CHANGES_MAX) -> Changes:
    """Where two values differ, in the order of their fields; at most so many places."""
    found = tuple(islice(_changes("", before, after), most + 1))
    return Changes(found[:most], len(found) > most)


def short(value: object) -> str:
    """A value as a short text."""
    text = _text_of(value)
    return text if len(text) <= TEXT_CHARS_MAX else f"{text[: TEXT_CHARS_MAX - 1]}…"


def _text_of(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{_joined(f'{short(key)}: {short(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple | Set) and not hasattr(value, "_fields"):
        return f"[{_joined(map(short, value))}]"
    parts = _parts_of(value)
    if parts is not None:
        texts = (f"{name}={short(each)}" for name, each in parts.items())
        return f"{type(value).__name__}({_joined(texts)})"
    return str(value) if isinstance(value, str | int | float) and value != "" else repr(value)


def _joined(texts: Iterable[str]) -> str:
    """The first texts, as many as can be shown: a value may be of any size."""
    taken, size = [], 0
    for text in texts:
        taken.append(text)
        size += len(text)
        if size > TEXT_CHARS_MAX:
            break
    return ", ".join(taken)


def _changes(path: str, before: object, after: object) -> Iterator[Change]:
    if before is after or _are_equal(before, after):
        return
    if type(before) is type(after):
        found = _inside(path, before, after)
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
            return
    yield Change(path, short(before), short(after))


def _are_equal(before: object, after: object) -> bool:
    try:
        return bool(before == after)
    except Exception:  # noqa: BLE001 - values of a stage compare as they like; they are shown
        return False


def _inside(path: str, before: Any, after: Any) -> Iterator[Change]:
    parts, parts_after = _parts_of(before), _parts_of(after)
    if parts is not None and parts_after is not None:
        yield from _of_mappings(path, parts, parts_after, is_named=True)
    elif isinstance(before, Mapping):
        yield from _of_mappings(path, before, after, is_named=False)
    elif isinstance(before, Set):
        yield from (Change(path, short(each), "nothing") for each in _ordered(before - after))
        yield from (Change(path, "nothing", short(each)) for each in _ordered(after - before))
    elif isinstance(before, Sequence) and not isinstance(before, str | bytes):
        yield from _of_mappings(path, _matched(before), _matched(after), is_named=False)


def _of_mappings(
    path: str, before: Mapping[Any, Any], after: Mapping[Any, Any], *, is_named: bool
) -> Iterator[Change]:
    for key in dict.fromkeys((*before, *after)):
        inner = f"{path}.{key}" if is_named else f"{path}{_index(key)}"
        yield from _changes(
            inner.removeprefix("."), before.get(key, ABSENT), after.get(key, ABSENT)
        )


def _index(key: object) -> str:
    """A key of a mapping, or a place in a sequence, behind a path."""
    if isinstance(key, tuple):
        return f"[{'/'.join(map(str, key))}]"
    return f".{key}" if isinstance(key, str) and _WORD.fullmatch(key) else f"[{short(key)}]"


def _parts_of(value: object) -> Mapping[str, object] | None:
    """The fields of a value that has names for them; None for others."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value) if each.compare}
    names = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    if names is None:
        names = getattr(type(value), "model_fields", None)
    return None if names is None else {str(name): getattr(value, name) for name in names}


def _matched(values: Sequence[object]) -> Mapping[Hashable, object]:
    """The members by what identifies each of them, or by their places."""
    for name in _IDENTITIES:
        found = [_identity(each, name) for each in values]
        if None not in found and len(set(found)) == len(values):
            return dict(zip(found, values, strict=True))
    return dict(enumerate(values))


def _identity(value: object, name: str) -> Hashable:
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return found if isinstance(found, str | int | tuple) else None


def _ordered(values: Set[Any]) -> list[Any]:
    return sorted(values, key=repr)
