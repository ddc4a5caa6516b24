"""How far one origin is taken, and its connection: what a receiver knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from millrace.errors import ProtocolError
from millrace.runtime.barriers import Origin, Spot
from millrace.runtime.frames import Before, Frame, Hello, Kind, epoch_of, position
from millrace.runtime.lives import Loss, Taken, loss_of
from millrace.runtime.resuming import SETTLED, settled
from millrace.runtime.wires import Refused, Superseded, Wire

ACK_S: Final = 0.005
"""How long an acknowledgement may wait for more while frames keep coming."""


class Inlet:
    """What is known of one origin: how far it is taken, and its connection."""

    def __init__(
        self, origin: Origin, in_hand: Callable[[], int], in_state: Taken, *, is_exact: bool
    ) -> None:
        """Nothing is taken. `in_hand`: how many tuples the PE has in hand.

        `in_state`: what the state has of the origin that the PE began with.
        """
        self.origin = origin
        self.in_hand = in_hand
        self.in_state = in_state
        self.before: Before | None = None
        self.epoch: str | None = None
        self.known: dict[str, int] = {}
        self.is_exact = is_exact
        self.tuples = 0
        self.hello: Hello | None = None
        self.wire: Wire | None = None
        self.is_answered = False
        self.passes: Callable[[Frame], bool] | None = None
        self.problem: str | None = None
        self.lock = asyncio.Lock()
        self._ack: asyncio.TimerHandle | None = None

    @property
    def taken(self) -> int:
        """The number of the next tuple or barrier of the epoch."""
        return self.known[self.epoch] if self.epoch is not None else 0

    @property
    def spots(self) -> tuple[Spot, ...]:
        """In front of these everything is taken in, or is settled; the newest is the last."""
        return tuple(Spot(epoch, number) for epoch, number in self.known.items())

    @property
    def loss(self) -> Loss:
        """What a life lost, by what its sender tells of it."""
        return Loss() if self.before is None else loss_of(self.in_state, self.before)

    def hold(self, passes: Callable[[Frame], bool] | None) -> None:
        """Take only frames that pass; with None all."""
        self.passes = passes
        if self.wire is not None:
            self.wire.hold(passes)

    def claim(self, wire: Wire, hello: Hello) -> None:
        """Make this the connection of the origin. Raises Refused if a newer one is known."""
        known = self.hello
        if known is not None:
            is_older = hello.launch < known.launch or (
                (hello.launch, hello.epoch) == (known.launch, known.epoch)
                and hello.attempt < known.attempt
            )
            if is_older:
                message = f"launch {hello.launch} of PE {self.origin.pe} has a newer connection"
                raise Refused("superseded", message)
        if self.wire is not None:
            self.wire.stop_taking(Superseded("a newer connection took its place"))
            self.wire.abort()
        self.hello, self.wire, self.is_answered = hello, wire, False
        wire.hold(self.passes)

    def begin(self, frame: Frame) -> None:
        """The sender says where it goes on."""
        assert self.hello is not None
        spot = Spot(epoch_of(frame), frame.number)
        if spot.epoch not in self.hello.epochs:
            raise ProtocolError(f"epoch {spot.epoch} was not announced")
        if spot.number > SETTLED:  # no state could save it
            raise ProtocolError(f"tuple {spot.number} is behind all numbers")
        taken = self.known.get(spot.epoch, 0)  # a part of a frame may be taken
        spot = Spot(spot.epoch, max(taken, spot.number))
        self.known = settled(self.hello.epochs, spot)
        self.epoch, self.is_exact = spot.epoch, True

    def acknowledge(self, wire: Wire) -> None:
        """At once if nothing more is there; otherwise soon, together with what follows."""
        if not wire.has_frame:
            self.send_ack(wire)
        elif self._ack is None:
            loop = asyncio.get_running_loop()
            self._ack = loop.call_later(ACK_S, self.send_ack, wire)

    def send_ack(self, wire: Wire, kind: Kind = Kind.ACK) -> None:
        """Write how far it is taken."""
        if self._ack is not None:
            self._ack.cancel()
            self._ack = None
        if self.wire is not wire or (self.epoch is None and kind == Kind.ACK):
            return
        if wire.is_full and kind == Kind.ACK:  # the peer does not read
            loop = asyncio.get_running_loop()
            self._ack = loop.call_later(ACK_S, self.send_ack, wire)
            return
        wire.write(position(kind, self.epoch or "", self.taken, self.in_hand()))
