"""The table of a job's life cycle is complete, and every action is carried by a function."""

from __future__ import annotations

from itertools import product

import pytest

from contracts.resources import JobPhase
from services.chassis.running.life_cycles import Forbidden, Ignored, Transition
from services.fusion_backend.core.deciding import ACTIONS
from services.fusion_backend.core.transitions import TRANSITIONS, Action, Observation, Phase


@pytest.mark.parametrize(("phase", "observation"), list(product(Phase, Observation)))
def test_every_pair_is_a_transition_or_says_why_not(phase: Phase, observation: Observation) -> None:
    row = TRANSITIONS[phase, observation]
    if isinstance(row, Ignored | Forbidden):
        assert row.why
    else:
        assert isinstance(row, Transition)


def test_nothing_stands_in_the_table_that_is_no_pair() -> None:
    assert len(TRANSITIONS) == len(Phase) * len(Observation)


def test_every_action_has_a_function_and_a_row() -> None:
    used = {row.action for row in TRANSITIONS.values() if isinstance(row, Transition)}
    assert used == set(Action) == set(ACTIONS)


def test_every_phase_but_none_is_one_that_a_status_may_say() -> None:
    assert {phase.value for phase in Phase if phase.value} <= {phase.value for phase in JobPhase}


def test_a_failed_job_starts_again_or_goes_only_by_a_change_of_people() -> None:
    leaving = {
        observation
        for (phase, observation), row in TRANSITIONS.items()
        if phase is Phase.FAILED and isinstance(row, Transition) and row.phase is not Phase.FAILED
    }
    assert leaving == {Observation.RETRIED, Observation.JOB_DELETING}


def test_a_job_that_is_being_deleted_does_nothing_else_in_any_phase() -> None:
    for phase in Phase:
        row = TRANSITIONS[phase, Observation.JOB_DELETING]
        assert isinstance(row, Transition)
        assert row.phase is Phase.DELETING
    possible = {
        observation
        for (phase, observation), row in TRANSITIONS.items()
        if phase is Phase.DELETING and not isinstance(row, Forbidden)
    }
    assert possible == {Observation.JOB_ORPHANING, Observation.JOB_DELETING}
