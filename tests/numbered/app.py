"""Numbered tuples through a keyed region that counts each key: what is lost or doubled shows.

`rate` tuples a second at most. A tuple of a channel takes `slow_s` seconds. `app` is for schedules
in which nobody crashes; `crashing` has an operator before its region, and saves its state often.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from millrace import App
from millrace.adapters import files

CHECKPOINT_S = 2.0
KEYS = 211
TOGETHER = 50
"""So many tuples are made before the source waits."""


@dataclass
class Number:
    key: int
    number: int


@dataclass
class Counted:
    key: int
    number: int
    count: int


@dataclass
class Total:
    count: int = 0


@dataclass
class Given:
    number: int = 0


async def numbers(given: Given, count: int, rate: int) -> AsyncIterator[Number]:
    while given.number < count:
        number = given.number
        given.number += 1
        yield Number(number % KEYS, number)
        if number % TOGETHER == 0:
            await asyncio.sleep(TOGETHER / rate)


async def passed(number: Number, slow_s: float) -> AsyncIterator[Number]:
    if slow_s:
        await asyncio.sleep(slow_s)
    yield number


def counted(number: Number, total: Total) -> Counted:
    total.count += 1
    return Counted(number.key, number.number, total.count)


def handed(number: Number) -> Iterator[Number]:
    yield number


def made(name: str, *, checkpoint_seconds: float | None = None) -> App:
    """The application; with checkpoints the region's splitter is no source."""
    app = App(name, checkpoint_seconds=checkpoint_seconds)
    count = app.param("count", default=100_000)
    rate = app.param("rate", default=2_500)
    slow_s = app.param("slow_s", default=0.0)
    width = app.param("width", default=3)
    given = {"count": count, "rate": rate}
    numbered = app.source(numbers, state=Given, fn_kwargs=given, name="Numbers")
    if checkpoint_seconds is not None:
        numbered = numbered.flat_map(handed, name="Handed")
    region = numbered.parallel(width, key="key", name="Counting")
    channel = region.flat_map(passed, fn_kwargs={"slow_s": slow_s}, name="Passed")
    counts = channel.key_by("key").map(counted, state=Total, name="Counted").end_parallel()
    counts.sink(files.json_writer("/data/counted.jsonl"), name="Report")
    return app


app = made("tests::Numbered")
crashing = made("tests::Crashing", checkpoint_seconds=CHECKPOINT_S)
