"""Who does what was not done: tuples that an operator left, or that were on their way to it. Pure.

A hand-over ends one set of channels and begins another. What is left of an old channel is done by
the channel that has it now, before anything younger:

* in a region that is split by a key, each tuple by the channel that has its key now;
* in another one, and where a tuple lacks the key, by the channel of the same number, or of that
  number modulo the width, if there are fewer now;
* in a region to which tuples are broadcast, by the channel of the same number, or by none: all the
  others have a tuple of their own.

A tuple that was sent is not done where the state of its receiver says that it took the tuple in.
If that state is older than what its PE took in, tuples that were written are counted as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from millrace.graph import Operator, Region
from millrace.runtime.assembling import Placed
from millrace.runtime.failing import Give, Left, Take
from millrace.runtime.frames import Kind, mark_payload
from millrace.runtime.marks import WINDOW, Mark, Origin, Place, Route
from millrace.runtime.resuming import Kept, SavedSender, taken, untaken
from millrace.runtime.splitting import channel_of, group_of, key_reader
from millrace.runtime.states import LeftKind, SavedPe
from millrace.state import KEY_GROUPS
from millrace.tuple_types import TupleType

IsMine = Callable[[Any], bool]
Sent = tuple[Route, SavedSender]


@dataclass(slots=True)
class Inherited:
    """What an instance does before anything else, and at most how many tuples nobody does."""

    left: list[Left] = field(default_factory=list)
    lost: int = 0


@dataclass(frozen=True)
class Estate:
    """What was saved. `exact`: the PEs that did nothing after they saved. `inside`: those of the
    hand-over that it comes from."""

    states: tuple[SavedPe, ...]
    exact: frozenset[int]
    inside: frozenset[int] = frozenset()

    def of(self, pe: int) -> SavedPe | None:
        """The state of a PE."""
        return next((each for each in self.states if each.pe == pe), None)

    @cached_property
    def on_the_way(self) -> list[Sent]:
        """What was sent from a PE of the hand-over to another one, and was not acknowledged."""
        sent = (each for state in self.states for each in state.outboxes)
        return [(route, sender) for route, sender in sent if route.receiver in self.inside]

    def is_in_doubt(self, route: Route, sender: SavedSender) -> bool:
        """Whether the life that the sender wrote to took in what no state says."""
        if route.receiver in self.exact or sender.peer is None:
            return False
        saved = self.of(route.receiver)
        return saved is None or sender.peer.launch >= saved.launch


def inherited(placed: Placed, estate: Estate) -> Inherited:
    """What an instance has to do of what was saved."""
    found = Inherited()
    for state in estate.states:
        for channels, saved in sorted(state.operators.get(placed.instance.path, {}).items()):
            if (share := _share(placed, channels)) is not None:
                _take_left(found, share, saved.left, is_done=state.pe in estate.exact)
    for route, sender in estate.on_the_way:
        share = _share_of_end(placed, sender.to)
        if share is not None:
            _take_sent(found, share, route, sender, estate)
    return found


# ---------------------------------------------------------------------- whose it is


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of an old channel that an instance has now. `is_first`: it counts what is lost."""

    operator: Operator
    is_first: bool
    channels: tuple[tuple[Region, int, int, int], ...]
    """The regions around it: the old channel, the one of now, and the width of now."""

    def of(self, kind: LeftKind, batch: Sequence[Any]) -> list[Any]:
        """Its tuples of a batch."""
        type_ = self.operator.gives if kind == "give" else self.operator.takes
        assert type_ is not None, "what gives or takes tuples has their type"
        tests = [_test(type_, *each) for each in self.channels]
        return [each for each in batch if all(test(each) for test in tests)]


def _share_of_end(placed: Placed, end: Place | None) -> _Share | None:
    """None if nothing that was sent there can belong to the instance."""
    if end is None or end.path != placed.instance.path:
        return None
    return _share(placed, end.channels)


def _share(placed: Placed, channels: str) -> _Share | None:
    """None if nothing of these channels can belong to the instance."""
    old = [int(each) for each in channels.split(",")] if channels else []
    now = list(placed.instance.channels.values())
    if len(old) != len(now):
        return None
    regions = placed.operator.regions
    parts = tuple((r, o, *n) for r, o, n in zip(regions, old, now, strict=True))
    return _Share(placed.operator, all(o % width == c for _, o, c, width in parts), parts)


def _test(type_: TupleType, region: Region, old: int, channel: int, width: int) -> IsMine:
    names = {each.name for each in type_.attributes}
    if region.kind == "Hash" and names.issuperset(region.key):
        key = key_reader(region.key, type_.access)
        return lambda each: (
            channel_of(group_of(key(each), KEY_GROUPS), width, KEY_GROUPS) == channel
        )
    is_mine = old == channel if region.kind == "Broadcast" else old % width == channel
    return lambda _: is_mine


# ---------------------------------------------------------------------- what an operator left


def _take_left(
    found: Inherited, share: _Share, saved: Iterable[tuple[LeftKind, bytes]], *, is_done: bool
) -> None:
    for kind, data in saved:
        if kind == "window":
            found.left += [WINDOW] if share.is_first and is_done else []
            continue
        try:
            batch = _decoded(share.operator, kind, data)
        except msgspec.MsgspecError:  # the type is another one now
            found.lost += len(msgspec.msgpack.decode(data)) if share.is_first else 0
            continue
        if not is_done:  # its launch may have done all of it since it saved
            found.lost += len(batch) if share.is_first else 0
        elif mine := share.of(kind, batch):
            found.left.append(Take(mine) if kind == "take" else Give(mine))


def _decoded(operator: Operator, kind: LeftKind, data: bytes) -> list[Any]:
    type_ = operator.takes if kind == "take" else operator.gives
    assert type_ is not None, "what takes or gives tuples has their type"
    found: list[Any] = msgspec.msgpack.decode(data, type=list[type_.python])  # type: ignore[name-defined]
    return found


def saved_left(left: Left) -> tuple[LeftKind, bytes]:
    """What is left, to be saved."""
    if isinstance(left, Mark):
        return "window", b""
    return "take" if isinstance(left, Take) else "give", msgspec.msgpack.encode(left.batch)


# ---------------------------------------------------------------------- what was on its way


def _take_sent(
    found: Inherited,
    share: _Share,
    route: Route,
    sender: SavedSender,
    estate: Estate,
) -> None:
    known = _known(estate.of(route.receiver), route)
    begin = taken(sender.frames, known)
    if estate.is_in_doubt(route, sender):
        written = sender.frames[begin : sender.written]
        if share.is_first:
            found.lost += sum(untaken(each, known) for each in written)
        begin = max(begin, sender.written)
    for kept in sender.frames[begin:]:
        _take_kept(found, share, kept, known)


def _origin(route: Route) -> Origin:
    return Origin(route.sender, route.sender_port, route.receiver_port)


def _known(receiver: SavedPe | None, route: Route) -> dict[str, int]:
    """How far the receiver took everything in, by epoch."""
    origin = _origin(route)
    positions = receiver.positions if receiver is not None else ()
    return {
        spot.epoch: spot.number
        for position in positions
        if position.origin == origin
        for spot in position.spots
    }


def _take_kept(found: Inherited, share: _Share, kept: Kept, known: Mapping[str, int]) -> None:
    if kept.kind == Kind.MARK:
        if kept.payload == mark_payload(WINDOW) and share.is_first:
            found.left.append(WINDOW)
        return
    try:
        batch = _decoded(share.operator, "take", kept.payload)[-untaken(kept, known) :]
    except msgspec.MsgspecError:
        found.lost += untaken(kept, known) if share.is_first else 0
        return
    if mine := share.of("take", batch):
        found.left.append(Take(mine))
