"""The table of a job's life cycle is complete, and every step is carried by a function."""

from __future__ import annotations

from itertools import product

import pytest

from contracts.resources import JobPhase
from services.fusion_backend.core.deciding import STEPS
from services.fusion_backend.core.transitions import (
    TRANSITIONS,
    Forbidden,
    Ignored,
    Observation,
    Phase,
    Row,
    Step,
)


@pytest.mark.parametrize(("phase", "observation"), list(product(Phase, Observation)))
def test_every_pair_is_a_transition_or_says_why_not(phase: Phase, observation: Observation) -> None:
    entry = TRANSITIONS[phase, observation]
    if isinstance(entry, Ignored | Forbidden):
        assert entry.why
    else:
        assert isinstance(entry, Row)


def test_nothing_stands_in_the_table_that_is_no_pair() -> None:
    assert len(TRANSITIONS) == len(Phase) * len(Observation)


def test_every_step_has_a_function_and_a_row() -> None:
    used = {entry.step for entry in TRANSITIONS.values() if isinstance(entry, Row)}
    assert used == set(Step) == set(STEPS)


def test_every_phase_but_none_is_one_that_a_status_may_say() -> None:
    assert {phase.value for phase in Phase if phase.value} <= {phase.value for phase in JobPhase}


def test_a_failed_job_only_starts_anew_by_a_change_of_people() -> None:
    leaving = {
        observation
        for (phase, observation), entry in TRANSITIONS.items()
        if phase is Phase.FAILED and isinstance(entry, Row) and entry.leads_to is not Phase.FAILED
    }
    assert leaving == {Observation.TRIED_ANEW}
