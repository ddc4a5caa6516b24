"""The tables of nodes and pools say something about everything that can be."""

from __future__ import annotations

import itertools

import pytest

from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition
from services.node_tainter.core.transitions import (
    NODES,
    POOLS,
    Action,
    NodeObservation,
    NodePhase,
    PoolObservation,
    PoolPhase,
)

ROWS: tuple[Row[NodePhase | PoolPhase, Action], ...] = (*NODES.values(), *POOLS.values())


def test_every_pair_of_phase_and_observation_has_exactly_one_row() -> None:
    """A pair that nobody thought of would be an exception in the middle of an incident."""
    assert set(NODES) == set(itertools.product(NodePhase, NodeObservation))
    assert set(POOLS) == set(itertools.product(PoolPhase, PoolObservation))


def test_every_row_gives_its_reason() -> None:
    """Nothing is ignored or forbidden without saying why."""
    for row in ROWS:
        match row:
            case Transition(reason=reason) | Ignored(reason=reason):
                assert reason.sentence
            case Forbidden(why=why):
                assert why


@pytest.mark.parametrize("action", Action)
def test_every_action_belongs_to_one_table(action: Action) -> None:
    """Nodes get marks and pools get finalizers; an action that no row takes would be dead."""
    of_nodes = {row.action for row in NODES.values() if isinstance(row, Transition)}
    of_pools = {row.action for row in POOLS.values() if isinstance(row, Transition)}
    assert of_nodes == {Action.SET_MARKS}
    assert of_pools == {Action.ADD_FINALIZER, Action.REMOVE_FINALIZER}
    assert action in of_nodes | of_pools


def test_a_finalizer_goes_only_when_nothing_carries_the_uid() -> None:
    """Else the marks would outlive the only object that knows of them."""
    removing = {
        pair
        for pair, row in POOLS.items()
        if isinstance(row, Transition) and row.action is Action.REMOVE_FINALIZER
    }
    assert removing == {(PoolPhase.HELD, PoolObservation.DELETING_CLEAR)}
