"""Barriers, which travel with the tuples of a stream in their order, and the ends of a connection.

These are ports of PEs, and behind them instances of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Barrier:
    """What no tuple passes. `window` and `final` are punctuation of the stream.

    The others pass a node when they came in by all of its inputs, so that it has processed all
    tuples before them: `hand-over` for a plan generation, `stop` and `checkpoint` within one PE.
    """

    kind: Literal["window", "final", "hand-over", "stop", "checkpoint"]
    generation: int = 0

    def is_covered_by(self, other: Barrier) -> bool:
        """Whether it does not matter any more, once the other one does not."""
        return self.kind == other.kind and self.generation <= other.generation


WINDOW: Final = Barrier("window")
FINAL: Final = Barrier("final")
STOP: Final = Barrier("stop")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place between two tuples or barriers: everything before `number` of an epoch."""

    epoch: str
    number: int


@dataclass(frozen=True, slots=True)
class Place:
    """An instance of an operator: its path, and its channels such as `2`, `0,1` or nothing."""

    path: str
    channels: str


@dataclass(frozen=True, slots=True)
class Route:
    """A connection as its sender knows it: ids of PEs, and the numbers of their ports."""

    job: int
    sender: int
    sender_port: int
    receiver: int
    receiver_port: int

    @property
    def origin(self) -> Origin:
        """The same connection as its receiver knows it."""
        return Origin(self.sender, self.sender_port, self.receiver_port)


@dataclass(frozen=True, slots=True)
class Origin:
    """A connection as its receiver knows it: the sender PE, its output port, my input port."""

    pe: int
    port: int
    at: int
