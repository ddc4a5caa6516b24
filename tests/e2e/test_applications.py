"""The applications of these tests are what they say."""

from __future__ import annotations

import pytest

from contracts.bundle_format import BundleLimits, open_bundle
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from planner.planning import PlanResult
from tests.e2e.applications import REAL_ROW, REGIONS, nested, row_of_our_own
from tests.places import corpus
from tests.unit.planner.adl_writing import plan_of


def planned(bundle: bytes, fusion: Fusion, previous: PlanResult | None, *three: int) -> PlanResult:
    return plan_of(
        read_application(open_bundle(bundle, BundleLimits())),
        fusion,
        dict(zip(REGIONS, three, strict=True)),
        previous=None if previous is None else previous.record,
    )


@pytest.mark.corpus
@pytest.mark.parametrize("fusion", [Fusion.legacy(), Fusion.manual(3)])
def test_our_row_is_planned_as_the_real_one(fusion: Fusion) -> None:
    """The same PEs with the same operators, at submission and after a resize."""
    real, ours = corpus(REAL_ROW).read_bytes(), row_of_our_own()
    before = [planned(each, fusion, None, 2, 5, 4) for each in (real, ours)]
    after = [
        planned(each, fusion, first, 10, 5, 2)
        for each, first in zip((real, ours), before, strict=True)
    ]
    for real_plan, our_plan in (before, after):
        assert [(pe.id, pe.operators) for pe in our_plan.record.pes] == [
            (pe.id, pe.operators) for pe in real_plan.record.pes
        ]


def test_the_nested_application_has_channels_in_channels() -> None:
    """Two channels of g and two inner ones each: 4 operators outside, 2, and 4."""
    plan = plan_of(read_application(open_bundle(nested(), BundleLimits())), Fusion.legacy()).record
    assert len(plan.pes) == 4 + 2 + 4
    assert plan.widths == {"N": 2, "N.f": 2}
