"""Host pools and Placements of Jobs that are gone: all instances hear of them, one clears up."""

from __future__ import annotations

import pytest

from contracts.facts import Fact, FactType
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.fusion_backend.adapters.answers import Answers
from services.fusion_backend.adapters.intake import INDEXES, JobKey, snapshot_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import ConfirmJobGone, DeleteChildren
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES
from tests.builders import NAMESPACE, a_job
from tests.unit.chassis.running.saying import RESOURCES_0, epoch
from tests.unit.fusion_backend.hosted_world import PLACEMENT, HostedWorld
from tests.unit.fusion_backend.world import JOB

KEY = JobKey(NAMESPACE, JOB)
TOLD_TO_ALL = ("HostPool", "Placement")


@pytest.fixture
def waiting() -> tuple[Entry, ...]:
    """The Job that waits for its placement, and what exists of it."""
    world = HostedWorld()
    world.is_answered = False
    world.converge()
    assert PLACEMENT in world.objects
    snapshot = world.snapshot()
    children = [entry for kind in TOLD_TO_ALL for entry in snapshot.of(kind).values()]
    assert snapshot.job is not None
    return a_job(JOB).with_uid(snapshot.job.uid).entry(), *children


def table_of(*entries: Entry) -> Table:
    table = Table(INDEXES)
    table.expect(dict.fromkeys(("Job", *TOLD_TO_ALL), (RESOURCES_0,)))
    for entry in entries:
        table.apply(fact(FactType.ADDITION, entry), RESOURCES_0)
    return table


def fact(type_: FactType, entry: Entry) -> Fact:
    data = entry.data if type_ is FactType.ADDITION else None
    version = entry.resource_version + (type_ is FactType.DELETION)
    place = entry.kind, entry.namespace, entry.name, entry.uid
    return Fact(type_, *place, version, epoch(), data=data)


def deleted(table: Table) -> set[str]:
    """The kinds that are deleted by collection."""
    effects = decide(
        snapshot_of(table, KEY, Answers(), width_max=9, pod_rules=DEFAULT_RULES), 0.0
    ).effects
    assert all(isinstance(each, DeleteChildren | ConfirmJobGone) for each in effects)
    return {each.kind for each in effects if isinstance(each, DeleteChildren)}


def test_who_saw_a_job_go_that_waited_for_its_placement_clears_up(
    waiting: tuple[Entry, ...],
) -> None:
    table = table_of(*waiting)
    table.apply(fact(FactType.DELETION, waiting[0]), RESOURCES_0)
    assert deleted(table) == set(TOLD_TO_ALL)


def test_who_never_saw_the_job_leaves_them_to_another_instance(
    waiting: tuple[Entry, ...],
) -> None:
    assert deleted(table_of(*waiting[1:])) == set()


def test_who_saw_another_job_of_that_name_go_leaves_them_alone(
    waiting: tuple[Entry, ...],
) -> None:
    other = a_job(JOB).with_uid("uid of another").entry()
    table = table_of(other, *waiting[1:])
    table.apply(fact(FactType.DELETION, other), RESOURCES_0)
    assert deleted(table) == set()
