"""Where the running code is: in which channel of a parallel region, launch of a PE, and job."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel, from 0, and how many there are; outside of a region it is 0 of 1.

    `local`: its number in each region around it, outermost first. A width of one region changes the
    `index` of channels in others that are nested in it, and never these.
    """

    index: int = 0
    count: int = 1
    local: tuple[int, ...] = field(default=(), compare=False, repr=False)


ONLY: Final = Channel()
"""The channel of an operator outside of all regions."""
_current: ContextVar[Channel] = ContextVar("millrace_channel", default=ONLY)


def channel() -> Channel:
    """The channel of the function that calls this: a source, or another one in a region.

    >>> def numbers() -> Iterator[Number]:
    ...     mine = channel()
    ...     for number in range(mine.index, 1_000, mine.count):
    ...         yield Number(number)
    >>> stream = app.source(numbers, parallel=4)
    """
    return _current.get()


def begin_channel(index: int, count: int, local: tuple[int, ...] = ()) -> None:
    """What `channel` returns in this context from now on."""
    _current.set(Channel(index, count, local))


class within:  # noqa: N801 - it reads as a word: `with within(channel):`
    """What `channel` returns in a block, and in what is awaited in it."""

    def __init__(self, channel: Channel) -> None:
        """A block in this channel."""
        self._channel = channel
        self._token: Token[Channel] | None = None

    def __enter__(self) -> None:
        """Begin the block. Inside of another one of this channel, nothing changes."""
        if _current.get() is not self._channel:
            self._token = _current.set(self._channel)

    def __exit__(self, *_: object) -> None:
        """End it."""
        if self._token is not None:
            _current.reset(self._token)


_launch = 1


def launch() -> int:
    """How often the processing element was launched, from 1; in `app.run` it is 1."""
    return _launch


def begin_launch(number: int) -> None:
    """What `launch` returns in this process from now on."""
    global _launch  # noqa: PLW0603 - a process is one launch
    _launch = number


_job = ""


def job() -> str:
    """The uid of the job that this process belongs to; in `app.run` it is empty."""
    return _job


def begin_job(uid: str) -> None:
    """What `job` returns in this process from now on."""
    global _job  # noqa: PLW0603 - a process is of one job
    _job = uid
