"""Turns what is known of a Placement into one observation: most urgent first.

What follows from it is a row of `transitions.py`.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from placement.answers import Refused
from services.hostpool_manager.core.snapshot import Placement, PlacementSeen, PlacementStatus
from services.hostpool_manager.core.statuses import is_current, status_of_answer
from services.hostpool_manager.core.transitions import Observation, Phase

_FOUND = {
    PlacementPhase.PLACED: Observation.FOUND_PLACEMENT,
    PlacementPhase.REFUSED: Observation.FOUND_REFUSAL,
    PlacementPhase.UNKNOWN: Observation.FOUND_NEITHER,
}


def phase_of(seen: PlacementSeen) -> Phase:
    """What its status says was answered; what is no phase was never answered."""
    said = seen.status.get("phase")
    return Phase(said) if said in set(Phase) else Phase.NEW


def observe(seen: PlacementSeen) -> Observation:
    """What a Placement is like now."""
    placement = seen.placement
    if placement.is_deleting:
        return Observation.LEAVING
    said = outdated_status(seen)
    if said is not None:
        return Observation.UNREADABLE if placement.problem else _FOUND[said.phase]
    if placement.problem:
        return Observation.IS_FINAL
    if not placement.is_answered:
        return Observation.ASKED
    return _of_answered(placement, is_broken=seen.is_broken)


def outdated_status(seen: PlacementSeen) -> PlacementStatus | None:
    """What is known and its status does not say: an answer, or that its spec cannot be read."""
    said = seen.found.said if seen.found else None
    if seen.placement.problem:
        said = status_of_answer(
            Refused(Reason.SPEC_INVALID, seen.placement.problem),
            generation=seen.placement.generation,
            in_force=seen.placement.in_force,
        )
    if said is None or is_current(seen.status, said):
        return None
    return said


def _of_answered(placement: Placement, *, is_broken: bool) -> Observation:
    """What is in force stays asked about, whatever it was refused for."""
    is_refused = placement.phase is PlacementPhase.REFUSED
    if is_refused and not placement.is_in_force and not placement.waits:
        return Observation.IS_FINAL
    if placement.phase is not PlacementPhase.PLACED or placement.in_force.generation is None:
        return Observation.MAY_FIT_LATER
    return Observation.BROKEN if is_broken else Observation.HOLDS
