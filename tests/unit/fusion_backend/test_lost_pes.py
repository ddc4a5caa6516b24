"""What people wrote into a child that somebody deleted: what nobody looked at, the log says."""

from __future__ import annotations

import pytest

from contracts.facts import Fact, FactType
from planner.numbering.records import Fusion
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.intake import INDEXES, JobKey, snapshot_of
from services.fusion_backend.core.effects import CreateChild
from services.fusion_backend.core.rendering import body_of
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES
from tests.builders import NAMESPACE, a_job, a_parallel_region, a_pe
from tests.unit.chassis.running.saying import RESOURCES_0, epoch, synced
from tests.unit.fusion_backend.test_children import PE, RECORD

INPUTS = PlanInputs("shop", 7, RECORD.generation, BundleSource("shop.sab"), Fusion.legacy())
REGION, WIDTH = f"shop-{RECORD.regions[0].index}", RECORD.regions[0].width
WIDER = a_parallel_region("shop", RECORD.regions[0].index, width=WIDTH + 4).at_generation(2)
LAUNCHED = a_pe("shop", PE.id).launched(4).at_version(5)


@pytest.fixture
def table() -> Table:
    """The table of a service that starts: it has replayed the Job, and looks at nothing yet."""
    table = Table(INDEXES)
    kinds = ("Job", "ProcessingElement", "ParallelRegion")
    table.expect(dict.fromkeys(kinds, (RESOURCES_0,)))
    say(table, a_job("shop").entry())
    return table


def say(table: Table, entry: Entry, type_: FactType = FactType.ADDITION, version: int = 0) -> None:
    data = entry.data if type_ is FactType.ADDITION else None
    version = version or entry.resource_version
    place = entry.kind, entry.namespace, entry.name, entry.uid
    table.apply(Fact(type_, *place, version, epoch(), data=data), RESOURCES_0)


def seen(table: Table) -> Snapshot:
    """What fusion-backend knows when it has read the newest plan."""
    answers, key = Answers(), JobKey(NAMESPACE, "shop")
    answers.of("uid-shop").know("uid of the head", KnownPlan(RECORD, INPUTS, ""))
    return snapshot_of(table, key, answers, width_max=9, pod_rules=DEFAULT_RULES)


def launches(table: Table) -> dict[str, int]:
    return dict(seen(table).launches)


def width_put_back(table: Table) -> int:
    """The width of the ParallelRegion that is made in the place of the one that is gone."""
    effect = CreateChild("ParallelRegion", REGION, RECORD.generation)
    return int(body_of(seen(table), effect)["spec"]["width"])


def test_a_pe_that_was_deleted_before_anybody_looked_goes_on_from_its_last_launch(
    table: Table,
) -> None:
    say(table, LAUNCHED.entry())
    say(table, LAUNCHED.entry(), FactType.DELETION, version=6)
    assert launches(table) == {PE.name: 4}


def test_a_launch_that_was_reported_in_one_breath_with_the_deletion_counts(table: Table) -> None:
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


def test_a_width_that_was_set_just_before_its_region_was_deleted_is_not_lost(table: Table) -> None:
    say(table, WIDER.entry())
    say(table, WIDER.entry(), FactType.DELETION, version=6)
    assert width_put_back(table) == WIDTH + 4


def test_a_region_whose_width_was_refused_comes_back_with_the_one_in_force(table: Table) -> None:
    refused = WIDER.with_status(observedGeneration=2, reason="WidthRefused")
    say(table, refused.entry())
    say(table, refused.entry(), FactType.DELETION, version=6)
    assert width_put_back(table) == WIDTH


def test_a_width_that_was_set_after_a_refusal_counts(table: Table) -> None:
    newer = WIDER.with_status(observedGeneration=1, reason="WidthRefused")
    say(table, newer.entry())
    say(table, newer.entry(), FactType.DELETION, version=6)
    assert width_put_back(table) == WIDTH + 4


def test_the_width_of_a_region_of_another_job_of_that_name_does_not_count(table: Table) -> None:
    former = WIDER.orphaned().owned_by("Job", "shop", "uid of a former one")
    say(table, former.entry())
    say(table, former.entry(), FactType.DELETION, version=6)
    assert width_put_back(table) == WIDTH


def test_a_region_that_a_list_found_missing_comes_back_with_the_width_in_force(
    table: Table,
) -> None:
    say(table, WIDER.entry())
    table.apply(synced("ParallelRegion", at=epoch(2)), RESOURCES_0)
    assert width_put_back(table) == WIDTH
