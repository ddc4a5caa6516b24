"""What is sent again when a receiver answers, for every small outbox and every answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from millrace.runtime.frames import Answer, Kind
from millrace.runtime.resuming import Kept, Peer, SavedSender, Spot, resumed

OLD, NEW = "old", "new"
PEER = Peer(3, "alive")


def tuples(epoch: str, number: int, count: int = 1) -> Kept:
    return Kept(epoch, number, count, Kind.TUPLES, b"")


def mark(epoch: str, number: int, *, again: bool = False) -> Kept:
    return Kept(epoch, number, 1, Kind.MARK, b"", again)


FRAMES: tuple[tuple[Kept, ...], ...] = (
    (),
    (tuples(NEW, 0),),
    (tuples(NEW, 4, 3), mark(NEW, 7), tuples(NEW, 8, 2)),
    (tuples(OLD, 5, 2), tuples(OLD, 7), tuples(NEW, 0, 2), tuples(NEW, 2)),
    (mark(OLD, 5, again=True), tuples(OLD, 6, 3)),
    (tuples(OLD, 5), mark(NEW, 0, again=True), mark(NEW, 1), tuples(NEW, 2, 2)),
)
LIVES = {"same": (3, "alive"), "relaunched": (4, "other"), "restarted": (3, "other")}


def answers() -> Iterator[Answer]:
    known = [(None, 0), ("foreign", 6), *product((OLD, NEW), range(11))]
    for (launch, life), (epoch, taken), exact in product(LIVES.values(), known, (True, False)):
        yield Answer(launch, life, epoch, taken, exact)


def outboxes() -> Iterator[SavedSender]:
    for frames in FRAMES:
        for written in range(len(frames) + 1):
            yield SavedSender(NEW, 10, frames, written, PEER)


def is_taken(frame: Kept, number: int, answer: Answer) -> bool:
    """Whether one tuple or mark is in front of the position of the answer."""
    if answer.epoch not in (OLD, NEW):
        return False
    if frame.epoch != answer.epoch:
        return frame.epoch == OLD
    return number < answer.taken


def has_old(outbox: SavedSender) -> bool:
    return any(each.epoch == OLD for each in outbox.frames)


@pytest.mark.parametrize("outbox", list(outboxes()), ids=str)
def test_each_tuple_is_taken_or_lost_or_sent_again_as_the_table_states(outbox: SavedSender) -> None:
    for answer in answers():
        if answer.epoch == OLD and not has_old(outbox):
            continue  # an epoch that nothing is left of, see below
        found = resumed(outbox, answer)
        is_certain = (answer.launch, answer.life) == LIVES["same"] or answer.exact
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


def test_an_epoch_that_nothing_is_left_of_says_nothing_about_the_next() -> None:
    outbox = SavedSender(NEW, 1, (tuples(NEW, 0),), 0, PEER)
    assert resumed(outbox, Answer(3, "alive", OLD, 9, True)).frames == outbox.frames


def test_nothing_is_lost_that_was_never_written() -> None:
    """A receiver that is launched for the third time before the sender could connect."""
    outbox = SavedSender(NEW, 10, FRAMES[2], 0, PEER)
    assert resumed(outbox, Answer(5, "third", None, 0, False)).lost == 0


def test_a_sender_that_never_connected_loses_nothing() -> None:
    outbox = SavedSender(NEW, 10, FRAMES[2], 0, None)
    found = resumed(outbox, Answer(1, "first", None, 0, False))
    assert (found.frames, found.lost) == (outbox.frames, 0)


@pytest.mark.parametrize(
    ("frames", "epoch", "taken", "ends"),
    [
        ((), NEW, 10, False),  # it has the final mark
        ((), NEW, 9, True),
        ((), None, 0, True),
        ((mark(NEW, 9, again=True),), NEW, 3, False),  # it is sent anyway
        ((tuples(NEW, 5),), None, 0, True),
    ],
)
def test_a_final_mark_that_an_older_life_took_is_sent_to_the_next(
    frames: tuple[Kept, ...], epoch: str | None, taken: int, ends: bool
) -> None:
    outbox = SavedSender(NEW, 10, frames, len(frames), PEER, Spot(NEW, 10))
    assert resumed(outbox, Answer(4, "other", epoch, taken, False)).ends is ends
