"""A small stage whose decisions and effects a test writes, and a log full of facts to run it on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    Observation,
    ObservationsRecord,
)
from contracts.envelope import from_headers
from contracts.facts import Epoch, Fact, SyncCompleted
from contracts.topics import DECISIONS, PARTITIONS, RESOURCES, Topic, TopicLayout, sync_group
from services.chassis.kube.port import KubeClient, Response
from services.chassis.log.bus import Partition
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.clock import LoopClock
from services.chassis.running.decision_log import GATHER_S
from services.chassis.running.reconciling import StageRunner
from services.chassis.running.stage import Decision
from services.chassis.running.wiring import Runtime, Wiring
from services.chassis.table.entries import Change, Entry, Index, TableReading
from tests.unit.chassis.running.saying import RESOURCES_0, epoch, record, synced

EVERYWHERE = tuple(Partition(RESOURCES.name(), n) for n in range(PARTITIONS))


@dataclass(frozen=True)
class Do:
    """An effect."""

    name: str
    number: int = 0


CarryOut = Callable[[str, Do], Awaitable[str]]
Decide = Callable[[str, Entry | None], Decision[Do]]


async def succeed(_key: str, _effect: Do) -> str:
    return "done"


def idle(_key: str, _entry: Entry | None) -> Decision[Do]:
    return Decision((), "NothingToChange")


@dataclass
class SmallStage:
    """A key is the name of a Service; the fence is its `spec`."""

    wiring: Wiring
    on_decide: Decide
    on_carry_out: CarryOut
    decided: list[str] = field(default_factory=list)
    carried_out: list[Do] = field(default_factory=list)
    stalled: dict[str, str] = field(default_factory=dict)
    name: str = "small"
    kinds: frozenset[str] = frozenset({"Service"})
    indexes: Mapping[str, Index] = field(default_factory=dict)

    def keys(self, change: Change, table: TableReading) -> Iterable[str]:
        return [entry.name for entry in change.entries]

    def all_keys(self, table: TableReading) -> Iterable[str]:
        return [entry.name for entry in table.of_kind("Service")]

    def snapshot(self, table: TableReading, key: str) -> tuple[str, Entry | None]:
        entry = table.get("Service", "ns", key)
        if entry is not None and entry.data.get("poison"):
            raise ValueError("a bad object")
        return key, entry

    def decide(self, snapshot: tuple[str, Entry | None], now: float) -> Decision[Do]:
        self.decided.append(snapshot[0])
        return self.on_decide(*snapshot)

    def fence(self, table: TableReading, key: str) -> Hashable:
        entry = table.get("Service", "ns", key)
        return None if entry is None else entry.data.get("spec")

    async def carry_out(self, key: str, snapshot: object, effect: Do) -> str:
        outcome = await self.on_carry_out(key, effect)
        self.carried_out.append(effect)
        return outcome

    async def report_stalled(self, key: str, why: str, *, reason: str) -> None:
        if self.stalled.get(key, "") != why:
            self.stalled[key] = why

    def subject(self, key: str) -> tuple[str, str]:
        return "ns", "job"


class Nowhere:
    """A transport that nobody should use."""

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        raise AssertionError(f"{method} {path}")

    def stream(self, path: str, *, headers: Mapping[str, str], silence_s: float) -> object:
        raise AssertionError(path)


@dataclass
class Bench:
    """A stage, its log and what it decided."""

    log: MemoryLog
    runtime: Runtime
    runner: StageRunner
    stage: SmallStage

    async def say(self, *said: Fact | SyncCompleted, to: Partition = RESOURCES_0) -> None:
        """Append facts to a partition and let the stage take them in."""
        await self.log.produce([record(each, to) for each in said])
        await self.settle()

    async def sync(
        self, at: Epoch | None = None, *, full: bool = True, traced: bool = True
    ) -> None:
        """SyncCompleted in every partition; those of watch-ingest are of no trace."""
        trace_id = ("ab" if traced else "00") * 16
        end = synced(at=at or epoch(), full=full)
        await self.log.produce([record(end, each, trace_id=trace_id) for each in EVERYWHERE])
        await self.settle()

    async def settle(self, duration_s: float = 0.1) -> None:
        await asyncio.sleep(duration_s)

    def is_live(self) -> bool:
        """Whether the stage decides."""
        return self.runner.is_live

    def forget(self) -> None:
        """Begin counting again."""
        self.stage.decided.clear()
        self.stage.carried_out.clear()

    async def decisions(self) -> list[dict[str, Any]]:
        """The decision records published so far, in order."""
        return [value for type_, value in await self.published() if type_ == DECISION_TYPE]

    async def observations(self) -> list[Observation]:
        """The observations published so far, in order."""
        records = [value for type_, value in await self.published() if type_ == OBSERVATION_TYPE]
        return [
            observation
            for each in records
            for observation in ObservationsRecord.of_json(each).observations
        ]

    async def published(self) -> list[tuple[str, dict[str, Any]]]:
        """Type and value of each record on the decision topic, after those that gather."""
        await asyncio.sleep(GATHER_S)
        where = [Partition(DECISIONS.name(), n) for n in range(PARTITIONS)]
        ends = await self.log.end_offsets(where)
        wanted = sum(ends.values())
        found: list[tuple[str, dict[str, Any]]] = []
        if wanted:
            async for batch in self.log.read(dict.fromkeys(where, 0)):
                found += [
                    (from_headers(each.headers).type, orjson.loads(each.value)) for each in batch
                ]
                if len(found) >= wanted:
                    break
        return found


def new_runtime(
    log: MemoryLog, clock: LoopClock | None = None, *, shares: tuple[Topic, ...] = ()
) -> Runtime:
    ids = count()
    return Runtime(
        service="small",
        bus=log,
        kube=KubeClient(Nowhere(), "small"),  # type: ignore[arg-type]
        clock=clock or LoopClock(),
        random=random.Random(1),
        new_id=lambda: f"id-{next(ids)}",
        shares=shares,
    )


async def new_log(kind: type[MemoryLog] = MemoryLog) -> MemoryLog:
    """A log with every topic of the catalogue."""
    log = kind(now=LoopClock().now)
    await log.ensure_topics(TopicLayout().counts())
    return log


@asynccontextmanager
async def bench(
    decide: Decide = idle,
    carry_out: CarryOut = succeed,
    *,
    log: MemoryLog | None = None,
    clock: LoopClock | None = None,
    indexes: Mapping[str, Index] | None = None,
) -> AsyncIterator[Bench]:
    """Run a stage while the block lasts, then drain it."""
    log = log or await new_log()
    runtime = new_runtime(log, clock)
    runner = StageRunner(
        lambda wiring: SmallStage(wiring, decide, carry_out, indexes=indexes or {}), runtime
    )
    stage = runner.stage
    assert isinstance(stage, SmallStage)
    task = asyncio.create_task(runner.run())
    try:
        yield Bench(log, runtime, runner, stage)
    finally:
        runtime.stopping.set()
        await task


async def commit_resync(log: MemoryLog, offsets: Mapping[Partition, int]) -> None:
    """What watch-ingest does when a full resync is complete."""
    await log.commit(sync_group(), offsets)
