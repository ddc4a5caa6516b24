"""Plays aiokafka and its brokers in memory: as much of them as the adapter uses."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from aiokafka import errors


class TopicPartition(NamedTuple):
    """As that of aiokafka."""

    topic: str
    partition: int


@dataclass
class Log:
    """A partition: values by offset, the oldest offset and the next one.

    An offset without a value is a marker of a transaction, or a record of an aborted one.
    """

    records: dict[int, Any] = field(default_factory=dict)
    oldest: int = 0
    next: int = 0

    def append(self, value: bytes | None, **more: Any) -> int:
        """Add a record; returns its offset."""
        offset, self.next = self.next, self.next + 1
        given = {"key": None, "headers": (), "timestamp": -1} | more
        self.records[offset] = SimpleNamespace(offset=offset, value=value, **given)
        return offset

    def append_marker(self) -> None:
        """Add an offset that is no record."""
        self.next += 1

    def delete_before(self, offset: int) -> None:
        """As retention does."""
        self.oldest = offset


@dataclass
class Brokers:
    """The brokers: topics, what clients were made with, and what is refused."""

    topics: dict[str, list[Log]] = field(default_factory=dict)
    arguments: dict[str, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    written: list[Mapping[str, Any]] = field(default_factory=list)
    refused: dict[bytes, Exception] = field(default_factory=dict)
    is_away: bool = False
    open: int = 0

    def add(self, topic: str, *partitions: Sequence[bytes | None]) -> list[Log]:
        """A topic, or more partitions of it, with these values."""
        logs = self.topics.setdefault(topic, [])
        for values in partitions:
            logs.append(Log())
            for value in values:
                logs[-1].append(value)
        return logs


class _Client:
    kind = ""

    def __init__(self, brokers: Brokers, **arguments: Any) -> None:
        self.brokers = brokers
        brokers.arguments[self.kind].append(arguments)
        brokers.open += 1

    async def start(self) -> None:
        if self.brokers.is_away:
            logging.getLogger("aiokafka").error("Unable connect: a certificate is not trusted")
            raise errors.KafkaConnectionError("Unable to bootstrap")

    async def stop(self) -> None:
        self.brokers.open -= 1

    close = stop


class _Consumer(_Client):
    kind = "consumer"

    def __init__(self, brokers: Brokers, **arguments: Any) -> None:
        super().__init__(brokers, **arguments)
        self._at: dict[TopicPartition, int | None] = {}
        self._answered: set[TopicPartition] = set()

    def _log(self, place: TopicPartition) -> Log:
        return self.brokers.topics[place.topic][place.partition]

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = dict.fromkeys(partitions)
        self._answered = set()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition in self._at, "only what is assigned can be sought"
        self._at[partition] = offset

    async def position(self, partition: TopicPartition) -> int:
        at = self._at[partition]
        assert at is not None
        return at

    def highwater(self, partition: TopicPartition) -> int | None:
        return self._log(partition).next if partition in self._answered else None

    async def beginning_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return {each: self._log(each).oldest for each in partitions}

    async def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return {each: self._log(each).next for each in partitions}

    async def getmany(self, timeout_ms: int) -> dict[Any, list[Any]]:
        await asyncio.sleep(0)
        found: dict[Any, list[Any]] = {}
        for place, at in self._at.items():
            log = self._log(place)
            assert at is not None, "every position is explicit"
            self._answered.add(place)
            if not log.oldest <= at <= log.next:
                raise errors.OffsetOutOfRangeError({place: at})
            records = [log.records[each] for each in range(at, log.next) if each in log.records]
            for each in records:
                each.topic, each.partition = place
            if records:
                found[place] = records
            self._at[place] = log.next
        return found


class _Admin(_Client):
    kind = "admin"

    async def describe_topics(self, topics: list[str]) -> list[Any]:
        if self.brokers.is_away:
            raise errors.KafkaConnectionError("nobody answers")
        count = len(self.brokers.topics.get(topics[0], ()))
        partitions = [{"partition": each} for each in range(count)]
        return [{"error_code": 0 if count else 3, "partitions": partitions}]


class _Producer(_Client):
    """After a record that is refused it refuses all others, as an idempotent one does."""

    kind = "producer"

    def __init__(self, brokers: Brokers, **arguments: Any) -> None:
        super().__init__(brokers, **arguments)
        self._is_broken = False
        self._batch: list[tuple[Mapping[str, Any], asyncio.Future[None]]] = []

    async def partitions_for(self, topic: str) -> set[int]:
        if topic not in self.brokers.topics:
            raise errors.UnknownTopicOrPartitionError
        return {0}

    async def send(self, topic: str, **record: Any) -> asyncio.Future[None]:
        if len(record["value"] or b"") > 1_000:
            raise errors.MessageSizeTooLargeError("The message is too many bytes")
        answer = asyncio.get_running_loop().create_future()
        self._batch.append(({"topic": topic, **record}, answer))
        asyncio.get_running_loop().call_soon(self._deliver)
        return answer

    def _deliver(self) -> None:
        for record, answer in self._batch:
            problem = self.brokers.refused.get(record["value"] or b"")
            if self._is_broken:
                problem = errors.OutOfOrderSequenceNumber()
            if problem is not None:
                self._is_broken = True
                answer.set_exception(problem)
                answer.exception()
            else:
                self.brokers.written.append(record)
                answer.set_result(None)
        self._batch.clear()

    async def stop(self) -> None:
        self._deliver()
        await super().stop()


def named(*names: str) -> list[bytes | None]:
    """Records of tuples with these names."""
    return [f'{{"name":"{each}"}}'.encode() for each in names]


def play(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Brokers that the adapter finds in place of aiokafka."""
    brokers = Brokers()
    library, admin = ModuleType("aiokafka"), ModuleType("aiokafka.admin")
    for module, name, kind in (
        (library, "AIOKafkaConsumer", _Consumer),
        (library, "AIOKafkaProducer", _Producer),
        (admin, "AIOKafkaAdminClient", _Admin),
    ):
        vars(module)[name] = lambda kind=kind, **arguments: kind(brokers, **arguments)
    vars(library).update(TopicPartition=TopicPartition, admin=admin, errors=errors)
    monkeypatch.setitem(sys.modules, "aiokafka", library)
    monkeypatch.setitem(sys.modules, "aiokafka.admin", admin)
    monkeypatch.setitem(sys.modules, "aiokafka.errors", errors)
    for name in ("LOOK_S", "RETRY_S"):
        monkeypatch.setattr(f"millrace.adapters.kafka_reading.{name}", 0.001)
    monkeypatch.setattr("millrace.adapters.kafka_reading.MISSING_S", 0.003)
    return brokers
