"""What a launch begins with: which states, and what of them is exact.

`choosing.py` decides by names alone. Here they are read: those of a hand-over as far as they are
needed, and those of the one before it where a PE has not begun since. A launch that begins behind a
hand-over of other PEs, and is the first of its plan, begins with that of its plan.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from millrace.runtime.choosing import Await, Generations, Handed, Own, SealAgain, choose, handed
from millrace.runtime.endings import StateRefused
from millrace.runtime.gathering import Need, gathered, may_have_kept, missing_of
from millrace.runtime.inheriting import Estate
from millrace.runtime.marks import Origin, Route
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.seen import HandOver, Seen
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import NoStore, StateStore
from millrace.runtime.states import SavedPe, decoded

LOG = logging.getLogger("millrace.runtime.loading")
SEALS_TRIED: Final = 3
"""All seals of a hand-over name the same one before it; one may be damaged."""


@dataclass(frozen=True)
class Loaded:
    """What a launch begins with. `own`: what an earlier launch of the same PE saved.

    `states`: where operators look for their state, `fallbacks` after them. `exact`: the PEs that
    did nothing after they saved theirs. `is_handed`: it comes from a hand-over, which had the PEs
    `inside`: connections between them begin again, as who is at their ends may be another one.
    `former`: what there was to load after the hand-over before, if a PE has not begun since.
    `counted`: as of `Estate`.
    """

    own: SavedPe | None = None
    states: tuple[SavedPe, ...] = ()
    fallbacks: tuple[SavedPe, ...] = ()
    exact: frozenset[int] = frozenset()
    is_handed: bool = False
    inside: frozenset[int] = frozenset()
    former: Loaded | None = None
    counted: frozenset[int] = frozenset()

    @property
    def is_exact(self) -> bool:
        """Whether its PE did nothing after it saved its state."""
        return self.own is not None and self.own.pe in self.exact

    @cached_property
    def estate(self) -> Estate:
        """What was not done."""
        former = None if self.former is None else self.former.estate
        states = (*self.states, *self.fallbacks)
        return Estate(states, self.exact, self.inside, former, self.counted)

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
        if seen.hand_over is not None and await self._is_passed_over(seen.hand_over, names):
            if not seen.hand_over.complete:
                return None  # its seals say what came before
            if former := await self._before(seen.hand_over):
                return await self._former(former)
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
                return None if self._has_not_begun(seen, None) else Loaded()

    async def _is_passed_over(self, newest: HandOver, names: Iterable[StateName]) -> bool:
        """Whether the newest hand-over is later than the plan of this launch, and not of its PE.

        Without a launch of its PE that has begun since that plan, it begins with that of its plan.
        """
        is_later = newest.generation > self.generation > 0 and self.pe not in newest.pes
        if not is_later or isinstance(self.store, NoStore):
            return False
        own = [name for name in names if name.pe == self.pe and name.launch < self.launch]
        if not own:
            return True
        state = await self._read(max(own, key=lambda name: name.age))
        return state.plan is not None and state.plan < self.generation

    async def _before(self, hand_over: HandOver) -> HandOver | None:
        """The hand-over to the plan of this launch, as seals for the next one name it."""
        sealed = sorted(hand_over.sealed.items())[:SEALS_TRIED]
        names = [StateName(*each, "handover", hand_over.generation) for each in sealed]
        seals, _ = await self._whole(names)
        former = (each.former for each in seals)
        return next((e for e in former if e and e.generation == self.generation), None)

    def _has_not_begun(self, seen: Seen, own: SavedPe | None) -> bool:
        """Whether a newer hand-over came before what was for this launch was taken over.

        Nobody tells it any more what that was. Others do it: to them this PE is gone. One that a
        width added has a state once it has begun; those of the first plan need none.
        """
        hand_over = seen.hand_over
        is_overtaken = hand_over is not None and self.pe in hand_over.pes and not hand_over.complete
        plan = own.plan if own is not None else 0
        return is_overtaken and plan is not None and plan < self.generation

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
            states, fallbacks = await self._rest(choice, states)
        own = next((each for each in (*states, *fallbacks) if each.pe == self.pe), None)
        exact = {each.pe for each in choice.fallbacks if each.kind == "stopped"}
        found = Loaded(
            own,
            states,
            fallbacks,
            exact=frozenset(exact | {each.pe for each in states}),
            is_handed=True,
            inside=frozenset(hand_over.pes),
            counted=choice.late | hand_over.sealed.keys(),
        )
        known = (each.former for each in (*states, *fallbacks) if each.former is not None)
        older = [each for each in known if each.generation < hand_over.generation]
        former = max(older, key=_generation, default=None)
        if former is None or not (late := await self._not_begun(hand_over, former)):
            return found
        return _behind(await self._former(former), found, late, self.pe)

    async def _not_begun(self, hand_over: HandOver, former: HandOver) -> frozenset[int]:
        """The PEs that did not seal, and had not begun between a former hand-over and this one."""
        found = set()
        for pe in hand_over.pes.keys() - hand_over.sealed.keys():
            before, again = former.pes.get(pe, 0), ("handover", former.generation)
            # Later launches belong to this hand-over: some have begun while others load.
            names = [e for e in await self.store.names(pe) if e.launch <= hand_over.pes[pe]]
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

    async def _rest(
        self, choice: Handed, states: tuple[SavedPe, ...]
    ) -> tuple[tuple[SavedPe, ...], tuple[SavedPe, ...]]:
        """All seals, and the states of PEs that are gone, which may have kept tuples for this one.

        A damaged one is left out if nothing of it is for this PE. Its own PE does not begin.
        """
        is_own_gone = self.pe in {each.pe for each in choice.fallbacks}
        is_needed = is_own_gone or bool(missing_of(self.needs, states))
        there = {each.pe for each in states}
        others = [each for each in choice.seals if each.pe not in there]
        more, damaged = await self._whole(others)
        fallbacks, gone = await self._whole(choice.fallbacks)
        states = (*states, *more)
        if damaged and may_have_kept(self.needs, states):
            raise next(iter(damaged.values()))
        for pe, problem in gone.items():
            if is_needed or may_have_kept(self.needs, states, gone=pe):
                raise problem
        for problem in (*damaged.values(), *gone.values()):
            LOG.info("%s; nothing of it is for this PE", problem)
        return states, fallbacks

    async def _whole(
        self, names: Iterable[StateName]
    ) -> tuple[tuple[SavedPe, ...], dict[int, StateRefused]]:
        """The states that are whole, and by PE what is wrong with the others."""
        found, damaged = list[SavedPe](), dict[int, StateRefused]()
        for name in names:
            try:
                found.append(await self._read(name))
            except StateRefused as problem:
                damaged[name.pe] = problem
        return tuple(found), damaged

    async def _read(self, name: StateName) -> SavedPe:
        return decoded(await self.store.read(name), name.path)


def _behind(before: Loaded, found: Loaded, late: frozenset[int], pe: int) -> Loaded:
    """What there is to load where the PEs `late` have not begun since the hand-over before.

    Their states were in what that one had to load; only what they owe to PEs outside of it is not.
    """
    states = [each for each in found.fallbacks if each.pe not in late]
    states += [_owed(each, before.inside) for each in found.fallbacks if each.pe in late]
    exact = (found.exact - late) | (late & before.exact)
    found = replace(found, fallbacks=tuple(states), exact=exact, former=before)
    if found.own is not None and pe not in late:
        return found
    exact |= {pe} if before.is_exact else set()
    return replace(found, own=before.own, exact=exact, inside=found.inside | before.inside)


def _owed(state: SavedPe, inside: frozenset[int]) -> SavedPe:
    """What a PE that has not begun since a hand-over had kept for PEs outside of it, and taken."""
    kept = tuple(each for each in state.outboxes if each[0].receiver not in inside)
    taken = tuple(each for each in state.positions if each.origin.pe not in inside)
    return SavedPe(
        job=state.job,
        pe=state.pe,
        launch=state.launch,
        instances={},
        outboxes=kept,
        positions=taken,
    )


def _generation(hand_over: HandOver) -> int:
    return hand_over.generation
