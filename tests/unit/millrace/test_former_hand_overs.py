"""What a launch begins with, and which states stay, where former hand-overs are named."""

from __future__ import annotations

from millrace.runtime.choosing import (
    Await,
    Generations,
    Handed,
    Own,
    choose,
    not_begun,
    removable,
)
from tests.unit.millrace.test_choosing import (
    ME,
    NEW,
    OF_OTHERS,
    OTHERS,
    hand_over,
    state,
    states,
)


def test_seals_for_former_hand_overs_that_are_named_stay() -> None:
    names = states(
        "4/1 handover 2", "4/1 handover 3", "4/3 checkpoint 0", "4/3 checkpoint 1", "4/3 handover 6"
    )
    newest = hand_over(former=(hand_over(generation=3, pes={4: 1}, sealed={4: 1}),))
    assert removable(newest, ME, names) == states("4/1 handover 2")


def test_what_stands_for_a_seal_for_a_former_hand_over_stays() -> None:
    names = states("4/1 checkpoint 1", "4/1 checkpoint 2", "4/3 checkpoint 0", "4/3 checkpoint 1")
    newest = hand_over(**OTHERS, former=(hand_over(generation=3, pes={4: 1}, sealed={}),))
    assert removable(newest, ME, names) == states("4/1 checkpoint 1")


def test_a_launch_begins_with_the_hand_over_to_its_plan_behind_two_of_others() -> None:
    former = hand_over(generation=3, pes={4: 2}, sealed={4: 2})
    newest = hand_over(**OTHERS, former=(hand_over(**OTHERS | {"generation": 4}), former))
    seal = states("4/2 handover 3")
    plan = Generations(planned=3, in_force=5)
    assert choose(newest, ME, 3, seal, plan) == Handed(3, seal)
    begun = (*seal, *states("4/3 checkpoint 0"))
    assert choose(newest, ME, 4, begun, plan) == Own(state("4/3 checkpoint 0"), is_exact=False)


def test_a_new_pe_begins_with_the_hand_over_to_its_plan_behind_two_of_others() -> None:
    former = hand_over(generation=3, pes={2: 1}, sealed={2: 1})
    newest = hand_over(**OTHERS, former=(hand_over(**OTHERS | {"generation": 4}), former))
    plan = Generations(planned=3, in_force=5)
    assert choose(newest, ME, 1, (), plan) == Handed(3, states("2/1 handover 3"))
    assert choose(newest, ME, 1, (), Generations(0, 5)) == OF_OTHERS


def test_a_launch_that_is_named_begins_with_the_hand_over_to_its_plan_and_hands_over_itself() -> (
    None
):
    former = hand_over(generation=3, pes={4: 1}, sealed={4: 1})
    newest = hand_over(pes={4: 2, 2: 1}, sealed={}, complete=False, former=(former,))
    seal = states("4/1 handover 3")
    plan = Generations(planned=3, in_force=3)
    assert choose(newest, ME, 2, seal, plan) == Handed(3, seal)
    assert choose(newest, ME, 1, seal, plan) == Await(5)


def test_the_seal_of_a_launch_that_is_over_is_newer_than_what_it_began_with() -> None:
    """A PE has not begun since it sealed, and is gone in the next hand-over."""
    former = hand_over(generation=3, pes={2: 1}, sealed={2: 1})
    newest = hand_over(pes={2: 2, 4: 2}, sealed={4: 2}, gone=frozenset({2}), former=(former,))
    names = states("2/1 handover 3", "2/1 checkpoint 0", "4/2 handover 5")
    expected = Handed(5, states("4/2 handover 5"), states("2/1 handover 3"))
    assert choose(newest, ME, 3, names, NEW) == expected


def test_a_pe_has_not_begun_since_it_saved_nothing_but_its_seal_again() -> None:
    former = hand_over(generation=3, pes={2: 1}, sealed={2: 1})
    seals = states("2/1 handover 3", "2/2 handover 3")
    assert not_begun({2: 2, 6: 0}, former, seals) == {2, 6}
    begun = states("2/2 checkpoint 0")
    assert not_begun({2: 2}, former, (*seals, *begun)) == frozenset()
    assert not_begun({2: 1}, former, (*seals, *begun)) == {2}, "that is a launch of later"
