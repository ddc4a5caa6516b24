"""Where a connection goes on: what is saved of it, and what is sent again. Pure.

A sender numbers its tuples and barriers from 0 in an epoch of its own, which it makes at its start.
What it loads from a saved state stays in the epoch of the launch that sent it, in front of its own:
a launch that went on from a checkpoint never numbers new tuples as its predecessor did others.

`resumed` decides what happens when a receiver answers. The first case that holds:

    the receiver is …                                  | taken | written, not acknowledged | rest
    1 the same life that it was                        | drop  | send again                | send
    2 another life, from a seal, with all acknowledged | drop  | send again                | send
    3 another life, its predecessor sent bye           | drop  | (bye put all into `rest`) | send
    4 another life, from a checkpoint or from nothing  | drop  | drop, count as lost       | send

"Taken" is what is in front of a spot of the answer. The receiver remembers a spot for each epoch
that the sender loaded, so that it is known even when the sender loads the same state once more.
A seal that knows less than was acknowledged is old: its launch went on after it (case 4).
In case 4 a tuple is taken once or not at all. Barriers that end a stream or a generation are sent
again, as they may come twice; and a final punctuation that an old life took is sent to a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from millrace.runtime.barriers import Origin, Place, Spot
from millrace.runtime.frames import Answer, Kind

SETTLED: Final = (1 << 63) - 1
"""Behind everything of an epoch."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A frame that is not acknowledged. `again`: a barrier that may come twice."""

    epoch: str
    number: int
    count: int
    kind: int
    payload: bytes
    again: bool = False

    @property
    def tuples(self) -> int:
        """How many tuples it has: none if it is a barrier."""
        return self.count if self.kind == Kind.TUPLES else 0


@dataclass(frozen=True, slots=True)
class Peer:
    """One life of a receiver."""

    launch: int
    life: str


@dataclass(frozen=True, slots=True)
class SavedSender:
    """What a state has of a sender; msgspec encodes it.

    `frames`: all that is not acknowledged, in order. `written`: how many of them may have reached
    `peer`. `end`: behind the final punctuation, if there was one. `to`: who takes the tuples.
    `in_hand`: how many tuples `peer` had in hand, and `acknowledged` how many it took in, unless it
    ended in good order.
    """

    epoch: str
    next: int
    frames: tuple[Kept, ...] = ()
    written: int = 0
    peer: Peer | None = None
    end: Spot | None = None
    to: Place | None = None
    in_hand: int = 0
    acknowledged: int = 0

    @property
    def in_use(self) -> SavedSender:
        """The same for a state whose launch goes on: it may write all of the frames."""
        return replace(self, written=len(self.frames))


@dataclass(frozen=True, slots=True)
class Position:
    """What is taken in of one origin, in front of a spot of each epoch; the newest is the last.

    `is_exact`: nothing else was ever taken in. A launch that began with a checkpoint or with
    nothing does not know that before the sender has answered where it goes on.
    """

    origin: Origin
    spots: tuple[Spot, ...]
    is_exact: bool

    @property
    def taken(self) -> int:
        """The number of the next tuple or barrier, in the newest epoch."""
        return self.spots[-1].number if self.spots else 0


Positions = tuple[Position, ...]
"""Of all input ports of a PE; msgspec encodes it."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """What to send now. `ends`: add a final punctuation.

    `taken`: how many of the frames, from the first, are taken. `lost`: at most so many tuples.
    """

    frames: tuple[Kept, ...]
    taken: int
    lost: int
    ends: bool


def resumed(outbox: SavedSender, answer: Answer) -> Resumption:
    """What follows from the answer of a receiver; the cases are above."""
    known = {each.epoch: each.number for each in answer.spots}
    begin = taken(outbox.frames, known)
    again, rest = outbox.frames[begin : outbox.written], outbox.frames[max(begin, outbox.written) :]
    lost = 0
    is_same = outbox.peer == Peer(answer.launch, answer.life)
    if not is_same and not (answer.exact and _has_acknowledged(outbox, known)):
        lost = sum(untaken(each, known) for each in again)
        again = tuple(each for each in again if each.again)
    frames = (*again, *rest)
    return Resumption(frames, begin, lost, _ends(outbox, frames, known))


def taken(frames: Sequence[Kept], known: Mapping[str, int]) -> int:
    """How many frames, from the first, are taken whole."""
    for at, each in enumerate(frames):
        if each.number + each.count > known.get(each.epoch, 0):
            return at
    return len(frames)


def _has_acknowledged(outbox: SavedSender, known: Mapping[str, int]) -> bool:
    """Whether a receiver knows everything in front of the oldest frame."""
    if not outbox.frames:
        return known.get(outbox.epoch, 0) >= outbox.next
    first = outbox.frames[0]
    return known.get(first.epoch, 0) >= first.number


def untaken(frame: Kept, known: Mapping[str, int]) -> int:
    """Tuples of a frame that is not taken whole; a receiver may have a part of it."""
    if not frame.tuples:
        return 0
    return frame.count - max(0, known.get(frame.epoch, 0) - frame.number)


def _ends(outbox: SavedSender, frames: Sequence[Kept], known: Mapping[str, int]) -> bool:
    """Whether the receiver will not see the final punctuation unless it is sent again."""
    end = outbox.end
    if end is None or known.get(end.epoch, 0) >= end.number:
        return False
    return not any(each.epoch == end.epoch and each.number + 1 == end.number for each in frames)


def settled(epochs: Sequence[str], begun: Spot) -> dict[str, int]:
    """What a receiver knows when a sender with these epochs begins at a spot.

    What the sender does not send any more of older epochs is taken, or was dropped and counted.
    Raises ValueError if the epoch is not one of them.
    """
    older = epochs[: epochs.index(begun.epoch)]
    return {**dict.fromkeys(older, SETTLED), begun.epoch: begun.number}
