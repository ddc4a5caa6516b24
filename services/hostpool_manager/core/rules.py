"""The life cycle of a Placement: the rules that decide on its answer and on searches for one.

The first rule that holds decides (services/chassis/running/rules.py). Two keys use it: that of the
job writes the answer (deciding.py), that of the cluster begins searches (choosing.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from placement.answers import Refused
from services.chassis.running.rules import Rule, always, rule_for
from services.hostpool_manager.core.snapshot import (
    DesiredPlacementStatus,
    ObservedPlacement,
    Placement,
)
from services.hostpool_manager.core.statuses import is_current, status_of_answer


class Observation(Enum):
    """The state of a Placement; a rule has one each."""

    LEAVING = "it is being deleted"
    UNREADABLE = "its spec has an invalid value, and its status does not say so"
    FOUND_PLACEMENT = "a search found a placement"
    FOUND_REFUSAL = "a search found that no placement exists"
    FOUND_NEITHER = "a search ended without a result"
    INVALID = "its spec has an invalid value, and its status says so"
    UNANSWERED = "its spec is not answered yet"
    IS_FINAL = "it was refused, and more room would not help"
    DAMAGED = "it was placed, and its status does not say which placement is in force"
    MAY_FIT_LATER = "it was refused or the search had no result, and it may fit later"
    BROKEN = "the placement in force does not hold any more"
    HOLDS = "the placement in force holds"


class Action(Enum):
    """What follows from an observation."""

    IGNORE = "ignore"
    WRITE_ANSWER = "write the answer into the status"
    SEARCH = "search in the lane of new specs"
    SEARCH_PATIENTLY = "search when there may be room, in the lane of waiting Placements"


@dataclass(frozen=True)
class Situation:
    """A Placement, and the status that it should have for the answer that counts."""

    observed: ObservedPlacement

    @property
    def placement(self) -> Placement:
        """The Placement."""
        return self.observed.placement

    @property
    def phase(self) -> PlacementPhase | None:
        """The answer that counts; None before the first one."""
        return self.placement.phase

    @cached_property
    def desired(self) -> DesiredPlacementStatus | None:
        """The status to write for an answer or an invalid spec; None if it is recorded already."""
        placement = self.placement
        desired = self.observed.found.status if self.observed.found else None
        if placement.problem:
            desired = status_of_answer(
                Refused(Reason.SPEC_INVALID, placement.problem),
                spec_generation=placement.spec_generation,
                in_force=placement.in_force,
            )
        if desired is None or is_current(self.observed.status, desired):
            return None
        return desired

    def is_found(self, phase: PlacementPhase) -> bool:
        """Whether an answer of this phase is to be written."""
        return self.desired is not None and self.desired.phase is phase

    @property
    def is_final(self) -> bool:
        """Whether a change was refused for good; the refusal of what is in force never is."""
        placement = self.placement
        is_refused = placement.phase is PlacementPhase.REFUSED
        is_change = not placement.is_in_force and not placement.has_pes
        return is_refused and is_change and not placement.waits


def rule_of(at: Situation) -> Rule[Situation, Action]:
    """The rule that decides on a Placement. Raises RuleDefect."""
    return rule_for(RULES, at, at.phase)


def _of_answer(at: Situation) -> Reason:
    assert at.desired is not None, "observed: an answer that the status does not record"
    return at.desired.reason


_P = PlacementPhase
_O, _A = Observation, Action
_PLACED: Final = frozenset({_P.PLACED})
_REFUSED: Final = frozenset({_P.REFUSED})
_NOT_PLACED: Final = frozenset({_P.REFUSED, _P.UNKNOWN})

RULES: Final[tuple[Rule[Situation, Action], ...]] = (
    Rule(_O.LEAVING, lambda at: at.placement.is_deleting, _A.IGNORE, Reason.OWNER_DELETED),
    # An answer, or the refusal of an invalid spec, that the status does not record yet
    Rule(
        _O.UNREADABLE,
        lambda at: bool(at.placement.problem) and at.desired is not None,
        _A.WRITE_ANSWER,
        Reason.SPEC_INVALID,
    ),
    Rule(_O.FOUND_PLACEMENT, lambda at: at.is_found(_P.PLACED), _A.WRITE_ANSWER, Reason.PLACED),
    Rule(
        _O.FOUND_REFUSAL,
        lambda at: at.is_found(_P.REFUSED),
        _A.WRITE_ANSWER,
        _of_answer,
    ),
    Rule(
        _O.FOUND_NEITHER,
        lambda at: at.is_found(_P.UNKNOWN),
        _A.WRITE_ANSWER,
        _of_answer,
    ),
    # The answer that its status records
    Rule(
        _O.INVALID,
        lambda at: bool(at.placement.problem),
        _A.IGNORE,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(_O.UNANSWERED, lambda at: not at.placement.is_answered, _A.SEARCH, Reason.PLACING),
    Rule(_O.IS_FINAL, lambda at: at.is_final, _A.IGNORE, Reason.NOTHING_TO_CHANGE, _REFUSED),
    Rule(
        _O.DAMAGED,
        lambda at: (
            at.placement.phase is _P.PLACED and at.placement.in_force.plan_generation is None
        ),
        _A.SEARCH,
        Reason.PLACING,
        _PLACED,
    ),
    Rule(
        _O.MAY_FIT_LATER,
        lambda at: at.placement.phase is not _P.PLACED,
        _A.SEARCH_PATIENTLY,
        Reason.PLACING,
        _NOT_PLACED,
    ),
    Rule(_O.BROKEN, lambda at: at.observed.is_broken, _A.SEARCH, Reason.PLACING, _PLACED),
    # What is left: it is placed, and not broken
    Rule(_O.HOLDS, always, _A.IGNORE, Reason.PLACED, _PLACED),
)
