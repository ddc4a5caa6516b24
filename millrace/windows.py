"""Windows: which tuples an aggregate looks at together, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from millrace.errors import GraphError


@dataclass(frozen=True, slots=True)
class Window:
    """A window by count or by time. `every`: what passes between two results, in the same unit.

    Make one with `tumbling` or `sliding`.
    """

    by: Literal["count", "time"]
    size: float
    every: float

    @property
    def is_tumbling(self) -> bool:
        """A tuple belongs to one window only."""
        return self.size == self.every


def tumbling(*, count: int | None = None, seconds: float | None = None) -> Window:
    """Windows that follow each other: every `count` tuples, or every `seconds`.

    Windows of time begin at multiples of their size since 1970, so that all channels agree. At the
    end of a stream the window that is open gives its result, too.

    >>> tumbling(count=100)
    Window(by='count', size=100, every=100)
    """
    by, size = _chosen("tumbling", count, seconds)
    return Window(by, size, size)


def sliding(*, count: int | None = None, seconds: float | None = None, every: float = 1) -> Window:
    """The last `count` tuples or `seconds`, looked at `every` so many tuples or seconds.

    The first results come of windows that are not full yet. At the end of a stream there is one
    result more if tuples came since the last.

    >>> sliding(seconds=60, every=10)
    Window(by='time', size=60, every=10)
    """
    by, size = _chosen("sliding", count, seconds)
    if not 0 < every <= size or (by == "count" and every != int(every)):
        raise GraphError(f"sliding window: every is {every}, and has to be from 1 to {size}")
    return Window(by, size, every)


def _chosen(
    kind: str, count: int | None, seconds: float | None
) -> tuple[Literal["count", "time"], float]:
    if (count is None) == (seconds is None):
        raise GraphError(f"{kind} window: give either count or seconds")
    size = seconds if count is None else count
    assert size is not None
    if size <= 0 or (count is not None and count != int(count)):
        raise GraphError(f"{kind} window: its size is {size}, and has to be above 0")
    return ("time" if count is None else "count"), size
