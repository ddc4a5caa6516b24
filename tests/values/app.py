"""Values of 500 generated types through a keyed region with states, windows and other PEs.

A stream has a key of one type, and an attribute for each of 125 generated types; a tuple has a
value of one of them. An operator keeps it, and gives the one that it had kept before, if any; so
states are compared, too. Windows hold what it gives. Half of the types get values that may not fit.
An operator of each region has submission-time values, and tells one with each tuple.

Each source gives its tuples in PARTS, and waits between them for a mark, where `waits` is true: so
a test restarts and resizes while there is state, and windows are half full.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NotRequired, TypedDict

from millrace import App, GraphError, tumbling
from millrace.adapters import files
from millrace.adapters.files import place_of
from millrace.tuple_types import tuple_type
from tests.unit.millrace.odd_values import PLAIN, Making, seen, submitted

KEYS: Final = (str, int, bool, bytes)
"""That of each stream."""
TYPES: Final = 125
"""Generated types of a stream."""
PARTS: Final = 4
ROUNDS: Final = 4
"""So many values has each type."""
WIDTH: Final = 2
GIVEN: Final = 100
"""Submission-time values."""
WINDOW: Final = 7
POLL_S: Final = 0.2
Hints = Mapping[str, Any]


@dataclass
class Position:
    number: int = 0


@dataclass
class Line:
    text: str


class Kind:
    """The types of one stream: of its tuples, of its states, and of its windows."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.key: Any = KEYS[number]
        self.hints = dict(_generated(range(number * TYPES, (number + 1) * TYPES)))
        own: Hints = {"key": self.key, "number": int, "given": str}
        self.row = self._made("Row", own, self.hints)
        self.state = self._made("State", {}, self.hints)
        fields = [("key", self.key), ("rows", list[self.row])]  # type: ignore[name-defined]
        self.window = dataclasses.make_dataclass("Window", fields)

    def _made(self, name: str, own: Hints, others: Hints) -> Any:
        """Streams with an even number carry dataclasses, the others dicts."""
        if self.number % 2:
            hints = {**own, **{each: NotRequired[hint] for each, hint in others.items()}}
            return TypedDict(name, hints)  # type: ignore[operator]
        fields: list[Any] = [*own.items(), *((n, hint | None, None) for n, hint in others.items())]
        slots = self.number == 2
        return dataclasses.make_dataclass(name, fields, slots=slots)


def _generated(seeds: range) -> Iterator[tuple[str, Any]]:
    """Generated types by name, without those that no tuple can have."""
    for seed in seeds:
        hint = Making(seed).tuple_type()
        try:
            tuple_type(hint, "a stream")
        except GraphError:  # it has an InitVar
            continue
        yield f"of_{seed}", hint


def _get(row: Any, name: str) -> Any:
    return row.get(name) if isinstance(row, dict) else getattr(row, name)


def _set(row: Any, name: str, value: Any) -> None:
    if isinstance(row, dict):
        row[name] = value
    else:
        setattr(row, name, value)


KINDS: Final = tuple(map(Kind, range(len(KEYS))))


def rows_of(kind: Kind) -> Iterator[Any]:
    """All tuples of a stream, the same each time: in each round one of each type."""
    chance = Random(kind.number)
    keys = [PLAIN[kind.key](chance) for _ in range(8)]
    number = 0
    for round_ in range(ROUNDS):
        for at, (name, hint) in enumerate(kind.hints.items()):
            making = Making(number)
            making.is_odd = at % 2 == 1
            key = keys[(at + round_ % 2) % len(keys)]
            yield kind.row(**{"key": key, "number": number, "given": "", name: making.value(hint)})
            number += 1


async def rows(position: Position, stream: int, waits: bool) -> AsyncIterator[Any]:
    kind = KINDS[stream]
    for at, row in enumerate(rows_of(kind)):
        part, place = divmod(at, len(kind.hints) * ROUNDS // PARTS)
        if at < position.number:
            continue
        if waits and part and not place:
            place_of(f"/data/given-{stream}-{part}").touch()
            while not place_of(f"/data/go-{part}").exists():  # noqa: ASYNC110 - a test makes it
                await asyncio.sleep(POLL_S)
        position.number = at + 1
        yield row


def keeping(kind: Kind) -> Any:
    """The function of a stream that keeps a value of each type, and gives the one before it."""

    def keep(row: Any, state: Any) -> Any:
        for name in kind.hints:
            if (new := _get(row, name)) is not None:
                if (old := _get(state, name)) is not None:
                    _set(row, name, old)
                _set(state, name, new)
        return row

    return keep


def telling(row: Any, **values: Any) -> Any:
    """The tuple with one of the submission-time values."""
    number = _get(row, "number")
    _set(row, "given", repr(list(values.values())[number % len(values)]))
    return row


def windowing(kind: Kind) -> Any:
    def window(inside: list[Any]) -> Any:
        return kind.window(_get(inside[0], "key"), inside)

    return window


def lines_of(window: Any) -> Iterator[Line]:
    """A line for each tuple of a window, with all that can be seen of it."""
    numbers = [_get(each, "number") for each in window.rows]
    for each in window.rows:
        has = dict(each) if isinstance(each, dict) else _attributes(each)
        yield Line(json.dumps([numbers, repr(seen(window.key)), repr(sorted(_seen(has)))]))


def _seen(has: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in has.items():
        if value is not None:
            yield name, repr(seen(value))


def _attributes(row: Any) -> dict[str, Any]:
    return {each.name: getattr(row, each.name) for each in dataclasses.fields(row)}


def made() -> App:
    """The application: four streams, each with a keyed region of WIDTH channels."""
    app = App("tests::Values")
    waits = app.param("waits", default=False)
    chance = Random(0)
    given: dict[str, Any] = {f"p{each}": submitted(chance) for each in range(GIVEN)}
    values = {name: app.param(name, default=type(value)()) for name, value in given.items()}
    for kind in KINDS:
        stream: Any = app.source(
            rows,
            state=Position,
            returns=kind.row,
            on_error="skip",
            fn_kwargs={"stream": kind.number, "waits": waits},
            name=f"Rows{kind.number}",
        )
        region = stream.parallel(WIDTH, key="key", name=f"Region{kind.number}").key_by("key")
        kept = region.map(
            keeping(kind), state=kind.state, returns=kind.row, name=f"Keep{kind.number}"
        )
        kept = kept.map(telling, returns=kind.row, fn_kwargs=values, name=f"Tell{kind.number}")
        windows = kept.key_by("key").window(tumbling(count=WINDOW))
        windowed = windows.aggregate(
            windowing(kind), returns=kind.window, name=f"Window{kind.number}"
        )
        lines = windowed.end_parallel().flat_map(lines_of, name=f"Lines{kind.number}")
        lines.sink(files.writer(f"/data/{kind.number}.txt"), name=f"Sink{kind.number}")
    return app


def values_of_submission() -> dict[str, Any]:
    """What is submitted: a value for each parameter, others than their defaults."""
    chance = Random(0)
    return {f"p{each}": submitted(chance) for each in range(GIVEN)}


app = made()
