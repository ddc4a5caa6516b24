"""A PE stands for a channel of a region if it has the channel's first operator, and no other's."""

from __future__ import annotations

from typing import Final

import pytest

from planner.numbering.records import Fusion, PlanRecord
from tests.unit.planner.adl_writing import Adl, plan_of

ISOLATED: Final = "channelIsolation"


def three_in_a_region(width: int) -> Adl:
    adl = Adl().operator("a", 0, 1).operator("N.f").operator("N.g").operator("N.h")
    adl.operator("z", 1, 0).chain("a", "N.f", "N.g", "N.h", "z")
    return adl.region("N", width)


def represented(record: PlanRecord, region: int) -> list[str]:
    """The first operators of the PEs that stand for a region."""
    return [pe.operators[0] for pe in record.pes if region in (pe.channel_of or ())]


@pytest.mark.parametrize("fusion", [Fusion.legacy(), Fusion.manual(5, ISOLATED)], ids=str)
def test_one_pe_stands_for_each_channel_however_many_it_has(fusion: Fusion) -> None:
    record = plan_of(three_in_a_region(3), fusion).record
    assert represented(record, 0) == ["N[0].f", "N[1].f", "N[2].f"]


def test_a_pe_of_several_channels_stands_for_none() -> None:
    record = plan_of(three_in_a_region(3), Fusion.manual(2)).record
    assert len(represented(record, 0)) < 3
    assert represented(plan_of(three_in_a_region(3), Fusion.manual(1)).record, 0) == []


def test_a_resize_changes_neither_which_pes_stand_for_channels_that_stay() -> None:
    adl = three_in_a_region(2)
    first = plan_of(adl, Fusion.legacy()).record
    wider = plan_of(adl, Fusion.legacy(), widths={"N": 4}, previous=first).record
    before = {pe.id: pe.channel_of for pe in first.pes}
    after = {pe.id: pe.channel_of for pe in wider.pes}
    assert {pe: after[pe] for pe in before} == before
    assert len(represented(wider, 0)) == 4


@pytest.mark.parametrize("outer", [1, 3])
def test_an_inner_region_has_as_many_as_its_width_however_wide_the_outer_one_is(
    outer: int,
) -> None:
    adl = Adl().operator("a", 0, 1).operator("N.e").operator("N.f").operator("z", 1, 0)
    adl.chain("a", "N.e", "N.f", "z").region("N", outer).region("N.f", 2)
    record = plan_of(adl, Fusion.legacy()).record
    assert represented(record, 1) == ["N[0].f[0]", "N[0].f[1]"]
    assert len(represented(record, 0)) == outer
