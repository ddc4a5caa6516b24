"""Where a connection goes on: what is saved of it, and what is sent again. Pure.

A sender numbers its tuples and marks from 0 in an epoch of its own, which it makes when it starts.
What it loads from a saved state stays in the epoch of the launch that sent it, in front of its own:
a launch that went on from a checkpoint never numbers new tuples as its predecessor did others.

`resumed` decides what happens when a receiver answers. The first case that holds:

    the receiver is …                                  | taken | written, not acknowledged | rest
    1 the same life that it was                        | drop  | send again                | send
    2 another life, which began exactly (from a seal)  | drop  | send again                | send
    3 another life, its predecessor sent bye           | drop  | (bye put all into `rest`) | send
    4 another life, from a checkpoint or from nothing  | drop  | drop, count as lost       | send

"Taken" is what the answer says, where it names an epoch of this sender; otherwise it is nothing.
In case 4 a tuple is taken once or not at all. Marks that end a stream or a generation are sent
again, as they may come twice; and a final mark that an old life took is sent to a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.runtime.frames import Answer, Kind
from millrace.runtime.marks import Origin


@dataclass(frozen=True, slots=True)
class Kept:
    """A frame that is not acknowledged. `again`: a mark that may come twice."""

    epoch: str
    number: int
    count: int
    kind: int
    payload: bytes
    again: bool = False

    @property
    def tuples(self) -> int:
        """How many tuples it has: none if it is a mark."""
        return self.count if self.kind == Kind.TUPLES else 0


@dataclass(frozen=True, slots=True)
class Peer:
    """One life of a receiver."""

    launch: int
    life: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Everything before `number` of an epoch."""

    epoch: str
    number: int


@dataclass(frozen=True, slots=True)
class SavedSender:
    """What a state has of a sender; msgspec encodes it.

    `frames`: all that is not acknowledged, in order. `written`: how many of them may have reached
    `peer`. `end`: behind the final mark, if there was one.
    """

    epoch: str
    next: int
    frames: tuple[Kept, ...] = ()
    written: int = 0
    peer: Peer | None = None
    end: Spot | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """What is taken in of one origin.

    `is_exact`: nothing else was ever taken in. A launch that began with a checkpoint or with
    nothing does not know that before the sender has answered where it goes on.
    """

    origin: Origin
    epoch: str | None
    taken: int
    is_exact: bool


Positions = tuple[Position, ...]
"""Of all input ports of a PE; msgspec encodes it."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """What to send now. `ends`: add a final mark.

    `taken`: how many of the frames, from the first, are taken. `lost`: at most so many tuples.
    """

    frames: tuple[Kept, ...]
    taken: int
    lost: int
    ends: bool


def resumed(outbox: SavedSender, answer: Answer) -> Resumption:
    """What follows from the answer of a receiver; the cases are above."""
    known = Spot(answer.epoch, answer.taken) if answer.epoch is not None else None
    begin = taken_of(outbox.frames, outbox.epoch, known)
    again, rest = outbox.frames[begin : outbox.written], outbox.frames[max(begin, outbox.written) :]
    lost = 0
    is_same = outbox.peer == Peer(answer.launch, answer.life)
    if not is_same and not answer.exact:
        lost = sum(_untaken(each, known) for each in again)
        again = tuple(each for each in again if each.again)
    frames = (*again, *rest)
    return Resumption(frames, begin, lost, _ends(outbox, frames, known))


def taken_of(frames: Sequence[Kept], epoch: str, known: Spot | None) -> int:
    """How many frames, from the first, are taken whole. `epoch`: that of the next frame."""
    if known is None:
        return 0
    inside = [at for at, each in enumerate(frames) if each.epoch == known.epoch]
    if not inside:
        return len(frames) if epoch == known.epoch else 0
    begin = inside[0]
    for each in frames[begin:]:
        if each.epoch != known.epoch or each.number + each.count > known.number:
            break
        begin += 1
    return begin


def _untaken(frame: Kept, known: Spot | None) -> int:
    """Tuples of a frame that is not taken whole; a receiver may have begun another way."""
    if known is not None and known.epoch == frame.epoch and frame.tuples:
        return frame.count - max(0, known.number - frame.number)
    return frame.tuples


def _ends(outbox: SavedSender, frames: Sequence[Kept], known: Spot | None) -> bool:
    """Whether the receiver will not see the final mark unless it is sent again."""
    if outbox.end is None or known == outbox.end:
        return False
    return not any(
        each.epoch == outbox.end.epoch and each.number + each.count == outbox.end.number
        for each in frames
    )
