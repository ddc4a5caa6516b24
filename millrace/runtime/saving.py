"""From the parts of a PE to what it saves, and back into the PEs that own it next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from millrace.graph import Operator
from millrace.runtime.assembling import Placed
from millrace.runtime.choosing import Await, Generations, Handed, Own, SealAgain, choose
from millrace.runtime.endings import StateRefused
from millrace.runtime.failing import Give, Left, Take, tuples_of
from millrace.runtime.marks import WINDOW, Mark, Origin, Route
from millrace.runtime.quiescing import Parts
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.seen import Seen
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.splitting import key_reader
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import NoStore, StateStore
from millrace.runtime.states import (
    LeftKind,
    SavedOperator,
    SavedPe,
    decoded,
    merged,
    of_channel,
)
from millrace.runtime.stores import Keyed, Single
from millrace.state import KEY_GROUPS


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a launch begins with. `own`: what an earlier launch of the same PE saved.

    `states`: where operators look for their state, `fallbacks` after them. `is_handed`: it comes
    from a hand-over.
    """

    own: SavedPe | None = None
    states: tuple[SavedPe, ...] = ()
    fallbacks: tuple[SavedPe, ...] = ()
    is_exact: bool = False
    is_handed: bool = False

    @property
    def positions(self) -> Positions:
        """Where its inputs go on."""
        return self.own.positions if self.own else ()

    @property
    def taken(self) -> Mapping[Origin, int]:
        """How many tuples of each input the launch took in that saved the state, up to then."""
        return dict(self.own.taken) if self.own else {}

    @property
    def outboxes(self) -> Mapping[Route, SavedSender]:
        """What its outputs still have to hand on.

        A launch went on after a state that is not exact, and may have written all of it.
        """
        saved = self.own.outboxes if self.own else ()
        return {route: each if self.is_exact else each.in_use for route, each in saved}

    @property
    def ended(self) -> tuple[Origin, ...]:
        """Inputs that had ended."""
        return self.own.ended if self.own else ()


@dataclass(frozen=True, slots=True)
class Loading:
    """Finds out what a launch begins with."""

    store: StateStore
    pe: int
    launch: int
    generation: int

    async def loaded(self, seen: Seen) -> Loaded | SealAgain | None:
        """The state, or a seal to make again; None while a hand-over is awaited.

        Raises StoreFailed, StateRefused.
        """
        generations = Generations(self.generation, seen.in_force)
        names = await self._names(seen)
        choice = choose(seen.hand_over, self.pe, self.launch, names, generations)
        match choice:
            case Await():
                return None
            case SealAgain():
                return choice
            case Handed() if isinstance(self.store, NoStore):
                return Loaded()  # the seals of the hand-over are kept nowhere
            case Own(name, is_exact):
                state = await self._read(name)
                return Loaded(state, (state,), is_exact=is_exact)
            case Handed():
                return await self._handed(seen, choice)
            case _:
                return Loaded()

    async def _names(self, seen: Seen) -> list[StateName]:
        hand_over = seen.hand_over
        gone = hand_over.pes.keys() - hand_over.sealed.keys() if hand_over is not None else ()
        names: list[StateName] = []
        for pe in sorted({self.pe, *gone}):
            names += await self.store.names(pe)
        return names

    async def _handed(self, seen: Seen, choice: Handed) -> Loaded:
        assert seen.hand_over is not None, "chosen: a hand-over"
        states = tuple([await self._read(name) for name in choice.seals])
        fallbacks = tuple([await self._read(name) for name in choice.fallbacks])
        own = next((each for each in (*states, *fallbacks) if each.pe == self.pe), None)
        return Loaded(own, states, fallbacks, is_exact=own in states, is_handed=True)

    async def _read(self, name: StateName) -> SavedPe:
        return decoded(await self.store.read(name), name.path)


def restore(placed: Sequence[Placed], loaded: Loaded) -> int:
    """Give operators the state that they own, and what the last launch left to do.

    Returns how many of the tuples left nobody will process. Raises StateRefused.
    """
    for each in placed:
        try:
            _restore(each, loaded)
        except msgspec.MsgspecError as problem:
            raise StateRefused(
                f"operator {each.instance.path}: its saved state has another type than "
                f"{_type_of(each)}: {problem}"
            ) from None
    return _restore_left(placed, loaded)


def _restore_left(placed: Iterable[Placed], loaded: Loaded) -> int:
    """How many tuples of what the last launch left nobody does.

    A state that is not exact is older than what was done since, which may be all of it. Nor is done
    here what belongs to another channel by now.
    """
    is_exact = loaded.is_exact or loaded.is_handed
    lost = 0
    for each in placed:
        for state in (*loaded.states, *loaded.fallbacks):
            saved = state.operators.get(each.instance.path, {}).get(each.channels)
            left, refused = _decoded(each.operator, saved.left if saved else ())
            is_done = is_exact and state in loaded.states
            mine = [one for one in map(partial(_of_mine, each), left) if one] if is_done else []
            each.node.restore(mine)
            lost += refused + tuples_of(left) - tuples_of(mine)
    return lost


def _decoded(operator: Operator, saved: Iterable[tuple[LeftKind, bytes]]) -> tuple[list[Left], int]:
    """What is left, and how many tuples of it cannot be decoded any more."""
    left: list[Left] = []
    refused = 0
    for kind, data in saved:
        try:
            left.append(decoded_left(operator, kind, data))
        except msgspec.MsgspecError:
            refused += len(msgspec.msgpack.decode(data))
    return left, refused


def _of_mine(placed: Placed, left: Left) -> Left | None:
    """What of it is of this channel; None if nothing is."""
    operator = placed.operator
    if not isinstance(left, Take) or not operator.key or operator.takes is None:
        return left
    key = key_reader(operator.key, operator.takes.access)
    mine = [each for each in left.batch if placed.owns(key(each))]
    return Take(mine) if mine else None


def decoded_left(operator: Operator, kind: LeftKind, data: bytes) -> Left:
    """What is left, as it was saved. Raises msgspec.MsgspecError."""
    if kind == "window":
        return WINDOW
    found = operator.takes if kind == "take" else operator.gives
    assert found is not None, "what takes or gives tuples has their type"
    batch = msgspec.msgpack.decode(data, type=list[found.python])  # type: ignore[name-defined]
    return Take(batch) if kind == "take" else Give(batch)


def encoded_left(left: Left) -> tuple[LeftKind, bytes]:
    """What is left, to be saved."""
    if isinstance(left, Mark):
        return "window", b""
    return "take" if isinstance(left, Take) else "give", msgspec.msgpack.encode(left.batch)


def _type_of(placed: Placed) -> str:
    state = placed.operator.state
    return "its window" if state is None else state.type.__name__


def _restore(placed: Placed, loaded: Loaded) -> None:
    node = placed.node
    if isinstance(node, SourceNode):
        saved = _of_channel(placed, loaded)
        if saved is not None and saved.single is not None:
            node.load(saved.single)
        if saved is not None and saved.ended:
            node.load_end()
        return
    assert node.execution is not None, "what is no source is executed"
    store = node.execution.store
    if isinstance(store, Keyed):
        _restore_keys(placed, store, loaded)
        node.execution.resume()
    elif isinstance(store, Single):
        saved = _of_channel(placed, loaded)
        if saved is not None and saved.single is not None:
            store.load(saved.single)


def _of_channel(placed: Placed, loaded: Loaded) -> SavedOperator | None:
    """What was saved of the channel of an operator: a seal, else the state of a PE that is gone."""
    where = (placed.instance.path, placed.channels)
    return of_channel(loaded.states, *where) or of_channel(loaded.fallbacks, *where)


def _restore_keys(placed: Placed, store: Keyed[object], loaded: Loaded) -> None:
    path = placed.instance.path
    if not placed.operator.key or not placed.operator.follows_width:
        saved = _of_channel(placed, loaded)
        for data in (saved.groups or {}).values() if saved else ():
            store.load(data)
        return
    channel, width = placed.whole_groups or (0, 1)
    found = merged(loaded.states, path, channel, width, KEY_GROUPS, fallbacks=loaded.fallbacks)
    for data in found.values():
        store.load(data)
    if placed.whole_groups is None:
        store.values = {key: value for key, value in store.values.items() if placed.owns(key)}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who saves."""

    job: int
    pe: int
    launch: int
    generation: int = 0


def saved_at(
    who: Identity, placed: Iterable[Placed], mark: Mark, parts: Parts, peers: Collection[int]
) -> SavedPe:
    """What a PE saves that passed a mark on. `peers`: those whose connections are saved."""
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        generation=who.generation,
        operators=_operators(
            (each, each.node.saved.get(mark, each.node.state())) for each in placed
        ),
        positions=tuple(e for e in parts.receivers.positions() if e.origin.pe in peers),
        taken=tuple(
            (each, parts.receivers.tuples(each))
            for each in sorted(parts.inlets.origins, key=_order)
            if each.pe in peers
        ),
        outboxes=tuple(
            (each.route, each.save(final=mark.kind != "checkpoint"))
            for each in parts.senders
            if each.route.receiver in peers
        ),
        ended=tuple(sorted((e for e in parts.inlets.ended if e.pe in peers), key=_order)),
    )


def saved_at_begin(who: Identity, placed: Iterable[Placed], loaded: Loaded) -> SavedPe:
    """What a PE saves before it takes anything in, so that its next launch needs no other PE."""
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        operators=_operators((each, each.node.state()) for each in placed),
        positions=loaded.positions,
        outboxes=tuple((route, each.in_use) for route, each in loaded.outboxes.items()),
        ended=loaded.ended,
    )


def _operators(
    states: Iterable[tuple[Placed, Mapping[int, bytes] | bytes | None]],
) -> dict[str, dict[str, SavedOperator]]:
    found: dict[str, dict[str, SavedOperator]] = {}
    for placed, state in states:
        left = tuple(encoded_left(each) for each in placed.node.left)
        ended = isinstance(placed.node, SourceNode) and placed.node.has_ended
        if state is None and not left and not ended:
            continue
        if isinstance(state, Mapping):
            saved = SavedOperator(groups=dict(state), groups_of=KEY_GROUPS, left=left)
        else:
            saved = SavedOperator(single=state, left=left, ended=ended)
        found.setdefault(placed.instance.path, {})[placed.channels] = saved
    return found


def _order(origin: Origin) -> tuple[int, int, int]:
    return origin.pe, origin.port, origin.at
