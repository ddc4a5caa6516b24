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

What a PE of a hand-over lost that did not seal is counted once: what it had in hand, and if it has
state, what it took in since it saved the state with which the next PEs begin.

* The PE counts by itself, if it lives, also what its operators left: it is late, and leaves a seal
  that counts no more.
* Else its peers knew it, and their seals say so: what it had in hand, and how much it acknowledged.
  The channel counts that has now what was behind the first of its connections. Of several peers
  that knew the same life the highest number in hand counts.

A next launch that took its place in the hand-over, and met a peer, has counted what that one knew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import msgspec

from millrace.codecs import Codec
from millrace.graph import Operator, Region
from millrace.runtime.assembling import Placed
from millrace.runtime.barriers import WINDOW, Barrier, Place, Route
from millrace.runtime.failing import Give, Left, Take
from millrace.runtime.frames import Before, Kind, barrier_payload
from millrace.runtime.lives import NOTHING, Taken, loss_of, part_lost
from millrace.runtime.resuming import Kept, Peer, SavedSender, taken, untaken
from millrace.runtime.splitting import channel_of, group_of, key_reader
from millrace.runtime.states import Channels, LeftKind, SavedPe, numbers_of
from millrace.state import KEY_GROUPS
from millrace.tuple_types import TupleType

IsMine = Callable[[Any], bool]
Sent = tuple[Route, SavedSender]


@dataclass(slots=True)
class Inherited:
    """What an instance does before anything else, and at most how many tuples nobody does.

    `went_back`: how many more were taken in, and are in no state.
    """

    left: list[Left] = field(default_factory=list)
    lost: int = 0
    went_back: int = 0


@dataclass(frozen=True, slots=True)
class Gone:
    """A PE that did not seal. `place`: what was behind its first connection.

    `in_hand`: how many tuples it had. `not_in_state`: how many it took in that its state lacks.
    `has_state`: None where it has saved none.
    """

    place: Place
    in_hand: int
    not_in_state: int
    has_state: bool | None

    def went_back(self, *, has_state: bool) -> int:
        """How many tuples its state lacks, beside those in hand.

        `has_state`: whether a PE has state that has its channel now.
        """
        counts = has_state if self.has_state is None else self.has_state
        return max(self.not_in_state - self.in_hand, 0) if counts else 0


@dataclass(frozen=True)
class Estate:
    """What was saved for a hand-over. `exact`: the PEs that did nothing after they saved.

    `inside`: those of the hand-over. `former`: what was saved for the one before, if some PE has
    not begun since: what was for it then is for others now. `counted`: PEs whose peers may
    think that they had tuples in hand, and that had none, or have counted them.
    """

    states: tuple[SavedPe, ...]
    exact: frozenset[int]
    inside: frozenset[int] = frozenset()
    former: Estate | None = None
    counted: frozenset[int] = frozenset()

    def of(self, pe: int) -> SavedPe | None:
        """The state of a PE."""
        return next((each for each in self.states if each.pe == pe), None)

    @cached_property
    def on_the_way(self) -> list[Sent]:
        """What was sent from a PE of the hand-over to another one, and was not acknowledged."""
        sent = (each for state in self.states for each in state.outboxes)
        return [(route, sender) for route, sender in sent if route.receiver in self.inside]

    @cached_property
    def gone(self) -> list[Gone]:
        """What PEs lost that are gone, and that have not counted it."""
        in_hand: dict[int, dict[Peer, int]] = {}
        lacked: dict[int, int] = {}
        places: dict[int, Place] = {}
        for route, sender in self.on_the_way:
            pe, peer, to = route.receiver, sender.peer, sender.to
            if peer is None or to is None or pe in self.counted:
                continue
            places[pe] = min(places.get(pe, to), to, key=_order)
            if pe not in self.exact:
                known = Before(peer.life, sender.in_hand, sender.acknowledged, peer.launch)
                found, lives = loss_of(self._taken(route), known), in_hand.setdefault(pe, {})
                lives[peer] = max(lives.get(peer, 0), found.in_hand)
                lacked[pe] = lacked.get(pe, 0) + found.tuples
        return [
            Gone(places[pe], sum(lives.values()), lacked[pe], self._has_state(pe))
            for pe, lives in sorted(in_hand.items())
        ]

    def _taken(self, route: Route) -> Taken:
        """How much of a connection the state of its receiver has."""
        saved = self.of(route.receiver)
        return NOTHING if saved is None else saved.took(route.origin)

    def _has_state(self, pe: int) -> bool | None:
        saved = self.of(pe)
        if saved is None:
            return None
        every = (each for path in saved.operators.values() for each in path.values())
        return any(each.groups is not None or each.single is not None for each in every)

    def is_in_doubt(self, route: Route, sender: SavedSender) -> bool:
        """Whether the life that the sender wrote to took in what no state says."""
        if route.receiver in self.exact or sender.peer is None:
            return False
        return part_lost(self._taken(route), sender.peer) != "nothing"

    def not_begun(self, path: str) -> list[Channels] | None:
        """The instances of an operator that no state is of; None if no instance has one."""
        known = [each for state in self.states for each in (state.instances or {}).get(path, ())]
        if not known:
            return None
        widths = [width for _, width in known[0]]
        every = (tuple(zip(at, widths, strict=True)) for at in product(*map(range, widths)))
        return [each for each in every if each not in known]

    def levels(self, path: str) -> list[tuple[Estate, Steps]]:
        """This one and those before, the oldest first, with the steps from there to now.

        A step has the instances of an operator that did not begin, one after the other.
        """
        found: list[tuple[Estate, Steps]] = [(self, ())]
        while (before := found[0][0].former) is not None:
            estate, steps = found[0]
            step = estate.not_begun(path)
            found.insert(0, (before, steps if step is None else (step, *steps)))
        return found


Steps = tuple[list[Channels], ...]


def inherited(placed: Placed, estate: Estate, *, has_state: bool = False) -> Inherited:
    """What an instance has to do of what was saved. `has_state`: its PE remembers something."""
    found = Inherited()
    now = tuple(placed.instance.channels.values())
    for level, steps in estate.levels(placed.instance.path):
        _inherit(found, placed, level, (*steps, [now]), has_state=has_state)
    return found


def _inherit(
    found: Inherited, placed: Placed, estate: Estate, steps: Steps, *, has_state: bool
) -> None:
    path = placed.instance.path
    late = estate.counted - estate.exact
    for state in estate.states:
        if state.pe in late:
            continue  # it was late, and has counted what it left; one that sealed is exact
        for channels, saved in sorted(state.operators.get(path, {}).items()):
            way = _Way(placed.operator, _numbers(channels), steps)
            _take_left(found, way, saved.left, is_done=state.pe in estate.exact)
    for route, sender in estate.on_the_way:
        if sender.to is not None and sender.to.path == path:
            way = _Way(placed.operator, _numbers(sender.to.channels), steps)
            _take_sent(found, way, route, sender, estate)
    for each in estate.gone:
        way = _Way(placed.operator, _numbers(each.place.channels), steps)
        if each.place.path == path and way.is_first:
            found.lost += each.in_hand
            found.went_back += each.went_back(has_state=has_state)


def _order(place: Place) -> tuple[str, tuple[int, ...]]:
    return place.path, _numbers(place.channels)


def _numbers(channels: str) -> tuple[int, ...]:
    return tuple(int(each) for each in channels.split(",")) if channels else ()


# ---------------------------------------------------------------------- whose it is


@dataclass(frozen=True, slots=True)
class _Way:
    """From a channel of an operator, by the instances of each step, to an instance of now."""

    operator: Operator
    begin: tuple[int, ...]
    steps: Steps

    @property
    def is_first(self) -> bool:
        """Whether the instance counts what is lost of the channel: one does."""
        at = self.begin
        for step in self.steps:
            ends = [e for e in step if all(o % w == c for o, (c, w) in zip(at, e, strict=True))]
            if not ends:
                return False
            at = numbers_of(ends[0])
        return True

    def of(self, kind: LeftKind, batch: Sequence[Any]) -> list[Any]:
        """The tuples of a batch that come to the instance."""
        type_ = _type_of(self.operator, kind)
        parts = [(self.begin, list(batch))]
        for step in self.steps:
            parts = [
                (numbers_of(end), mine)
                for begin, items in parts
                for end in step
                if (mine := self._passed(type_, begin, end, items))
            ]
        return [each for _, items in parts for each in items]

    def _passed(
        self, type_: TupleType, begin: tuple[int, ...], end: Channels, items: list[Any]
    ) -> list[Any]:
        regions = zip(self.operator.regions[::-1], begin, end, strict=True)
        tests = [_test(type_, region, old, *now) for region, old, now in regions]
        return [each for each in items if all(test(each) for test in tests)]


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
    found: Inherited, way: _Way, saved: Iterable[tuple[LeftKind, bytes]], *, is_done: bool
) -> None:
    for kind, data in saved:
        if kind == "window":
            found.left += [WINDOW] if way.is_first and is_done else []
            continue
        try:
            batch = _decoded(way.operator, kind, data)
        except msgspec.MsgspecError:  # the type is another one now
            found.lost += len(msgspec.msgpack.decode(data)) if way.is_first else 0
            continue
        if not is_done:  # its launch may have done all of it since it saved
            found.lost += len(batch) if way.is_first else 0
        elif mine := way.of(kind, batch):
            found.left.append(Take(mine) if kind == "take" else Give(mine))


def _decoded(operator: Operator, kind: LeftKind, data: bytes) -> list[Any]:
    return Codec(_type_of(operator, kind).value).decode(data)


def _type_of(operator: Operator, kind: LeftKind) -> TupleType:
    type_ = operator.takes if kind == "take" else operator.gives
    assert type_ is not None, "what takes or gives tuples has their type"
    return type_


def saved_left(left: Left, operator: Operator) -> tuple[LeftKind, bytes]:
    """What is left by an operator, to be saved."""
    if isinstance(left, Barrier):
        return "window", b""
    kind: LeftKind = "take" if isinstance(left, Take) else "give"
    return kind, Codec(_type_of(operator, kind).value).encode(left.batch)


# ---------------------------------------------------------------------- what was on its way


def _take_sent(
    found: Inherited,
    way: _Way,
    route: Route,
    sender: SavedSender,
    estate: Estate,
) -> None:
    known = _known(estate.of(route.receiver), route)
    begin = taken(sender.frames, known)
    if estate.is_in_doubt(route, sender):
        written = sender.frames[begin : sender.written]
        if way.is_first:
            found.lost += sum(untaken(each, known) for each in written)
        begin = max(begin, sender.written)
    for kept in sender.frames[begin:]:
        _take_kept(found, way, kept, known)


def _known(receiver: SavedPe | None, route: Route) -> dict[str, int]:
    """How far the receiver took everything in, by epoch."""
    positions = receiver.positions if receiver is not None else ()
    return {
        spot.epoch: spot.number
        for position in positions
        if position.origin == route.origin
        for spot in position.spots
    }


def _take_kept(found: Inherited, way: _Way, kept: Kept, known: Mapping[str, int]) -> None:
    if kept.kind == Kind.BARRIER:
        if kept.payload == barrier_payload(WINDOW) and way.is_first:
            found.left.append(WINDOW)
        return
    try:
        batch = _decoded(way.operator, "take", kept.payload)[-untaken(kept, known) :]
    except msgspec.MsgspecError:
        found.lost += untaken(kept, known) if way.is_first else 0
        return
    if mine := way.of("take", batch):
        found.left.append(Take(mine))
