"""Decisions on a Batch are made again, from a log that has a Job of its name beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from contracts.belonging import Root, root_named
from contracts.facts import Fact
from contracts.topics import PARTITIONS, RESOURCES
from history import replaying
from history.comparing import Verdict
from history.replaying import Wanted
from services.chassis.log.bus import Partition
from services.chassis.running.reconciling import StageRunner
from services.chassis.running.service import Service
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import Wiring
from services.chassis.table.entries import Entry, TableReading
from services.watch_ingest.core.publishing import Ledger
from tests.batch import BATCH, a_batch, batches
from tests.builders import Builder, a_job
from tests.simulation.remaking import log_of, steps_of
from tests.simulation.world import World
from tests.unit.chassis.running.saying import record, synced
from tests.unit.chassis.running.staging import (
    EVERYWHERE,
    Do,
    SmallStage,
    new_log,
    new_runtime,
    succeed,
)
from tests.unit.watch_ingest.test_publishing import EPOCH, say
from tests.virtual_time import virtually


class Planner(SmallStage):
    """Decides on Batches: one effect, with the number of their workers."""

    kinds = frozenset({BATCH})

    def all_keys(self, table: TableReading) -> Iterable[str]:
        return [each.name for each in table.of_kind(BATCH)]

    def snapshot(self, table: TableReading, key: str) -> tuple[str, Entry | None]:
        return key, table.get(BATCH, "default", key)

    def fence(self, table: TableReading, key: str) -> Hashable:
        return None

    def subject(self, key: str) -> tuple[str, str]:
        return "default", Root(BATCH, key).key


def plan(key: str, batch: Entry | None) -> Decision[Do]:
    workers = batch.data["spec"]["workers"] if batch is not None else 0
    return Decision((Do(key, workers),), "Planned")


def planner(wiring: Wiring) -> Planner:
    return Planner(wiring, plan, succeed, kinds=Planner.kinds)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rows of a Batch, and of the service that decides on it."""
    row = Service(name="small", settings="", permissions="", compose_port=1)

    def stage_of(*_: object) -> object:
        return lambda table: planner(cast(Wiring, SimpleNamespace(table=table)))

    monkeypatch.setattr(replaying, "stage_of", stage_of)
    monkeypatch.setattr(replaying, "DECIDING", ("small",))
    monkeypatch.setattr(replaying, "BY_NAME", {"small": row})
    with batches():
        yield


def facts(*builders: Builder) -> Sequence[Fact]:
    ledger = Ledger()
    return [each.fact for builder in builders for each in say(ledger, builder)]


@virtually
async def test_the_decisions_on_a_batch_come_out_as_they_were_made() -> None:
    log = await new_log()
    for fact in facts(
        a_job(), a_batch(), a_batch("other"), a_batch().at_version(2).with_spec(workers=5)
    ):
        number = root_named(fact.job).partition(fact.namespace, PARTITIONS)
        await log.produce([record(fact, Partition(RESOURCES.name(), number))])
    await log.produce([record(synced(BATCH, at=EPOCH), each) for each in EVERYWHERE])
    runtime = new_runtime(log)
    task = asyncio.create_task(StageRunner(planner, runtime).run())
    await asyncio.sleep(5.0)
    runtime.stopping.set()
    await task
    recorded = await log_of(cast(World, SimpleNamespace(log=log)))
    for root, key, workers in (("Batch/shop", "shop", 5), ("Batch/other", "other", 2)):
        steps = await steps_of(recorded, Wanted(namespace="default", job=root))
        assert {each.recorded.decision.key for each in steps} == {key}
        assert {each.compared.verdict for each in steps} == {Verdict.EQUAL}
        assert steps[-1].again is not None
        assert steps[-1].again.snapshot[1].data["spec"]["workers"] == workers
    assert await steps_of(recorded, Wanted(namespace="default", job="shop")) == []
