"""Writes tuples to a topic with one producer, and keeps each until the brokers have it.

1. A tuple is sent after those before it are accounted for: what fails before that is its own.
2. A record that was sent waits, with its tuple, until the brokers have it. The producer is
   idempotent: it sends a batch again as often as it takes, and no broker appends it twice.
3. Where a record is refused, what the producer still had in its partition is refused as well, as
   its numbers do not fit any more. So another producer sends what waits, one record after the
   other: what fails then is that record's own.
4. Nothing that waits is dropped but a record that is refused by itself, under the policy `skip`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from millrace.adapters.json_text import json_of
from millrace.adapters.kafka_connecting import library, start
from millrace.adapters.kafka_records import Record, key_of
from millrace.adapters.kafka_security import Secured, connection
from millrace.errors import SHOWN_CHARS_MAX, shown, worded

LOG = logging.getLogger("millrace.runtime.kafka")
WAITING_MAX: Final = 1_000
WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
MISSING_S: Final = 10.0
"""How long a topic may be unknown to the brokers before the first tuple is refused."""


class DeliveryFailed(ValueError):
    """A tuple is not written; the message names it. `is_left_out`: it does not wait any more."""

    def __init__(self, message: str, *, is_left_out: bool = False) -> None:
        """The message is a sentence about the tuple."""
        super().__init__(message)
        self.is_left_out = is_left_out


@dataclass(slots=True, eq=False)
class _Waiting:
    """A record that was sent: its tuple for a message, and what the brokers answer to it."""

    item: object
    record: Mapping[str, Any]
    size: int
    answer: Any


class TopicWriter:
    """Writes tuples to one topic. Subclasses have the `security` of the application."""

    security: ClassVar[Secured] = None

    def __init__(
        self,
        name: str,
        servers: str,
        key: str | None = None,
        options: dict[str, Any] | None = None,
        skips: bool = False,
    ) -> None:
        """Nothing is connected before the first tuple. `skips`: the policy of the operator."""
        self._name = name
        self._servers = servers
        self._key = key
        self._options = options or {}
        self._skips = skips
        self._producer: Any = None
        self._is_broken = False
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0

    async def __call__(self, item: Any) -> None:
        """Put a tuple into the batch of its partition; waits while too much is unanswered.

        Raises DeliveryFailed where this tuple, or one before it, is not written.
        """
        record = self._record(item)
        size = _size_of(record)
        failed = await self._settle(WAITING_MAX - 1, WAITING_BYTES_MAX - size)
        try:
            await self._put(item, record, size)
        except BaseException:
            _log(failed)  # the operator hears of this tuple alone
            raise
        if failed is not None:
            raise failed

    async def flush(self) -> None:
        """Return when the brokers have all tuples. Raises DeliveryFailed."""
        _log(await self._settle(0, 0))

    async def close(self) -> None:
        """Send what waits, and disconnect."""
        try:
            await self.flush()
        finally:
            await self._disconnect()

    def _record(self, item: Any) -> Mapping[str, Any]:
        """What the producer takes of a tuple. Raises ValueError: it cannot be a record."""
        key = key_of(item, self._key)
        if not isinstance(item, Record):
            return {"value": json_of(item), "key": key}
        found = item.arguments()
        if key is not None:
            found["key"] = key
        if found["value"] is None and found["key"] is None:
            raise DeliveryFailed("a record has to have a value or a key, and this one has neither")
        return found

    # ------------------------------------------------------------------------- what was sent before

    async def _settle(self, count: int, size: int) -> DeliveryFailed | None:
        """Wait until at most so many records, and bytes of them, have no answer.

        Returns what a tuple before failed with that is left out: others are logged. Raises
        DeliveryFailed of a tuple that still waits.
        """
        failed: DeliveryFailed | None = None
        while self._is_broken or self._is_due(count, size):
            try:
                await self._answered()
            except BaseException as problem:
                _log(failed)
                if not isinstance(problem, DeliveryFailed) or not problem.is_left_out:
                    raise
                failed = problem
        return failed

    def _is_due(self, count: int, size: int) -> bool:
        waiting = self._waiting
        if not waiting:
            return False
        is_too_much = len(waiting) > count or self._waiting_bytes > size
        return is_too_much or bool(waiting[0].answer.done())

    async def _answered(self) -> None:
        """Account for the oldest record; after one that failed, for all that wait."""
        if self._is_broken:
            await self._send_again()
            return
        first = self._waiting[0]
        await asyncio.wait([first.answer])  # to await it would let a stop cancel it
        if first.answer.exception() is None:
            self._forget(first)
        else:
            self._is_broken = True

    async def _send_again(self) -> None:
        """With another producer, one after the other. Raises DeliveryFailed."""
        await self._disconnect()
        for each in list(self._waiting):
            if each.answer.done() and each.answer.exception() is None:
                self._forget(each)
        producer = await self._connected()
        for each in list(self._waiting):
            each.answer = await self._sent(producer, each.item, each.record)
            await asyncio.wait([each.answer])
            if problem := each.answer.exception():
                is_left_out = self._skips and not getattr(problem, "retriable", False)
                if is_left_out:
                    self._forget(each)
                raise DeliveryFailed(
                    f"{shown(each.item, SHOWN_CHARS_MAX)} is not written to topic {self._name}: "
                    f"{worded(problem)}",
                    is_left_out=is_left_out,
                )
            self._forget(each)
        self._is_broken = False

    def _forget(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._waiting_bytes -= waiting.size

    # -------------------------------------------------------------------------------- the producer

    async def _put(self, item: Any, record: Mapping[str, Any], size: int) -> None:
        answer = await self._sent(await self._connected(), item, record)
        self._waiting.append(_Waiting(item, record, size, answer))
        self._waiting_bytes += size

    async def _sent(self, producer: Any, item: Any, record: Mapping[str, Any]) -> Any:
        """What the brokers will answer. Raises KafkaError; the record is not sent then."""
        errors = library().errors
        try:
            return await producer.send(self._name, **record)
        except errors.MessageSizeTooLargeError as problem:
            raise DeliveryFailed(
                f"{shown(item, SHOWN_CHARS_MAX)} is too large for a record: {problem}; options= "
                "sets max_request_size, and the topic has max.message.bytes"
            ) from None
        except errors.KafkaTimeoutError:
            raise  # its batch is full, and the brokers do not answer: what waits may still come
        except errors.KafkaError:
            self._is_broken = True
            raise

    async def _connected(self) -> Any:
        """Raises KafkaError, and DeliveryFailed if the topic does not exist."""
        if self._producer is not None:
            return self._producer
        kafka = library()
        producer = kafka.AIOKafkaProducer(
            bootstrap_servers=self._servers,
            **connection(type(self).security),
            **{"acks": "all", "enable_idempotence": True, **self._options},
        )
        try:
            await start(producer, self._servers)
            async with asyncio.timeout(MISSING_S):
                await producer.partitions_for(self._name)
        except (TimeoutError, kafka.errors.UnknownTopicOrPartitionError):
            await producer.stop()
            raise DeliveryFailed(f"topic {self._name} does not exist at {self._servers}") from None
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer
        return producer

    async def _disconnect(self) -> None:
        """Let go of the producer, which sends what it still can."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()


def _size_of(record: Mapping[str, Any]) -> int:
    headers = sum(len(name) + len(value) for name, value in record.get("headers", ()))
    return len(record["value"] or b"") + len(record["key"] or b"") + headers


def _log(failed: DeliveryFailed | None) -> None:
    if failed is not None:
        LOG.error("%s", failed)
