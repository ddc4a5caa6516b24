"""Kafka topics: a source that reads one, and a sink that writes one. Needs `millrace[kafka]`.

>>> orders = app.source(kafka.topic("orders", Order, servers="broker:9092"))
>>> totals.sink(kafka.writer("totals", servers="broker:9092", key="customer"))

The source keeps its own position, the next offset of each partition, as state of the operator. It
is in no consumer group. The channels of a parallel source share the partitions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeVar

import msgspec

from millrace.adapters.kinds import Reader, Writer
from millrace.channels import channel
from millrace.errors import InputRefused
from millrace.parameters import Parameter

T = TypeVar("T")
Text = str | Parameter[str]
WAITING_MAX: Final = 1_000


@dataclass(slots=True)
class Offsets:
    """The next offset of each partition."""

    next: dict[int, int] = field(default_factory=dict)


def topic(
    name: Text,
    type_: type[T],
    *,
    servers: Text,
    begin: Literal["earliest", "latest"] = "latest",
    until_end: bool = False,
) -> Reader[T]:
    """Tuples of a topic whose records are JSON objects.

    Args:
        name: The topic.
        type_: The type of the tuples.
        servers: Bootstrap servers, `host:port` with commas between them.
        begin: Where a source without a position begins.
        until_end: End when all records that were there at the start are read.
    """
    arguments = {"name": name, "servers": servers, "begin": begin, "until_end": until_end}
    return Reader("KafkaTopic", _Topic(type_), type_, arguments, Offsets)


def writer(name: Text, *, servers: Text, key: str | None = None) -> Writer[Any]:
    """Writes each tuple as JSON; `key`: an attribute; equal values stay in order.

    A tuple counts as written when all replicas in sync have it. What waits is sent at the end.
    """
    return Writer("KafkaSink", TopicWriter, {"name": name, "servers": servers, "key": key})


class _Topic:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any) -> None:
        self._decoder = msgspec.json.Decoder(type_)

    async def __call__(
        self, offsets: Offsets, name: str, servers: str, begin: str, until_end: bool
    ) -> AsyncIterator[Any]:
        consumer = _library().AIOKafkaConsumer(
            name, bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset=begin
        )
        await consumer.start()
        try:
            partitions = await _assigned(consumer, offsets, name)
            ends = await consumer.end_offsets(partitions) if until_end else None
            while ends is None or any(offsets.next[p.partition] < ends[p] for p in partitions):
                found = await consumer.getmany(timeout_ms=200)
                for record in (each for records in found.values() for each in records):
                    try:
                        item = self._decoder.decode(record.value or b"")
                    except msgspec.MsgspecError as problem:
                        where = f"{name}/{record.partition}@{record.offset}"
                        behind = {record.partition: record.offset + 1}
                        pass_by = partial(offsets.next.update, behind)
                        raise InputRefused(f"record {where}: {problem}", pass_by) from None
                    offsets.next[record.partition] = record.offset + 1
                    yield item
        finally:
            await consumer.stop()


async def _assigned(consumer: Any, offsets: Offsets, name: str) -> list[Any]:
    """The partitions that this channel reads, at their positions."""
    mine = channel()
    found = sorted(consumer.assignment())
    if not found:
        raise ValueError(f"topic {name} does not exist, or has no partition that can be read")
    partitions = [each for each in found if each.partition % mine.count == mine.index]
    consumer.pause(*(each for each in found if each not in partitions))
    for each in partitions:
        if each.partition in offsets.next:
            consumer.seek(each, offsets.next[each.partition])
        offsets.next[each.partition] = await consumer.position(each)
    return partitions


class TopicWriter:
    """Writes tuples with one producer, which is stopped at the end."""

    def __init__(self, name: str, servers: str, key: str | None) -> None:
        """Nothing is connected before the first tuple."""
        self._name = name
        self._servers = servers
        self._key = key
        self._producer: Any = None
        self._waiting: deque[Any] = deque()

    async def __call__(self, item: Any) -> None:
        """Put a tuple into the batch of its partition; waits while too many are unanswered.

        Raises what the broker answered to this tuple or one before.
        """
        if self._producer is None:
            self._producer = _library().AIOKafkaProducer(
                bootstrap_servers=self._servers, acks="all", enable_idempotence=True
            )
            await self._producer.start()
        key = None
        if self._key is not None:
            value = item[self._key] if isinstance(item, dict) else getattr(item, self._key)
            key = str(value).encode()
        sent = await self._producer.send(self._name, msgspec.json.encode(item), key=key)
        self._waiting.append(sent)
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > WAITING_MAX):
            await self._waiting.popleft()

    async def flush(self) -> None:
        """Return when the brokers have all tuples."""
        while self._waiting:
            await self._waiting.popleft()

    async def close(self) -> None:
        """Send what waits, and disconnect."""
        if self._producer is not None:
            try:
                await self.flush()
            finally:
                await self._producer.stop()


def _library() -> Any:
    try:
        import aiokafka
    except ImportError:
        message = "millrace.adapters.kafka needs aiokafka: install millrace[kafka]"
        raise ImportError(message) from None
    return aiokafka
