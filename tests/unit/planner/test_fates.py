"""What a resize does to PEs and operators, and why."""

from __future__ import annotations

from planner.drafting import draft
from planner.fates import Fate, Fates, fates_of
from planner.numbering.records import Fusion
from planner.planning import settle
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.test_region_rules import read


def fates(adl: Adl, fusion: Fusion, region: str, width: int) -> Fates:
    """The fates after a resize of the one region of an application."""

    def keep(*_: object) -> None:
        pass

    first = PlanRequest(read(adl.text()), "digest", "job", 0, fusion)
    _, before = settle(draft(first), keep)
    second = PlanRequest(
        first.application,
        "digest",
        "job",
        0,
        fusion,
        generation=2,
        widths={region: width},
        previous=before.record,
    )
    drafted, after = settle(draft(second), keep)
    return fates_of(before.record, drafted, after.record)


def of_pes(found: Fates) -> dict[int, tuple[Fate, str]]:
    return {pe: (each.fate, "; ".join(each.why)) for pe, each in found.pes.items()}


def test_a_wider_region_adds_pes_and_restarts_those_beside_it() -> None:
    chain = Adl().chain("far", "a", "f", "z").region("f", 2)
    found = fates(chain, Fusion.legacy(), "f", 3)
    assert of_pes(found) == {
        0: (Fate.STAYS, "nothing of it changes"),
        1: (Fate.RESTARTS, "a is connected with f, whose width goes from 2 to 3"),
        2: (Fate.RESTARTS, "f[0] is in f, whose width goes from 2 to 3"),
        3: (Fate.RESTARTS, "z is connected with f, whose width goes from 2 to 3"),
        4: (Fate.RESTARTS, "f[1] is in f, whose width goes from 2 to 3"),
        5: (Fate.NEW, "f[2] is new"),
    }


def test_a_narrower_region_says_which_pes_and_operators_are_gone() -> None:
    found = fates(Adl().chain("a", "f", "z").region("f", 3), Fusion.legacy(), "f", 2)
    assert of_pes(found)[4] == (Fate.GONE, "f[2] is removed")
    assert found.pes[4].operators == ("f[2]",)
    (gone,) = (each for each in found.operators if each.fate is Fate.GONE)
    assert (gone.name, gone.before, gone.after) == ("f[2]", 4, None)


def test_a_pe_that_gets_an_operator_says_which() -> None:
    """With one PE the new channel goes where all others are."""
    found = fates(Adl().chain("a", "f", "z").region("f", 2), Fusion.manual(1), "f", 3)
    (pe,) = found.pes.values()
    assert pe.fate is Fate.RESTARTS
    assert pe.why == (
        "f[2] is new",
        "f[0], f[1] are in f, whose width goes from 2 to 3",
        "a, z are connected with f, whose width goes from 2 to 3",
    )
    assert found.to_json()["operator"]["f[2]"] == {"index": 4, "fate": "new", "from": None, "to": 0}


def test_a_resize_to_the_width_in_force_leaves_everything_alone() -> None:
    found = fates(Adl().chain("a", "f", "z").region("f", 2), Fusion.legacy(), "f", 2)
    assert {each.fate for each in found.pes.values()} == {Fate.STAYS}
    assert {each.fate for each in found.operators} == {Fate.STAYS}
