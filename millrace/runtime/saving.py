"""From the parts of a PE to what it saves, and back into the PEs that own it next."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from millrace.runtime.assembling import Placed
from millrace.runtime.choosing import Await, Generations, Handed, Own, SealAgain, choose
from millrace.runtime.endings import StateRefused
from millrace.runtime.gathering import Need, gathered, missing_of
from millrace.runtime.inheriting import Estate, inherited, saved_left
from millrace.runtime.marks import Mark, Origin, Place, Route
from millrace.runtime.quiescing import Parts
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.seen import Seen
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import NoStore, StateStore
from millrace.runtime.states import (
    SavedOperator,
    SavedPe,
    decoded,
    merged,
    of_channel,
)
from millrace.runtime.stores import Keyed, Single
from millrace.state import KEY_GROUPS

LOG = logging.getLogger("millrace.runtime.saving")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a launch begins with. `own`: what an earlier launch of the same PE saved.

    `states`: where operators look for their state, `fallbacks` after them. `exact`: the PEs that
    did nothing after they saved theirs. `is_handed`: it comes from a hand-over, which had the PEs
    `inside`: connections between them begin again, as who is at their ends may be another one.
    """

    own: SavedPe | None = None
    states: tuple[SavedPe, ...] = ()
    fallbacks: tuple[SavedPe, ...] = ()
    exact: frozenset[int] = frozenset()
    is_handed: bool = False
    inside: frozenset[int] = frozenset()

    @property
    def is_exact(self) -> bool:
        """Whether its PE did nothing after it saved its state."""
        return self.own is not None and self.own.pe in self.exact

    @property
    def estate(self) -> Estate:
        """What was not done."""
        return Estate((*self.states, *self.fallbacks), self.exact, self.inside)

    @property
    def positions(self) -> Positions:
        """Where its inputs go on."""
        saved = self.own.positions if self.own else ()
        return tuple(each for each in saved if each.origin.pe not in self.inside)

    @property
    def taken(self) -> Mapping[Origin, int]:
        """How many tuples of each input the launch took in that saved the state, up to then."""
        saved = self.own.taken if self.own else ()
        return {origin: count for origin, count in saved if origin.pe not in self.inside}

    @property
    def outboxes(self) -> Mapping[Route, SavedSender]:
        """What its outputs still have to hand on.

        A launch went on after a state that is not exact, and may have written all of it.
        """
        saved = self.own.outboxes if self.own else ()
        return {
            route: each if self.is_exact else each.in_use
            for route, each in saved
            if route.receiver not in self.inside
        }

    @property
    def ended(self) -> tuple[Origin, ...]:
        """Inputs that had ended."""
        saved = self.own.ended if self.own else ()
        return tuple(each for each in saved if each.pe not in self.inside)


@dataclass(frozen=True, slots=True)
class Loading:
    """Finds out what a launch begins with. `needs`: of seals, beside its own."""

    store: StateStore
    pe: int
    launch: int
    generation: int
    needs: tuple[Need, ...] = ()

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
                exact = frozenset({self.pe}) if is_exact else frozenset[int]()
                return Loaded(state, (state,), exact=exact)
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
        states = await gathered(self._read, choice.seals, self.pe, self.needs)
        fallbacks: tuple[SavedPe, ...] = ()
        if not choice.is_exact:  # else nothing is left, nor on its way
            is_needed = self.pe in {e.pe for e in choice.fallbacks} or missing_of(
                self.needs, states
            )
            fallbacks = await self._rest(choice.fallbacks, is_needed=bool(is_needed))
            there = {each.pe for each in states}
            others = [each for each in choice.seals if each.pe not in there]
            states += await self._rest(others, is_needed=False)
        own = next((each for each in (*states, *fallbacks) if each.pe == self.pe), None)
        stopped = {each.pe for each in choice.fallbacks if each.kind == "stopped"}
        exact = stopped.union(each.pe for each in states)
        inside = frozenset(seen.hand_over.pes)
        return Loaded(own, states, fallbacks, frozenset(exact), is_handed=True, inside=inside)

    async def _rest(self, names: Iterable[StateName], *, is_needed: bool) -> tuple[SavedPe, ...]:
        """States that may have kept tuples for this PE; if only that, a damaged one is left out.

        Its own PE does not begin, and says so: the others go on.
        """
        found: list[SavedPe] = []
        for name in names:
            try:
                found.append(await self._read(name))
            except StateRefused as problem:
                if is_needed:
                    raise
                LOG.warning("%s; tuples that it kept for this PE are not known", problem)
        return tuple(found)

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
    estate = loaded.estate
    shares = [inherited(each, estate) for each in placed]
    for each, share in zip(placed, shares, strict=True):
        each.node.restore(share.left)
    return sum(each.lost for each in shares)


def _type_of(placed: Placed) -> str:
    state = placed.operator.state
    return "its window" if state is None else state.type.__name__


def _restore(placed: Placed, loaded: Loaded) -> None:
    node = placed.node
    if isinstance(node, SourceNode):
        saved = _of_channel(placed, loaded)
        if saved is not None and saved.single is not None:
            node.load(saved.single)
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
    who: Identity,
    placed: Iterable[Placed],
    mark: Mark,
    parts: Parts,
    places: Mapping[Route, Place],
    live: Collection[int] = (),
) -> SavedPe:
    """What a PE saves that passed a mark on. `places`: who takes what connections bring.

    `live`: PEs of a hand-over whose next launch may need the mark again; else nothing is sent
    behind what is saved, unless the PE goes on after a checkpoint.
    """
    placed = tuple(placed)
    is_last = mark.kind != "checkpoint"
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        generation=who.generation,
        instances=_instances(placed),
        operators=_operators(
            (each, each.node.saved.get(mark, each.node.state())) for each in placed
        ),
        positions=parts.receivers.positions(),
        taken=tuple(
            (each, parts.receivers.tuples(each))
            for each in sorted(parts.inlets.origins, key=_order)
        ),
        outboxes=tuple(
            (each.route, replace(each.save(final=final), to=places.get(each.route)))
            for each in parts.senders
            for final in (is_last and each.route.receiver not in live,)
        ),
        ended=tuple(sorted(parts.inlets.ended, key=_order)),
    )


def saved_at_begin(who: Identity, placed: Iterable[Placed], loaded: Loaded) -> SavedPe:
    """What a PE saves before it takes anything in, so that its next launch needs no other PE."""
    placed = tuple(placed)
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        instances=_instances(placed),
        operators=_operators((each, each.node.state()) for each in placed),
        positions=loaded.positions,
        outboxes=tuple((route, each.in_use) for route, each in loaded.outboxes.items()),
        ended=loaded.ended,
    )


def _instances(placed: Iterable[Placed]) -> dict[str, tuple[tuple[tuple[int, int], ...], ...]]:
    found: dict[str, tuple[tuple[tuple[int, int], ...], ...]] = {}
    for each in placed:
        known = found.get(each.instance.path, ())
        found[each.instance.path] = (*known, tuple(each.instance.channels.values()))
    return found


def _operators(
    states: Iterable[tuple[Placed, Mapping[int, bytes] | bytes | None]],
) -> dict[str, dict[str, SavedOperator]]:
    found: dict[str, dict[str, SavedOperator]] = {}
    for placed, state in states:
        left = tuple(saved_left(each) for each in placed.node.left)
        if state is None and not left:
            continue
        if isinstance(state, Mapping):
            saved = SavedOperator(groups=dict(state), groups_of=KEY_GROUPS, left=left)
        else:
            saved = SavedOperator(single=state, left=left)
        found.setdefault(placed.instance.path, {})[placed.channels] = saved
    return found


def _order(origin: Origin) -> tuple[int, int, int]:
    return origin.pe, origin.port, origin.at
