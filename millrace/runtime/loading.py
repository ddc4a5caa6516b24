"""What a launch begins with: which states, and what of them is exact.

`choosing.py` decides by names alone. Here they are read: those of a hand-over as far as they are
needed, and those of the ones before it since which a PE had not begun that is gone now.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from millrace.protocol import HandOver, Seen
from millrace.runtime.barriers import Origin, Route
from millrace.runtime.choosing import (
    Await,
    Generations,
    Handed,
    Own,
    SealAgain,
    choose,
    handed,
    not_begun,
)
from millrace.runtime.endings import StateRefused
from millrace.runtime.gathering import Need, gathered, may_have_kept, missing_of
from millrace.runtime.inheriting import Estate
from millrace.runtime.lives import NOTHING, Taken
from millrace.runtime.resuming import Positions, SavedSender
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import NoStore, StateStore
from millrace.runtime.states import SavedPe, decoded

LOG = logging.getLogger("millrace.runtime.loading")
NOBODY: Final[Mapping[int, int]] = {}
Absent = Sequence[tuple[HandOver, frozenset[int]]]
"""Hand-overs, from the newest, each with the PEs of later ones that had not begun since."""


@dataclass(frozen=True)
class Loaded:
    """What a launch begins with. `own`: what an earlier launch of the same PE saved.

    `states`: where operators look for their state, `fallbacks` after them. `exact`: the PEs that
    did nothing after they saved theirs. `is_handed`: it comes from a hand-over, which had the PEs
    `inside`. `renewed`: the PEs whose connections with this one begin again, as who is at their
    ends may be another one.
    `former`: what there was to load after the hand-over before, if a PE has not begun since.
    `counted`: as of `Estate`.
    """

    own: SavedPe | None = None
    states: tuple[SavedPe, ...] = ()
    fallbacks: tuple[SavedPe, ...] = ()
    exact: frozenset[int] = frozenset()
    is_handed: bool = False
    inside: frozenset[int] = frozenset()
    renewed: frozenset[int] = frozenset()
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
        return tuple(each for each in saved if each.origin.pe not in self.renewed)

    def took(self, origin: Origin) -> Taken:
        """How many tuples of an input are in the state, and which life took them in."""
        if self.own is None or origin.pe in self.renewed:
            return NOTHING
        return self.own.took(origin)

    @property
    def outboxes(self) -> Mapping[Route, SavedSender]:
        """What its outputs still have to hand on.

        A launch went on after a state that is not exact, and may have written all of it.
        """
        saved = self.own.outboxes if self.own else ()
        return {
            route: each if self.is_exact else each.in_use
            for route, each in saved
            if route.receiver not in self.renewed
        }

    @property
    def ended(self) -> tuple[Origin, ...]:
        """Inputs that had ended."""
        saved = self.own.ended if self.own else ()
        return tuple(each for each in saved if each.pe not in self.renewed)


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
            case Handed(generation):
                assert seen.hand_over is not None, "chosen: a hand-over"
                every = {each.generation: each for each in seen.hand_over.all}
                return await self._handed(every[generation], names)
            case _:
                return None if self._has_not_begun(seen, None) else Loaded()

    def _has_not_begun(self, seen: Seen, own: SavedPe | None) -> bool:
        """Whether a newer hand-over came before what was for this launch was taken over.

        No hand-over that is recorded says what that was: the one to its plan was replaced before
        its end, or a release recorded it that kept none but the newest. Others do it: to them this
        PE is gone. One that a width added has a state once it has begun; those of the first plan
        need none.
        """
        hand_over = seen.hand_over
        is_overtaken = hand_over is not None and self.pe in hand_over.pes and not hand_over.complete
        plan = own.plan if own is not None else 0
        return is_overtaken and plan is not None and plan < self.generation

    async def _names(self, seen: Seen) -> list[StateName]:
        every = seen.hand_over.all if seen.hand_over is not None else ()
        pes = {self.pe}.union(*(each.not_sealed for each in every))
        return [each for pe in sorted(pes) for each in await self.store.names(pe)]

    async def _handed(
        self,
        hand_over: HandOver,
        names: Collection[StateName],
        gone: Mapping[int, int] = NOBODY,
    ) -> Loaded:
        """What there is to load behind a hand-over.

        `gone`: PEs without a seal for a later one, with their launches then.
        """
        choice = handed(hand_over, names)
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
            renewed=frozenset(hand_over.pes),
            counted=choice.late | hand_over.sealed.keys(),
        )
        gone = {**gone, **hand_over.not_sealed}
        former = hand_over.all[1:]
        absent = [(each, pes) for each in former if (pes := not_begun(gone, each, names))]
        if not absent:
            return found
        before = await self._handed(absent[0][0], names, gone)
        return _behind(before, found, absent, self.pe)

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


def _behind(before: Loaded, found: Loaded, absent: Absent, pe: int) -> Loaded:
    """What there is to load where PEs have not begun since hand-overs before, `absent` of each.

    Their states were in what those had to load; only what they owe to PEs outside of them is not.
    """
    every = frozenset[int]().union(*(pes for _, pes in absent))
    states = [_owed(each, absent) if each.pe in every else each for each in found.fallbacks]
    exact = (found.exact - every) | (every & before.exact)
    found = replace(found, fallbacks=tuple(states), exact=exact, former=before)
    if pe not in every:
        return found
    exact |= {pe} if before.is_exact else set()
    return replace(found, own=before.own, exact=exact, renewed=found.renewed | before.renewed)


def _owed(state: SavedPe, absent: Absent) -> SavedPe:
    """What a PE had kept for others, and taken, that none of these hand-overs names."""
    named = [each.pes for each, pes in absent if state.pe in pes and state.pe in each.pes]
    inside = frozenset[int]().union(*named)
    kept = tuple(each for each in state.outboxes if each[0].receiver not in inside)
    taken = tuple(each for each in state.positions if each.origin.pe not in inside)
    return SavedPe(
        job=state.job,
        pe=state.pe,
        launch=state.launch,
        instances={},
        outboxes=kept,
        positions=taken,
        taken=state.taken,
        life=state.life,
        former=state.former,
    )
