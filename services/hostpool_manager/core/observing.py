"""Makes one observation of the state of a Placement: most urgent first.

The row of `transitions.py` for it names the action.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from placement.answers import Refused
from services.hostpool_manager.core.snapshot import (
    DesiredPlacementStatus,
    ObservedPlacement,
    Placement,
)
from services.hostpool_manager.core.statuses import is_current, status_of_answer
from services.hostpool_manager.core.transitions import Observation, Phase

_FOUND = {
    PlacementPhase.PLACED: Observation.FOUND_PLACEMENT,
    PlacementPhase.REFUSED: Observation.FOUND_REFUSAL,
    PlacementPhase.UNKNOWN: Observation.FOUND_NEITHER,
}


def phase_of(observed: ObservedPlacement) -> Phase:
    """The phase that its status records; NEW if the status has no valid phase."""
    recorded = observed.status.get("phase")
    return Phase(recorded) if recorded in set(Phase) else Phase.NEW


def observe(observed: ObservedPlacement) -> Observation:
    """The one observation of a Placement."""
    placement = observed.placement
    if placement.is_deleting:
        return Observation.LEAVING
    desired = outdated_status(observed)
    if desired is not None:
        return Observation.UNREADABLE if placement.problem else _FOUND[desired.phase]
    if placement.problem:
        return Observation.IS_FINAL
    if not placement.is_answered:
        return Observation.UNANSWERED
    return _of_answered(placement, is_broken=observed.is_broken)


def outdated_status(observed: ObservedPlacement) -> DesiredPlacementStatus | None:
    """The status to write for an answer or an invalid spec; None if it is recorded already."""
    desired = observed.found.status if observed.found else None
    if observed.placement.problem:
        desired = status_of_answer(
            Refused(Reason.SPEC_INVALID, observed.placement.problem),
            generation=observed.placement.generation,
            in_force=observed.placement.in_force,
        )
    if desired is None or is_current(observed.status, desired):
        return None
    return desired


def _of_answered(placement: Placement, *, is_broken: bool) -> Observation:
    """A refused change is final unless it waits; a refusal of what is in force never is."""
    is_refused = placement.phase is PlacementPhase.REFUSED
    if is_refused and not placement.is_in_force and not placement.waits:
        return Observation.IS_FINAL
    if placement.phase is not PlacementPhase.PLACED or placement.in_force.generation is None:
        return Observation.MAY_FIT_LATER
    return Observation.BROKEN if is_broken else Observation.HOLDS
