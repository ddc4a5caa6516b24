"""From facts to records: envelope, key, partition and value.

The partition of a fact is that of its job, so that everything about a job is in one order; what
concerns the whole cluster has one partition; a SyncCompleted goes to every partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.envelope import Envelope
from contracts.facts import KINDS, Epoch, FactType, SyncCompleted
from contracts.topics import Topic, TopicLayout, partition_of
from services.watch_ingest.core.publishing import Publication
from services.watch_ingest.service import ROW

SERVICE = ROW.name
_NO_TRACE = "0" * 32


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record before it is encoded: `value` is a JSON object."""

    topic: Topic
    partition: int
    key: str
    envelope: Envelope
    value: dict[str, object]


def fact_record(saying: Publication, now: float, topics: TopicLayout) -> Outgoing:
    """The record of a fact; its id is made of object, version, type and epoch."""
    fact = saying.fact
    topic = KINDS[fact.kind].topic
    partition = partition_of(fact.namespace, fact.job, topics.count(topic)) if topic.by_job else 0
    event_id = f"{fact.uid}@{fact.resource_version}/{fact.kind}/{_short(fact.type)}"
    return Outgoing(
        topic=topic,
        partition=partition,
        key=fact.key,
        envelope=Envelope(
            id=f"{event_id}/{_epoch(fact.epoch)}",
            source=SERVICE,
            type=fact.type.value,
            subject=fact.key,
            time_s=now,
            trace_id=saying.trace_id,
        ),
        value=fact.to_json(),
    )


def completion_records(completed: SyncCompleted, now: float, topics: TopicLayout) -> list[Outgoing]:
    """That a list is complete, for every partition of the kind's topic."""
    topic = KINDS[completed.kind].topic
    event_id = f"sync/{completed.kind}/{_epoch(completed.epoch)}/{completed.full}"
    return [
        Outgoing(
            topic=topic,
            partition=partition,
            key=completed.key,
            envelope=Envelope(
                id=f"{event_id}/{partition}/{now:.6f}",
                source=SERVICE,
                type=FactType.SYNC_COMPLETED.value,
                subject=completed.key,
                time_s=now,
                trace_id=_NO_TRACE,
            ),
            value=completed.to_json(),
        )
        for partition in range(topics.count(topic))
    ]


def _short(fact_type: FactType) -> str:
    return fact_type.value.rpartition(".")[2]


def _epoch(epoch: Epoch) -> str:
    return f"{epoch.incarnation}.{epoch.list_number}"
