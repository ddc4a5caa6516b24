"""Objects with parts that cannot be read: `Unreadable`, and how deep a value may nest.

The API server takes objects that our JSON reader, our log or our decisions cannot: they nest
thousands of levels deep. Such an object exists, so nobody may take it for deleted, and nobody may
decide on what cannot be read of it. `Unreadable` stands in its place: the parts that can be read,
and an exception, `ObjectUnreadable`, for each one that cannot. The decision on a key meets the
exception, and leaves what runs as it is.

Who finds that an object is unreadable: the Kubernetes port (a response that cannot be parsed) and
`facts.py` (a projection that cannot be made or published). Who says it to people: watch-ingest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

FACT_DEPTH_MAX: Final = 64
"""Levels of a projection: code that recurses needs up to three frames a level, of Python's 1,000,
and orjson writes no more than 254."""
PLACE_STEPS_MAX: Final = 6
"""Steps of a place that are named before it is cut short."""


class ObjectUnreadable(Exception):
    """Code used a part of an object that cannot be read; `why` is for people."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Unreadable(Mapping[str, Any]):
    """The parts of an object, or of a projection, that can be read; all others raise.

    It is true and it is no dict, so that neither `or {}` nor a JSON writer takes it for empty.
    """

    __slots__ = ("parts", "why")

    def __init__(self, why: str, parts: Mapping[str, Any] | None = None) -> None:
        self.why = why
        self.parts = dict(parts or {})

    def __getitem__(self, key: str) -> Any:
        if key in self.parts:
            return self.parts[key]
        raise ObjectUnreadable(self.why)

    def __iter__(self) -> Iterator[str]:
        raise ObjectUnreadable(self.why)

    def __len__(self) -> int:
        raise ObjectUnreadable(self.why)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unreadable):
            return False
        return self.parts == other.parts and self.why == other.why

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Unreadable({self.why!r}, {sorted(self.parts)})"


def part_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a projection; one that cannot be read is an `Unreadable` that has none itself."""
    if isinstance(data, Unreadable) and name not in data.parts:
        return Unreadable(data.why)
    found: Mapping[str, Any] = data[name]
    return found


def is_whole(obj: Mapping[str, Any]) -> bool:
    """Whether every part of an object, as the API server gave it, can be read."""
    return not any(isinstance(part, Unreadable) for part in obj.values())


# --------------------------------------------------------------------------- depth


def too_deep(value: Any, levels_max: int, place: str) -> str:
    """Where a JSON value (at `place`) nests more than `levels_max` levels deep; else nothing.

    Without recursion, because the value may be of any depth. An object or a list is one level.
    """
    if not isinstance(value, dict | list):
        return ""
    # Each entry knows its parent, so that a place is made only for what is too deep.
    level: list[_Nested] = [(value, place, None)]
    for _ in range(levels_max):
        level = [below for each in level for below in _below(each)]
        if not level:
            return ""
    return _place_of(level[0])


_Nested = tuple[Any, str, Any]
"""(value, the step that led to it, its parent)."""


def _below(nested: _Nested) -> Iterator[_Nested]:
    value = nested[0]
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, dict | list):
                yield each, f".{key}", nested
    else:
        for at, each in enumerate(value):
            if isinstance(each, dict | list):
                yield each, f"[{at}]", nested


def _place_of(nested: _Nested) -> str:
    steps: list[str] = []
    at: _Nested | None = nested
    while at is not None:
        steps.append(at[1])
        at = at[2]
    steps.reverse()
    return "".join(steps[:PLACE_STEPS_MAX])


def may_nest_deeper(json_text: bytes, levels_max: int) -> bool:
    """Whether JSON text may nest deeper than that: a look that costs microseconds, too careful."""
    return json_text.count(b"{") + json_text.count(b"[") > levels_max
