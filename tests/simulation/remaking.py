"""Makes decisions of simulated runs again, from what is in their logs."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from contracts.decisions import DECISION_TYPE, Observation, ObservationsRecord, Position
from contracts.envelope import from_headers
from contracts.topics import DECISIONS, PARTITIONS
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition, Record
from services.chassis.process.clock import SystemClock
from services.chassis.running.decision_log import decided_of
from services.chassis.running.replaying import Replica
from services.chassis.running.stage import Stage
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.table.table import Table
from services.fusion_backend.adapters.stage import stage_maker as fusion_backend_stage
from services.fusion_backend.settings import FusionBackendSettings
from services.hostpool_manager.adapters.stage import stage_maker as hostpool_manager_stage
from services.hostpool_manager.settings import HostpoolManagerSettings
from services.node_tainter.adapters.stage import stage_maker as node_tainter_stage
from services.pod_state_machine.adapters.stage import stage_maker as pod_state_machine_stage
from services.pod_state_machine.settings import PodStateMachineSettings
from tests.simulation.world import World

STAGES: Mapping[str, MakeStage] = {
    "fusion-backend": fusion_backend_stage(
        FusionBackendSettings(bundle_root=Path("nowhere"), bundle_store=Path("nowhere")),
        planner="inline",
    ),
    "hostpool-manager": hostpool_manager_stage(HostpoolManagerSettings(), in_threads=False),
    "node-tainter": node_tainter_stage(),
    "pod-state-machine": pod_state_machine_stage(PodStateMachineSettings()),
}

Start = tuple[str, str]
"""A service, and one start of it."""


@dataclass
class Log:
    """What a run left in its log: facts by partition, the rest by start."""

    facts: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    observations: dict[Start, dict[int, Observation]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    decisions: dict[Start, list[Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def starts(self, service: str) -> list[Start]:
        """The starts of a service that decided something."""
        return [start for start in self.decisions if start[0] == service]


@dataclass(frozen=True)
class Difference:
    """A decision that comes out otherwise than it was recorded, or whose snapshot does."""

    decision: Mapping[str, Any]
    found: Mapping[str, Any]


async def log_of(world: World) -> Log:
    """The log of a world, by partition and by start."""
    found = Log(defaultdict(list), defaultdict(dict), defaultdict(list))
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
            of_start = found.observations[packed.service, packed.start]
            of_start |= {each.number: each for each in packed.observations}
    for decisions in found.decisions.values():
        decisions.sort(key=_order)
    return found


def _order(decision: Mapping[str, Any]) -> tuple[int, int]:
    position = Position.of_json(decision["position"])
    return position.observation, position.facts


async def _decision_topic(world: World) -> list[Record]:
    partitions = [Partition(DECISIONS.name(), number) for number in range(PARTITIONS)]
    wanted = sum((await world.log.end_offsets(partitions)).values())
    found: list[Record] = []
    if wanted:
        async for batch in world.log.read(dict.fromkeys(partitions, 0)):
            found += batch
            if len(found) >= wanted:
                break
    return found


def replica_of(log: Log, start: Start) -> Replica:
    """The table and the stage of one start, to be made again as in a fresh process."""
    runtime = Runtime(
        service=start[0],
        bus=None,  # type: ignore[arg-type]
        kube=None,  # type: ignore[arg-type]
        clock=SystemClock(),
        random=random.Random(0),
        new_id=str,
    )

    def new_stage(table: Table) -> Stage[Any, Any, Any]:
        writer = Writer(None, table, now=runtime.clock.now)  # type: ignore[arg-type]
        return STAGES[start[0]](Wiring(table, writer, runtime, lambda _key: None))

    return Replica(new_stage, runtime.topics, log.facts, log.observations[start].values())


def made_again(log: Log, start: Start) -> Iterator[Difference | None]:
    """For each decision of a start, in order, whether it comes out otherwise.

    Raises ReplayFailed where records are missing.
    """
    replica = replica_of(log, start)
    for decision in log.decisions[start]:
        remade = replica.snapshot(decision["key"], Position.of_json(decision["position"]))
        again = replica.stage.decide(remade.snapshot, decision["now"])
        found = {
            "objects": orjson.loads(orjson.dumps(remade.objects.to_json())),
            "rules": dict(again.rules),
            "reason": again.reason,
            "decided": decided_of(again.effects).to_json(),
        }
        is_same = found == {name: decision[name] for name in found}
        yield None if is_same else Difference(decision, found)


def differences(log: Log, start: Start) -> list[Difference]:
    """The decisions of a start that come out otherwise. Raises ReplayFailed."""
    return [each for each in made_again(log, start) if each is not None]
