"""Makes decisions of simulated runs again, from what is in their logs, as `history/` does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from contracts.decisions import Observation, ObservationsRecord
from contracts.topics import DECISIONS, TopicLayout
from history.comparing import Verdict
from history.entries import Decided, Observed, entries_of, partition_name
from history.replaying import Step, Wanted, replayed
from history.sources import Bounds
from services.chassis.log.bus import Partition, Record
from services.roster import DECIDING
from tests.simulation.world import World

STAGES = DECIDING
Start = tuple[str, str]
"""A service, and one start of it."""


@dataclass
class Log:
    """What a run left in its log, by `<topic without prefix>/<partition>`: a source of history."""

    records: dict[str, list[Record]] = field(default_factory=dict)

    @property
    def layout(self) -> TopicLayout:
        """The names and sizes of the topics."""
        return TopicLayout()

    async def bounds(self) -> Mapping[str, Bounds]:
        """What each partition has."""
        return {
            name: Bounds(records[0].offset, records[-1].offset + 1) if records else Bounds(0, 0)
            for name, records in self.records.items()
        }

    async def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of a partition, from an offset on, below `end`."""
        records = self.records[partition]
        for at in range(0, len(records), 100):
            batch = [
                each
                for each in records[at : at + 100]
                if first <= each.offset and (end is None or each.offset < end)
            ]
            if batch:
                yield batch

    async def synced(self) -> Mapping[str, int]:
        """Nothing: a replay does not ask."""
        return {}

    def decisions(self, start: Start) -> list[Decided]:
        """What a start decided, in the order of its positions."""
        found = [
            entry
            for entry in self._decision_topic()
            if isinstance(entry, Decided)
            and (entry.decision.service, entry.decision.position.start) == start
        ]
        return sorted(found, key=_order)

    def observations(self, start: Start) -> dict[int, Observation]:
        """What a start observed, by number."""
        return {
            entry.observation.number: entry.observation
            for entry in self._decision_topic()
            if isinstance(entry, Observed) and (entry.service, entry.start) == start
        }

    def starts(self, service: str) -> list[Start]:
        """The starts of a service that decided something, in order."""
        found = [
            entry.decision
            for entry in self._decision_topic()
            if isinstance(entry, Decided) and entry.decision.service == service
        ]
        first: dict[str, float] = {}
        for each in found:
            start = each.position.start
            first[start] = min(each.now, first.get(start, each.now))
        return [(service, start) for start in sorted(first, key=lambda each: first[each])]

    def _decision_topic(self) -> list[object]:
        return [
            entry
            for name, records in self.records.items()
            if name.startswith(DECISIONS.suffix)
            for record in records
            for entry in entries_of(record, self.layout.prefix)
        ]


def edited(log: Log, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Log:
    """A log in which decisions and packed observations are changed; both as JSON."""
    return Log(
        {
            name: [
                replace(each, value=orjson.dumps(change(orjson.loads(each.value))))
                for each in records
            ]
            if name.startswith(DECISIONS.suffix)
            else records
            for name, records in log.records.items()
        }
    )


def with_observations(
    log: Log, start: Start, change: Callable[[Observation], Observation | None]
) -> Log:
    """A log in which a start made other observations; None: it was dropped."""

    def of(value: dict[str, Any]) -> dict[str, Any]:
        if "observations" not in value or (value["service"], value["start"]) != start:
            return value
        packed = ObservationsRecord.of_json(value)
        changed = (change(each) for each in packed.observations)
        left = tuple(each for each in changed if each is not None)
        return replace(packed, observations=left).to_json()

    return edited(log, of)


def without(log: Log, start: Start, number: int) -> Log:
    """A log in which an observation was dropped."""
    return with_observations(log, start, lambda each: None if each.number == number else each)


def _order(entry: Decided) -> tuple[int, int]:
    position = entry.decision.position
    return position.observation, position.facts


async def log_of(world: World) -> Log:
    """The log of a world."""
    found = Log()
    for name, count in TopicLayout().counts().items():
        for number in range(count):
            partition = Partition(name, number)
            records = found.records[partition_name(partition, TopicLayout().prefix)] = []
            end = (await world.log.end_offsets([partition]))[partition]
            if end > (await world.log.start_offsets([partition]))[partition]:
                async with aclosing(world.log.read({partition: 0})) as batches:  # type: ignore[type-var]
                    async for batch in batches:
                        records += batch
                        if batch[-1].offset >= end - 1:
                            break
    return found


async def steps_of(log: Log, wanted: Wanted) -> list[Step]:
    """The wanted decisions of a log, made again."""
    async with replayed(log, wanted) as replay:
        return [step async for step in replay.steps()]


async def differing(log: Log, start: Start) -> list[Step]:
    """The decisions of a start that do not come out as they were recorded."""
    found = await steps_of(log, Wanted(service=start[0], has_changes=False))
    return [
        each
        for each in found
        if each.recorded.decision.position.start == start[1]
        and each.compared.verdict is not Verdict.EQUAL
    ]


def differences(log: Log, start: Start) -> list[Step]:
    """The same, where no event loop runs."""
    return asyncio.run(differing(log, start))
