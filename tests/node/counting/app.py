"""Numbered tuples, counted by key in a parallel region; every twentieth count is posted.

The count of a key says which number it has to be of, so a tuple that is lost or doubled shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace import App
from millrace.adapters import http, timers

KEYS = 50
SHOWN_EVERY = 20

app = App("tests::Numbers")
url = app.param("url", default="http://127.0.0.1:8080/")
width = app.param("width", default=3)


@dataclass
class Number:
    number: int
    key: int


@dataclass
class Count:
    number: int
    key: int
    count: int


@dataclass
class Total:
    count: int = 0


def numbered(tick: timers.Tick) -> Number:
    return Number(tick.number, tick.number % KEYS)


def counted(number: Number, total: Total) -> Count:
    total.count += 1
    return Count(number.number, number.key, total.count)


def is_shown(count: Count) -> bool:
    return count.count % SHOWN_EVERY == 0


ticks = app.source(timers.every(0.001), name="Ticks")
keyed = ticks.map(numbered, name="Numbers").parallel(width, key="key")
counts = keyed.key_by("key").map(counted, state=Total, name="Counted").end_parallel()
counts.filter(is_shown, name="Shown").sink(http.post(url), name="Posted")
