"""What a state lacks of what a life took in: counts of two lives are never compared."""

from __future__ import annotations

import pytest

from millrace.runtime.barriers import Origin
from millrace.runtime.frames import Before
from millrace.runtime.lives import NOTHING, Loss, Taken, loss_of
from millrace.runtime.resuming import Peer
from millrace.runtime.states import SavedPe, decoded, encoded

STATE = Taken(70, Peer(3, "third"))
ORIGIN = Origin(1, 0, 0)


@pytest.mark.parametrize(
    ("state", "life", "launch", "tuples"),
    [
        (STATE, "third", 3, 30),
        (STATE, "fourth", 4, 100),
        (STATE, "again", 3, 100),
        (STATE, "any", 0, 30),
        (Taken(70, Peer(3, "")), "third", 3, 30),
        (NOTHING, "first", 1, 100),
        (Taken(170, Peer(3, "third")), "third", 3, 0),
    ],
    ids=["same", "later", "same launch", "unknown launch", "unknown life", "no state", "more"],
)
def test_a_state_lacks_what_its_own_life_took_in_since_and_all_of_a_later_one(
    state: Taken, life: str, launch: int, tuples: int
) -> None:
    assert loss_of(state, Before(life, 9, 100, launch)) == Loss(9, tuples)


def test_a_life_before_that_of_the_state_has_been_counted_by_that_one() -> None:
    assert loss_of(STATE, Before("second", 9, 100, 2)) == Loss()


def test_a_state_that_a_runtime_before_saved_loads_with_a_life_that_is_not_known() -> None:
    saved = SavedPe(job=7, pe=2, launch=3, taken=((ORIGIN, 70),))
    assert decoded(encoded(saved), "a state").took(ORIGIN) == Taken(70, Peer(3, ""))


def test_what_a_life_before_took_in_stays_in_states_until_its_sender_is_heard() -> None:
    saved = SavedPe(job=7, pe=2, launch=4, life="fourth", former=((ORIGIN, STATE),))
    found = decoded(encoded(saved), "a state")
    assert found.took(ORIGIN) == STATE
    assert found.took(Origin(9, 0, 0)) == Taken(0, Peer(4, "fourth"))
