"""The transport over TCP on loopback: TLS, and peers that are not what they should be."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
import uvloop

from millrace.errors import PortInUse, TlsError, TupleTooLarge
from millrace.runtime import receiving
from millrace.runtime.frames import (
    HEADER,
    PREAMBLE,
    Frame,
    Hello,
    Kind,
    Reader,
    Refusal,
    control,
    decoded,
)
from millrace.runtime.marks import Mark, Origin, Route
from millrace.runtime.network import Tls, tls_of
from millrace.runtime.receiving import Receivers
from millrace.runtime.sending import Limits, Sender
from tests.unit.millrace.wiring import ORIGIN, ROUTE, until


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
        if isinstance(item, Mark):
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


@pytest.fixture(scope="module")
def job_tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    return made_tls(tmp_path_factory.mktemp("job"))


def made_tls(folder: Path) -> Tls:
    """A self-signed certificate, as a job has."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "transport.cert"))
    authority.private_key_pem.write_to_path(str(folder / "transport.key"))
    return tls_of(folder / "transport.cert", folder / "transport.key")


async def sent(receiver: Receiver, sender: Sender) -> None:
    """Ten thousand tuples and a mark come to their end."""
    async with running(sender), asyncio.timeout(20):
        for begin in range(0, 10_000, 100):
            await sender.send([Number(each) for each in range(begin, begin + 100)])
        await sender.mark(Mark("final"))
        await sender.flushed()
    assert receiver.got == [Number(each) for each in range(10_000)]
    assert receiver.ends.is_set()


@on_both_loops
async def test_tuples_go_over_tcp() -> None:
    async with listening() as receiver:
        await sent(receiver, receiver.sender())


@on_both_loops
async def test_tuples_go_over_tls(job_tls: Tls) -> None:
    async with listening(tls=job_tls) as receiver:
        await sent(receiver, receiver.sender(tls=job_tls))


@on_both_loops
async def test_a_frame_of_many_pieces_goes_over_tls(job_tls: Tls) -> None:
    async with listening(tls=job_tls, type_=Text) as receiver:
        async with running(receiver.sender(tls=job_tls)) as sender, asyncio.timeout(20):
            await sender.send([Text("x" * (9 << 20)), Text("y")])
            await sender.flushed()
        assert [len(each.text) for each in receiver.got] == [9 << 20, 1]


@on_both_loops
async def test_a_sender_with_another_certificate_is_not_accepted(
    job_tls: Tls, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tls=job_tls) as receiver:
        async with running(receiver.sender(tls=made_tls(tmp_path))) as sender:
            await until(lambda: sender.trouble is not None, 10)
            assert "TLS handshake failed" in str(sender.trouble)
        await until(lambda: "TLS handshake failed" in caplog.text, 10)
        await sent(receiver, receiver.sender(tls=job_tls))


@on_both_loops
async def test_a_certificate_that_the_certificate_of_the_job_signed_is_not_accepted(
    tmp_path: Path,
) -> None:
    """Only the certificate itself."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "cert"))
    authority.private_key_pem.write_to_path(str(tmp_path / "key"))
    job = tls_of(tmp_path / "cert", tmp_path / "key")
    child = authority.issue_cert("child")
    child.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "child"))
    for context in (job_of := tls_of(tmp_path / "cert", tmp_path / "key")).server, job_of.client:
        child.configure_cert(context)
    async with listening(tls=job) as receiver:
        async with running(receiver.sender(tls=job_of)) as sender:
            await sender.send([Number(1)])
            await until(lambda: sender.trouble is not None, 10)
            await asyncio.sleep(0.3)
        assert receiver.got == []


@on_both_loops
async def test_a_sender_without_tls_is_not_accepted(
    job_tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(tls=job_tls) as receiver:
        async with running(receiver.sender()) as sender:
            await until(lambda: sender.trouble is not None, 10)
        await until(lambda: "TLS handshake failed" in caplog.text, 10)


@on_both_loops
async def test_a_receiver_without_tls_is_named(job_tls: Tls) -> None:
    async with listening() as receiver, running(receiver.sender(tls=job_tls)) as sender:
        await until(lambda: "TLS handshake failed" in str(sender.trouble), 10)


def test_files_without_a_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("nothing")
    with pytest.raises(TlsError, match=rf"{tmp_path}/cert and .*/key cannot be used for TLS"):
        tls_of(tmp_path / "cert", tmp_path / "key")


# ---------------------------------------------------------------- bad peers


@on_both_loops
async def test_a_port_in_use_is_named_with_its_address() -> None:
    async with listening() as receiver:
        again = Receivers(7, 2, 5, {3: list}, (), receiver._deliver, port_base=receiver.port - 3)
        with pytest.raises(PortInUse, match=rf"port {receiver.port} of 127.0.0.1: it is in use"):
            await again.start("127.0.0.1")


@pytest.mark.parametrize(
    ("data", "logged"),
    [
        (b"GET / HTTP/1.1\r\nHost: pe\r\n\r\n", "it speaks HTTP, not that of millrace"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "it speaks TLS"),
        (b"garbage and more of it", "another protocol"),
        (b"millrace\x00\x02", "version 2 of the protocol, not 1"),
        (PREAMBLE + HEADER.pack(2 << 30, 1, 0, 0), "a frame of 2147483648 bytes"),
        (PREAMBLE + HEADER.pack(5, 5, 0, 0) + b"abcde", "a frame of kind 5 came instead of hello"),
        (PREAMBLE + HEADER.pack(5, 1, 0, 0) + b"abcde", "a Hello cannot be read"),
        (PREAMBLE + HEADER.pack(5, 1, 0, 0) + b"abc", "in the middle of a frame"),
    ],
)
@on_both_loops
async def test_a_stranger_is_logged_once_and_does_not_disturb_others(
    data: bytes, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening() as receiver:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
            writer.write(data)
            writer.write_eof()
            async with asyncio.timeout(5):
                await reader.read()
            writer.close()
        await sent(receiver, receiver.sender())
        messages = [each for each in caplog.messages if logged in each]
        assert len(messages) == 1
        assert "127.0.0.1:" in messages[0]


@pytest.mark.parametrize(
    ("route", "sentence"),
    [
        (Route(8, 1, 0, 2, 3), "this is job 7, and not 8"),
        (Route(7, 1, 0, 4, 3), "this is PE 2, port 3, and not PE 4, port 3"),
        (Route(7, 1, 1, 2, 3), "output port 1 of PE 1 is not connected to port 3 of PE 2"),
    ],
)
@on_both_loops
async def test_a_connection_that_does_not_belong_here_is_refused(
    route: Route, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening() as receiver:
        async with running(receiver.sender(route=route)) as sender:
            await until(lambda: sentence in str(sender.trouble), 10)
            await asyncio.sleep(0.5)
        assert len([each for each in caplog.messages if "it is refused: " in each]) == 1
        assert not receiver.receivers.is_connected(ORIGIN)


@on_both_loops
async def test_more_strangers_than_the_limit_end_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "UNKNOWN_MAX", 5)
    async with listening() as receiver:
        silent = [await asyncio.open_connection("127.0.0.1", receiver.port) for _ in range(9)]
        await sent(receiver, receiver.sender())
        ended = 0
        for reader, writer in silent:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await reader.read()
                    ended += 1
            writer.close()
        assert 4 <= ended <= 5


@on_both_loops
async def test_a_stranger_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "HELLO_S", 0.1)
    async with listening() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        async with asyncio.timeout(5):
            assert await reader.read() == PREAMBLE
        writer.close()


@on_both_loops
async def test_tuples_of_another_type_stop_their_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with listening() as receiver:
        async with running(receiver.sender()) as sender:
            await sender.send([Text("one")])
            await until(lambda: "cannot be decoded" in str(sender.trouble), 10)
            await asyncio.sleep(1)
        logged = [each for each in caplog.messages if "cannot be decoded" in each]
        assert len(logged) == 2  # here and there
        assert "port 3 from PE 1" in logged[0]
        assert ORIGIN in receiver.receivers.problems()
        saved = sender.save(final=True)
        assert saved.frames[0].tuples == 1
        assert receiver.got == []


@on_both_loops
async def test_a_receiver_that_raises_is_named_and_takes_the_frame_later() -> None:
    async with listening() as receiver:
        receiver.problem = ValueError("no room in the inn")
        async with running(receiver.sender()) as sender:
            await sender.send([Number(1)])
            await until(lambda: "no room in the inn" in str(sender.trouble), 10)
            receiver.problem = None
            async with asyncio.timeout(10):
                await sender.flushed()
        assert receiver.got == [Number(1)]
        assert not receiver.receivers.problems()


@on_both_loops
async def test_a_batch_that_is_longer_than_a_frame_is_split() -> None:
    async with listening(type_=Text) as receiver:
        sender = receiver.sender()
        sender._limits = Limits(frame_bytes_max=5_000)
        async with running(sender), asyncio.timeout(10):
            await sender.send([Text("x" * 1_000) for _ in range(50)])
            with pytest.raises(TupleTooLarge, match=r"a tuple of 60\d\d bytes.* at most 5000"):
                await sender.send([Text("x"), Text("x" * 6_000)])
            await sender.flushed()
        assert len(receiver.got) == 50


@on_both_loops
async def test_a_neighbour_that_never_comes_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sender = Receiver().sender()
    async with running(sender):
        await until(lambda: sender.trouble is not None, 10)
        await asyncio.sleep(0.5)
    assert "PE 2 at 127.0.0.1:" in str(sender.trouble)
    assert len([each for each in caplog.messages if "not connected" in each]) == 1


async def raw(receiver: Receiver, hello: Hello) -> tuple[list[Frame], asyncio.StreamWriter]:
    """What a hello is answered with, heartbeats left out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(PREAMBLE + control(Kind.HELLO, hello))
    frames: list[Frame] = []
    found = Reader(1 << 20)
    async with asyncio.timeout(5):
        while not frames:
            frames += found.feed(await reader.read(4096))
    return frames, writer


@on_both_loops
async def test_a_late_attempt_or_an_older_launch_does_not_displace_a_newer_connection() -> None:
    async with listening() as receiver:
        frames, first = await raw(receiver, Hello(ROUTE, 2, ("epoch",), 5))
        assert frames[0].kind == Kind.ANSWER
        for late in (Hello(ROUTE, 2, ("epoch",), 4), Hello(ROUTE, 1, ("older",), 9)):
            frames, writer = await raw(receiver, late)
            assert decoded(frames[0], Refusal).reason == "superseded"
            writer.close()
        assert receiver.receivers.is_connected(ORIGIN)
        frames, second = await raw(receiver, Hello(ROUTE, 3, ("newer",), 1))
        assert frames[0].kind == Kind.ANSWER
        for writer in (first, second):
            writer.close()


@on_both_loops
async def test_the_log_does_not_grow_with_strangers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(receiving, "CAUSES_MAX", 2)
    async with listening() as receiver:
        for each in range(6):
            _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
            writer.write(PREAMBLE + HEADER.pack(0, each + 20, 0, 0))
            await asyncio.sleep(0.02)
            writer.close()
        assert len(receiver.receivers._logged) <= 2
