"""What a life of a PE took in, compared with what a state has of it. Pure.

A life is one start of a process. A sender knows how many tuples the life took in that it wrote to;
a state has how many a life had taken in when that one saved it. Counts of two lives are never
compared: each begins at 0.

`part_lost` decides how much of what a life took in the state may lack. The first rule that holds:

    the life that the sender knows is …                        | the state may lack
    1 of a launch that is not known: an older runtime has it   | the difference
    2 of a later launch than the state's count                 | all: nobody saved what it took in
    3 of an earlier launch                                     | nothing
    4 of the same launch, whose life an older runtime left out | the difference
    5 the same life                                            | the difference
    6 another life of the same launch                          | all

In rule 3 the later life has heard the sender, and has counted what it knew, or the earlier life
ended in good order. A life keeps the counts of those before it, until it hears the sender of each
(`Receivers.former`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from millrace.runtime.frames import Before
from millrace.runtime.resuming import Peer

Part = Literal["all", "the difference", "nothing"]


@dataclass(frozen=True, slots=True)
class Taken:
    """How many tuples of an origin a life had taken in when it saved its state."""

    tuples: int
    life: Peer


NOTHING: Final = Taken(0, Peer(0, ""))
"""Where there is no state."""


@dataclass(frozen=True, slots=True)
class Loss:
    """At most how many tuples a life lost: those in hand, and those that it took in.

    `tuples`: those that the state lacks; those in hand may be among them.
    """

    in_hand: int = 0
    tuples: int = 0


def loss_of(taken: Taken, before: Before) -> Loss:
    """At most what a life lost, as its sender knows, where a launch goes on from the state."""
    match part_lost(taken, Peer(before.launch, before.life)):
        case "all":
            return Loss(before.in_hand, before.acknowledged)
        case "the difference":
            return Loss(before.in_hand, max(before.acknowledged - taken.tuples, 0))
        case "nothing":
            return Loss()


def part_lost(taken: Taken, known: Peer) -> Part:
    """How much of what the life took in that a sender knows; the rules are above."""
    state = taken.life
    if not known.launch:
        return "the difference"
    if known.launch > state.launch:
        return "all"
    if known.launch < state.launch:
        return "nothing"
    return "the difference" if state.life in ("", known.life) else "all"
