"""Where the running code is: in which channel of a parallel source, and in which launch of a PE."""

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


_launch = 1


def launch() -> int:
    """How often the processing element was launched, from 1; in `app.run` it is 1."""
    return _launch


def begin_launch(number: int) -> None:
    """What `launch` returns in this process from now on."""
    global _launch  # noqa: PLW0603 - a process is one launch
    _launch = number
