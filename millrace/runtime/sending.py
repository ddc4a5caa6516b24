"""The sending end of a connection between two PEs: connects, writes, and reads acknowledgements.

What is to be sent, and what of it after a connection broke, is the matter of `outbox.py`. The
outbox is bounded, so that a slow receiver makes the producer wait.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from millrace.errors import (
    ConnectionBroken,
    PeerRefused,
    ProtocolError,
    TransportError,
    TupleTooLarge,
    Unencodable,
)
from millrace.runtime.barriers import Barrier, Route
from millrace.runtime.clock import pause_of
from millrace.runtime.frames import (
    FRAME_BYTES_MAX,
    Answer,
    Frame,
    Hello,
    Kind,
    Refusal,
    control,
    decoded,
    epoch_of,
)
from millrace.runtime.network import PORT_BASE, Network, TcpNetwork, Tls
from millrace.runtime.outbox import Outbox, SenderCounts
from millrace.runtime.resuming import SavedSender
from millrace.runtime.wires import Wire

LOG = logging.getLogger("millrace.runtime.sending")
Batch = Sequence[Any]
BACK_OFF_S: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Waits between attempts to connect; the last one is repeated."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be unacknowledged before `send` waits; one batch may exceed it."""

    bytes_max: int = 4 << 20
    tuples_max: int = 65_536
    frame_bytes_max: int = FRAME_BYTES_MAX


class Sender:
    """One connection from an output port to an input port of another PE.

    `counts`: what it did in this launch. `trouble`: a sentence about why it is not connected, or
    None.
    """

    def __init__(
        self,
        route: Route,
        encode: Callable[[Batch], bytes],
        launch: int,
        *,
        limits: Limits | None = None,
        tls: Tls | None = None,
        saved: SavedSender | None = None,
        network: Network | None = None,
        port_base: int = PORT_BASE,
    ) -> None:
        """A sender of this launch, with what a former launch saved. `run` connects it."""
        self.route = route
        self.trouble: str | None = None
        self._encode = encode
        self._launch = launch
        self._limits = limits or Limits()
        self._network = network or TcpNetwork(tls)
        self._port = port_base + route.receiver_port
        self._outbox = Outbox(secrets.token_hex(8), saved)
        self._attempt = 0
        self._wire: Wire | None = None
        self._aim: tuple[str | None, int] = (None, 0)
        self._session: asyncio.Task[None] | None = None
        self._is_closed = self._is_pumping = self._is_saved = False
        self._rests_at: Barrier | None = None
        self._changed = asyncio.Event()
        self._lock = asyncio.Lock()
        self._room = asyncio.Event()
        self._logged: set[str] = set()

    # ------------------------------------------------------------ what a PE calls

    @property
    def counts(self) -> SenderCounts:
        """Tuples and bytes, broken connections, lost tuples."""
        return self._outbox.counts

    @property
    def is_connected(self) -> bool:
        """Whether a receiver has answered and the connection holds."""
        return self._wire is not None

    @property
    def congestion(self) -> float:
        """How much of what may be unacknowledged is, from 0 to 1: at 1 the producer waits."""
        outbox, limits = self._outbox, self._limits
        return min(1.0, max(outbox.bytes / limits.bytes_max, outbox.tuples / limits.tuples_max))

    @property
    def unacknowledged(self) -> int:
        """How many tuples the receiver has not taken in for certain."""
        return self._outbox.tuples

    @property
    def unacknowledged_bytes(self) -> int:
        """Their bytes, encoded."""
        return self._outbox.bytes

    def aim(self, address: str | None, launch: int) -> None:
        """Name the newest address and launch of the receiver; None: it has no address now.

        A connection to an older launch is closed at once. News of an older launch is ignored.
        """
        if (address, launch) == self._aim or launch < self._aim[1]:
            return
        self._aim = (address, launch)
        self._changed.set()
        peer = self._outbox.peer
        if self._wire is not None and peer is not None and peer.launch >= launch:
            return
        if self._session is not None:
            self._session.cancel()

    async def send(self, batch: Batch) -> None:
        """Send tuples, in order; wait as long as too much is unacknowledged.

        Raises Unencodable, or TupleTooLarge if a single tuple does not fit into a frame; nothing is
        sent then.
        """
        if not batch:
            return
        async with self._lock:
            while self.congestion >= 1.0:
                self._room.clear()
                await self._room.wait()
            for count, payload in list(self._payloads(batch)):
                self._outbox.add(count, payload)
            self._pump_soon()

    async def take_barrier(self, barrier: Barrier) -> None:
        """Send a barrier behind the tuples before it. A second final punctuation is ignored."""
        async with self._lock:
            self._outbox.add_barrier(barrier)
            self._rests_at = barrier if barrier.kind == "hand-over" else self._rests_at
            self._pump_soon()

    async def flushed(self) -> None:
        """Return when everything so far is acknowledged, or is lost."""
        goal = self._outbox.now
        while (first := self._outbox.first).epoch != goal.epoch or first.number < goal.number:
            self._room.clear()
            await self._room.wait()

    @property
    def is_flushed(self) -> bool:
        """Whether everything so far is acknowledged, or is lost."""
        return self._outbox.first == self._outbox.now

    def save(self, *, final: bool = False) -> SavedSender:
        """What the next launch needs.

        `final`: this launch writes nothing any more until `go_on`, as when it seals. Otherwise
        frames that were not written yet may be written later, and count as written.
        """
        self._is_saved = self._is_saved or final
        return self._outbox.save(final=final)

    def go_on(self) -> None:
        """Write again: what was saved was not the last state."""
        self._is_saved, self._rests_at = False, None
        self._pump()

    def close(self) -> None:
        """End `run`. What is not acknowledged stays for `save`."""
        self._is_closed = True
        self._changed.set()
        if self._session is not None:
            self._session.cancel()

    async def run(self) -> None:
        """Connect, send, and connect again when the connection breaks, until `close`."""
        failures = 0
        while not self._is_closed:
            self._changed.clear()
            address, launch = self._aim
            if address is None:
                self.trouble = f"PE {self.route.receiver} has no address yet"
                await self._changed.wait()
                failures = 0
                continue
            is_well = await self._run_session(address, launch, failures)
            failures = 0 if is_well else failures + 1
            await self._pause(pause_of(BACK_OFF_S, failures))

    # ------------------------------------------------------------ connecting

    async def _run_session(self, address: str, launch: int, failures: int) -> bool:
        """One connection, from its begin to its end; whether the next may follow at once.

        `failures`: of the attempts before it.
        """
        self._attempt += 1
        broken = self.counts.broken
        session = self._session = asyncio.create_task(self._connected(address, launch))
        try:
            await asyncio.wait({session})
        finally:
            session.cancel()
            await asyncio.gather(session, return_exceptions=True)
            self._session = None
        problem = None if session.cancelled() else session.exception()
        if isinstance(problem, TransportError | OSError | TimeoutError):
            self._report(address, problem, failures)
        elif problem is not None:
            raise problem
        was_connected = self.counts.broken > broken
        return session.cancelled() or (was_connected and not isinstance(problem, PeerRefused))

    async def _pause(self, seconds: float) -> None:
        """Wait, but not any longer when the aim changes."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    def _report(self, address: str, problem: Exception, failures: int) -> None:
        why = str(problem) or f"nobody answered ({type(problem).__name__})"
        self.trouble = f"PE {self.route.receiver} at {address}:{self._port}: {why}"
        is_clean = isinstance(problem, ConnectionBroken) and problem.is_clean
        is_starting = isinstance(problem, OSError) and failures < len(BACK_OFF_S)
        # Once per cause, until something is acknowledged.
        if is_clean or is_starting or self.trouble in self._logged:
            LOG.debug("not connected: %s", self.trouble)
            return
        self._logged.add(self.trouble)
        LOG.warning("not connected: %s", self.trouble)

    async def _connected(self, address: str, launch: int) -> None:
        wire = await self._network.connect(address, self._port)
        try:
            wire.greet()
            self._resume(wire, await self._greet(wire, launch))
            while True:
                self._hear(await wire.frame())
        finally:
            wire.on_room = _nothing
            if self._wire is wire:
                self._wire = None
                self.counts.broken += not self._is_closed
            wire.close()

    async def _greet(self, wire: Wire, launch: int) -> Answer:
        outbox = self._outbox
        hello = Hello(self.route, self._launch, outbox.epochs, self._attempt, outbox.before)
        wire.write(control(Kind.HELLO, hello))
        frame = await wire.frame()
        if frame.kind == Kind.REFUSAL:
            refusal = decoded(frame, Refusal)
            raise PeerRefused(f"it refused the connection: {refusal.message}")
        if frame.kind != Kind.ANSWER:
            raise ProtocolError(f"a frame of kind {frame.kind} came instead of the answer to hello")
        answer = decoded(frame, Answer)
        newest = max(launch, self._outbox.peer.launch if self._outbox.peer else 0)
        if answer.launch < newest:
            raise PeerRefused(f"it is launch {answer.launch}, and {newest} is the newest")
        return answer

    def _resume(self, wire: Wire, answer: Answer) -> None:
        before = self._outbox.peer
        lost, begin = self._outbox.resume(answer)
        is_other = before is not None and before != self._outbox.peer
        if is_other and self._rests_at is not None and not self._outbox.holds(self._rests_at):
            # The last life took it, and ended before it sealed.
            self._outbox.add_barrier(self._rests_at)
        if lost:
            LOG.warning(
                "at most %d tuples to PE %d are lost: its last launch ended without a state",
                lost,
                self.route.receiver,
            )
        wire.write(begin)
        self._wire = wire
        self.trouble = None
        self._room.set()
        wire.on_room = self._pump
        self._pump()

    # ------------------------------------------------------------ frames

    def _payloads(self, batch: Batch) -> Iterator[tuple[int, bytes]]:
        """The batch in as few parts as fit into frames, with their numbers of tuples."""
        try:
            payload = self._encode(batch)
        except Exception as problem:  # encoders run code of the author
            raise Unencodable(f"a tuple cannot be encoded: {problem}") from problem
        limit = self._limits.frame_bytes_max
        if len(payload) <= limit:
            yield len(batch), payload
            return
        if len(batch) == 1:
            raise TupleTooLarge(f"a tuple of {len(payload)} bytes; a frame has at most {limit}")
        half = len(batch) // 2
        yield from self._payloads(batch[:half])
        yield from self._payloads(batch[half:])

    def _pump_soon(self) -> None:
        """What is added in this turn of the event loop goes in one write."""
        if self._wire is not None and not self._is_pumping:
            self._is_pumping = True
            asyncio.get_running_loop().call_soon(self._pump)

    @property
    def _has_to_write(self) -> bool:
        return self._outbox.has_waiting and not self._is_saved

    def _pump(self) -> None:
        """Write what waits, as long as the wire takes it."""
        self._is_pumping = False
        wire = self._wire
        while wire is not None and not wire.is_full and self._has_to_write:
            wire.write_all(self._outbox.write())

    def _hear(self, frame: Frame) -> None:
        """Take an acknowledgement, or the last one. Raises TransportError at the end."""
        if frame.kind == Kind.REFUSAL:
            raise PeerRefused(decoded(frame, Refusal).message)
        if frame.kind not in (Kind.ACK, Kind.BYE):
            raise ProtocolError(f"a frame of kind {frame.kind} came instead of an acknowledgement")
        first = self._outbox.first
        if epoch := epoch_of(frame):  # a bye before the begin was read has none
            self._outbox.acknowledge(epoch, frame.number, frame.items)
        if self._outbox.first != first:  # the answer to a begin acknowledges nothing
            self._logged.clear()
        self._room.set()
        if frame.kind == Kind.BYE:
            self._outbox.take_back()
            raise ConnectionBroken("it ended in good order", is_clean=True)


def _nothing() -> None:
    """The connection has ended."""
