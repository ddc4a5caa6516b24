"""The receiving ends of all connections to a PE.

Each connection has a task: it reads hello, waits until what an older connection of the same origin
delivers is delivered, answers where it stands, and then takes one frame after the other. A frame is
acknowledged when `deliver` has returned, and the next one is read only then.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from millrace.errors import (
    ConnectionBroken,
    ProtocolError,
    TransportError,
    Undecodable,
)
from millrace.runtime.barriers import Barrier, Origin
from millrace.runtime.frames import (
    FRAME_BYTES_MAX,
    Answer,
    Frame,
    Hello,
    Kind,
    begins,
    begins_or_hands_over,
    control,
    decoded,
)
from millrace.runtime.inlet import Inlet
from millrace.runtime.lives import NOTHING, Loss, Taken
from millrace.runtime.network import PORT_BASE, Listener, Network, TcpNetwork, Tls
from millrace.runtime.resuming import SETTLED, Position, Positions
from millrace.runtime.turns import Turns
from millrace.runtime.wires import Refused, Stopped, Superseded, Wire

LOG = logging.getLogger("millrace.runtime.receiving")
HELLO_S: Final = 10.0
UNKNOWN_MAX: Final = 64
"""Connections that have not introduced themselves; one more ends the oldest."""
STOP_S: Final = 5.0
LINGER_S: Final = 1.0
"""How long a peer may take to read why the connection is closed."""
CAUSES_MAX: Final = 1_000

Deliver = Callable[[Origin, Any], Awaitable[None]]


class Receivers:
    """All input ports of a PE."""

    def __init__(
        self,
        job: int,
        pe: int,
        launch: int,
        ports: Mapping[int, Callable[[Any], list[Any]]],
        known: Collection[Origin],
        deliver: Deliver,
        *,
        saved: Positions | None = None,
        is_exact: bool = False,
        in_state: Callable[[Origin], Taken] = lambda _: NOTHING,
        in_hand: Callable[[], int] = lambda: 0,
        tls: Tls | None = None,
        network: Network | None = None,
        port_base: int = PORT_BASE,
    ) -> None:
        """Ports of a launch, each with its decoder, which gets bytes or a memoryview.

        `deliver` takes a batch or a barrier of an origin. It returns when there is room for more;
        from its return on the batch counts as taken, so it must not take a part of one. `saved`:
        positions of the state that this launch began with; `is_exact`: that state is a seal.
        `in_state`: what that state has of each origin. `in_hand`: how many tuples the PE has in
        hand, for acknowledgements.
        """
        self.job, self.pe, self.launch = job, pe, launch
        self.life, self._is_exact = secrets.token_hex(8), is_exact
        self._decoders = dict(ports)
        self._deliver = deliver
        self._tls = tls
        self._network = network or TcpNetwork(tls)
        self._port_base = port_base
        inlets = [Inlet(each, in_hand, in_state(each), is_exact=is_exact) for each in known]
        self._inlets = {each.origin: each for each in inlets}
        self._go_on_from(saved or ())
        self._listeners: list[Listener] = []
        self._unknown: dict[Wire, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._logged: set[tuple[str, str]] = set()

    def _go_on_from(self, saved: Positions) -> None:
        for each in saved:
            if inlet := self._inlets.get(each.origin):
                inlet.known = {spot.epoch: spot.number for spot in each.spots}
                inlet.is_exact = self._is_exact and each.is_exact

    # ------------------------------------------------------------ what a PE calls

    async def start(self, host: str) -> None:
        """Listen at the port of each input. Raises PortInUse, and then listens at none."""
        try:
            for port in self._decoders:
                made = self._accept_at(port)
                listener = await self._network.listen(made, host, self._port_base + port)
                self._listeners.append(listener)
        except BaseException:
            self._close_listeners()
            raise

    def hold(self, origins: Iterable[Origin]) -> None:
        """Take no more frames of these origins; what `deliver` is awaited for is still taken."""
        for origin in origins:
            self._inlets[origin].hold(begins)

    def seal(self) -> None:
        """Take nothing more but barriers of hand-overs, which peers that began again send again.

        Peers of the next plan may begin before we end, and what we took of them would be lost.
        """
        for inlet in self._inlets.values():
            inlet.hold(begins_or_hands_over)

    def release(self, origins: Iterable[Origin]) -> None:
        """Take frames of these origins again."""
        for origin in origins:
            self._inlets[origin].hold(None)

    def positions(self) -> Positions:
        """What is taken in: everything that `deliver` has returned for, and nothing more."""
        return tuple(
            Position(each.origin, each.spots, each.is_exact) for each in self._inlets.values()
        )

    def is_connected(self, origin: Origin) -> bool:
        """Whether the sender of an origin is connected. Raises KeyError."""
        return self._inlets[origin].is_answered

    def losses(self) -> list[Loss]:
        """What earlier lives of this PE lost that ended without a word, by what senders know."""
        return [each.loss for each in self._inlets.values()]

    def former(self) -> dict[Origin, Taken]:
        """What lives before took in, of origins that this one has not heard.

        A life that ended in good order lost nothing of what it took in.
        """
        every = () if self._is_exact else self._inlets.values()
        return {each.origin: each.in_state for each in every if each.hello is None}

    def tuples(self, origin: Origin) -> int:
        """How many tuples of an origin this launch took in. Raises KeyError."""
        return self._inlets[origin].tuples

    def problems(self) -> dict[Origin, str]:
        """A sentence for each origin whose frames cannot be taken."""
        return {each.origin: each.problem for each in self._inlets.values() if each.problem}

    async def stop(self, within_s: float = STOP_S) -> None:
        """Take nothing more, write the last positions as bye on every connection, and close.

        It takes `STOP_S` at most, or `within_s` if that is shorter. A `deliver` that does not
        return in time is cancelled; its connection gets no bye.
        """
        self._is_stopping = True
        self._close_listeners()
        for wire in self._unknown:
            wire.abort()
        for inlet in self._inlets.values():
            if inlet.wire is not None:
                inlet.wire.stop_taking(Stopped("this PE ends"))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=min(within_s, STOP_S))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()

    # ------------------------------------------------------------ connections

    def _accept_at(self, port: int) -> Callable[[Wire], None]:
        def accept(wire: Wire) -> None:
            if self._is_stopping:
                wire.abort()
                return
            if len(self._unknown) >= UNKNOWN_MAX:
                oldest = next(iter(self._unknown))
                del self._unknown[oldest]
                oldest.abort()
                self._log_once(oldest, "it did not introduce itself, and many others wait")
            self._unknown[wire] = None
            task = asyncio.get_running_loop().create_task(self._serve(wire, port))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accept

    async def _serve(self, wire: Wire, port: int) -> None:
        """One connection from its begin to its end; its problems are logged once per cause."""
        try:
            inlet = await self._introduced(wire, port)
            async with inlet.lock:  # what an older connection delivers is delivered
                await self._take_all(inlet, wire)
        except Refused as refused:
            self._log_once(wire, f"it is refused: {refused}", refused.__cause__)
            wire.write(control(Kind.REFUSAL, refused.refusal))
            await wire.ended(LINGER_S)
        except Stopped:
            await wire.ended(LINGER_S)
        except Superseded as problem:
            LOG.debug("the connection from %s ended: %s", wire.peer, problem)
        except TransportError as problem:
            if not (isinstance(problem, ConnectionBroken) and problem.is_clean):
                self._log_once(wire, str(problem))
        finally:
            self._unknown.pop(wire, None)
            wire.close()

    async def _introduced(self, wire: Wire, port: int) -> Inlet:
        """The inlet of a connection. Raises TransportError for a connection that has none."""
        try:
            async with asyncio.timeout(HELLO_S):
                await self._network.secure(wire)
                wire.greet()
                frame = await wire.frame()
        except TimeoutError:
            raise ProtocolError(f"nothing was heard of it for {HELLO_S:.0f} s") from None
        if frame.kind != Kind.HELLO:
            raise ProtocolError(f"a frame of kind {frame.kind} came instead of hello")
        hello = decoded(frame, Hello)
        inlet = self._inlet_of(hello, port)
        inlet.claim(wire, hello)
        # A life that sealed has lost nothing, and a sender that began again may not know that.
        if hello.before is not None and hello.before.life != self.life and not self._is_exact:
            inlet.before = hello.before
        self._unknown.pop(wire, None)
        return inlet

    def _inlet_of(self, hello: Hello, port: int) -> Inlet:
        route = hello.route
        if route.job != self.job:
            raise Refused("job", f"this is job {self.job}, and not {route.job}")
        if (route.receiver, route.receiver_port) != (self.pe, port):
            here, there = f"PE {self.pe}, port {port}", f"PE {route.receiver}, port "
            raise Refused("pe", f"this is {here}, and not {there}{route.receiver_port}")
        inlet = self._inlets.get(hello.origin)
        if inlet is None:
            name = f"output port {route.sender_port} of PE {route.sender}"
            raise Refused("origin", f"{name} is not connected to port {port} of PE {self.pe}")
        return inlet

    def _log_once(self, wire: Wire, why: str, problem: BaseException | None = None) -> None:
        """Log what is wrong with a peer, unless it is known of this host."""
        cause = (wire.peer.rpartition(":")[0], why)
        if cause in self._logged:
            return
        if len(self._logged) >= CAUSES_MAX:
            self._logged.clear()
        self._logged.add(cause)
        LOG.warning("the connection from %s is closed: %s", wire.peer, why, exc_info=problem)

    # ------------------------------------------------------------ frames

    async def _take_all(self, inlet: Inlet, wire: Wire) -> None:
        """Answer, and take frames until the connection ends or this PE stops."""
        if inlet.wire is not wire or self._is_stopping:
            return
        answer = Answer(self.launch, self.life, inlet.spots, inlet.is_exact, inlet.tuples)
        wire.open_for(FRAME_BYTES_MAX)
        wire.write(control(Kind.ANSWER, answer))
        inlet.is_answered = True
        turns = Turns()
        try:
            while True:
                await self._take(inlet, await wire.frame())
                inlet.acknowledge(wire)
                await turns.give_way()
        except Stopped:
            inlet.send_ack(wire, Kind.BYE)
            raise
        except Undecodable as problem:
            inlet.problem = str(problem)
            raise Refused("undecodable", inlet.problem) from None
        except TransportError:
            raise
        except Exception as problem:  # of `deliver`: the frame is not taken
            inlet.problem = f"PE {self.pe} takes no tuples: {type(problem).__name__}: {problem}"
            raise Refused("failed", inlet.problem) from problem
        finally:
            if inlet.wire is wire:
                inlet.wire, inlet.is_answered = None, False

    async def _take(self, inlet: Inlet, frame: Frame) -> None:
        if frame.kind == Kind.BEGIN:
            inlet.begin(frame)
            return
        if frame.kind not in (Kind.TUPLES, Kind.BARRIER):
            raise ProtocolError(f"a frame of kind {frame.kind} came among tuples")
        if inlet.epoch is None or frame.number > inlet.taken:
            raise ProtocolError(f"tuple {frame.number} came, and {inlet.taken} is the next")
        end = frame.number + frame.items
        if end > SETTLED or (frame.kind == Kind.BARRIER and frame.items != 1):
            raise ProtocolError(f"tuple {frame.number} came with {frame.items} items")
        if end <= inlet.taken:
            return
        if frame.kind == Kind.BARRIER:
            await self._deliver(inlet.origin, decoded(frame, Barrier))
        else:
            items = self._items(inlet, frame)
            if already := inlet.taken - frame.number:
                items = items[already:]
            await self._deliver(inlet.origin, items)
            inlet.tuples += len(items)
        inlet.known[inlet.epoch] = end
        inlet.problem = None

    def _items(self, inlet: Inlet, frame: Frame) -> Sequence[Any]:
        try:
            items = self._decoders[inlet.origin.at](frame.payload)
        except Exception as problem:
            name = f"port {inlet.origin.at} from PE {inlet.origin.pe}"
            if isinstance(problem, msgspec.ValidationError):
                name += ", where a function returns another type than it is annotated with,"
            raise Undecodable(f"tuples at {name} cannot be decoded: {problem}") from problem
        if len(items) != frame.items:
            raise Undecodable(f"{len(items)} tuples came where {frame.items} were announced")
        return items
