"""Numbers that PEs and services have to agree on, and that stand in two places."""

from __future__ import annotations

from contracts.resources.fields import COUNT_MAX
from contracts.resources.hand_over import FormerHandOver, HandOver
from millrace import protocol


def test_a_pe_reports_no_more_tuples_than_its_status_takes() -> None:
    assert protocol.TUPLES_MAX == COUNT_MAX


def test_the_status_of_a_job_has_each_field_of_a_hand_over_that_pes_see() -> None:
    assert set(protocol.HandOver.__struct_fields__) <= set(HandOver.model_fields)
    assert set(FormerHandOver.model_fields) <= set(protocol.HandOver.__struct_fields__)
