"""From the parts of a PE to what it saves, and back into the PEs that own it next."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from millrace.runtime.assembling import Placed
from millrace.runtime.choosing import Await, Generations, Handed, Own, SealAgain, choose, handed
from millrace.runtime.endings import StateRefused
from millrace.runtime.gathering import Need, gathered, missing_of
from millrace.runtime.inheriting import Channels, Estate, inherited, saved_left
from millrace.runtime.marks import Mark, Origin, Place, Route
from millrace.runtime.quiescing import Parts
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.seen import HandOver, Seen
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.splitting import channel_of
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
    `former`: what there was to load after the hand-over before, if a PE has not begun since.
    """

    own: SavedPe | None = None
    states: tuple[SavedPe, ...] = ()
    fallbacks: tuple[SavedPe, ...] = ()
    exact: frozenset[int] = frozenset()
    is_handed: bool = False
    inside: frozenset[int] = frozenset()
    former: Loaded | None = None

    @property
    def is_exact(self) -> bool:
        """Whether its PE did nothing after it saved its state."""
        return self.own is not None and self.own.pe in self.exact

    @property
    def estate(self) -> Estate:
        """What was not done."""
        former = None if self.former is None else self.former.estate
        return Estate((*self.states, *self.fallbacks), self.exact, self.inside, former)

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
                if self._has_not_begun(seen, state):
                    return None
                exact = frozenset({self.pe}) if is_exact else frozenset[int]()
                return Loaded(state, (state,), exact=exact)
            case Handed():
                assert seen.hand_over is not None, "chosen: a hand-over"
                return await self._handed(seen.hand_over, choice)
            case _:
                return Loaded()

    def _has_not_begun(self, seen: Seen, own: SavedPe) -> bool:
        """Whether a newer hand-over came before what was for this launch was taken over.

        Nobody tells it any more what that was. Others do it: to them this PE is gone.
        """
        hand_over = seen.hand_over
        is_overtaken = hand_over is not None and self.pe in hand_over.pes and not hand_over.complete
        return is_overtaken and own.plan is not None and own.plan < self.generation

    async def _names(self, seen: Seen) -> list[StateName]:
        hand_over = seen.hand_over
        gone = hand_over.pes.keys() - hand_over.sealed.keys() if hand_over is not None else ()
        names: list[StateName] = []
        for pe in sorted({self.pe, *gone}):
            names += await self.store.names(pe)
        return names

    async def _handed(self, hand_over: HandOver, choice: Handed) -> Loaded:
        states = await gathered(self._read, choice.seals, self.pe, self.needs)
        fallbacks: tuple[SavedPe, ...] = ()
        if not choice.is_exact:  # else nothing is left, nor on its way
            is_own_gone = self.pe in {each.pe for each in choice.fallbacks}
            is_needed = is_own_gone or bool(missing_of(self.needs, states))
            fallbacks = await self._rest(choice.fallbacks, is_needed=is_needed)
            there = {each.pe for each in states}
            others = [each for each in choice.seals if each.pe not in there]
            states += await self._rest(others, is_needed=False)
        known = (each.former for each in (*states, *fallbacks) if each.former is not None)
        older = [each for each in known if each.generation < hand_over.generation]
        former = max(older, key=_generation, default=None)
        late = await self._not_begun(hand_over, former) if former is not None else frozenset()
        before = await self._former(former) if former is not None and late else None
        fallbacks = tuple(each for each in fallbacks if each.pe not in late)
        own = next((each for each in (*states, *fallbacks) if each.pe == self.pe), None)
        exact = {each.pe for each in choice.fallbacks if each.kind == "stopped"} - late
        exact |= {each.pe for each in states}
        inside = frozenset(hand_over.pes)
        if before is not None and own is None:
            own, inside = before.own, inside | before.inside
            exact |= {self.pe} if before.is_exact else set()
        return Loaded(own, states, fallbacks, frozenset(exact), True, inside, before)

    async def _not_begun(self, hand_over: HandOver, former: HandOver) -> frozenset[int]:
        """The PEs that did not seal, and have not begun since a former hand-over."""
        found = set()
        for pe in hand_over.pes.keys() - hand_over.sealed.keys():
            before, again = former.pes.get(pe, 0), ("handover", former.generation)
            names = await self.store.names(pe)
            # A launch that made a seal again did not begin.
            if all(e.launch <= before or (e.kind, e.number) == again for e in names):
                found.add(pe)
        return frozenset(found)

    async def _former(self, hand_over: HandOver) -> Loaded:
        """What there was to load after a former hand-over, and is still kept."""
        names = [each for pe in sorted(hand_over.pes) for each in await self.store.names(pe)]
        choice = handed(hand_over, names)
        kept = tuple(each for each in choice.seals if each in names)
        if missing := set(choice.seals) - set(kept):
            LOG.warning("%d states of an older hand-over are not kept any more", len(missing))
        return await self._handed(hand_over, replace(choice, seals=kept))

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


def _generation(hand_over: HandOver) -> int:
    return hand_over.generation


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
    found = of_channel(loaded.states, *where) or of_channel(loaded.fallbacks, *where)
    if found is not None or loaded.former is None:
        return found
    late = loaded.estate.not_begun(placed.instance.path)
    now = tuple(channel for channel, _ in placed.instance.channels.values())
    is_late = late is None or now in [tuple(channel for channel, _ in each) for each in late]
    return _of_channel(placed, loaded.former) if is_late else None


def _restore_keys(placed: Placed, store: Keyed[object], loaded: Loaded) -> None:
    path = placed.instance.path
    if not placed.operator.key or not placed.operator.follows_width:
        saved = _of_channel(placed, loaded)
        for data in (saved.groups or {}).values() if saved else ():
            store.load(data)
        return
    for data in _groups(path, placed.whole_groups or (0, 1), loaded).values():
        store.load(data)
    if placed.whole_groups is None:
        store.values = {key: value for key, value in store.values.items() if placed.owns(key)}


def _groups(path: str, at: tuple[int, int], loaded: Loaded) -> dict[int, bytes]:
    """The groups of a channel, as (channel, width).

    Those of a PE that has not begun since the hand-over before are in what was saved for that.
    """
    found = merged(loaded.states, path, *at, KEY_GROUPS, fallbacks=loaded.fallbacks)
    if loaded.former is None:
        return found
    late = loaded.estate.not_begun(path)
    older = _groups(path, at, loaded.former)
    return {group: each for group, each in older.items() if _is_of(group, late)} | found


def _is_of(group: int, instances: Sequence[Channels] | None) -> bool:
    """Whether instances had a group; any had if they are not known, or in nested regions."""
    return instances is None or any(
        len(each) != 1 or channel_of(group, each[0][1], KEY_GROUPS) == each[0][0]
        for each in instances
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """Who saves."""

    job: int
    pe: int
    launch: int
    generation: int = 0
    plan: int | None = None


def saved_at(
    who: Identity,
    placed: Iterable[Placed],
    mark: Mark,
    parts: Parts,
    places: Mapping[Route, Place],
    live: Collection[int] = (),
    former: HandOver | None = None,
) -> SavedPe:
    """What a PE saves that passed a mark on. `places`: who takes what connections bring.

    `live`: PEs of a hand-over whose next launch may need the mark again; else nothing is sent
    behind what is saved, unless the PE goes on after a checkpoint. `former`: as of `SavedPe`.
    """
    placed = tuple(placed)
    is_last = mark.kind != "checkpoint"
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        generation=who.generation,
        plan=who.plan,
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
        former=former,
    )


def saved_at_begin(
    who: Identity, placed: Iterable[Placed], loaded: Loaded, former: HandOver | None = None
) -> SavedPe:
    """What a PE saves before it takes anything in, so that its next launch needs no other PE."""
    placed = tuple(placed)
    return SavedPe(
        job=who.job,
        pe=who.pe,
        launch=who.launch,
        plan=who.plan,
        instances=_instances(placed),
        operators=_operators((each, each.node.state()) for each in placed),
        positions=loaded.positions,
        outboxes=tuple((route, each.in_use) for route, each in loaded.outboxes.items()),
        ended=loaded.ended,
        former=former,
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
