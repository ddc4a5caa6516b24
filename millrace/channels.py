"""Which channel of a parallel source the running code is: for sources that share work."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel, from 0, and how many there are; outside of a region it is 0 of 1."""

    index: int = 0
    count: int = 1


_FIRST = Channel()
_current: ContextVar[Channel] = ContextVar("millrace_channel", default=_FIRST)


def channel() -> Channel:
    """The channel of the source that calls this.

    >>> def numbers() -> Iterator[Number]:
    ...     mine = channel()
    ...     for number in range(mine.index, 1_000, mine.count):
    ...         yield Number(number)
    >>> stream = app.source(numbers, parallel=4)
    """
    return _current.get()


def begin_channel(index: int, count: int) -> None:
    """What `channel` returns in this context from now on."""
    _current.set(Channel(index, count))
