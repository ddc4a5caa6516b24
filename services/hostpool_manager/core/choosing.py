"""Which Placement is searched next: new before waiting, and nobody stands behind a waiter.

1. A spec that was never answered, or changed: the longest unchanged one first.
2. A placement in force that does not hold any more, because the nodes changed.
3. Beside them, in a lane of their own, those that were told to wait, the longest untried first;
   only where something changed that may have made room, and after a pause that grows. Where nobody
   knew, time alone is reason enough.

The properties: a new spec waits for one search at most, however many wait for room; one that is
answered alike again and again costs less and less.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.resources.placement import PlacementPhase
from services.chassis.running.life_cycles import Transition
from services.hostpool_manager.core.effects import Search
from services.hostpool_manager.core.observing import observe, phase_of
from services.hostpool_manager.core.snapshot import (
    UNKNOWN_PAUSE_S,
    ClusterSnapshot,
    PlacementSeen,
    SearchTarget,
)
from services.hostpool_manager.core.transitions import TRANSITIONS, Action, Observation


@dataclass(frozen=True, slots=True)
class Choice:
    """Searches to begin, one a lane; how many wait for room, and when to look again."""

    searches: tuple[Search, ...]
    waiting: int
    requeue_at: float | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    seen: PlacementSeen
    target: SearchTarget
    is_asked: bool
    due_at: float | None

    @property
    def turn(self) -> tuple[float | bool, ...]:
        placement, tried = self.seen.placement, self.seen.tried
        if self.is_asked:
            return (False, placement.version)
        return (True, tried.at if tried else 0.0, placement.version)


def choose(snapshot: ClusterSnapshot, now: float) -> Choice:
    """The searches that begin now (unix seconds)."""
    searching = {each[:3] for each in snapshot.searching}
    found = [
        candidate
        for each in snapshot.placements
        if (candidate := _candidate(each, snapshot.changes)) is not None
        and candidate.target[:3] not in searching
    ]
    dates = [(each, each.due_at) for each in found if each.due_at is not None]
    due = [each for each, at in dates if at <= now]
    busy = {each.is_patient for each in snapshot.searching}
    lanes = [
        [each for each in due if each.target.is_patient is is_patient]
        for is_patient in (False, True)
        if is_patient not in busy
    ]
    return Choice(
        searches=tuple(
            Search(min(lane, key=lambda each: each.turn).target) for lane in lanes if lane
        ),
        waiting=sum(each.target.is_patient for each in found),
        requeue_at=min((at for _, at in dates if at > now), default=None),
    )


def _candidate(seen: PlacementSeen, changes: int) -> _Candidate | None:
    """What is to be searched for a Placement, now or later."""
    placement, observation = seen.placement, observe(seen)
    row = TRANSITIONS[phase_of(seen), observation]
    if not isinstance(row, Transition) or row.action is Action.WRITE_ANSWER:
        return None
    is_patient = row.action is Action.SEARCH_PATIENTLY
    target = SearchTarget(placement.ref, placement.uid, placement.generation, is_patient)
    is_asked = observation is Observation.ASKED
    due_at = _due_at(seen, changes, is_asked=is_asked)
    return _Candidate(seen, target, is_asked, due_at)


def _due_at(seen: PlacementSeen, changes: int, *, is_asked: bool) -> float | None:
    """When it may be searched; None: not before something changes."""
    placement, tried = seen.placement, seen.tried
    if tried is None or not tried.is_of(placement):
        return 0.0
    if is_asked or tried.changes != changes:
        return tried.again_at
    if placement.phase is PlacementPhase.UNKNOWN:
        return max(tried.again_at, tried.at + UNKNOWN_PAUSE_S)
    return None
