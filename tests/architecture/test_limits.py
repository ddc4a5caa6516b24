"""Numbers that PEs and services have to agree on, which import nothing of one another."""

from __future__ import annotations

from contracts.resources import runtime_status
from millrace.runtime import noticing, reading_again
from services.fusion_backend.core import holding_up
from services.pe_gateway.core import reports


def test_a_pe_reports_no_more_names_than_its_status_takes() -> None:
    assert noticing.AWAITED_MAX == runtime_status.AWAITED_MAX
    assert reading_again.SOURCES_MAX == runtime_status.SOURCES_MAX


def test_a_pe_that_rests_says_so_as_often_as_the_services_expect() -> None:
    """Else one that waits is given up as silent, or a gateway that hears counts as deaf."""
    assert noticing.RESTS_S == holding_up.SILENT_S
    assert noticing.RESTS_S + noticing.RESTS_AGAIN_S <= reports.HEARS_S
