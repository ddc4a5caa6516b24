"""Reads partitions of Kafka from offsets on, without a group.

1. The offsets of the log are requested first: an offset outside of what the log keeps begins at the
   log's start.
2. An offset that falls out of the log later (retention overtook the reader, or the topic was made
   again and is still short) begins at the start as well.
3. A topic that was created again has another id, which is looked at every `IDENTITY_EVERY_S`: its
   partitions begin at the start, even where their new offsets have grown beyond ours. What was read
   in between is read once more.
4. The id is remembered beyond one reader (`TopicsRead`): after a rebalance the next one begins
   where the last one was, and while nobody read the topic may have been created again.

The identity is also how an idle reader finds out that the brokers are away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, MutableMapping, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    ConsumerStoppedError,
    KafkaError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import ConsumerRecord

from services.chassis.log.bus import Partition, Record
from services.chassis.log.kafka_connecting import Brokers, LogClosed, may_pass, stopped
from services.chassis.log.kafka_offsets import AT_END, AT_START, log_offsets, see_topics
from services.chassis.log.kafka_rights import Kind, Operation, Right
from services.chassis.process.errors import LogRefused
from services.chassis.process.log_lines import log_of

IDENTITY_EVERY_S = 1.0
FETCH_WAIT_S = 0.5
PARTITION_BYTES_MAX = 8 * 1024 * 1024
UNKNOWN_TOPIC = b""
"""The id of a topic that was not there when ids were requested: any other was created since."""

TopicIds = Mapping[str, bytes]
TopicsRead = MutableMapping[Partition, bytes]
"""The id of the topic from which each partition was last read: its offsets belong to it alone."""


class KafkaReading:
    """One reader; `batches` goes on until `close`."""

    def __init__(
        self, brokers: Brokers, start: Mapping[Partition, int], batch_max: int, read: TopicsRead
    ) -> None:
        self._brokers = brokers
        self._read = read
        self._start = dict(start)
        self._batch_max = batch_max
        self._partitions = {TopicPartition(each.topic, each.number): each for each in start}
        self._consumer: AIOKafkaConsumer | None = None
        self._identity: TopicIds = {}
        self._identified_at_s = 0.0
        self._closed = False
        self._log = log_of("kafka-reading")

    async def batches(self) -> AsyncGenerator[Sequence[Record], None]:
        """Batches of at most `batch_max` records, in order within each partition."""
        try:
            await self._begin()
            while not self._closed:
                await self._follow_identity()
                batch = await self._fetched()
                if batch:
                    for partition in {record.partition for record in batch}:
                        self._read[partition] = self._identity.get(partition.topic, UNKNOWN_TOPIC)
                    yield batch
        except LogClosed:
            return
        finally:
            await self.close()

    async def close(self) -> None:
        """End the reader; a batch that is waited for does not come."""
        self._closed = True
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stopped(consumer)

    # ------------------------------------------------------------------ where to begin

    async def _begin(self) -> None:
        """The identity comes first: a topic may be created again in between."""
        self._identity = await self._topic_ids()
        starts = await self._offsets(self._partitions.values(), AT_START)
        ends = await self._offsets(self._partitions.values(), AT_END)
        consumer = await self._brokers.persist("a reader", self._started)
        self._consumer = consumer
        consumer.assign(list(self._partitions))
        for there, partition in self._partitions.items():
            start, first = self._start[partition], starts[partition]
            is_there = first <= start <= ends[partition] and self._is_as_read(partition)
            consumer.seek(there, start if is_there else first)

    def _is_as_read(self, partition: Partition) -> bool:
        """Whether the start offset belongs to the topic that exists now."""
        topic_id = self._identity.get(partition.topic, UNKNOWN_TOPIC)
        return self._read.setdefault(partition, topic_id) == topic_id

    async def _restart(self, consumer: AIOKafkaConsumer, partitions: list[Partition]) -> None:
        self._log.warning(
            "log_begins_again", partitions=[f"{p.topic}/{p.number}" for p in partitions]
        )
        for partition, first in (await self._offsets(partitions, AT_START)).items():
            consumer.seek(TopicPartition(partition.topic, partition.number), first)

    async def _offsets(self, partitions: Iterable[Partition], at: int) -> dict[Partition, int]:
        requested = list(partitions)
        return await self._brokers.ask("offsets", lambda client: log_offsets(client, requested, at))

    async def _started(self) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            **self._brokers.options,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=int(FETCH_WAIT_S * 1000),
            max_partition_fetch_bytes=PARTITION_BYTES_MAX,
        )
        try:
            await consumer.start()
            await asyncio.sleep(0)  # its tasks must have begun, or it cannot be stopped
        except BaseException:
            await stopped(consumer)
            raise
        return consumer

    # ------------------------------------------------------------------ reading

    async def _fetched(self) -> list[Record]:
        consumer = self._consumer
        if consumer is None:
            return []
        try:
            found = await consumer.getmany(
                timeout_ms=int(IDENTITY_EVERY_S * 1000), max_records=self._batch_max
            )
        except OffsetOutOfRangeError as problem:
            await self._restart(consumer, [self._partitions[each] for each in problem.args[0]])
            return []
        except ConsumerStoppedError:
            return []
        except KafkaError as problem:
            if isinstance(problem, TopicAuthorizationFailedError):
                right = Right(Operation.READ, Kind.TOPIC, str(problem.args[0]))
                raise self._brokers.refusal("to be read", right) from problem
            if may_pass(problem):
                return []
            raise LogRefused(f"Kafka refused to be read: {problem}") from problem
        return [
            record_of(partition, each)
            for there, records in found.items()
            for partition in (self._partitions[there],)
            for each in records
        ]

    async def _follow_identity(self) -> None:
        if time.monotonic() - self._identified_at_s < IDENTITY_EVERY_S:
            return
        identity = await self._topic_ids()
        recreated = {
            topic for topic, was in self._identity.items() if identity.get(topic, was) != was
        }
        self._identity = {**self._identity, **identity}
        if recreated and self._consumer is not None:
            partitions = [each for each in self._partitions.values() if each.topic in recreated]
            await self._restart(self._consumer, partitions)

    async def _topic_ids(self) -> TopicIds:
        topics = {partition.topic for partition in self._partitions.values()}
        seen = await self._brokers.ask("topics", lambda client: see_topics(client, topics))
        self._identified_at_s = time.monotonic()
        return {name: topic.topic_id for name, topic in seen.items()}


def record_of(partition: Partition, found: ConsumerRecord) -> Record:
    """Any writer of a topic may leave key, value and headers out; our port knows no None."""
    headers = found.headers
    if any(value is None for _, value in headers):
        headers = tuple((name, value or b"") for name, value in headers)
    key, value = found.key or b"", found.value or b""
    return Record(partition, found.offset, found.timestamp / 1000, key, value, headers)
