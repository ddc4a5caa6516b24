"""How often a PE was launched that somebody deleted: what nobody looked at, the log says."""

from __future__ import annotations

import pytest

from contracts.facts import Fact, FactType
from services.chassis.table import Entry, Table
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.intake import INDEXES, JobKey, snapshot_of
from services.fusion_backend.core.numbering.records import Fusion
from services.fusion_backend.core.snapshot import KnownPlan
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from tests.builders import NAMESPACE, a_job, a_pe
from tests.unit.chassis.saying import RESOURCES_0, epoch, synced
from tests.unit.fusion_backend.lifecycle.test_children import PE, RECORD

INPUTS = PlanInputs("shop", 7, RECORD.generation, BundleSource("shop.sab"), Fusion.legacy())
LAUNCHED = a_pe("shop", PE.id).launched(4).at_version(5)


@pytest.fixture
def table() -> Table:
    """The table of a service that starts: it has replayed the Job, and looks at nothing yet."""
    table = Table(INDEXES)
    table.expect(dict.fromkeys(("Job", "ProcessingElement"), (RESOURCES_0,)))
    say(table, a_job("shop").entry())
    return table


def say(table: Table, entry: Entry, type_: FactType = FactType.ADDITION, version: int = 0) -> None:
    data = entry.data if type_ is FactType.ADDITION else None
    version = version or entry.resource_version
    place = entry.kind, entry.namespace, entry.name, entry.uid
    table.apply(Fact(type_, *place, version, epoch(), data=data), RESOURCES_0)


def launches(table: Table) -> dict[str, int]:
    """What fusion-backend knows when it has read the newest plan."""
    answers, key = Answers(), JobKey(NAMESPACE, "shop")
    answers.of("uid-shop").know("uid of the head", KnownPlan(RECORD, INPUTS, ""))
    return dict(snapshot_of(table, key, answers, width_max=9).launches)


def test_a_pe_that_was_deleted_before_anybody_looked_goes_on_from_its_last_launch(
    table: Table,
) -> None:
    say(table, LAUNCHED.entry())
    say(table, LAUNCHED.entry(), FactType.DELETION, version=6)
    assert launches(table) == {PE.name: 4}


def test_a_launch_that_was_said_in_one_breath_with_the_deletion_counts(table: Table) -> None:
    say(table, LAUNCHED.entry())
    say(table, LAUNCHED.launched(5).at_version(6).entry())
    say(table, LAUNCHED.entry(), FactType.DELETION, version=7)
    assert launches(table) == {PE.name: 5}


def test_launches_of_another_job_of_that_name_do_not_count(table: Table) -> None:
    former = LAUNCHED.orphaned().owned_by("Job", "shop", "uid of a former one")
    say(table, former.entry())
    say(table, former.entry(), FactType.DELETION, version=6)
    assert launches(table) == {}


def test_of_a_pe_that_a_list_found_missing_nothing_is_known(table: Table) -> None:
    """docs/limits.md: it begins with launch 1 again."""
    say(table, LAUNCHED.entry())
    table.apply(synced("ProcessingElement", at=epoch(2)), RESOURCES_0)
    assert launches(table) == {}
