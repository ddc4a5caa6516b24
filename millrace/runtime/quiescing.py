"""How a PE comes to rest, with its state saved: for a hand-over, or because it is stopped.

1. Origins outside of the hand-over are closed, and sources are held: nothing new comes in.
2. The barrier goes through all nodes, and on to peers inside. Origins inside of the hand-over bring
   it themselves; it is brought in the place of closed ones, of sources, and of PEs that are gone.
3. When all nodes have passed it on, and peers inside have taken in all that was sent to them, then
   nothing is on its way between PEs of the hand-over.
4. The state is saved. What peers outside have not taken in stays in the outbox, and is saved, too.

If a newer generation does not name the PE, `go_on` takes all of this back, unless the PE rests for
something else as well (`Reasons`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from millrace.runtime.barriers import Barrier, Origin, Route
from millrace.runtime.connections import Inlets, Outlet
from millrace.runtime.engine import Engine
from millrace.runtime.receiving import Receivers
from millrace.runtime.sending import Sender

LOG = logging.getLogger("millrace.runtime.pe")
OUTBOX_S: Final = 2.0
"""With a store, a PE that stops waits so long for peers to take what it sent; then it is saved."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What comes to rest: all of a PE that moves tuples."""

    engine: Engine
    inlets: Inlets
    receivers: Receivers
    outlets: Collection[Outlet]

    @property
    def senders(self) -> list[Sender]:
        """The connections of all outlets."""
        return [sender for outlet in self.outlets for sender in outlet.senders]


class Quiescing:
    """One way to rest, for one barrier. `inside`: the PEs of the hand-over; none for a stop.

    `is_passed`: all nodes have passed the barrier on; what is sent inside may still be on its way.
    """

    def __init__(self, parts: Parts, barrier: Barrier, inside: Collection[int] = ()) -> None:
        """Nothing has happened yet."""
        self.barrier = barrier
        self._parts = parts
        self.inside = frozenset(inside)
        self.has_begun = False
        self.is_passed = False
        self._gone: frozenset[int] = frozenset()
        self._gone_changed = asyncio.Event()

    @property
    def closed(self) -> frozenset[Origin]:
        """The origins that bring no barrier themselves."""
        return frozenset(each for each in self._parts.inlets.origins if each.pe not in self.inside)

    @property
    def senders_inside(self) -> list[Sender]:
        """The connections to PEs of the hand-over. At rest only those to gone ones hold tuples."""
        return [each for each in self._parts.senders if each.route.receiver in self.inside]

    def not_taken(self, kept: Collection[Route]) -> int:
        """How many tuples PEs of the hand-over that are gone did not take in, but those `kept`."""
        return sum(e.unacknowledged for e in self.senders_inside if e.route not in kept)

    @property
    def awaited(self) -> frozenset[int]:
        """The PEs inside that have not brought it, or not taken in what was sent to them."""
        if not self.has_begun:
            return frozenset()  # it waits for a checkpoint
        missing = {e.pe for e in self._parts.inlets.missing(self.barrier) if e.pe in self.inside}
        owing = {each.route.receiver for each in self.senders_inside if not each.is_flushed}
        return frozenset(missing | owing) - self._gone

    @property
    def live(self) -> frozenset[int]:
        """The PEs of the hand-over that are not gone: their next launch may need it again."""
        return self.inside - self._gone

    @property
    def has_sealed(self) -> bool:
        """Whether it is for a hand-over, and nothing is taken in any more."""
        return self.is_passed and self.barrier.kind == "hand-over"

    def without(self, gone: Collection[int]) -> None:
        """These PEs of the hand-over never bring or take anything any more."""
        if not self._gone >= set(gone):
            self._gone |= set(gone)
            self._gone_changed.set()

    async def rest(self) -> None:
        """Come to rest, up to step 3. What is outside may be slow: the caller has a deadline."""
        self.has_begun = True
        parts, barrier = self._parts, self.barrier
        for outlet in parts.outlets:
            outlet.inside = self.inside
        for source in parts.engine.sources:
            source.hold(barrier)
        await asyncio.gather(
            parts.inlets.expect(barrier), self._replace(self.closed), self._until_passed()
        )
        self.is_passed = True
        if self.has_sealed:
            parts.receivers.seal()
        await asyncio.gather(*map(self._flushed, self.senders_inside))

    async def _until_passed(self) -> None:
        passing = asyncio.ensure_future(self._parts.engine.at_rest(self.barrier))
        try:
            while not passing.done():
                self._gone_changed.clear()
                await self._replace([e for e in self._parts.inlets.origins if e.pe in self._gone])
                await _first(passing, self._gone_changed.wait())
            await passing
        finally:
            passing.cancel()

    async def _replace(self, origins: Collection[Origin]) -> None:
        """Close origins, and bring the barrier in their place."""
        self._parts.receivers.hold(origins)
        await self._parts.inlets.at_rest(origins)
        await self._parts.inlets.inject(self.barrier, origins)

    async def _flushed(self, sender: Sender) -> None:
        """Return when the peer has taken in all that was sent, or is gone."""
        flushing = asyncio.ensure_future(sender.flushed())
        try:
            while not flushing.done() and sender.route.receiver not in self._gone:
                self._gone_changed.clear()
                await _first(flushing, self._gone_changed.wait())
        finally:
            flushing.cancel()

    async def passed_by_sources(self) -> None:
        """Return when sources have passed the barrier on, since peers may have it."""
        if self.has_begun:
            await asyncio.gather(*(e.has_passed(self.barrier) for e in self._parts.engine.sources))

    def forget(self, others: Sequence[Quiescing]) -> None:
        """It is over, and the PE stays at rest for others, of which the newest is the last."""
        parts, closed = self._parts, frozenset[Origin]().union(*(e.closed for e in others))
        parts.inlets.forget(self.barrier, others[-1].barrier)
        parts.engine.forget(self.barrier, others[-1].barrier)
        parts.receivers.release(parts.inlets.origins - closed)
        if any(each.has_sealed for each in others):
            parts.receivers.seal()
        for outlet in parts.outlets:
            outlet.inside = others[-1].inside
        if self.has_sealed:
            for sender in parts.senders:
                sender.go_on()

    def go_on(self, until: Barrier | None = None) -> None:
        """Take it back: everything goes on as before; with `until` nothing new comes before it.

        With `until`, what sources have read since they passed the barrier on comes again.
        """
        parts = self._parts
        parts.inlets.forget(self.barrier)
        if not self.has_begun:
            return  # it waited for a checkpoint, which is still at rest
        parts.engine.go_on(self.barrier, until)
        if until is None:
            parts.receivers.release(parts.inlets.origins)
        for each in parts.senders:
            each.go_on()


class Reasons:
    """What a PE quiesces for, from the oldest. It goes on when the last one is over.

    One comes to rest after the other: what comes next does so from where the PE rests.
    """

    def __init__(self) -> None:
        """The PE runs."""
        self._all: list[Quiescing] = []

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all)

    def __iter__(self) -> Iterator[Quiescing]:
        """From the oldest."""
        return iter(self._all)

    @property
    def newest(self) -> Quiescing | None:
        """The one that came last."""
        return self._all[-1] if self._all else None

    def add(self, quiescing: Quiescing) -> Quiescing:
        """One more."""
        self._all.append(quiescing)
        return quiescing

    def over(self, quiescing: Quiescing, until: Barrier | None = None) -> None:
        """The PE need not rest for one any more. `until`: as of `go_on`."""
        self._all.remove(quiescing)
        others = [each for each in self._all if each.has_begun]
        if others and quiescing.has_begun:
            quiescing.forget(others)
        else:
            quiescing.go_on(until)


async def until_needless(parts: Parts, *, saves: bool) -> None:
    """Return when peers took in all that was sent. What a PE saves need not wait for slow ones."""
    try:
        async with asyncio.timeout(OUTBOX_S if saves else None):
            await asyncio.gather(*(each.flushed() for each in parts.senders))
    except TimeoutError:
        waiting = sum(each.unacknowledged for each in parts.senders)
        LOG.info("%d tuples wait for their peers: they are saved", waiting)


async def _first(future: asyncio.Future[None], other: Awaitable[object]) -> None:
    """Return when one of the two is done. The other one is given up."""
    waiting = asyncio.ensure_future(other)
    try:
        await asyncio.wait((future, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
