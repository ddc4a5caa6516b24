"""A network in memory whose connections break where a test wants, and two PEs on it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from millrace.errors import PortInUse
from millrace.runtime.barriers import Barrier, Origin, Route
from millrace.runtime.receiving import Receivers
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.sending import Limits, Sender
from millrace.runtime.wires import Wire
from tests.patience import patient

ROUTE = Route(job=7, sender=1, sender_port=0, receiver=2, receiver_port=3)
ORIGIN = Origin(pe=1, port=0, at=3)
UNTIL_S_MAX = patient(60.0)
Cut = tuple[int | None, int | None]
"""After how many bytes to the listening side, and back, a connection breaks."""


class End(asyncio.Transport):
    """One end of a connection in memory; what is written arrives in the next turn of the loop."""

    def __init__(self, wire: Wire, host: str, budget: int | None, random: Random | None) -> None:
        super().__init__()
        self.wire, self.host, self.budget = wire, host, budget
        self.other: End
        self.may_arrive = True
        self.is_stuck = False
        self._random = random
        self._out: deque[bytes] = deque()
        self._size = 0
        self._high = 65_536
        self._is_closing = self._is_lost = self._is_flowing = False
        self._loop = asyncio.get_running_loop()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.other.host, 1) if name == "peername" else default

    def is_closing(self) -> bool:
        return self._is_closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high or self._high

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        self._out.append(bytes(data))
        self._size += len(data)
        if self._size > self._high and not self.wire.is_full:
            self.wire.pause_writing()
        self.flow_soon()

    def writelines(self, parts: Iterable[Any]) -> None:
        self.write(b"".join(parts))

    def pause_reading(self) -> None:
        self.may_arrive = False

    def resume_reading(self) -> None:
        self.may_arrive = True
        self.other.flow_soon()

    def flow_soon(self) -> None:
        if not self._is_flowing:
            self._is_flowing = True
            self._loop.call_soon(self._flow)

    def _flow(self) -> None:
        self._is_flowing = False
        while self._out and self.other.may_arrive and not self._is_lost and not self.is_stuck:
            data = self._out.popleft()
            size = len(data) if self._random is None else self._random.randint(1, len(data))
            if self.budget is not None:
                size = min(size, self.budget)
                self.budget -= size
            if rest := data[size:]:
                self._out.appendleft(rest)
            self._size -= size
            if size:
                self.other.wire.data_received(data[:size])
            if self.budget == 0:
                self.cut()
                return
        if self.wire.is_full and self._size <= self._high // 4 and not self._is_lost:
            self.wire.resume_writing()
        if self._is_closing and not self._out:
            self._lose(None)

    def close(self) -> None:
        self._is_closing = True
        self.flow_soon()

    def abort(self) -> None:
        self._is_closing = True
        self._out.clear()
        self._lose(None)

    def cut(self) -> None:
        """Both ends see a reset; what is under way is gone."""
        self._lose(ConnectionResetError("reset"))

    def _lose(self, problem: Exception | None) -> None:
        for end in (self, self.other):
            if not end._is_lost:
                end._is_lost = end._is_closing = True
                self._loop.call_soon(end.wire.connection_lost, problem)


class MemoryNetwork:
    """Hosts by name. `cuts`: where the first, second, … connection breaks; then none does."""

    def __init__(self, cuts: Iterable[Cut] = (), random: Random | None = None) -> None:
        self.cuts: Iterator[Cut] = iter(cuts)
        self.ends: list[End] = []
        self.connections = 0
        self._random = random
        self._listening: dict[tuple[str, int], Callable[[Wire], None]] = {}

    async def connect(self, host: str, port: int) -> Wire:
        await asyncio.sleep(0.001)
        made = self._listening.get((host, port))
        if made is None:
            raise ConnectionRefusedError("connection refused")
        self.connections += 1
        forth, back = next(self.cuts, (None, None))
        here, there = Wire(), Wire(made)
        one, two = End(here, "sender", forth, self._random), End(there, host, back, self._random)
        one.other, two.other = two, one
        self.ends += [one, two]
        here.connection_made(one)
        there.connection_made(two)
        return here

    async def listen(self, made: Callable[[Wire], None], host: str, port: int) -> Any:
        if (host, port) in self._listening:
            raise PortInUse(f"cannot listen on port {port} of {host}: it is in use")
        self._listening[host, port] = made
        network = self

        class Listening:
            def close(self) -> None:
                network._listening.pop((host, port), None)

        return Listening()

    async def secure(self, wire: Wire) -> None:
        return None

    def cut(self) -> None:
        """Break every connection that there is."""
        for end in self.ends:
            end.cut()
        self.ends.clear()


class Pair:
    """PE 1 sends numbers to PE 2, which remembers what it took; both can be launched again.

    A relaunch of the receiver from a seal keeps what it took; `got` has all that was delivered in
    any launch, as the next PE would see it.
    """

    def __init__(self, network: MemoryNetwork, limits: Limits | None = None) -> None:
        self.network = network
        self.limits = limits
        self.launch = self.sender_launch = 0
        self.got: list[int] = []
        self.barriers: list[tuple[Barrier, int]] = []
        self.pause_s = 0.0
        self.sent = self.lost = self.transmitted = 0
        self.sender: Sender
        self.receivers: Receivers
        self._run: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pair:
        await self.launch_receiver()
        self.launch_sender()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end_sender()
        await self.receivers.stop()
        self.network.cut()
        await asyncio.sleep(0.01)

    async def launch_receiver(self, saved: Positions = (), *, is_exact: bool = False) -> None:
        self.launch += 1
        decode = msgspec.msgpack.Decoder(list[int]).decode
        self.receivers = Receivers(
            7, 2, self.launch, {3: decode}, {ORIGIN}, self._deliver, saved=_through_bytes(saved),
            is_exact=is_exact, network=self.network,
        )  # fmt: skip
        await self.receivers.start(f"receiver-{self.launch}")
        if self.sender_launch:
            self.aim()

    def launch_sender(self, saved: SavedSender | None = None) -> None:
        self.sender_launch += 1
        if saved is not None:
            saved = msgspec.msgpack.decode(msgspec.msgpack.encode(saved), type=SavedSender)
        self.sender = Sender(
            ROUTE, msgspec.msgpack.Encoder().encode, self.sender_launch,
            limits=self.limits, saved=saved, network=self.network,
        )  # fmt: skip
        self.aim()
        self._run = asyncio.create_task(self.sender.run())

    def aim(self) -> None:
        self.sender.aim(f"receiver-{self.launch}", self.launch)

    async def end_sender(self) -> SavedSender:
        self.sender.close()
        assert self._run is not None
        await self._run
        self.lost += self.sender.counts.lost
        self.transmitted += self.sender.counts.tuples_transmitted
        return self.sender.save(final=True)

    async def restart_receiver(self) -> None:
        """End it in good order; the next launch begins with its seal."""
        await self.receivers.stop()
        await self.launch_receiver(self.receivers.positions(), is_exact=True)

    async def restart_sender(self) -> None:
        self.launch_sender(await self.end_sender())

    async def kill_receiver(self, saved: Positions = ()) -> None:
        """End it without a word; the next launch begins with a checkpoint, or with nothing."""
        killed = self.receivers
        killed._close_listeners()
        for task in list(killed._tasks):
            task.cancel()
        await asyncio.gather(*killed._tasks, return_exceptions=True)
        self.network.cut()
        await self.launch_receiver(saved)

    async def send(self, count: int) -> None:
        batch = list(range(self.sent, self.sent + count))
        self.sent += count
        await self.sender.send(batch)

    async def settled(self) -> None:
        """Everything is acknowledged."""
        async with asyncio.timeout(600):  # unstretched: virtual
            await self.sender.flushed()

    async def _deliver(self, origin: Origin, item: Any) -> None:
        assert origin == ORIGIN
        if self.pause_s:
            await asyncio.sleep(self.pause_s)
        if isinstance(item, Barrier):
            self.barriers.append((item, len(self.got)))
        else:
            self.got += item


def _through_bytes(saved: Positions) -> Positions:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(saved), type=Positions)


async def until(condition: Callable[[], bool], seconds: float = UNTIL_S_MAX) -> None:
    """Wait in virtual or short real time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - of anything that a test looks at
                await asyncio.sleep(0.005)
    assert condition()


class Host:
    """The network of one launch: when it is killed, its connections are reset."""

    def __init__(self, network: MemoryNetwork, name: str) -> None:
        """A host that listens nowhere yet."""
        self.name = name
        self._network = network
        self._ends: list[End] = []
        self._listeners: list[Any] = []
        self._is_killed = False

    async def connect(self, host: str, port: int) -> Wire:
        """A connection to another host."""
        wire = await self._network.connect(host, port)
        self._ends.append(self._network.ends[-2])
        if self._is_killed:
            self.kill()
        return wire

    async def listen(self, made: Callable[[Wire], None], host: str, port: int) -> Any:
        """Listen, and remember the ends of connections."""

        def accepted(wire: Wire) -> None:
            self._ends.append(self._network.ends[-1])
            made(wire)

        self._listeners.append(await self._network.listen(accepted, host, port))
        return self._listeners[-1]

    async def secure(self, wire: Wire) -> None:
        """Nothing to do."""

    def kill(self) -> None:
        """Reset what is connected, and listen no more."""
        self._is_killed = True
        for each in self._listeners:
            each.close()
        for end in self._ends:
            end.cut()
