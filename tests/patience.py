"""Every deadline of a test is stretched by one factor, so that a slow machine fails no test.

    patient(60.0)                                          60 s, or as much longer as is set
    MILLRACE_PATIENCE=2 pytest …                           every deadline is twice as long
    MILLRACE_PATIENCE=$(python3.11 -m tests.patience)      measured: about a second on each core

Deadlines in virtual time, and times that are what a test is about, are not stretched: a comment
says so where they are (tests/architecture/test_patience.py). Nothing but the standard library is
needed: CI measures before there is an environment.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from statistics import median

SETTING = "MILLRACE_PATIENCE"
PATIENCE_MAX = 10.0
"""Beyond that a test that hangs would hold up a run for hours: such a machine is no use."""
ROUNDS = 5
PROCESSES_MAX = 8
"""As many as tests run in (tests/conftest.py)."""
_STEPS = 220_000
_DIGITS = 1_010_385
QUIET_S = 0.2
"""The known computation on a machine that does nothing else: the lowest tenth of the CPU times of
240 rounds on both cores of an AMD EPYC that had much else to do."""


class NoPatience(ValueError):
    """The setting is no factor to stretch deadlines by."""


def patient(seconds: float) -> float:
    """A deadline (seconds), stretched; raises NoPatience where the setting makes no sense."""
    return seconds * patience_of(os.environ.get(SETTING) or "1")


@functools.cache
def patience_of(text: str) -> float:
    """The factor that a text means; raises NoPatience."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 1.0 <= found <= PATIENCE_MAX:  # nor where it is no number
        raise NoPatience(f"{SETTING}={text!r} is no number from 1 to {PATIENCE_MAX:g}")
    return found


# ------------------------------------------------------------------------- the speed of a machine


def main(took_s: Callable[[], Sequence[float]] | None = None) -> int:
    """Measure; the factor is all that is printed, and what people read of it goes to stderr."""
    sys.stdout.write(f"{measured(took_s)}\n")
    return 0


def measured(took_s: Callable[[], Sequence[float]] | None = None) -> float:
    """The factor for this machine now; a line on stderr says what was measured."""
    middle_s = known_s(took_s)
    factor = factor_of(middle_s)
    sys.stderr.write(
        f"the known computation took {middle_s:.2f} s, {QUIET_S:.2f} s on a quiet machine:"
        f" deadlines of tests are stretched by {factor}\n"
    )
    return factor


def known_s(took_s: Callable[[], Sequence[float]] | None = None) -> float:
    """How long the known computation takes on this machine now (seconds)."""
    return median((took_s or rounds)())


def factor_of(took_s: float) -> float:
    """The factor for a machine that takes so long for the known computation."""
    return round(min(max(took_s / QUIET_S, 1.0), PATIENCE_MAX), 1)


def rounds() -> Sequence[float]:
    """How long each round took (seconds): all cores work at once, and the slowest one counts."""
    cores = min(len(os.sched_getaffinity(0)), PROCESSES_MAX)
    with get_context("fork").Pool(cores) as pool:
        return [max(pool.map(_known_computation, range(cores), chunksize=1)) for _ in range(ROUNDS)]


def _known_computation(_: int) -> float:
    """What Python does all day: numbers, texts, and a table that no cache holds. Its seconds."""
    began_s = time.perf_counter()
    number, table = 1, dict[int, str]()
    for _step in range(_STEPS):
        number = (number * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        table[number >> 14] = str(number)
    if sum(map(len, table.values())) != _DIGITS:
        raise AssertionError("the computation is not the one that is known")
    return time.perf_counter() - began_s


if __name__ == "__main__":
    sys.exit(main())
