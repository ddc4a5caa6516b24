"""Appends to Kafka: idempotent, acknowledged by all replicas, nothing lingers, in order.

1. The records of one call go out as whole batches, partition by partition; partitions side by side.
2. One batch of a partition is in flight at a time. The call that waits for it holds the partition's
   lock, so what follows in a partition never overtakes what went before.
3. While the brokers are away a batch is tried again without end: its producer id and sequence let
   the broker drop what it has already. So an absence loses nothing and repeats nothing.
4. What fails otherwise ends the producer: a lost batch leaves a hole in its sequence, and brokers
   refuse what comes after a hole. The caller gets Transient (the batch may be in the log: appending
   it again is at-least-once) or LogRefused, and the next batch gets a new producer.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceNumber,
    ProducerClosed,
    ProducerFenced,
    UnknownProducerId,
)
from aiokafka.producer.message_accumulator import BatchBuilder

from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.kafka_connecting import Brokers, LogClosed, may_pass, stopped
from services.chassis.log.kafka_rights import LACKING, Kind, Operation, Right, RightMissing
from services.chassis.process.errors import LogRefused, Transient

BATCH_BYTES_MAX = 512 * 1024
RECORD_BYTES_MAX = 4 * 1024 * 1024
CLOSE_S_MAX = 5.0

_LOST_ITS_PLACE = (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    UnknownProducerId,
)
"""A new producer can go on where this one cannot."""


class KafkaProducing:
    """The producer of one log; `now` gives timestamps (unix seconds)."""

    def __init__(self, brokers: Brokers, *, now: Callable[[], float]) -> None:
        self._brokers = brokers
        self._now = now
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._locks: defaultdict[Partition, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def append(self, records: Sequence[NewRecord]) -> None:
        """Append in order within each partition; raises Transient or LogRefused."""
        by_partition: dict[Partition, list[NewRecord]] = defaultdict(list)
        for record in records:
            by_partition[record.partition].append(record)
        lines = [self._append_to(partition, line) for partition, line in by_partition.items()]
        if len(lines) == 1:
            await lines[0]
            return
        for outcome in await asyncio.gather(*lines, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def close(self) -> None:
        """Wait a little for what is in flight."""
        self._closed = True
        if self._producer is not None:
            self._end(self._producer)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _append_to(self, partition: Partition, records: Sequence[NewRecord]) -> None:
        async with self._locks[partition]:
            appended = 0
            while appended < len(records):
                producer = await self._connected(partition.topic)
                batch = self._batch_of(producer, records, appended)
                try:
                    await self._deliver(producer, batch, partition)
                except ProducerClosed:
                    continue  # another partition ended it before this batch was taken
                appended += batch.record_count()

    def _batch_of(
        self, producer: AIOKafkaProducer, records: Sequence[NewRecord], first: int
    ) -> BatchBuilder:
        """The records from `first` on that fit into one batch, at least one."""
        batch = producer.create_batch()
        at_ms = int(self._now() * 1000)
        for record in records[first:]:
            added = batch.append(
                timestamp=at_ms, key=record.key, value=record.value, headers=[*record.headers]
            )
            if added is None:
                break
        batch.close()
        if batch.size() > RECORD_BYTES_MAX:
            raise LogRefused(
                f"a record of {batch.size()} bytes for {records[first].partition.topic} is larger "
                f"than {RECORD_BYTES_MAX} bytes; its key is {records[first].key!r}"
            )
        return batch

    async def _deliver(
        self, producer: AIOKafkaProducer, batch: BatchBuilder, partition: Partition
    ) -> None:
        try:
            await (await self._enqueued(producer, batch, partition))
        except ProducerClosed:
            raise
        except KafkaError as problem:
            self._end(producer)
            where = f"{partition.topic}/{partition.number}"
            if isinstance(problem, LACKING):
                right = Right(Operation.WRITE, Kind.TOPIC, partition.topic)
                raise self._brokers.refusal(f"a batch for {where}", right) from problem
            if may_pass(problem) or isinstance(problem, _LOST_ITS_PLACE):
                raise Transient(f"appending to {where} failed: {problem}") from problem
            raise LogRefused(f"Kafka refused a batch for {where}: {problem}") from problem

    async def _enqueued(
        self, producer: AIOKafkaProducer, batch: BatchBuilder, partition: Partition
    ) -> Awaitable[object]:
        while True:
            try:
                delivery: Awaitable[object] = await producer.send_batch(
                    batch, partition.topic, partition=partition.number
                )
            except KafkaTimeoutError:
                continue  # a batch that nobody waits for any more is still before us
            return delivery

    async def _connected(self, topic: str) -> AIOKafkaProducer:
        async with self._connecting:
            if self._closed:
                raise LogClosed(self._brokers.servers)
            if self._producer is None:
                self._producer = await self._brokers.persist(
                    "a producer", lambda: self._started(topic)
                )
            return self._producer

    async def _started(self, topic: str) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **self._brokers.options,
            enable_idempotence=True,
            acks="all",
            linger_ms=0,
            max_batch_size=BATCH_BYTES_MAX,
            max_request_size=RECORD_BYTES_MAX,
        )
        try:
            await producer.start()
        except LACKING:  # who may write no topic at all gets no id of a producer
            await stopped(producer)
            raise RightMissing(Right(Operation.WRITE, Kind.TOPIC, topic)) from None
        except BaseException:
            await stopped(producer)
            raise
        return producer

    def _end(self, producer: AIOKafkaProducer) -> None:
        """Let the batches of other partitions that are in flight come to an end."""
        if self._producer is producer:
            self._producer = None
        task = asyncio.ensure_future(_stopped(producer))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


async def _stopped(producer: AIOKafkaProducer) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S_MAX):
            await stopped(producer)
