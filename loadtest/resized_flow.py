"""The application that `make bench-runtime` resizes: numbered tuples through a keyed region.

The sink writes into its volume, again and again, what came: how many tuples were missing or came
twice, and how long a key waited for its next tuple. The file imports nothing but `millrace`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from millrace import App
from millrace.adapters.files import place_of

KEYS: Final = 64
RESULT: Final = "/data/seen.json"
EVERY: Final = 20_000

app = App("bench::Resized")
count = app.param("count", default=1000)
rate = app.param("rate", default=50_000)


@dataclass(slots=True)
class Numbered:
    """`number` is from 0 for each key."""

    key: int
    number: int


@dataclass(slots=True)
class Counted:
    """`count`: what the state of the key has, from 0."""

    key: int
    number: int
    count: int


@dataclass
class Given:
    """How many tuples the source gave."""

    number: int = 0


@dataclass
class Total:
    """How many tuples of a key came."""

    count: int = 0


@dataclass
class Seen:
    """What the sink saw. `longest`: of each key, seconds without a tuple."""

    count: int = 0
    lost: int = 0
    doubled: int = 0
    miscounted: int = 0
    nexts: dict[int, int] = field(default_factory=dict)
    at: dict[int, float] = field(default_factory=dict)
    longest: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    begun: float = 0.0


def numbers(given: Given, count: int, rate: int) -> Iterator[Numbered]:
    """So many in a second; after a wait it does not catch up."""
    due = time.monotonic()
    while given.number < count:
        number = given.number
        if not number % KEYS:
            now = time.monotonic()
            due = max(due + KEYS / rate, now - 0.1)
            if due > now:
                time.sleep(due - now)
        given.number += 1
        yield Numbered(number % KEYS, number // KEYS)


def counted(item: Numbered, total: Total) -> Counted:
    """The tuple, with the number that its key's state has."""
    total.count += 1
    return Counted(item.key, item.number, total.count - 1)


def check(item: Counted, seen: Seen) -> None:
    """Compare the tuple with what has to come."""
    now = time.monotonic()
    key, due = item.key, seen.nexts.get(item.key, 0)
    seen.begun = seen.begun or now
    seen.count += 1
    seen.lost += max(0, item.number - due)
    seen.doubled += item.number < due
    seen.miscounted += item.count != item.number
    seen.nexts[key] = max(due, item.number + 1)
    gap = now - seen.at.get(key, now)
    if gap > seen.longest.get(key, 0.0):
        seen.longest[key] = gap
    seen.at[key] = now
    if not seen.count % EVERY:
        seen.seconds = now - seen.begun
        path = place_of(RESULT)
        other = path.with_suffix(".new")
        other.write_text(json.dumps(asdict(seen)))
        other.rename(path)


(
    app.source(numbers, state=Given, fn_kwargs={"count": count, "rate": rate}, name="Numbers")
    .parallel(3, key="key", name="Wide")
    .key_by("key")
    .map(counted, state=Total, name="Counted")
    .end_parallel()
    .sink(check, state=Seen, name="Checked")
)
