"""Refusals name operators: hostpool-manager knows numbers, and people do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.showing import SHOWN_VALUE_CHARS_MAX
from planner.numbering.records import PlanRecord
from services.fusion_backend.core.naming_pes import (
    OPERATORS_NAMED_MAX,
    PES_NAMED_MAX,
    with_operators,
)
from tests.unit.fusion_backend.hosted_world import HostedWorld, hosted
from tests.unit.fusion_backend.shop import APART, IN_POOL
from tests.unit.fusion_backend.test_children import PE, RECORD
from tests.unit.fusion_backend.world import JOB

CLASH = "PE 2 and PE 5 must be together, and must not be; PE 2 came first"
NAMED = "PE 2 ('Counted[0]') and PE 5 ('Counted[1]') must be together, and must not be; PE 2 came"


class Clashing(HostedWorld):
    """Its PEs have no placement, and hostpool-manager says so by their numbers."""

    def answer_to(self, spec: dict[str, object]) -> dict[str, object]:
        """The same as ever, in other words."""
        answer = super().answer_to(spec)
        return answer | {"message": CLASH} if answer["phase"] == "Refused" else answer


def record(*operators: tuple[str, ...]) -> PlanRecord:
    pes = tuple(replace(PE, id=number, operators=each) for number, each in enumerate(operators))
    return replace(RECORD, pes=pes)


def test_a_job_that_fails_is_reported_the_operators_everywhere() -> None:
    world = Clashing(counting=1)
    world.converge()
    status = world.status()
    assert status["phase"] == "Failed"
    told = [status["message"], world.condition("Placed")["message"], world.events[-1][1]]
    assert all(each.startswith(NAMED) for each in told)


def test_a_job_that_waits_is_reported_the_operators_as_well() -> None:
    world = Clashing(counting=1, submissionTimeOutInSeconds=60)
    world.waits = True
    world.converge()
    assert world.status()["message"].startswith(f"waits for capacity: {NAMED}")
    world.now += 60
    world.converge()
    assert NAMED in world.status()["message"]


def test_the_region_of_a_refused_width_names_operators() -> None:
    world = Clashing()
    world.converge()
    world.resize(0, 5)
    world.converge()
    status = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert NAMED in status["message"]
    assert NAMED in status["conditions"][0]["message"]


def test_a_job_that_the_planner_refuses_for_its_constraints_is_not_placed() -> None:
    world = HostedWorld(asking=IN_POOL + '<coLocation colocId="C"/>' + APART)
    world.converge()
    status, placed = world.status(), world.condition("Placed")
    assert (status["phase"], status["reason"]) == ("Failed", "ConstraintsContradict")
    assert (placed["status"], placed["reason"]) == ("False", "ConstraintsContradict")
    assert "'Counted[0]' and 'Counted[1]'" in placed["message"]
    assert world.condition("Fused")["status"] == "False"


def test_a_number_that_stands_again_is_not_explained_again() -> None:
    told = with_operators("PE 0 clashes with PE 1, so PE 0 waits", record(("a",), ("b",)))
    assert told == "PE 0 ('a') clashes with PE 1 ('b'), so PE 0 waits"


@pytest.mark.parametrize("text", ["no node", "PEs that are apart", "PE 77 is of no plan", "PE x"])
def test_what_names_no_pe_of_the_plan_stays_as_it_is(text: str) -> None:
    assert with_operators(text, record(("a",))) == text


def test_a_message_stays_bounded_whatever_it_names() -> None:
    many = record(*[tuple(f"{'x' * 999}{n}" for n in range(99))] * 99)
    text = " ".join(f"PE {number}" for number in range(99))
    told = with_operators(text, many)
    assert told.count("and 96 more") == PES_NAMED_MAX
    names = PES_NAMED_MAX * OPERATORS_NAMED_MAX
    assert len(told) - len(text) < names * (SHOWN_VALUE_CHARS_MAX + 30)


def test_a_job_in_force_says_which_operators_have_lost_their_place() -> None:
    world = hosted()
    world.counting = 1
    world.ask_again()
    status = world.objects["Placement", JOB]["status"]
    status["message"] = "PE 2 finds no place"
    world.converge()
    assert world.condition("Placed")["message"] == "PE 2 ('Counted[0]') finds no place"
