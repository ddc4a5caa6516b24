"""Reads facts of this instance's partitions: from the newest complete resync on, for ever.

Decoding is here; what a fact changes is decided by `table.py`, and when a service may decide by
`restoring.py`. A record that cannot be read is counted, logged with its offset and skipped: the
next resync says it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from contracts.envelope import SCHEMA_VERSION, Envelope, MalformedRecord, from_headers
from contracts.facts import Fact, FactType, SyncCompleted, fact_from_json
from contracts.topics import sync_group
from contracts.unreadable import FACT_DEPTH_MAX, may_nest_deeper, too_deep
from services.chassis.log.bus import Bus, Partition, Record
from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.chassis.table.sharing import Sharing, Subscription

BATCH_RECORDS_MAX = 500
RECORD_DEPTH_MAX = FACT_DEPTH_MAX + 2
"""Levels of a record: those of a projection, and what is around it."""
_TYPES: Mapping[str, FactType] = {each.value: each for each in FactType}
"""An enum is slow to find its members."""


@dataclass(frozen=True, slots=True)
class FactRecord:
    """One decoded record; `appended_s` is when it was handed to the log (unix seconds)."""

    fact: Fact | SyncCompleted
    envelope: Envelope
    partition: Partition
    offset: int
    appended_s: float = 0.0


def kind_of(record: Record) -> str:
    """The kind of object that a record is about, by its key."""
    first, _, rest = record.key.decode(errors="replace").partition("/")
    return rest if first == "sync" else first


def decode(record: Record) -> FactRecord:
    """The fact of a record; raises MalformedRecord."""
    envelope = from_headers(record.headers)
    try:
        value, key = orjson.loads(record.value), record.key.decode()
    except ValueError as problem:
        raise MalformedRecord(f"{type(problem).__name__}: {problem}") from problem
    fact = fact_in(envelope.type, envelope.schema_version, key, value, record.value)
    return FactRecord(fact, envelope, record.partition, record.offset, record.timestamp_s)


def fact_in(
    type_: str, schema_version: str, key: str, value: Any, text: bytes
) -> Fact | SyncCompleted:
    """The fact that the parts of a record say; raises MalformedRecord.

    `type_` and `schema_version` are those of its envelope; `text` is the JSON of the value, or one
    that nests at least as deep.
    """
    if schema_version != SCHEMA_VERSION:
        raise MalformedRecord(f"schema version {schema_version} is not {SCHEMA_VERSION}")
    try:
        fact = fact_from_json(_TYPES.get(type_) or FactType(type_), value)
        is_misplaced = fact.key != key
    except Exception as problem:  # a record of a stranger may hold anything, and concerns itself
        raise MalformedRecord(f"{type(problem).__name__}: {problem}") from problem
    if is_misplaced:
        raise MalformedRecord(f"its key is not that of its object, {fact.key}")
    if may_nest_deeper(text, RECORD_DEPTH_MAX) and too_deep(value, RECORD_DEPTH_MAX, ""):
        raise MalformedRecord(f"it nests more than {RECORD_DEPTH_MAX} levels deep")
    return fact


class FactReader:
    """Gives decoded batches of this instance's partitions to `take`.

    `assign` gets the new subscription before any of its records is read, and `begin` the offsets
    from which new partitions are read. What stays is read on where it was; what is new is read from
    the newest complete resync.
    `catch_up` gets each new partition when all records that it had at the start were taken.
    """

    def __init__(
        self,
        bus: Bus,
        prefix: str,
        sharing: Sharing,
        *,
        take: Callable[[Sequence[FactRecord]], Awaitable[None]],
        assign: Callable[[Subscription], None],
        begin: Callable[[Mapping[Partition, int]], None],
        catch_up: Callable[[Partition], None],
        metrics: Metrics,
    ) -> None:
        self._bus = bus
        self._sync_group = sync_group(prefix)
        self._sharing = sharing
        self._kinds = frozenset(sharing.subscription(frozenset()))
        self._positions: dict[Partition, int] = {}
        self._take = take
        self._assign = assign
        self._begin_at = begin
        self._catch_up = catch_up
        self._ends: dict[Partition, int] = {}
        self._metrics = metrics
        self._log = log_of("reading")

    async def run(self) -> None:
        """Read for ever; an emptied log is simply waited for."""
        if not self._sharing.topics:
            await self._read(self._sharing.subscription(frozenset()))
            return
        assignments = self._bus.assignment(self._sharing.group, self._sharing.topics)
        async with asyncio.TaskGroup() as group:
            reading: asyncio.Task[None] | None = None
            async for assigned in assignments:
                if reading is not None:
                    await _ended(reading)
                subscription = self._sharing.subscription(assigned)
                self._forget_all_but(assigned)
                self._assign(subscription)
                reading = group.create_task(self._read(subscription))

    async def _read(self, subscription: Subscription) -> None:
        await self._begin({each for partitions in subscription.values() for each in partitions})
        async for records in self._bus.read(dict(self._positions), batch_max=BATCH_RECORDS_MAX):
            decoded = [each for each in map(self._decoded, records) if each is not None]
            self._metrics.count("millrace_records_read_total", len(records))
            if decoded:
                await self._take(decoded)
            for record in records:
                self._positions[record.partition] = record.offset + 1
            self._note_caught_up()
            await asyncio.sleep(0)

    async def catch_up_again(self) -> None:
        """Tell `catch_up` once more, when all that the partitions hold now was taken."""
        ends = await self._bus.end_offsets(sorted(self._positions))
        self._ends |= {each: end for each, end in ends.items() if each in self._positions}
        self._note_caught_up()

    async def _begin(self, partitions: set[Partition]) -> None:
        """What is new begins at the newest complete resync: a restore costs what exists."""
        new = sorted(partitions - self._positions.keys())
        committed = await self._bus.committed(self._sync_group, new) if new else {}
        ends = await self._bus.end_offsets(new) if new else {}
        start = {partition: offset or 0 for partition, offset in committed.items()}
        offsets = {f"{each.topic}/{each.number}": offset for each, offset in start.items()}
        self._log.info("reading_begins", offsets=offsets, read_on=len(self._positions))
        self._begin_at(start)
        self._positions |= start
        self._ends |= ends
        self._note_caught_up()

    def _note_caught_up(self) -> None:
        """Say which partitions were read to where they ended when their reading began."""
        for partition, end in list(self._ends.items()):
            if self._positions[partition] >= end:
                del self._ends[partition]
                self._catch_up(partition)

    def _forget_all_but(self, assigned: frozenset[Partition]) -> None:
        """A partition that is assigned again is read from the start: its entries left the table."""
        for partition in [*self._positions]:
            if self._sharing.is_shared(partition) and partition not in assigned:
                del self._positions[partition]
                self._ends.pop(partition, None)

    def _decoded(self, record: Record) -> FactRecord | None:
        if kind_of(record) not in self._kinds:
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


async def _ended(reading: asyncio.Task[None]) -> None:
    """Cancel a reader; what it has read it has given away, and its positions say so."""
    reading.cancel()
    await asyncio.wait({reading})
