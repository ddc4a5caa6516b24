"""Turns what is known of a Placement into one observation: most urgent first."""

from __future__ import annotations

from contracts.resources.placement import PlacementPhase
from services.hostpool_manager.core.snapshot import Placement, Standing
from services.hostpool_manager.core.transitions import Observation, Phase

_PHASES = {
    PlacementPhase.PLACED: Phase.PLACED,
    PlacementPhase.REFUSED: Phase.REFUSED,
    PlacementPhase.UNKNOWN: Phase.UNKNOWN,
}


def phase_of(placement: Placement) -> Phase:
    """What its status says was answered."""
    return Phase.NEW if placement.phase is None else _PHASES[placement.phase]


def observe(standing: Standing) -> Observation:
    """What is to be said of a Placement now."""
    placement = standing.placement
    if placement.is_deleting:
        return Observation.LEAVING
    if placement.asked is None:
        return Observation.UNREADABLE
    if not placement.is_answered:
        return Observation.ASKED
    if placement.phase is PlacementPhase.REFUSED and not placement.is_in_force:
        return Observation.MAY_FIT_LATER if placement.waits else Observation.IS_FINAL
    if placement.in_force.generation is None:
        return Observation.MAY_FIT_LATER
    return Observation.BROKEN if standing.is_broken else Observation.HOLDS
