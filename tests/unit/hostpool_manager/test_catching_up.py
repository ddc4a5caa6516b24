"""Thousands of objects are read a little at a time, and count together when all are read."""

from __future__ import annotations

import asyncio

from services.chassis.process.metrics import Metrics
from services.chassis.table.table import Entry, Table
from services.hostpool_manager.adapters.intake import READ_AT_ONCE, JobKey, Knowledge
from services.hostpool_manager.adapters.stage import CatchingUp
from services.hostpool_manager.core.snapshot import Ref
from tests.builders import a_node, a_placement

SHOP = Ref("default", "shop")


def known(nodes: int) -> tuple[Knowledge, Entry]:
    """A placed job on the first of some nodes, and that node."""
    table = Table()
    table.on_observation = lambda _: None
    entries = [a_node(f"n{number:04}").entry() for number in range(nodes)]
    for entry in (*entries, a_placement({"n0000": "0"}).entry()):
        table.observe(
            entry.kind,
            entry.namespace,
            entry.name,
            uid=entry.uid,
            resource_version=1,
            data=entry.data,
        )
    return Knowledge(table, Metrics()), entries[0]


def test_the_old_view_counts_until_all_is_read_again() -> None:
    knowledge, node = known(2 * READ_AT_ONCE + 1)
    before = knowledge.view
    knowledge.forget()
    turns = 0
    while knowledge.read_some():
        turns += 1
        assert JobKey(*SHOP) in set(knowledge.keys_of(node)), "a change of the node queues its job"
    assert turns == 2, "the last one returned False"
    assert knowledge.view is not before
    assert len(knowledge.view.cluster) == 2 * READ_AT_ONCE + 1
    assert knowledge.view.placements.keys() == {SHOP}


def test_a_decision_during_the_reading_sees_all_objects() -> None:
    knowledge, _ = known(2 * READ_AT_ONCE)
    assert knowledge.read_some()
    assert len(knowledge.view.cluster) == 2 * READ_AT_ONCE
    assert not knowledge.read_some()


def test_an_object_that_changes_during_the_reading_is_read_as_well() -> None:
    knowledge, node = known(2 * READ_AT_ONCE)
    assert knowledge.read_some()
    knowledge.note(node)
    while knowledge.read_some():
        pass
    assert not knowledge.read_some()


async def test_other_tasks_run_in_between_and_all_callers_wait_for_one_reading() -> None:
    knowledge, _ = known(4 * READ_AT_ONCE)
    catching_up, turns = CatchingUp(knowledge), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await asyncio.gather(*(catching_up.run() for _ in range(3)))
    counting.cancel()
    assert 4 <= turns <= 12, "three that read at once would be done in a third of the turns"
    assert not knowledge.read_some()
