"""Where the running code is: in which channel of a parallel region, and in which launch of a PE."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel, from 0, and how many there are; outside of a region it is 0 of 1."""

    index: int = 0
    count: int = 1


ONLY: Final = Channel()
"""That of what is outside of all regions."""
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


def begin_channel(index: int, count: int) -> None:
    """What `channel` returns in this context from now on."""
    _current.set(Channel(index, count))


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
