"""The connections of a PE with its neighbours: what comes in, and what goes out.

Takes what the transport delivers to the node behind an input port, and lets an operator's output go
to every peer of its port. Counts what is being processed, so that an origin can be closed and be
known to be at rest.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal

from millrace.runtime.assembling import Encode
from millrace.runtime.barriers import FINAL, Barrier, Origin, Place, Route
from millrace.runtime.launch import Launch, Surroundings
from millrace.runtime.lives import Taken
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.reading import Description, OutputPort
from millrace.runtime.receiving import Receivers
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.sending import Sender

Decode = Callable[[Any], list[Any]]
Connected = Literal["Full", "Partial", "None"]


class Outlet:
    """The target of an output port: all connections to the port's peers."""

    def __init__(self, senders: Collection[Sender]) -> None:
        """Connections of one port."""
        self.senders = tuple(senders)
        self.inside: frozenset[int] = frozenset()
        """The PEs of a hand-over, to which its barrier goes."""
        self.windows = 0
        self.finals = 0

    async def take(self, batch: Batch) -> None:
        """Send a batch to every peer."""
        for sender in self.senders:
            await sender.send(batch)

    async def take_barrier(self, barrier: Barrier) -> None:
        """Send punctuation to every peer, and the barrier of a hand-over to those inside of it."""
        self.windows += barrier.kind == "window"
        self.finals += barrier.kind == "final"
        for sender in self.senders:
            is_inside = sender.route.receiver in self.inside
            if barrier.kind in ("window", "final") or (barrier.kind == "hand-over" and is_inside):
                await sender.take_barrier(barrier)


def outlet_of(
    port: OutputPort,
    encode: Encode,
    job: int,
    launch: Launch,
    around: Surroundings,
    saved: Mapping[Route, SavedSender],
) -> Outlet:
    """The outlet of a port. `saved`: what earlier launches had to hand on still."""
    routes = [Route(job, launch.pe, port.id, pe, number) for pe, number in port.peers]
    return Outlet(
        [
            Sender(
                route,
                encode,
                launch.number,
                saved=saved.get(route),
                tls=around.tls,
                network=around.network,
                port_base=launch.port_base,
            )
            for route in routes
        ]
    )


def receivers_of(
    job: int,
    launch: Launch,
    around: Surroundings,
    decoders: Mapping[int, Decode],
    taken: dict[int, int],
    inlets: Inlets,
    *,
    in_hand: Callable[[], int],
    saved: Positions,
    in_state: Callable[[Origin], Taken],
    is_exact: bool,
) -> Receivers:
    """The input ports of a launch, each with its decoder.

    `taken`: as of `counting`; the rest as of `Receivers`.
    """
    return Receivers(
        job,
        launch.pe,
        launch.number,
        {port: counting(each, taken, port) for port, each in decoders.items()},
        inlets.origins,
        inlets.deliver,
        saved=saved,
        in_state=in_state,
        is_exact=is_exact,
        in_hand=in_hand,
        tls=around.tls,
        network=around.network,
        port_base=launch.port_base,
    )


def origins_of(description: Description) -> set[Origin]:
    """The connections that come to a PE."""
    return {Origin(pe, port, each.id) for each in description.inputs for pe, port in each.peers}


def places_of(description: Description, job: int) -> dict[Route, Place]:
    """Who takes what each connection brings, as far as the plan says it."""
    return {
        Route(job, description.pe, port.id, *peer): place
        for port in description.outputs
        for peer, place in port.places.items()
    }


class Inlets:
    """What comes in, by origin."""

    def __init__(self, nodes: Mapping[int, Node], origins: Collection[Origin]) -> None:
        """`nodes`: the one behind each input port."""
        self.origins = frozenset(origins)
        self.ended: set[Origin] = set()
        self._nodes = nodes
        self._brought: dict[Barrier, set[Origin]] = {}
        self.early: dict[Origin, Barrier] = {}
        self._expected: Barrier | None = None
        self._busy: Counter[Origin] = Counter()
        self._idle = asyncio.Event()
        self._failure: Exception | None = None
        self._has_failed = asyncio.Event()

    async def run(self, ended: Iterable[Origin]) -> None:
        """End again what had ended. Raises what a node raises in `deliver`, which ends the PE."""
        await self.end_again(ended)
        await self._has_failed.wait()
        assert self._failure is not None, "it has failed"
        raise self._failure

    async def deliver(self, origin: Origin, item: Any) -> None:
        """Take a batch or a barrier of an origin; returns when there is room for more.

        What a node raises also ends `run`: the connection that brought the item only closes. What
        comes behind the end of an origin came before: its sender was killed, and begins again.
        """
        if origin in self.ended:
            return
        self._busy[origin] += 1
        try:
            if isinstance(item, Barrier):
                await self.take_barrier(origin, item)
            else:
                await self._nodes[origin.at].take(item)
        except Exception as problem:
            self._failure = problem
            self._has_failed.set()
            raise
        finally:
            self._busy[origin] -= 1
            self._idle.set()

    async def take_barrier(self, origin: Origin, barrier: Barrier) -> None:
        """Take a barrier of an origin. One that came before is ignored: it may be sent again.

        That of a hand-over may come before pe-gateway tells of it; then it waits for `expect`.
        """
        if barrier.kind == "hand-over" and barrier != self._expected:
            known = self.early.setdefault(origin, barrier)
            if known.is_covered_by(barrier):
                self.early[origin] = barrier  # a hand-over that was replaced is never expected
            return
        if barrier == FINAL:
            if origin in self.ended:
                return
            self.ended.add(origin)
        elif barrier.kind != "window":
            brought = self._brought.setdefault(barrier, set())
            if origin in brought or origin in self.ended:
                return
            brought.add(origin)
        await self._nodes[origin.at].take_barrier(barrier)

    async def expect(self, barrier: Barrier) -> None:
        """Let this barrier through, and what of it came already."""
        self._expected = barrier
        early = [origin for origin, each in self.early.items() if each == barrier]
        for origin in early:
            del self.early[origin]
        await self.inject(barrier, early)

    def missing(self, barrier: Barrier) -> frozenset[Origin]:
        """The origins that have not brought a barrier, and may."""
        return self.origins - self.ended - self._brought.get(barrier, set())

    async def at_rest(self, origins: Iterable[Origin]) -> None:
        """Return when nothing of these origins is being taken."""
        while any(self._busy[each] for each in origins):
            self._idle.clear()
            await self._idle.wait()

    async def inject(self, barrier: Barrier, origins: Iterable[Origin]) -> None:
        """Bring a barrier in the place of origins that do not: closed ones, and gone ones."""
        for each in origins:
            await self.take_barrier(each, barrier)

    def forget(self, barrier: Barrier, expected: Barrier | None = None) -> None:
        """A barrier and older ones do not count any more, but the one that is `expected` still."""
        self._expected = expected
        for each in [known for known in self._brought if known.is_covered_by(barrier)]:
            del self._brought[each]
        self.early = {
            origin: each for origin, each in self.early.items() if not each.is_covered_by(barrier)
        }

    async def end_again(self, origins: Iterable[Origin]) -> None:
        """Bring the final punctuation that a former launch took."""
        for each in origins:
            await self.take_barrier(each, FINAL)


def connectivity(up: int, of: int) -> Connected:
    """How many of its connections a PE has; one without any has all."""
    if up == of:
        return "Full"
    return "Partial" if up else "None"


def counting(decode: Decode, taken: dict[int, int], port: int) -> Decode:
    """Decode, and count in `taken` how many bytes a port takes."""
    taken[port] = 0

    def counted(data: Any) -> list[Any]:
        taken[port] += len(data)
        return decode(data)

    return counted
