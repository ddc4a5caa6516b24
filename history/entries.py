"""What is in the log, as values: facts seen, observations, decisions, and what is missing.

A `Place` says where a record is. Records that nobody can read are entries too, so that a reader can
say what it passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    DecisionRecord,
    Observation,
    ObservationsRecord,
)
from contracts.envelope import Envelope, MalformedRecord, from_headers
from contracts.facts import Fact, SyncCompleted
from contracts.topics import DECISIONS, TopicLayout
from services.chassis.log.bus import Partition, Record
from services.chassis.table.reading import decode

DECISION_PARTITIONS = f"{DECISIONS.suffix}/"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a record is: `<topic without prefix>/<partition>` and its offset."""

    partition: str
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A fact that watch-ingest published."""

    place: Place
    envelope: Envelope
    fact: Fact | SyncCompleted

    @property
    def time_s(self) -> float:
        """When it was published (unix seconds)."""
        return self.envelope.time_s


@dataclass(frozen=True, slots=True)
class Observed:
    """What an instance took in beside facts; several share a record, in order."""

    place: Place
    envelope: Envelope
    service: str
    instance: str
    start: str
    observation: Observation

    @property
    def time_s(self) -> float:
        """When it was published (unix seconds): at most a moment after it was made."""
        return self.envelope.time_s


@dataclass(frozen=True, slots=True)
class Decided:
    """What a service decided about one key, and what became of its effects.

    `job` is the name of the job that the key belongs to, or of the pool or node that it is.
    """

    place: Place
    envelope: Envelope
    decision: DecisionRecord
    namespace: str = ""
    job: str = ""

    @property
    def time_s(self) -> float:
        """The time that the core was given (unix seconds)."""
        return self.decision.now


@dataclass(frozen=True, slots=True)
class Unread:
    """A record that nobody can read, and why."""

    place: Place
    time_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that a partition does not have any more, or that were never written.

    `first` and `end` are offsets: those from `first` on, below `end`.
    """

    partition: str
    first: int
    end: int
    why: str
    time_s: float = 0.0

    @property
    def place(self) -> Place:
        """Where it begins."""
        return Place(self.partition, self.first)


Entry: TypeAlias = Seen | Observed | Decided | Unread | Gap
"""One step of a history."""


def partition_name(partition: Partition, prefix: str) -> str:
    """The name of a partition without the prefix, such as `resources/3`."""
    return f"{partition.topic.removeprefix(f'{prefix}.')}/{partition.number}"


def partition_named(name: str, layout: TopicLayout) -> Partition:
    """The partition of a name; the reverse of `partition_name`. Raises ValueError."""
    suffix, _, number = name.rpartition("/")
    return Partition(f"{layout.prefix}.{suffix}", int(number))


def entries_of(record: Record, prefix: str) -> Iterator[Entry]:
    """The entries of one record, in order: several for packed observations, else one."""
    place = Place(partition_name(record.partition, prefix), record.offset)
    try:
        if not place.partition.startswith(DECISION_PARTITIONS):
            found = decode(record)
            yield Seen(place, found.envelope, found.fact)
            return
        envelope = from_headers(record.headers)
        yield from _of_decision_topic(record, place, envelope)
    except MalformedRecord as problem:
        yield Unread(place, record.timestamp_s, str(problem))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        yield Unread(place, record.timestamp_s, f"{type(problem).__name__}: {problem}")


def _of_decision_topic(record: Record, place: Place, envelope: Envelope) -> Iterator[Entry]:
    value: Mapping[str, Any] = orjson.loads(record.value)
    if envelope.type == DECISION_TYPE:
        namespace, _, job = record.key.decode().partition("/")
        yield Decided(place, envelope, DecisionRecord.of_json(value), namespace, job)
    elif envelope.type == OBSERVATION_TYPE:
        packed = ObservationsRecord.of_json(value)
        for each in packed.observations:
            yield Observed(place, envelope, packed.service, packed.instance, packed.start, each)
    else:
        raise ValueError(f"no record of the decision topic has the type {envelope.type}")
