"""Numbered tuples through a keyed region that counts each key: what is lost or doubled shows.

`rate` tuples a second at most. A tuple of a channel takes `slow_s` seconds. `app` is for schedules
in which nobody crashes; `crashing` has an operator before its region, and saves its state often; in
`failing` functions raise: once at some tuples, and always at those that are skipped. They stay when
all is counted, since a schedule may go on; `ending` is `app`, and ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from millrace import App
from millrace.adapters import files
from millrace.adapters.files import place_of

CHECKPOINT_S = 2.0
KEYS = 211
SKIPPED = 997
"""In `failing` one tuple of so many is skipped."""
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


def failed_once(number: Number, every: int) -> Number:
    """Raise at one tuple of about so many, unless a launch has done so before."""
    if every and number.number * 2_654_435_761 % every == 0:
        mark = place_of(f"/data/failed-{number.number}")
        if not mark.exists():
            mark.touch()
            raise ValueError(f"tuple {number.number} comes for the first time")
    return number


def not_skipped(number: Number) -> Number:
    if is_skipped(number.number):
        raise ValueError(f"tuple {number.number} is to be skipped")
    return number


def is_skipped(number: int) -> bool:
    """Whether the application `failing` skips the tuple of a number."""
    return number % SKIPPED == SKIPPED // 2


def counted(number: Number, total: Total) -> Counted:
    total.count += 1
    return Counted(number.key, number.number, total.count)


def handed(number: Number) -> Iterator[Number]:
    yield number


def made(
    name: str,
    *,
    checkpoint_seconds: float | None = None,
    fails: bool = False,
    keep_running: bool = True,
) -> App:
    """The application; with checkpoints the region's splitter is no source."""
    app = App(name, checkpoint_seconds=checkpoint_seconds, keep_running=keep_running)
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
    if fails:
        every = app.param("every", default=0)
        channel = channel.map(failed_once, fn_kwargs={"every": every}, name="Failed")
        channel = channel.map(not_skipped, on_error="skip", name="Skipped")
    counts = channel.key_by("key").map(counted, state=Total, name="Counted").end_parallel()
    counts.sink(files.json_writer("/data/counted.jsonl"), name="Report")
    return app


app = made("tests::Numbered")
crashing = made("tests::Crashing", checkpoint_seconds=CHECKPOINT_S)
failing = made("tests::Failing", fails=True)
ending = made("tests::Ending", keep_running=False)
