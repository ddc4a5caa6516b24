"""`make bench-run`: tuples for each second of CPU of applications, each beside a bare loop.

The loop does the same work with the same functions and types, without millrace. Both run in turns,
on one core if the system lets a process choose its own, and the best of each counts: what a machine
does beside it only makes a run slower. Counts are compared. The ratio is an aim: reported, not
asserted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cli.showing import answer, print_lines
from millrace import App

TUPLES: Final = 300_000
TURNS: Final = 5
AIMED: Final = 0.5


@dataclass(slots=True)
class Reading:
    sensor: str
    value: float


@dataclass(slots=True)
class Scaled:
    sensor: str
    value: float
    level: int


@dataclass(slots=True)
class Total:
    count: int = 0
    value: float = 0.0


def readings(count: int) -> Iterator[Reading]:
    """Readings of a hundred sensors."""
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


def counted(item: Scaled, total: Total) -> Scaled:
    """The reading, after it was added to what its sensor has."""
    total.count += 1
    total.value += item.value
    return item


class Adding:
    """A sink that adds up, so that results can be compared."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.count = 0
        self.value = 0

    def __call__(self, item: Scaled) -> None:
        """Add one tuple."""
        self.count += 1
        self.value += round(item.value)


Work = Callable[[int], tuple[int, int]]


def chain(count: int) -> tuple[int, int]:
    """Five operators between a source and a sink, without a queue between them."""
    app, sink = App("bench::Chain"), Adding()
    source = app.source(readings, fn_kwargs={"count": count})
    found = source.filter(is_usual).map(scaled).map(levelled).filter(is_low)
    found.map(lambda item: item, returns=Scaled, name="Last").sink(sink)
    app.run()
    return sink.count, sink.value


def bare_chain(count: int) -> tuple[int, int]:
    """The same as a loop."""
    sink = Adding()

    def last(item: Scaled) -> Scaled:
        return item

    for reading in readings(count):
        if is_usual(reading):
            item = levelled(scaled(reading))
            if is_low(item):
                sink(last(item))
    return sink.count, sink.value


def keyed(count: int) -> tuple[int, int]:
    """A keyed state in a region of three channels."""
    app, sink = App("bench::Keyed"), Adding()
    source = app.source(readings, fn_kwargs={"count": count}).map(scaled)
    region = source.parallel(3, key="sensor").key_by("sensor").map(counted, state=Total)
    region.end_parallel().sink(sink)
    app.run()
    return sink.count, sink.value


def bare_keyed(count: int) -> tuple[int, int]:
    """The same as a loop with a dict."""
    sink = Adding()
    totals: dict[str, Total] = {}
    for reading in readings(count):
        item = scaled(reading)
        total = totals.get(item.sensor)
        if total is None:
            total = totals[item.sensor] = Total()
        sink(counted(item, total))
    return sink.count, sink.value


CASES: Final[dict[str, tuple[Work, Work]]] = {
    "five operators": (chain, bare_chain),
    "keyed state in three channels": (keyed, bare_keyed),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Tuples of the source for each second of CPU, and the same of the bare loop."""

    rate: float
    bare_rate: float

    @property
    def ratio(self) -> float:
        """1 is as fast as the loop."""
        return self.rate / self.bare_rate


def measured(work: Work, bare: Work, tuples: int, turns: int = TURNS) -> Measured:
    """Both in turns. Raises AssertionError if their results differ."""
    best = {work: float("inf"), bare: float("inf")}
    results = set()
    for _ in range(turns):
        for each in best:
            begin = time.process_time()
            results.add(each(tuples))
            best[each] = min(best[each], time.process_time() - begin)
    assert len(results) == 1, results
    return Measured(tuples / best[work], tuples / best[bare])


def main(words: Sequence[str]) -> int:
    """Measure all cases; the exit code."""
    tuples = int(words[0]) if words else TUPLES
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, (work, bare) in CASES.items():
        print_lines(f"measuring {name}")
        found = measured(work, bare, tuples)
        answer(
            f"{name}: {found.rate:,.0f} tuples/s, a bare loop {found.bare_rate:,.0f}: ratio"
            f" {found.ratio:.2f} (aim: {AIMED})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
