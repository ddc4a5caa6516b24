"""The transport over TCP on loopback, and peers that are not what they should be."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from millrace.errors import PortInUse, TupleTooLarge
from millrace.runtime import receiving, sending
from millrace.runtime.barriers import Barrier, Route
from millrace.runtime.frames import (
    HEADER,
    PREAMBLE,
    Before,
    Frame,
    Hello,
    Kind,
    Reader,
    Refusal,
    barrier_payload,
    control,
    decoded,
    header,
    position,
)
from millrace.runtime.receiving import Receivers
from millrace.runtime.resuming import SETTLED
from millrace.runtime.sending import Limits
from tests.patience import patient
from tests.unit.millrace.loopback import (
    Number,
    Receiver,
    Text,
    listening,
    on_both_loops,
    running,
    sent,
)
from tests.unit.millrace.wiring import ORIGIN, ROUTE, until


@on_both_loops
async def test_tuples_go_over_tcp() -> None:
    async with listening() as receiver:
        await sent(receiver, receiver.sender())


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
        (PREAMBLE + control(Kind.HELLO, Hello(ROUTE, 1, (), 1)), "a Hello cannot be read"),
        (
            PREAMBLE + control(Kind.HELLO, Hello(ROUTE, 1, ("e",), 1, Before("life", -3, 5))),
            "a Hello cannot be read",
        ),
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
            async with asyncio.timeout(patient(5)):
                await reader.read()
            writer.close()
        await sent(receiver, receiver.sender())
        messages = [each for each in caplog.messages if logged in each]
        assert len(messages) == 1
        assert "127.0.0.1:" in messages[0]


@pytest.mark.parametrize(
    ("begin", "frame"),
    [
        ((1 << 64) - 1, header(Kind.TUPLES, (1 << 64) - 1, 1, b"a") + b"a"),
        (
            0,
            header(Kind.BARRIER, 0, 7, barrier_payload(Barrier("window")))
            + barrier_payload(Barrier("window")),
        ),
    ],
    ids=["numbers without an end", "a barrier of seven items"],
)
@on_both_loops
async def test_a_sender_that_numbers_wrongly_is_not_believed(
    begin: int, frame: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Its positions could neither be acknowledged nor be saved with the state of the PE."""
    async with listening() as receiver:
        _, writer = await raw(receiver, Hello(ROUTE, 1, ("epoch",), 1))
        writer.write(position(Kind.BEGIN, "epoch", begin) + frame)
        await until(lambda: not receiver.receivers.is_connected(ORIGIN), patient(10))
        writer.close()
        (found,) = receiver.receivers.positions()
        assert found.taken <= SETTLED
        assert not receiver.receivers.problems()
        assert [each for each in caplog.messages if "is closed: " in each]


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
            await until(lambda: sentence in str(sender.trouble), patient(10))
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
                async with asyncio.timeout(patient(0.05)):
                    await reader.read()
                    ended += 1
            writer.close()
        assert 4 <= ended <= 5


@on_both_loops
async def test_a_stranger_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "HELLO_S", 0.1)
    async with listening() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        async with asyncio.timeout(patient(5)):
            assert await reader.read() == PREAMBLE
        writer.close()


@on_both_loops
async def test_tuples_of_another_type_stop_their_connection_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "BACK_OFF_S", (0.01, 0.02))
    async with listening() as receiver:
        async with running(receiver.sender()) as sender:
            await sender.send([Number(1)])
            await sender.flushed()
            await sender.send([Text("one" * 1_000_000)])  # the begin is answered before it is read
            await until(lambda: "cannot be decoded" in str(sender.trouble), patient(10))
            await asyncio.sleep(0.2)
        logged = [each for each in caplog.messages if "cannot be decoded" in each]
        assert len(logged) == 2  # here and there, however often it is tried
        assert "port 3 from PE 1" in logged[0]
        assert ORIGIN in receiver.receivers.problems()
        saved = sender.save(final=True)
        assert saved.frames[0].tuples == 1
        assert receiver.got == [Number(1)]


@on_both_loops
async def test_a_receiver_that_raises_is_named_and_takes_the_frame_later() -> None:
    async with listening() as receiver:
        receiver.problem = ValueError("no room in the inn")
        async with running(receiver.sender()) as sender:
            await sender.send([Number(1)])
            await until(lambda: "no room in the inn" in str(sender.trouble), patient(10))
            receiver.problem = None
            async with asyncio.timeout(patient(10)):
                await sender.flushed()
        assert receiver.got == [Number(1)]
        assert not receiver.receivers.problems()


@on_both_loops
async def test_a_batch_that_is_longer_than_a_frame_is_split() -> None:
    async with listening(type_=Text) as receiver:
        sender = receiver.sender()
        sender._limits = Limits(frame_bytes_max=5_000)
        async with running(sender), asyncio.timeout(patient(10)):
            await sender.send([Text("x" * 1_000) for _ in range(50)])
            with pytest.raises(TupleTooLarge, match=r"a tuple of 60\d\d bytes.* at most 5000"):
                await sender.send([Text("x"), Text("x" * 6_000)])
            await sender.flushed()
        assert len(receiver.got) == 50


@on_both_loops
async def test_a_neighbour_that_is_only_starting_is_not_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    receiver = Receiver()
    async with running(receiver.sender()) as sender:
        await until(lambda: sender.trouble is not None, patient(10))
        await receiver.receivers.start("127.0.0.1")
        await sender.send([Number(1)])
        await sender.flushed()
        await receiver.receivers.stop()
    assert not [each for each in caplog.messages if "not connected" in each]


@on_both_loops
async def test_a_neighbour_that_never_comes_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "BACK_OFF_S", (0.01, 0.02))
    sender = Receiver().sender()
    async with running(sender):
        await until(lambda: "not connected" in caplog.text, patient(10))
        await asyncio.sleep(0.2)
    assert "PE 2 at 127.0.0.1:" in str(sender.trouble)
    assert len([each for each in caplog.messages if "not connected" in each]) == 1


async def raw(receiver: Receiver, hello: Hello) -> tuple[list[Frame], asyncio.StreamWriter]:
    """What a hello is answered with, heartbeats left out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(PREAMBLE + control(Kind.HELLO, hello))
    frames: list[Frame] = []
    found = Reader(1 << 20)
    async with asyncio.timeout(patient(5)):
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


@on_both_loops
async def test_a_receiver_that_ends_before_it_knows_where_its_sender_begins_sends_bye() -> None:
    """Then the sender knows that nothing of what it wrote was taken."""
    async with listening() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(PREAMBLE + control(Kind.HELLO, Hello(ROUTE, 1, ("epoch",), 1)))
        await until(lambda: receiver.receivers.is_connected(ORIGIN), patient(10))
        stopping = asyncio.create_task(receiver.receivers.stop())
        found = Reader(1 << 20)
        frames: list[Frame] = []
        async with asyncio.timeout(patient(10)):
            while not any(each.kind == Kind.BYE for each in frames):
                data = await reader.read(4096)
                assert data, "no bye"
                frames += found.feed(data)
        assert bytes(frames[-1].payload) == b""
        writer.close()
        await stopping
