"""Frames are found in pieces of any length, and what is no frame of ours is refused by name."""

from __future__ import annotations

from random import Random

import pytest

from millrace.errors import FrameTooLarge, ProtocolError
from millrace.runtime.barriers import Barrier, Origin, Route
from millrace.runtime.frames import (
    FRAME_BYTES_MAX,
    HEADER,
    HEARTBEAT,
    PREAMBLE,
    Frame,
    Hello,
    Kind,
    Reader,
    barrier_payload,
    control,
    decoded,
    epoch_of,
    header,
    position,
)

HELLO = Hello(Route(7, 1, 0, 2, 3), 4, ("older", "epoch"), 5)
STREAM = b"".join(
    (
        PREAMBLE,
        control(Kind.HELLO, HELLO),
        position(Kind.BEGIN, "epoch", 12),
        header(Kind.TUPLES, 12, 3, b"x" * 500),
        b"x" * 500,
        HEARTBEAT,
        header(Kind.TUPLES, 15, 1, b""),
    )
)


def found(pieces: list[bytes]) -> list[Frame]:
    reader = Reader(FRAME_BYTES_MAX)
    return [
        frame._replace(payload=bytes(frame.payload))
        for piece in pieces
        for frame in reader.feed(piece)
    ]


def test_frames_are_found_wherever_a_stream_is_split() -> None:
    whole = found([STREAM])
    assert [each.kind for each in whole] == [1, 4, 5, 9, 5]
    assert whole[2] == Frame(Kind.TUPLES, 12, 3, b"x" * 500)
    assert decoded(whole[0], Hello) == HELLO
    assert HELLO.epoch == "epoch"
    assert HELLO.origin == Origin(1, 0, 3)
    assert epoch_of(whole[1]) == "epoch"
    for at in range(1, len(STREAM)):
        assert found([STREAM[:at], STREAM[at:]]) == whole
    assert found([bytes([each]) for each in STREAM]) == whole
    random = Random(1)
    for _ in range(50):
        cuts = sorted(random.sample(range(len(STREAM)), 6))
        pieces = [STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]
        assert found(pieces) == whole


def test_a_frame_of_one_piece_is_not_copied() -> None:
    frames = Reader(FRAME_BYTES_MAX).feed(STREAM)
    assert isinstance(frames[2].payload, memoryview)
    assert frames[2].payload.obj is STREAM


def test_a_frame_of_two_gigabytes_is_refused_by_its_header() -> None:
    reader = Reader(FRAME_BYTES_MAX)
    reader.feed(PREAMBLE)
    with pytest.raises(FrameTooLarge, match=r"2147483648 bytes; the limit is 67108864"):
        reader.feed(HEADER.pack(2 << 30, Kind.TUPLES, 0, 1))


@pytest.mark.parametrize(
    ("begin", "named"),
    [
        (b"GET /metrics HTTP/1.1\r\n", "it speaks HTTP,"),
        (b"\x16\x03\x01\x02\x00\x01", "it speaks TLS,"),
        (b"\x00\xff\x17garbage", "another protocol"),
        (b"m", None),
        (b"mX", "another protocol"),
        (b"millrace\x00\x07", "version 7 of the protocol, not 1"),
    ],
)
def test_another_protocol_is_named_from_its_first_bytes(begin: bytes, named: str | None) -> None:
    if named is None:
        assert Reader(100).feed(begin) == []
        return
    with pytest.raises(ProtocolError, match=named):
        Reader(100).feed(begin)


def test_a_frame_that_is_not_complete_is_known() -> None:
    reader = Reader(100)
    inside = []
    for piece in (PREAMBLE, HEARTBEAT[:5], HEARTBEAT[5:]):
        reader.feed(piece)
        inside.append(reader.is_inside)
    assert inside == [False, True, False]


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ProtocolError, match="a Barrier cannot be read"):
        decoded(Frame(Kind.BARRIER, 0, 1, b"\x01"), Barrier)
    with pytest.raises(ProtocolError, match="not ASCII"):
        epoch_of(Frame(Kind.ACK, 0, 0, b"\xff"))


def test_a_barrier_is_written_as_in_every_release() -> None:
    """PEs of two releases have connections with each other while their job is resized."""
    payload = b"\x82\xa4kind\xa9hand-over\xaageneration\x05"
    assert (int(Kind.BARRIER), barrier_payload(Barrier("hand-over", 5))) == (6, payload)
