"""Applications whose speed is measured, and bare loops that do the same (`make bench-runtime`).

The file is packed into bundles, so it imports nothing but `millrace`. Sinks write what they saw
into a file; times are those of the monotonic clock, which processes of a machine share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from millrace import App
from millrace.adapters import files
from millrace.adapters.files import Line, place_of

RESULT: Final = "/data/result.json"
GO: Final = "/data/go"
SAMPLED: Final = 16
"""The latency of one tuple of so many is kept."""


@dataclass(slots=True)
class Reading:
    """What a sensor says."""

    sensor: str
    value: float


@dataclass(slots=True)
class Scaled:
    """A reading in other units, with its level."""

    sensor: str
    value: float
    level: int


@dataclass(slots=True)
class Total:
    """The state of a sensor, or of a word."""

    count: int = 0
    value: float = 0.0


@dataclass(slots=True)
class Numbered:
    """A small tuple. `at`: when it was made, in seconds."""

    number: int
    at: float


@dataclass(slots=True)
class Word:
    """A word of a line."""

    text: str


@dataclass(slots=True)
class Counted:
    """A word and how often it came so far."""

    text: str
    count: int


def until_go() -> None:
    """Wait for the file that is there when all PEs are connected, so that all work is measured."""
    while not place_of(GO).exists():
        time.sleep(0.02)


def readings(count: int, waits: bool = False) -> Iterator[Reading]:
    """Readings of a hundred sensors."""
    if waits:
        until_go()
    sensors = [f"sensor-{number}" for number in range(100)]
    for number in range(count):
        yield Reading(sensors[number % 100], float(number % 1_000))


def is_usual(reading: Reading) -> bool:
    """All but one of a thousand."""
    return reading.value < 999.0


def scaled(reading: Reading) -> Scaled:
    """The reading in other units."""
    return Scaled(reading.sensor, reading.value * 1.8 + 32.0, 0)


def levelled(item: Scaled) -> Scaled:
    """The reading with its level."""
    return Scaled(item.sensor, item.value, int(item.value) // 100)


def is_low(item: Scaled) -> bool:
    """About half of all."""
    return item.level < 10


def same(item: Scaled) -> Scaled:
    """The fifth operator of the chain."""
    return item


def totalled(item: Scaled, total: Total) -> Scaled:
    """The reading, after it was added to what its sensor has."""
    total.count += 1
    total.value += item.value
    return item


def numbered(count: int, rate: int, waits: bool = False) -> Iterator[Numbered]:
    """Numbered tuples, so many in a second; rate 0: as fast as they are taken."""
    if waits:
        until_go()
    begin = now = time.monotonic()
    for number in range(count):
        if not number % 64:
            now = time.monotonic()
            if rate and (early := begin + number / rate - now) > 0:
                time.sleep(early)
                now = time.monotonic()
        yield Numbered(number, now)


def words_of(line: Line) -> list[Word]:
    """The words of a line."""
    return [Word(text) for text in line.text.split()]


def counted(word: Word, total: Total) -> Counted:
    """The word, and how often it came."""
    total.count += 1
    return Counted(word.text, total.count)


def share(values: list[float], part: float) -> float:
    """A percentile; 0 without values."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


@dataclass
class Seen:
    """What a sink saw. `checked`: a sum that tells whether two runs did the same."""

    count: int = 0
    checked: float = 0
    begun: float = 0.0
    begun_cpu: float = 0.0
    latencies: list[float] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)

    def result(self) -> dict[str, Any]:
        """Seconds and seconds of CPU from the first to the last tuple, and percentiles."""
        return {
            "count": self.count,
            "checked": self.checked,
            "seconds": time.monotonic() - self.begun,
            "cpu": time.process_time() - self.begun_cpu,
            "p50": share(self.latencies, 0.5),
            "p99": share(self.latencies, 0.99),
            "words": self.words,
        }


class Meter:
    """A sink that counts, and writes what it saw at the end."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.seen = Seen()

    def _begin(self) -> None:
        self.seen.begun, self.seen.begun_cpu = time.monotonic(), time.process_time()

    def close(self) -> None:
        """Write it to the file, which is there when it is whole."""
        path = place_of(RESULT)
        other = path.with_suffix(".new")
        other.write_text(json.dumps(self.seen.result()))
        other.rename(path)


class Adding(Meter):
    """Adds values up."""

    def __call__(self, item: Scaled) -> None:
        """Take one reading."""
        seen = self.seen
        if not seen.count:
            self._begin()
        seen.count += 1
        seen.checked += round(item.value)


class Timing(Meter):
    """Takes the latency of some; adds numbers up."""

    def __call__(self, item: Numbered) -> None:
        """Take one tuple."""
        seen = self.seen
        if not seen.count:
            self._begin()
        seen.count += 1
        seen.checked += item.number
        if not seen.count % SAMPLED:
            seen.latencies.append(time.monotonic() - item.at)


class Slow(Timing):
    """Takes about 1,000 tuples a second, in order; `checked` counts those out of order."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__()
        self._next = 0

    def __call__(self, item: Numbered) -> None:
        """Take one tuple."""
        seen = self.seen
        seen.count += 1
        seen.checked += item.number != self._next
        self._next = item.number + 1
        if not seen.count % 10:
            time.sleep(0.01)


class Ordered(Timing):
    """As fast as they come; `checked` counts those that are not the next one."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__()
        self._next = 0

    def __call__(self, item: Numbered) -> None:
        """Take one tuple."""
        self.seen.count += 1
        self.seen.checked += item.number != self._next
        self._next = item.number + 1


class LastCounts(Meter):
    """Keeps the newest count of each word."""

    def __call__(self, item: Counted) -> None:
        """Take one count."""
        seen = self.seen
        if not seen.count:
            self._begin()
        seen.count += 1
        seen.words[item.text] = item.count


def _app(name: str) -> tuple[App, dict[str, Any]]:
    """An application, and the arguments of `readings`."""
    app = App(f"bench::{name}")
    return app, {"count": app.param("count", default=1000), "waits": True}


def _numbers(name: str) -> tuple[App, Any]:
    """An application, and its stream of numbered tuples."""
    app, arguments = _app(name)
    arguments["rate"] = app.param("rate", default=0)
    return app, app.source(numbered, fn_kwargs=arguments, name="Numbers")


chain, _arguments = _app("Chain")
(
    chain.source(readings, fn_kwargs=_arguments)
    .filter(is_usual)
    .map(scaled)
    .map(levelled)
    .filter(is_low)
    .map(same, name="Last")
    .sink(Adding)
)

pair, _stream = _numbers("Pair")
_stream.sink(Timing, name="Taken")

keyed, _arguments = _app("Keyed")
(
    keyed.source(readings, fn_kwargs=_arguments)
    .map(scaled)
    .parallel(3, key="sensor")
    .key_by("sensor")
    .map(totalled, state=Total)
    .end_parallel()
    .sink(Adding)
)

words = App("bench::Words")
_path = words.required_param("path", str)
(
    words.source(files.lines(_path))
    .flat_map(words_of, returns=Word)
    .key_by("text")
    .map(counted, state=Total)
    .sink(LastCounts)
)

slow, _stream = _numbers("Slow")
_stream.map(lambda item: item, returns=Numbered, name="Between").sink(Slow, name="Taken")

paused, _stream = _numbers("Paused")
_stream.map(lambda item: item, returns=Numbered, name="Between").sink(Ordered, name="Taken")


def bare_chain(count: int) -> Meter:
    """`chain` as a loop."""
    sink = Adding()
    for reading in readings(count):
        if is_usual(reading):
            item = levelled(scaled(reading))
            if is_low(item):
                sink(same(item))
    return sink


def bare_keyed(count: int) -> Meter:
    """`keyed` as a loop with a dict."""
    sink = Adding()
    totals: dict[str, Total] = {}
    for reading in readings(count):
        item = scaled(reading)
        total = totals.get(item.sensor)
        if total is None:
            total = totals[item.sensor] = Total()
        sink(totalled(item, total))
    return sink


def bare_words(path: str) -> Meter:
    """`words` as a loop with a dict."""
    sink = LastCounts()
    totals: dict[str, Total] = {}
    with Path(path).open("rb") as file:
        for line in file:
            for word in words_of(Line(line.rstrip(b"\r\n").decode("utf-8", "replace"))):
                total = totals.get(word.text)
                if total is None:
                    total = totals[word.text] = Total()
                sink(counted(word, total))
    return sink
