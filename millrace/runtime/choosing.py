"""Which saved state a launch of a PE begins with, and which states nobody needs any more.

Ordered rules; the first that holds decides. A launch that loaded something saves `checkpoint-0`
before it takes anything in: later launches need only its own states, and see that it began.

1. A hand-over, the newest one or one before it, is not later than the plan of the launch, and names
   this PE in an earlier launch, and no later launch of the PE has saved anything but the seal for
   it again: the states of that hand-over.
2. The PE has no state, and the hand-over to its plan, else the newest one if it is later, does not
   name it: it is new, and the operators that it has may come from PEs of that hand-over.
3. The PE has states: the newest of its own.
4. There is nothing to load.

Rules 1 and 2 wait for a hand-over that is not complete. Before all rules a launch waits until the
plan that it belongs to is in force, or has a hand-over. A launch of an older plan that the newest
hand-over names begins by the other rules, and hands over itself. If its PE sealed, or had its time,
it waits for its end: the next launch belongs to the newer plan. A seal whose report was lost is
made again, as its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from millrace.protocol import HandOver
from millrace.runtime.state_names import StateName

KEPT: Final = 2
"""How many of the newest states of a PE are kept in any case: one may be damaged."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nothing is loaded."""


@dataclass(frozen=True, slots=True)
class Own:
    """One state of an earlier launch of the same PE.

    `is_exact`: everything that was acknowledged is in it, and nothing else.
    """

    name: StateName
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Handed:
    """The states of a hand-over. Each operator takes its groups; others by operator and channel.

    `seals`: of the PEs that sealed. `fallbacks`: the newest states of PEs that are gone, which are
    not exact. `lost`: PEs that are gone without any state. `late`: those that saved a seal too
    late, and so have counted themselves what they had in hand.
    """

    generation: int
    seals: tuple[StateName, ...]
    fallbacks: tuple[StateName, ...] = ()
    lost: tuple[int, ...] = ()
    late: frozenset[int] = frozenset()

    @property
    def is_exact(self) -> bool:
        """Whether every PE of the hand-over has sealed."""
        return not self.fallbacks and not self.lost


@dataclass(frozen=True, slots=True)
class Await:
    """The hand-over has to be complete first; then choose again."""

    generation: int


@dataclass(frozen=True, slots=True)
class SealAgain:
    """An earlier launch of the PE sealed for the hand-over, and its report was lost."""

    name: StateName


Choice = Fresh | Own | Handed | Await | SealAgain


@dataclass(frozen=True, slots=True)
class Generations:
    """Plans of the job: the one that the launch belongs to, and the one in force.

    While a resize is under way the first may be newer. Its hand-over, if there is one, is then
    known, or still on its way to pe-gateway.
    """

    planned: int = 0
    in_force: int = 0


def choose(
    hand_over: HandOver | None,
    pe: int,
    launch: int,
    names: Collection[StateName],
    generations: Generations,
) -> Choice:
    """What a launch of a PE loads. `names`: the states of the PE, and of PEs that are gone."""
    own = [name for name in names if name.pe == pe and name.launch <= launch]
    known = hand_over.generation if hand_over is not None else 0
    if max(known, generations.in_force) < generations.planned:
        return Await(generations.planned)
    if hand_over is None:
        return _own(own)
    begins_with = _begins_with(hand_over, pe, launch, own, generations.planned)
    if generations.planned < hand_over.generation and pe in hand_over.pes:
        before = _own(own) if begins_with is None else handed(begins_with, names)
        return _of_older_plan(hand_over, pe, launch, own, before)
    if begins_with is None:
        return _own(own)
    if not begins_with.complete:
        return Await(begins_with.generation)
    return handed(begins_with, names)


def _of_older_plan(
    hand_over: HandOver, pe: int, launch: int, own: Collection[StateName], before: Choice
) -> Choice:
    if hand_over.complete or pe in hand_over.sealed or pe in hand_over.gone:
        return Await(hand_over.generation)
    seals = [e for e in own if e.kind == "handover" and e.number == hand_over.generation]
    if seals:
        return SealAgain(max(seals, key=lambda name: name.age))
    # Before it is named itself, it might give tuples behind the barrier of its last launch.
    return before if launch == hand_over.pes[pe] else Await(hand_over.generation)


def _own(own: Collection[StateName]) -> Own | Fresh:
    if not own:
        return Fresh()
    seals = {each for each in own if each.kind == "handover"}
    # A seal that was made again is older than the state with which its first launch stopped.
    again = {each for each in seals if any(_is_again(each, first) for first in seals)}
    newest = max((each for each in own if each not in again), key=lambda name: name.age)
    return Own(newest, is_exact=newest.kind == "stopped")  # or a later one began, and saved it


def _is_again(seal: StateName, first: StateName) -> bool:
    return seal.number == first.number and seal.launch > first.launch


def _begins_with(
    newest: HandOver, pe: int, launch: int, own: Collection[StateName], planned: int
) -> HandOver | None:
    for each in newest.all:
        if each.generation <= planned and _is_for(each, pe, launch, own, planned):
            return each
    # A plan whose own hand-over was replaced before its end has that which replaced it.
    is_of_newest = newest.generation > planned and pe not in newest.pes and not own
    return newest if is_of_newest else None


def _is_for(
    hand_over: HandOver, pe: int, launch: int, own: Collection[StateName], planned: int
) -> bool:
    if pe not in hand_over.pes:
        return not own and hand_over.generation == planned
    before = hand_over.pes[pe]
    later = [each for each in own if each.launch > before]
    # A launch between made the seal again where it did not see that the first one counts.
    seal = ("handover", hand_over.generation)
    return launch > before and all((each.kind, each.number) == seal for each in later)


def handed(hand_over: HandOver, names: Collection[StateName]) -> Handed:
    """What launches load after a complete hand-over. `names`: as of `choose`."""
    seals = [
        StateName(pe, launch, "handover", hand_over.generation)
        for pe, launch in sorted(hand_over.sealed.items())
    ]
    fallbacks, lost = [], []
    for pe in sorted(hand_over.not_sealed):
        newest = _instead_of_a_seal(hand_over, pe, names)
        if newest is None:
            lost.append(pe)
        else:
            fallbacks.append(newest)
    generation = hand_over.generation
    late = frozenset(e.pe for e in names if _is_late(hand_over, e))
    return Handed(generation, tuple(seals), tuple(fallbacks), tuple(lost), late)


def _is_late(hand_over: HandOver, name: StateName) -> bool:
    """Whether it is the seal of a launch that the hand-over names and ended without."""
    is_of_it = (name.kind, name.number) == ("handover", hand_over.generation)
    return is_of_it and hand_over.is_over_without(name.pe, name.launch)


def _instead_of_a_seal(
    hand_over: HandOver, pe: int, names: Collection[StateName]
) -> StateName | None:
    """The newest state of a PE that did not seal; a seal that came too late does not count.

    A launch that sealed for one before is over: what else it saved is older.
    """
    launch, generation = hand_over.pes[pe], hand_over.generation
    found = [
        name
        for name in names
        if name.pe == pe
        and name.launch <= launch
        and not (name.kind == "handover" and name.number >= generation)
    ]
    last = {
        StateName(pe, each.sealed[pe], "handover", each.generation)
        for each in hand_over.former
        if pe in each.sealed
    }
    return max(found, key=lambda name: (name.launch, name in last, name.age), default=None)


def not_begun(
    gone: Mapping[int, int], former: HandOver, names: Collection[StateName]
) -> frozenset[int]:
    """Those PEs that had not begun since a former hand-over. `gone`: with their launches then."""
    seal = ("handover", former.generation)  # a launch that made one again did not begin
    begun = {
        each.pe
        for each in names
        # Later launches belong to the next hand-over: some have begun while others load.
        if former.pes.get(each.pe, 0) < each.launch <= gone.get(each.pe, 0)
        and (each.kind, each.number) != seal
    }
    return frozenset(gone.keys() - begun)


def removable(
    hand_over: HandOver | None, pe: int, names: Collection[StateName]
) -> tuple[StateName, ...]:
    """The states of a PE that no launch of any PE loads, from the oldest.

    Kept are the newest `KEPT`, the seals for the newest hand-over, for those before it that are
    still named, and for later ones, which other PEs load as well, and what stands for a seal that
    this PE did not make.
    """
    own = sorted((name for name in names if name.pe == pe), key=lambda name: name.age)
    every = hand_over.all if hand_over is not None else ()
    oldest = min((each.generation for each in every), default=0)
    kept = set(own[-KEPT:])
    kept |= {name for name in own if name.kind == "handover" and name.number >= oldest}
    kept |= {
        found
        for each in every
        if pe in each.not_sealed and (found := _instead_of_a_seal(each, pe, own)) is not None
    }
    return tuple(name for name in own if name not in kept)
