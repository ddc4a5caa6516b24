"""What is sent again when a receiver answers, for every small outbox and every answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from millrace.runtime.barriers import Route, Spot
from millrace.runtime.frames import Answer, Kind
from millrace.runtime.loading import Loaded
from millrace.runtime.receiving import Receivers
from millrace.runtime.resuming import SETTLED, Kept, Peer, SavedSender, resumed, settled
from millrace.runtime.saving import Identity, saved_at_begin
from millrace.runtime.states import SavedPe

OLD, NEW = "old", "new"
PEER = Peer(3, "alive")


def tuples(epoch: str, number: int, count: int = 1) -> Kept:
    return Kept(epoch, number, count, Kind.TUPLES, b"")


def barrier(epoch: str, number: int, *, again: bool = False) -> Kept:
    return Kept(epoch, number, 1, Kind.BARRIER, b"", again)


FRAMES: tuple[tuple[Kept, ...], ...] = (
    (),
    (tuples(NEW, 0),),
    (tuples(NEW, 4, 3), barrier(NEW, 7), tuples(NEW, 8, 2)),
    (tuples(OLD, 5, 2), tuples(OLD, 7), tuples(NEW, 0, 2), tuples(NEW, 2)),
    (barrier(OLD, 5, again=True), tuples(OLD, 6, 3)),
    (tuples(OLD, 5), barrier(NEW, 0, again=True), barrier(NEW, 1), tuples(NEW, 2, 2)),
)
LIVES = {"same": (3, "alive"), "relaunched": (4, "other"), "restarted": (3, "other")}


def answers() -> Iterator[Answer]:
    known = [
        (),
        (Spot("foreign", 6),),
        *((Spot(OLD, number),) for number in range(11)),
        *((Spot(OLD, SETTLED), Spot(NEW, number)) for number in range(11)),
    ]
    for (launch, life), spots, exact in product(LIVES.values(), known, (True, False)):
        yield Answer(launch, life, spots, exact)


def outboxes() -> Iterator[SavedSender]:
    for frames in FRAMES:
        for written in range(len(frames) + 1):
            yield SavedSender(NEW, 10, frames, written, PEER)


def is_taken(frame: Kept, number: int, answer: Answer) -> bool:
    """Whether one tuple or barrier is in front of a spot of the answer."""
    return any(frame.epoch == spot.epoch and number < spot.number for spot in answer.spots)


def knows_acknowledged(first: Kept, answer: Answer) -> bool:
    """Whether all tuples in front of the oldest frame are in front of a spot of the answer."""
    return all(is_taken(first, number, answer) for number in range(first.number))


@pytest.mark.parametrize("outbox", list(outboxes()), ids=str)
def test_each_tuple_is_taken_or_lost_or_sent_again_as_the_table_states(outbox: SavedSender) -> None:
    for answer in answers():
        found = resumed(outbox, answer)
        is_old = bool(outbox.frames) and not knows_acknowledged(outbox.frames[0], answer)
        is_same = (answer.launch, answer.life) == LIVES["same"]
        is_certain = is_same or (answer.exact and not is_old)
        lost = 0
        sent = []
        for at, frame in enumerate(outbox.frames):
            numbers = range(frame.number, frame.number + frame.count)
            rest = [each for each in numbers if not is_taken(frame, each, answer)]
            if not rest:
                continue
            if is_certain or at >= outbox.written or frame.again:
                sent.append(frame)
            else:
                lost += len(rest) if frame.kind == Kind.TUPLES else 0
        assert found.frames == tuple(sent), answer
        assert found.lost == lost, answer
        assert found.taken + len(found.frames) <= len(outbox.frames)
        assert outbox.frames[: found.taken] == tuple(
            frame
            for frame in outbox.frames
            if is_taken(frame, frame.number + frame.count - 1, answer)
        )


def test_what_is_left_out_of_older_epochs_is_settled_when_a_newer_one_begins() -> None:
    assert settled((OLD, "middle", NEW), Spot(NEW, 4)) == {OLD: SETTLED, "middle": SETTLED, NEW: 4}
    assert settled((OLD, NEW), Spot(OLD, 4)) == {OLD: 4}


def test_nothing_is_lost_that_was_never_written() -> None:
    """A receiver that is launched for the third time before the sender could connect."""
    outbox = SavedSender(NEW, 10, FRAMES[2], 0, PEER)
    assert resumed(outbox, Answer(5, "third", (), False)).lost == 0


def test_a_sender_that_never_connected_loses_nothing() -> None:
    outbox = SavedSender(NEW, 10, FRAMES[2], 0, None)
    found = resumed(outbox, Answer(1, "first", (), False))
    assert (found.frames, found.lost) == (outbox.frames, 0)


@pytest.mark.parametrize(
    ("frames", "epoch", "taken", "ends"),
    [
        ((), NEW, 10, False),  # it has the final punctuation
        ((), NEW, 9, True),
        ((), None, 0, True),
        ((), OLD, SETTLED, True),
        ((barrier(NEW, 9, again=True),), NEW, 3, False),  # it is sent anyway
        ((tuples(NEW, 5),), None, 0, True),
    ],
)
def test_a_final_barrier_that_an_older_life_took_is_sent_to_the_next(
    frames: tuple[Kept, ...], epoch: str | None, taken: int, ends: bool
) -> None:
    outbox = SavedSender(NEW, 10, frames, len(frames), PEER, Spot(NEW, 10))
    spots = (Spot(epoch, taken),) if epoch is not None else ()
    assert resumed(outbox, Answer(4, "other", spots, False)).ends is ends


async def unused(*_: object) -> None:
    """Nothing comes in."""


def test_a_state_whose_launch_goes_on_takes_all_frames_for_written() -> None:
    """A launch after a hand-over saves what it loaded, and then writes it to its peers."""
    outbox = SavedSender(NEW, 10, FRAMES[2], 1, PEER)
    route = Route(7, 1, 0, 2, 3)
    seal = SavedPe(job=7, pe=1, launch=3, generation=5, outboxes=((route, outbox),))
    receivers = Receivers(7, 1, 4, {}, (), unused)
    begun = saved_at_begin(Identity(7, 1, 4, 0), (), Loaded(own=seal, states=(seal,)), receivers)
    ((_, saved),) = begun.outboxes
    assert saved == SavedSender(NEW, 10, FRAMES[2], 3, PEER)
