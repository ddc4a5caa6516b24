"""What a sender has to send and what is not acknowledged yet. No I/O; `sending.py` moves it.

Frames wait in one of two queues: those that were written to the receiver that is connected, and
those that were not. An acknowledgement takes frames from the first. When a connection ends and the
next one is answered, `resuming.py` decides what of the first queue is written again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from millrace.errors import ProtocolError
from millrace.runtime.barriers import Barrier, Spot
from millrace.runtime.frames import Answer, Before, Bytes, Kind, barrier_payload, header, position
from millrace.runtime.resuming import Kept, Peer, SavedSender, resumed

WRITE_BYTES: Final = 256 << 10
"""About how much is joined into one write."""


@dataclass(slots=True)
class SenderCounts:
    """What one connection did in this launch; tuples do not include barriers.

    `tuples_transmitted`, `bytes_transmitted`: acknowledged. `lost`: at most so many tuples.
    """

    tuples_submitted: int = 0
    bytes_submitted: int = 0
    tuples_transmitted: int = 0
    bytes_transmitted: int = 0
    broken: int = 0
    lost: int = 0


class Outbox:
    """Frames in order. `bytes` and `tuples`: how much of them is not acknowledged.

    `epochs`: those that frames of this launch may have, in order; the last one is its own.
    """

    def __init__(self, epoch: str, saved: SavedSender | None) -> None:
        """Frames of a new epoch, behind those that a former launch saved."""
        self.epoch = epoch
        self.next = 0
        self.counts = SenderCounts()
        self.peer = saved.peer if saved else None
        self.end = saved.end if saved else None
        frames, written = (saved.frames, saved.written) if saved else ((), 0)
        self._written: deque[Kept] = deque(frames[:written])
        self._waiting: deque[Kept] = deque(frames[written:])
        self._measure()
        self._begun = Spot("", 0)
        self._in_hand = saved.in_hand if saved else 0
        self._acknowledged = saved.acknowledged if saved else 0
        self._has_bye = not self._in_hand + self._acknowledged
        self.epochs = (*dict.fromkeys(each.epoch for each in frames), epoch)

    @property
    def now(self) -> Spot:
        """Behind everything so far."""
        return Spot(self.epoch, self.next)

    @property
    def first(self) -> Spot:
        """Everything in front of this is acknowledged."""
        for queue in (self._written, self._waiting):
            if queue:
                return Spot(queue[0].epoch, queue[0].number)
        return self.now

    @property
    def has_waiting(self) -> bool:
        """Whether there are frames that were not written."""
        return bool(self._waiting)

    @property
    def before(self) -> Before | None:
        """What is known of a receiver that ended without a word; None if it did not.

        The launch before may have known it. A receiver that ended in good order meanwhile is taken
        for one that ended without a word; its next launch knows better (`receiving.py`).
        """
        if self.peer is None or self._has_bye:
            return None
        return Before(self.peer.life, self._in_hand, self._acknowledged, self.peer.launch)

    def add(self, count: int, payload: bytes) -> None:
        """Add a frame of so many tuples."""
        self.counts.tuples_submitted += count
        self.counts.bytes_submitted += len(payload)
        self._add(Kept(self.epoch, self.next, count, Kind.TUPLES, payload))

    def add_barrier(self, barrier: Barrier) -> None:
        """Add a barrier. A second final punctuation is ignored."""
        if barrier.kind == "final" and self.end is not None:
            return
        again = barrier.kind != "window"
        self._add(Kept(self.epoch, self.next, 1, Kind.BARRIER, barrier_payload(barrier), again))
        if barrier.kind == "final":
            self.end = self.now

    def holds(self, barrier: Barrier) -> bool:
        """Whether a barrier is not acknowledged."""
        payload = barrier_payload(barrier)
        frames = (*self._written, *self._waiting)
        return any(each.kind == Kind.BARRIER and each.payload == payload for each in frames)

    def _add(self, kept: Kept) -> None:
        self.next += kept.count
        self._waiting.append(kept)
        self.bytes += len(kept.payload)
        self.tuples += kept.tuples

    def save(self, *, final: bool) -> SavedSender:
        """As `Sender.save`."""
        frames = (*self._written, *self._waiting)
        saved = SavedSender(
            self.epoch,
            self.next,
            frames,
            len(self._written),
            self.peer,
            self.end,
            in_hand=self._in_hand,
            acknowledged=self._acknowledged,
        )
        return saved if final else saved.in_use

    def resume(self, answer: Answer) -> tuple[int, bytes]:
        """Go on where a receiver stands: how many tuples are lost, and what to write first."""
        saved = self.save(final=True)
        found = resumed(saved, answer)
        for kept in saved.frames[: found.taken]:
            self._count(kept)
        self.counts.lost += found.lost
        self._written.clear()
        self._waiting = deque(found.frames)
        self._measure()
        peer = Peer(answer.launch, answer.life)
        if peer != self.peer:
            self._in_hand = self._acknowledged = 0
        if answer.taken is not None:  # earlier launches sent tuples, too, that this one forgot
            self._acknowledged = answer.taken
        self.peer, self._has_bye = peer, False
        if found.ends:
            self.end = None
            self.add_barrier(Barrier("final"))
        return found.lost, self._begin(self.first)

    def take_back(self) -> None:
        """What was written and not acknowledged was not taken for certain: the receiver ended."""
        self._has_bye = True
        self._in_hand = self._acknowledged = 0
        self._waiting.extendleft(reversed(self._written))
        self._written.clear()

    def write(self) -> list[Bytes]:
        """The bytes of the next frames, about `WRITE_BYTES`; they count as written."""
        parts: list[Bytes] = []
        size = 0
        while self._waiting and size < WRITE_BYTES:
            kept = self._waiting.popleft()
            self._written.append(kept)
            if (here := Spot(kept.epoch, kept.number)) != self._begun:
                parts.append(self._begin(here))
            self._begun = Spot(kept.epoch, kept.number + kept.count)
            parts.append(header(kept.kind, kept.number, kept.count, kept.payload))
            parts.append(kept.payload)
            size += len(kept.payload)
        return parts

    def _begin(self, spot: Spot) -> bytes:
        """Where the next frame is."""
        self._begun = spot
        return position(Kind.BEGIN, spot.epoch, spot.number)

    def acknowledge(self, epoch: str, number: int, in_hand: int = 0) -> None:
        """Forget what is in front of this. Raises ProtocolError if it was not written.

        `in_hand`: how many tuples the receiver has in hand.
        """
        self._in_hand = in_hand
        begun = self._begun
        at = self.epochs.index(epoch) if epoch in self.epochs else len(self.epochs)
        if (at, number) > (self.epochs.index(begun.epoch), begun.number):
            raise ProtocolError("it acknowledges what was not sent")
        while self._written:
            kept = self._written[0]
            if self.epochs.index(kept.epoch) > at:
                break
            if kept.epoch == epoch and kept.number + kept.count > number:
                break
            self._written.popleft()
            self.bytes -= len(kept.payload)
            self.tuples -= kept.tuples
            self._acknowledged += kept.tuples
            self._count(kept)

    def _count(self, taken: Kept) -> None:
        if taken.tuples:
            self.counts.tuples_transmitted += taken.tuples
            self.counts.bytes_transmitted += len(taken.payload)

    def _measure(self) -> None:
        frames = (*self._written, *self._waiting)
        self.bytes = sum(len(each.payload) for each in frames)
        self.tuples = sum(each.tuples for each in frames)
