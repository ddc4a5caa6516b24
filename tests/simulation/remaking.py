"""Makes decisions of a simulated run again, from what is in its log."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from contracts.decisions import DECISION_TYPE, Observation, ObservationsRecord, Position
from contracts.envelope import from_headers
from contracts.topics import DECISIONS
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition, Record
from services.chassis.process.clock import SystemClock
from services.chassis.running.replaying import Replica
from services.chassis.running.stage import Stage
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.table.table import Table
from tests.simulation.world import World

Start = tuple[str, str]
"""A service, and one start of it."""


@dataclass
class Log:
    """What a run left in its log."""

    facts: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    observations: dict[Start, list[Observation]] = field(default_factory=lambda: defaultdict(list))
    decisions: dict[Start, list[Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )


async def log_of(world: World) -> Log:
    """The log of a world, by partition and by start."""
    found = Log()
    for record in await world.facts():
        suffix = record.partition.topic.removeprefix("millrace.")
        found.facts[f"{suffix}/{record.partition.number}"].append(record)
    for record in await _decision_topic(world):
        value = orjson.loads(record.value)
        if from_headers(record.headers).type == DECISION_TYPE:
            start = value["service"], value["position"]["start"]
            found.decisions[start].append(value)
        else:
            packed = ObservationsRecord.of_json(value)
            found.observations[packed.service, packed.start] += packed.observations
    for decisions in found.decisions.values():
        decisions.sort(key=_order)
    return found


def _order(decision: Mapping[str, Any]) -> tuple[int, int]:
    position = Position.of_json(decision["position"])
    return position.observation, sum(position.offsets.values())


async def _decision_topic(world: World) -> list[Record]:
    partitions = [Partition(DECISIONS.name(), number) for number in range(DECISIONS.partitions)]
    wanted = sum((await world.log.end_offsets(partitions)).values())
    found: list[Record] = []
    if wanted:
        async for batch in world.log.read(dict.fromkeys(partitions, 0)):
            found += batch
            if len(found) >= wanted:
                break
    return found


def replica_of(world: World, log: Log, start: Start, make_stage: MakeStage) -> Replica:
    """The table and the stage of one start, to be made again as in a fresh process."""
    runtime = Runtime(
        service=start[0],
        bus=world.log,
        kube=None,  # type: ignore[arg-type]
        clock=SystemClock(),
        random=random.Random(0),
        new_id=str,
    )

    def new_stage(table: Table) -> Stage[Any, Any, Any]:
        writer = Writer(None, table, now=runtime.clock.now)  # type: ignore[arg-type]
        return make_stage(Wiring(table, writer, runtime, lambda _key: None))

    return Replica(new_stage, "millrace", log.facts, log.observations[start])
