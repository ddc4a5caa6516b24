"""Which Placement is searched next: new specs first; those that wait for room have their own lane.

1. A spec that was never answered, or changed: the longest unchanged one first.
2. A placement in force that does not hold any more, because the nodes changed.
3. In the other lane, Placements that wait for room, the least recently searched first; only if the
   room is another since, and after a pause that grows. A Placement in phase Unknown is searched
   again after UNKNOWN_PAUSE_S, too.

The properties: a new spec never waits for the lane of those that wait for room; a Placement that
gets the same answer again and again is searched ever more rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.resources.placement import PlacementPhase
from services.chassis.running.rules import RuleDefect
from services.hostpool_manager.core.effects import Search
from services.hostpool_manager.core.rules import Action, Observation, Situation, rule_of
from services.hostpool_manager.core.snapshot import (
    UNKNOWN_PAUSE_S,
    ClusterSnapshot,
    ObservedPlacement,
    SearchTarget,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Searches to begin, one a lane at most; the number of waiting Placements; when to requeue."""

    searches: tuple[Search, ...]
    waiting: int
    requeue_at: float | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    observed: ObservedPlacement
    target: SearchTarget
    is_new: bool
    due_at: float | None

    @property
    def order(self) -> tuple[float | bool, ...]:
        placement, last = self.observed.placement, self.observed.last_search
        if self.is_new:
            return (False, placement.version)
        return (True, last.at if last else 0.0, placement.version)


def choose(snapshot: ClusterSnapshot, now: float) -> Choice:
    """The searches that begin now (unix seconds)."""
    searching = {each[:3] for each in snapshot.searching}
    found = [
        candidate
        for each in snapshot.placements
        if (candidate := _candidate(each, snapshot.room)) is not None
        and candidate.target[:3] not in searching
    ]
    scheduled = [(each, each.due_at) for each in found if each.due_at is not None]
    due = [each for each, at in scheduled if at <= now]
    busy = {each.is_patient for each in snapshot.searching}
    lanes = [
        [each for each in due if each.target.is_patient is is_patient]
        for is_patient in (False, True)
        if is_patient not in busy
    ]
    return Choice(
        searches=tuple(
            Search(min(lane, key=lambda each: each.order).target) for lane in lanes if lane
        ),
        waiting=sum(each.target.is_patient for each in found),
        requeue_at=min((at for _, at in scheduled if at > now), default=None),
    )


def _candidate(observed: ObservedPlacement, room: int) -> _Candidate | None:
    """The search that a Placement needs, now or later; None if it needs none."""
    placement = observed.placement
    try:
        rule = rule_of(Situation(observed))
    except RuleDefect:
        return None  # the key of its job reports it; the others go on
    if rule.action not in (Action.SEARCH, Action.SEARCH_PATIENTLY):
        return None
    is_patient = rule.action is Action.SEARCH_PATIENTLY
    target = SearchTarget(placement.ref, placement.uid, placement.spec_generation, is_patient)
    is_new = rule.observation is Observation.UNANSWERED
    due_at = _due_at(observed, room, is_new=is_new)
    return _Candidate(observed, target, is_new, due_at)


def _due_at(observed: ObservedPlacement, room: int, *, is_new: bool) -> float | None:
    """When it may be searched (unix seconds); None: not before something changes."""
    placement, last = observed.placement, observed.last_search
    if last is None or not last.is_of(placement):
        return 0.0
    if is_new or last.room != room:
        return last.retry_at
    if placement.phase is PlacementPhase.UNKNOWN:
        return max(last.retry_at, last.at + UNKNOWN_PAUSE_S)
    return None
