"""When a report enters the status of its PE."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.resources import Connectivity
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import DropReport, Effect, SetReported
from services.pe_gateway.core.snapshot import Pe, PeKey, PeSnapshot, Report

PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2)
FULL = Report("uid", Connectivity.FULL, 2, "", at=100.0)
PARTIAL = replace(FULL, connectivity=Connectivity.PARTIAL)
DROP = DropReport("shop-3", "uid")


def decided(
    pe: Pe | None, report: Report | None, now: float = 101.0
) -> tuple[str, tuple[Effect, ...]]:
    """The rule that holds, and the effects."""
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), pe, report), now, settle_s=2.0)
    return decision.rules["report"], decision.effects


@pytest.mark.parametrize(
    ("pe", "report", "rule", "effects"),
    [
        (PE, None, "UNREPORTED", ()),
        (None, FULL, "PE_GONE", (DROP,)),
        (replace(PE, uid="another"), FULL, "PE_GONE", (DROP,)),
        (replace(PE, is_deleting=True), FULL, "PE_GONE", (DROP,)),
        (PE, replace(FULL, launch=1), "LAUNCHED_AGAIN", (DROP,)),
        (replace(PE, connectivity="Full"), replace(FULL, launch=3), "AHEAD", ()),
        (replace(PE, connectivity="Full"), FULL, "RECORDED", (DROP,)),
        (replace(PE, connectivity="None"), FULL, "OVERTAKEN", (DROP,)),
        (PE, PARTIAL, "UNSETTLED", ()),
        (PE, FULL, "REPORTED", (SetReported("shop-3", "uid", Connectivity.FULL),)),
        (
            replace(PE, launch=0),
            FULL,
            "REPORTED",
            (SetReported("shop-3", "uid", Connectivity.FULL),),
        ),
    ],
)
def test_the_first_rule_that_holds_decides(
    pe: Pe | None, report: Report | None, rule: str, effects: tuple[Effect, ...]
) -> None:
    assert decided(pe, report) == (rule, effects)


def test_a_report_of_fewer_connections_counts_when_it_has_settled() -> None:
    settled = SetReported("shop-3", "uid", Connectivity.PARTIAL)
    assert decided(PE, PARTIAL, now=102.0) == ("REPORTED", (settled,))
    decision = decide(PeSnapshot(PeKey("ns", "shop-3"), PE, PARTIAL), 101.0, settle_s=2.0)
    assert decision.requeue_at == 102.0
