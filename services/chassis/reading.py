"""Reads facts: from where the newest complete resync began, record by record, for ever.

Decoding is here; what a fact changes is decided by `table.py`, and when a service may decide by
`restoring.py`. A record that cannot be read is counted, logged with its offset and skipped: the
next resync says it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from contracts.envelope import Envelope, MalformedRecord, from_headers
from contracts.facts import KINDS, Fact, FactType, SyncCompleted, fact_from_json
from contracts.topics import sync_group
from services.chassis.bus import Bus, Partition, Record
from services.chassis.log_lines import log_of
from services.chassis.metrics import Metrics

BATCH_RECORDS_MAX = 500


@dataclass(frozen=True, slots=True)
class Said:
    """One decoded record."""

    fact: Fact | SyncCompleted
    envelope: Envelope
    partition: Partition


def partitions_of_kinds(kinds: Iterable[str], prefix: str) -> dict[str, tuple[Partition, ...]]:
    """Where facts of each kind are told: every partition of its topic."""
    told: dict[str, tuple[Partition, ...]] = {}
    for kind in sorted(kinds):
        topic = KINDS[kind].topic
        name = topic.name(prefix)
        told[kind] = tuple(Partition(name, number) for number in range(topic.partitions))
    return told


def decode(record: Record) -> Said:
    """The fact of a record; raises MalformedRecord."""
    envelope = from_headers(record.headers)
    try:
        fact = fact_from_json(FactType(envelope.type), orjson.loads(record.value))
    except (KeyError, TypeError, ValueError) as problem:
        raise MalformedRecord(f"{type(problem).__name__}: {problem}") from problem
    return Said(fact, envelope, record.partition)


class FactReader:
    """Gives decoded batches of the partitions that tell of some kinds to `take`."""

    def __init__(
        self,
        bus: Bus,
        prefix: str,
        told: Mapping[str, Sequence[Partition]],
        take: Callable[[Sequence[Said]], Awaitable[None]],
        *,
        metrics: Metrics,
    ) -> None:
        self._bus = bus
        self._group = sync_group(prefix)
        self._kinds = frozenset(told)
        self._partitions = sorted({each for partitions in told.values() for each in partitions})
        self._take = take
        self._metrics = metrics
        self._log = log_of("reading")

    async def run(self) -> None:
        """Read for ever; an emptied log is simply waited for."""
        async for records in self._bus.read(await self._start(), batch_max=BATCH_RECORDS_MAX):
            said = [each for each in map(self._decoded, records) if each is not None]
            self._metrics.count("millrace_records_read_total", len(records))
            if said:
                await self._take(said)
            await asyncio.sleep(0)

    async def _start(self) -> dict[Partition, int]:
        """The newest complete resync, so that a restore costs what exists, not an old log."""
        committed = await self._bus.committed(self._group, self._partitions)
        start = {partition: offset or 0 for partition, offset in committed.items()}
        offsets = {f"{each.topic}/{each.number}": offset for each, offset in start.items()}
        self._log.info("reading_begins", offsets=offsets)
        return start

    def _decoded(self, record: Record) -> Said | None:
        first, _, rest = record.key.decode(errors="replace").partition("/")
        if (rest if first == "sync" else first) not in self._kinds:
            return None
        try:
            return decode(record)
        except MalformedRecord as problem:
            self._metrics.count("millrace_records_malformed_total")
            self._log.error(
                "record_malformed",
                topic=record.partition.topic,
                partition=record.partition.number,
                offset=record.offset,
                problem=str(problem),
            )
            return None
