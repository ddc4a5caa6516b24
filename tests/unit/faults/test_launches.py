"""Which numbers of launches are right after a fault: neither one more nor one less."""

from __future__ import annotations

from tests.e2e.launches import Demand, demanded, surplus

FIRST = {"j-0": "a", "j-1": "b"}
CHANGED = {"j-0": "a", "j-1": "c", "j-2": "d"}
AGAIN = {"j-0": "a", "j-1": "e", "j-2": "f"}


def test_a_pe_that_no_plan_changed_has_one_launch() -> None:
    assert demanded({0: FIRST}, ran_at=0) == {"j-0": Demand(1, 1), "j-1": Demand(1, 1)}


def test_one_change_asks_for_exactly_one_launch_more() -> None:
    demand = demanded({0: FIRST, 1: CHANGED}, ran_at=0)
    assert demand == {"j-0": Demand(1, 1), "j-1": Demand(2, 2), "j-2": Demand(1, 1)}


def test_several_changes_may_coalesce_into_one_launch() -> None:
    demand = demanded({0: FIRST, 1: CHANGED, 2: AGAIN}, ran_at=0)
    assert demand == {"j-0": Demand(1, 1), "j-1": Demand(2, 3), "j-2": Demand(1, 2)}


def test_a_change_that_was_taken_back_may_go_unnoticed() -> None:
    demand = demanded({0: FIRST, 1: CHANGED, 2: FIRST}, ran_at=0)
    assert demand["j-1"] == Demand(1, 3)


def test_a_generation_that_nobody_saw_may_have_changed_everything() -> None:
    """Two generations on, the same content may have come and gone."""
    assert demanded({0: FIRST, 2: FIRST}, ran_at=0)["j-0"] == Demand(1, 3)


def test_a_launch_too_many_is_reported_and_so_is_one_too_few() -> None:
    demand = demanded({0: FIRST, 1: CHANGED}, ran_at=0)
    assert not surplus(demand, {"j-0": 1, "j-1": 2, "j-2": 1})
    assert surplus(demand, {"j-0": 2, "j-1": 1, "j-2": 1}) == {
        "j-0": "2 launches, not 1 to 1",
        "j-1": "1 launches, not 2 to 2",
    }
