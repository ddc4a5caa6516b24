"""The format of what goes over a connection between two PEs. Pure: no sockets, no clock.

Each side begins with the preamble. Frames follow: a header of 17 bytes, in network order, and a
payload.

    length of the payload (4) | kind (1) | number (8) | items (4) | payload

TUPLES has `items` tuples, and `number` is that of the first. A BARRIER is one item. BEGIN gives the
number of the next frame and, as payload, its epoch; ACK and BYE say that everything before `number`
of an epoch is taken. HELLO, ANSWER and REFUSAL are msgpack. HEARTBEAT is empty.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

import msgspec

from millrace.errors import FrameTooLarge, ProtocolError
from millrace.runtime.barriers import Barrier, Origin, Route, Spot

VERSION: Final = 1
MAGIC: Final = b"millrace"
PREAMBLE: Final = MAGIC + struct.pack("!H", VERSION)
HEADER: Final = struct.Struct("!IBQI")
ITEMS_MAX: Final = (1 << 32) - 1
FRAME_BYTES_MAX: Final = 64 << 20
CONTROL_BYTES_MAX: Final = 64 << 10
"""The payload of any frame before hello, and of all that a receiver sends."""

RefusalReason = Literal["job", "pe", "origin", "superseded", "undecodable", "failed"]
Bytes = bytes | memoryview
T = TypeVar("T")
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Epochs = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1
    ANSWER = 2
    REFUSAL = 3
    BEGIN = 4
    TUPLES = 5
    BARRIER = 6
    ACK = 7
    BYE = 8
    HEARTBEAT = 9


class Frame(NamedTuple):
    """One frame. The payload may be a view of a larger piece of memory."""

    kind: int
    number: int
    items: int
    payload: Bytes


class Before(msgspec.Struct, frozen=True, array_like=True):
    """What a sender knows of the life of a receiver that did not say bye.

    `in_hand`: how many tuples that one had in hand when it acknowledged last. `acknowledged`: how
    many tuples it took in since it began. `launch`: 0 where an older runtime tells it.
    """

    life: str
    in_hand: _Count
    acknowledged: _Count
    launch: _Count = 0


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """What a sender begins with: the connection, its launch, the attempt to connect.

    `epochs`: those of the frames that it loaded, in order, and at last its own. Attempts of one
    epoch are counted, so that a late one does not displace a newer one.
    """

    route: Route
    launch: int
    epochs: _Epochs
    attempt: int
    before: Before | None = None

    @property
    def epoch(self) -> str:
        """The epoch of this launch of the sender."""
        return self.epochs[-1]

    @property
    def origin(self) -> Origin:
        """The connection as its receiver knows it."""
        return self.route.origin


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """Where the receiver stands: what is in front of one of `spots` is taken in, or is settled.

    `life` is random for each start of the process: the positions of one life are always right.
    `exact`: it began this life from a seal, and not from a checkpoint or nothing. `taken`: how many
    tuples of the sender this life took in; None: an older runtime answers.
    """

    launch: int
    life: str
    spots: tuple[Spot, ...]
    exact: bool
    taken: _Count | None = None


class Refusal(msgspec.Struct, frozen=True, array_like=True):
    """Why a receiver does not take a connection, and the sentence for people."""

    reason: RefusalReason
    message: str


HEARTBEAT: Final = HEADER.pack(0, Kind.HEARTBEAT, 0, 0)
_encoder = msgspec.msgpack.Encoder()


def control(kind: Kind, value: Hello | Answer | Refusal) -> bytes:
    """The frame of a value."""
    payload = _encoder.encode(value)
    return HEADER.pack(len(payload), kind, 0, 0) + payload


def position(kind: Kind, epoch: str, number: int, in_hand: int = 0) -> bytes:
    """A BEGIN, an ACK or a BYE. `in_hand`: tuples that the receiver took in and has in hand."""
    payload = epoch.encode()
    return HEADER.pack(len(payload), kind, number, min(in_hand, ITEMS_MAX)) + payload


def header(kind: int, number: int, count: int, payload: Bytes) -> bytes:
    """The header of a frame, whose payload is written after it without a copy."""
    return HEADER.pack(len(payload), kind, number, count)


def barrier_payload(barrier: Barrier) -> bytes:
    """The payload of a BARRIER."""
    return _encoder.encode(barrier)


def decoded(frame: Frame, type_: type[T]) -> T:
    """The value of a msgpack frame. Raises ProtocolError."""
    try:
        return msgspec.msgpack.decode(frame.payload, type=type_)
    except msgspec.MsgspecError as problem:
        raise ProtocolError(f"a {type_.__name__} cannot be read: {problem}") from problem


def epoch_of(frame: Frame) -> str:
    """The epoch of a BEGIN, an ACK or a BYE. Raises ProtocolError."""
    try:
        return str(frame.payload, "ascii")
    except UnicodeDecodeError as problem:
        raise ProtocolError("an epoch is not ASCII") from problem


class Reader:
    """Finds the frames in what arrives, in pieces of any length.

    A frame inside of one piece is a view of it. A frame of several pieces is joined once, when it
    is complete. `limit`: the longest payload, in bytes; it may be set between pieces.
    """

    def __init__(self, limit: int) -> None:
        """A reader that expects the preamble first."""
        self.limit = limit
        self._parts: list[Bytes] = []
        self._have = 0
        self._need = 0
        self._is_greeted = False

    @property
    def is_inside(self) -> bool:
        """Whether a frame, or the preamble, has begun and is not complete."""
        return self._have > 0

    def feed(self, data: Bytes) -> list[Frame]:
        """The frames that these bytes complete. Raises ProtocolError, FrameTooLarge."""
        if self._have:
            self._parts.append(data)
            self._have += len(data)
            if self._have < self._need:
                return []
            data = b"".join(self._parts)
        view = memoryview(data)
        if not self._is_greeted:
            rest = self._greet(view)
            if rest is None:
                return []
            view = rest
        return self._frames(view)

    def _greet(self, view: memoryview) -> memoryview | None:
        """What follows the preamble; None as long as it is not complete."""
        begin = bytes(view[: len(PREAMBLE)])
        if not begin.startswith(MAGIC) and not MAGIC.startswith(begin):
            raise ProtocolError(f"it speaks {protocol_of(begin)}, not that of millrace")
        if len(begin) < len(PREAMBLE):
            self._keep(view, len(begin) + 1)
            return None
        if begin != PREAMBLE:
            (version,) = struct.unpack("!H", begin[len(MAGIC) :])
            raise ProtocolError(f"it speaks version {version} of the protocol, not {VERSION}")
        self._is_greeted = True
        return view[len(PREAMBLE) :]

    def _frames(self, view: memoryview) -> list[Frame]:
        found: list[Frame] = []
        at, size, need = 0, len(view), HEADER.size
        while size - at >= HEADER.size:
            length, kind, number, items = HEADER.unpack_from(view, at)
            if length > self.limit:
                raise FrameTooLarge(f"a frame of {length} bytes; the limit is {self.limit}")
            need = HEADER.size + length
            if at + need > size:
                break
            found.append(Frame(kind, number, items, view[at + HEADER.size : at + need]))
            at += need
            need = HEADER.size
        self._keep(view[at:], need)
        return found

    def _keep(self, rest: memoryview, need: int) -> None:
        self._parts = [rest] if len(rest) else []
        self._have = len(rest)
        self._need = need


def protocol_of(begin: bytes) -> str:
    """What a peer speaks that begins with these bytes, for a message.

    >>> protocol_of(b"GET / HTTP")
    'HTTP'
    """
    if begin[:4] in (b"GET ", b"POST", b"PUT ", b"HEAD", b"HTTP", b"DELE", b"OPTI", b"PRI "):
        return "HTTP"
    if begin[:2] == b"\x16\x03":
        return "TLS"
    return f"another protocol ({begin!r})"


def begins(frame: Frame) -> bool:
    """Whether it says where a sender goes on. That is no tuple: nobody holds it."""
    return frame.kind == Kind.BEGIN


def begins_or_hands_over(frame: Frame) -> bool:
    """Whether it does, or is the barrier of a hand-over. Raises ProtocolError."""
    return begins(frame) or (
        frame.kind == Kind.BARRIER and decoded(frame, Barrier).kind == "hand-over"
    )
