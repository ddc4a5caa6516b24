"""The table of the life cycle is complete and consistent."""

from __future__ import annotations

import itertools

import pytest

from contracts.resources.processing_element import PePhase
from services.chassis.running.life_cycles import Forbidden, Ignored, Transition
from services.pod_state_machine.core.transitions import TRANSITIONS, Action, Observation

OWNERS = (Observation.JOB_GONE, Observation.PE_DELETING, Observation.VIEW_BEHIND)


def test_every_pair_of_phase_and_observation_has_exactly_one_row() -> None:
    """A missing pair would be an exception in the middle of an incident."""
    pairs = set(itertools.product(PePhase, Observation))
    assert set(TRANSITIONS) == pairs
    assert len(TRANSITIONS) == len(PePhase) * len(Observation) == 156


def test_every_row_gives_its_reason() -> None:
    """Nothing is ignored or forbidden without a reason."""
    for row in TRANSITIONS.values():
        match row:
            case Transition(reason=reason) | Ignored(reason=reason):
                assert reason.sentence
            case Forbidden(why=why):
                assert why


@pytest.mark.parametrize("observation", OWNERS)
@pytest.mark.parametrize("phase", PePhase)
def test_nothing_is_launched_for_an_owner_in_deletion_or_a_stale_view(
    phase: PePhase, observation: Observation
) -> None:
    """A pod of a deleted job would be garbage, one of a stale view a second launch."""
    assert isinstance(TRANSITIONS[phase, observation], Ignored)


def test_only_a_waiting_launch_creates_a_pod() -> None:
    """A pod is created in one phase only: the one whose intent is written."""
    creating = {
        pair
        for pair, row in TRANSITIONS.items()
        if isinstance(row, Transition) and row.action is Action.CREATE_POD
    }
    assert creating == {(PePhase.WAITING, Observation.POD_ABSENT)}


def test_every_new_launch_begins_with_its_intent_in_phase_waiting() -> None:
    """The intent is what fences a launch: no other phase may hold it."""
    for row in TRANSITIONS.values():
        if isinstance(row, Transition) and row.action is Action.INTEND_LAUNCH:
            assert row.phase is PePhase.WAITING


def test_an_ended_pod_is_never_recorded_as_running_again() -> None:
    """Completed and Failed are left by a new launch only."""
    for phase in (PePhase.COMPLETED, PePhase.FAILED):
        for observation in (Observation.POD_PENDING, Observation.POD_RUNNING):
            assert isinstance(TRANSITIONS[phase, observation], Forbidden)
