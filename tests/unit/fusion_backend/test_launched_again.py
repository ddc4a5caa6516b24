"""PEs that are launched again while they hand over: the next launch takes the place of the last."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.moments import moment_of
from tests.unit.fusion_backend.handing_over import SECONDS, listed_in, resized_to
from tests.unit.fusion_backend.world import JOB


def test_a_launch_in_the_middle_of_a_hand_over_takes_the_place_of_the_last_one() -> None:
    world = resized_to()
    pe, *others = listed_in(world)
    launch = world.launch_again(pe)
    world.converge()
    assert world.hand_over["pes"][str(pe)] == launch == 2
    assert world.hand_over["gone"] == []
    world.seal(*others)
    world.converge()
    assert not world.hand_over["complete"]
    world.seal(pe)
    world.converge()
    assert world.hand_over["complete"]
    assert world.hand_over["sealed"][str(pe)] == launch
    assert world.launches()[labels.pe_name(JOB, pe)] == launch + 1


@pytest.mark.parametrize(("backs_off_s", "gone"), [(1.0, False), (float(SECONDS), True)])
def test_a_pe_whose_restart_backs_off_is_waited_for_if_it_comes_in_time(
    backs_off_s: float, gone: bool
) -> None:
    """A drain took two of its pods within a second: its next launch takes what is on its way."""
    world = resized_to()
    pe = listed_in(world)[0]
    world.end(pe)
    element = world.objects["ProcessingElement", labels.pe_name(JOB, pe)]
    element["status"]["nextRestartTime"] = moment_of(world.now + backs_off_s)
    world.converge()
    assert world.hand_over["gone"] == ([pe] if gone else [])


def test_a_seal_is_recorded_before_the_next_launch_hides_it() -> None:
    world = resized_to()
    pe, *others = listed_in(world)
    world.seal(pe)
    element = world.objects["ProcessingElement", labels.pe_name(JOB, pe)]
    runtime = dict(element["status"]["runtime"])
    world.launch_again(pe)
    world.step()
    assert world.hand_over["sealed"] == {str(pe): runtime["launch"]}
    world.converge()
    world.seal(*others)
    world.converge()
    assert world.hand_over["complete"]
    assert world.hand_over["sealed"][str(pe)] == runtime["launch"]


def test_a_pe_that_is_launched_again_and_does_not_seal_has_its_time_as_any_other() -> None:
    world = resized_to()
    late, *others = listed_in(world)
    world.launch_again(late)
    world.seal(*others)
    world.converge()
    assert not world.hand_over["complete"]
    world.now += SECONDS
    world.converge()
    assert world.hand_over["gone"] == [late]
    assert world.status()["phase"] == "Submitted"


def test_a_pe_with_new_content_is_gone_for_the_hand_over_that_it_missed() -> None:
    """Somebody deleted it: it was made of the new plan, and its launch waits for the others."""
    world = resized_to()
    pe, *others = listed_in(world)
    element = world.objects["ProcessingElement", labels.pe_name(JOB, pe)]
    element["metadata"]["labels"][labels.GENERATION] = "1"
    world.launch_again(pe)
    world.seal(*others)
    world.converge()
    assert world.hand_over["gone"] == [pe]
    assert world.hand_over["complete"]
