"""What is looked up by the words of a path."""

from __future__ import annotations

from services.chassis.log.bus import Partition
from services.chassis.table.table import Table
from services.pe_gateway.adapters import intake
from services.pe_gateway.adapters.lookups import Lookups
from tests.builders import Builder, a_job


def table_of(*builders: Builder) -> Table:
    table = Table(intake.INDEXES)
    table.expect(dict.fromkeys(intake.KINDS, (Partition("millrace.cluster", 0),)))
    for builder in builders:
        entry = builder.entry()
        table.observe(
            *entry.ref, uid=entry.uid, resource_version=entry.resource_version, data=entry.data
        )
    return table


def test_a_job_is_found_by_its_id_beside_one_that_has_no_id_yet() -> None:
    table = table_of(a_job("new"), a_job("first").with_status(id=0))
    assert Lookups(table).job_name("default", 0) == "first"
