"""Fusion under constraints is what the specification's own words give, in both modes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.reasons import Reason
from planner.drafting import Draft, draft
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.constrained import by_chance
from tests.unit.planner.naive_fusing import NaiveFusion

SEEDS = 150
PES = (1, 2, 3, 4, 5, 7, 12)


def request_for(adl: Adl) -> PlanRequest:
    return PlanRequest(
        application=adl.application(),
        bundle_digest="digest",
        job_name="job",
        job_id=7,
        fusion=Fusion.legacy(),
        compat=True,
    )


def pes_of(drafted: Draft) -> list[list[int]]:
    return sorted(drafted.placed.values())


def manual(request: PlanRequest, pes: int) -> PlanRequest:
    return replace(request, fusion=Fusion.manual(pes))


def drafted(request: PlanRequest) -> Draft | PlanRefused:
    try:
        return draft(request)
    except PlanRefused as refused:
        return refused


@pytest.mark.parametrize("seed", range(SEEDS))
def test_pes_are_those_of_the_pseudo_code(seed: int) -> None:
    """Legacy, and manual N for some N; a plan that the default takes is the same one.

    As many PEs as there are operators are those of legacy.
    """
    request = request_for(by_chance(seed))
    legacy = drafted(request)
    if isinstance(legacy, PlanRefused):
        assert (legacy.code, legacy.field) == ("CDISR3200E", "jvmArguments")
        return
    naive = NaiveFusion(legacy.topology)
    assert pes_of(legacy) == naive.units
    assert len(draft(manual(request, len(naive.operators))).placed) == len(naive.units)
    for pes in PES:
        wanted = manual(request, pes)
        assert pes_of(draft(wanted)) == naive.packed(pes), pes
    by_default = drafted(replace(wanted, compat=False))
    if isinstance(by_default, PlanRefused):
        assert by_default.reason is Reason.CONSTRAINTS_CONTRADICT
    else:
        strict = NaiveFusion(legacy.topology, keeps_places=True)
        assert pes_of(by_default) == strict.packed(pes)
