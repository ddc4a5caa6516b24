"""Windows: which tuples an aggregate looks at together, and when.

Windows by time are computed in whole nanoseconds, never with fractions: 0.1 s are 100,000,000 ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from math import inf, isfinite, nextafter
from typing import Final, Literal

from millrace.errors import GraphError

SECONDS_MAX: Final = 3_155_760_000
"""The longest window by time: a hundred years. Its bounds fit into 64 bits."""
TUPLES_MAX: Final = 2**53
"""The longest window by count."""
_CONTEXT: Final = Context(prec=400, rounding=ROUND_HALF_EVEN)


def nanoseconds(seconds: float) -> int:
    """A time or a length in whole nanoseconds: the nearest to the number as it is written.

    >>> nanoseconds(0.1), nanoseconds(1_700_000_000.3)
    (100000000, 1700000000300000000)
    """
    if isinstance(seconds, int):
        return seconds * 1_000_000_000
    text = float.__repr__(float(seconds))  # 1700000000.3 is less than that as a number
    whole, _, fraction = text.partition(".")
    if len(fraction) <= 9 and "e" not in text:
        return int(whole + fraction.ljust(9, "0"))
    return int(_CONTEXT.to_integral_value(_CONTEXT.scaleb(Decimal(text), 9)))


def seconds_of(time_ns: int) -> float:
    """The first time of a clock, in seconds, that is not before a time in nanoseconds."""
    seconds = time_ns / 1_000_000_000
    return seconds if nanoseconds(seconds) >= time_ns else nextafter(seconds, inf)


@dataclass(frozen=True, slots=True)
class Window:
    """A window by count or by time. `every`: what passes between two results, in the same unit.

    Make one with `tumbling` or `sliding`. Raises GraphError if no window can be of this size.
    """

    by: Literal["count", "time"]
    size: float
    every: float

    def __post_init__(self) -> None:
        """Refuse what is no size."""
        if self.by not in ("count", "time"):
            raise GraphError(f"a window is by 'count' or by 'time', and not by {self.by!r}")
        check = _check_count if self.by == "count" else _check_seconds
        check("size", self.size)
        check("every", self.every)
        if self.every > self.size:
            raise GraphError(
                f"a window: every is {self.every}, and its size {self.size}: use at most the size, "
                "or tuples between two results would be in no window"
            )

    @property
    def is_tumbling(self) -> bool:
        """A tuple belongs to one window only."""
        return self.size == self.every


def tumbling(*, count: int | None = None, seconds: float | None = None) -> Window:
    """Windows that follow each other: every `count` tuples, or every `seconds`.

    Windows of time begin at multiples of their size since 1970, so that all channels agree. A tuple
    belongs to the window of the time at which it comes. At the end of a stream the window that is
    open gives its result, too.

    >>> tumbling(count=100)
    Window(by='count', size=100, every=100)
    """
    by, size = _chosen("tumbling", count, seconds)
    return Window(by, size, size)


def sliding(*, count: int | None = None, seconds: float | None = None, every: float = 1) -> Window:
    """The last `count` tuples or `seconds`, looked at `every` so many tuples or seconds.

    The first results come of windows that are not full yet. At the end of a stream windows of time
    that have tuples give their results, those too that the clock has not reached; of windows by
    count there is one result more if tuples came since the last.

    >>> sliding(seconds=60, every=10)
    Window(by='time', size=60, every=10)
    """
    by, size = _chosen("sliding", count, seconds)
    return Window(by, size, every)


def _chosen(
    kind: str, count: int | None, seconds: float | None
) -> tuple[Literal["count", "time"], float]:
    if (count is None) == (seconds is None):
        raise GraphError(f"{kind} window: give either count or seconds")
    if count is not None:
        return "count", count
    assert seconds is not None
    return "time", seconds


def _is_number(value: object) -> bool:
    """A finite int or float; true and false are refused, as they are a mistake here."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _check_count(name: str, value: float) -> None:
    if not _is_number(value) or value != int(value) or not 1 <= value <= TUPLES_MAX:
        raise GraphError(f"a window by count: its {name} is {value!r}: use a whole number from 1")


def _check_seconds(name: str, value: float) -> None:
    if not _is_number(value) or value > SECONDS_MAX or nanoseconds(value) < 1:
        raise GraphError(
            f"a window by time: its {name} is {value!r}: use seconds, as int or float, from one "
            f"nanosecond (1e-09) to {SECONDS_MAX:,}"
        )
