"""A receiver and senders over TCP on loopback, on the event loops of asyncio and of uvloop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
import uvloop

from millrace.runtime.barriers import Barrier, Origin, Route
from millrace.runtime.network import Tls
from millrace.runtime.receiving import Receivers
from millrace.runtime.sending import Sender
from tests.patience import patient
from tests.unit.millrace.wiring import ORIGIN, ROUTE


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine function, which runs on asyncio's loop and on uvloop's."""

    @functools.wraps(test)
    def run(loop: str, *arguments: Any, **named: Any) -> None:
        factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(test(*arguments, **named))

    del run.__dict__["__wrapped__"]
    own = inspect.Parameter("loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(test)
    parameters = [own, *signature.parameters.values()]
    run.__dict__["__signature__"] = signature.replace(parameters=parameters)
    marked: Callable[..., None] = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])(run)
    return marked


@dataclass
class Number:
    n: int


@dataclass
class Text:
    text: str


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Receiver:
    """PE 2 on loopback, which remembers what it took."""

    def __init__(self, *, tls: Tls | None = None, type_: type = Number) -> None:
        self.port = free_port()
        self.got: list[Any] = []
        self.ends = asyncio.Event()
        self.problem: Exception | None = None
        decode = msgspec.msgpack.Decoder(list[type_]).decode  # type: ignore[valid-type]
        self.receivers = Receivers(
            7, 2, 5, {3: decode}, {ORIGIN}, self._deliver, tls=tls, port_base=self.port - 3
        )

    async def _deliver(self, _: Origin, item: Any) -> None:
        if self.problem is not None:
            raise self.problem
        if isinstance(item, Barrier):
            self.ends.set()
        else:
            self.got += item

    def sender(self, *, tls: Tls | None = None, route: Route = ROUTE, launch: int = 1) -> Sender:
        encode = msgspec.msgpack.Encoder().encode
        sender = Sender(route, encode, launch, tls=tls, port_base=self.port - 3)
        sender.aim("127.0.0.1", 5)
        return sender


@contextlib.asynccontextmanager
async def listening(**options: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(**options)
    await receiver.receivers.start("127.0.0.1")
    try:
        yield receiver
    finally:
        await receiver.receivers.stop()


@contextlib.asynccontextmanager
async def running(sender: Sender) -> AsyncIterator[Sender]:
    task = asyncio.create_task(sender.run())
    try:
        yield sender
    finally:
        sender.close()
        await task


async def sent(receiver: Receiver, sender: Sender) -> None:
    """Ten thousand tuples and a barrier come to their end."""
    async with running(sender), asyncio.timeout(patient(20)):
        for begin in range(0, 10_000, 100):
            await sender.send([Number(each) for each in range(begin, begin + 100)])
        await sender.take_barrier(Barrier("final"))
        await sender.flushed()
    assert receiver.got == [Number(each) for each in range(10_000)]
    assert receiver.ends.is_set()
