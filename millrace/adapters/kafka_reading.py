"""Reads a topic: connects, assigns partitions, and gives one tuple after the other.

`kafka_positions.py` decides which partitions and where each begins. Here nothing is given twice: a
tuple's offset is in the state right before the tuple is given, and whenever partitions are assigned
again, each is read on from its state. A record that cannot be a tuple stays in front until it is
passed by.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from millrace.adapters.json_text import refusal
from millrace.adapters.kafka_connecting import library, start
from millrace.adapters.kafka_positions import Begin, Offsets, beginnings, gone, has_ended, share
from millrace.adapters.kafka_security import Secured, connection
from millrace.channels import channel
from millrace.errors import InputRefused

LOG = logging.getLogger("millrace.runtime.kafka")
"""What it warns of is a loss, so that a PE has to show it: it shows warnings of the runtime."""
POLL_MS: Final = 200
LOOK_S: Final = 5.0
"""How often a source looks for partitions that were added."""
MISSING_S: Final = 3.0
"""How long a topic may be unknown at the start: brokers hear of a new one with a delay."""
RETRY_S: Final = 0.2

Decode = Callable[[Any], Any]
"""The tuple of a record. Raises whatever shows that it has no tuple."""


class Reading:
    """The tuples of one channel. No generator: after a record that is refused it is read on."""

    def __init__(
        self,
        decode: Decode,
        security: Secured,
        offsets: Offsets,
        topic: tuple[str, str],
        *,
        begin: Begin,
        until_end: bool,
        options: Mapping[str, Any],
    ) -> None:
        """Nothing is connected before the first tuple. `topic`: its name, and the servers."""
        self._decode = decode
        self._security = security
        self._offsets = offsets
        self._name, self._servers = topic
        self._begin: Begin = begin
        self._until_end = until_end
        self._options = options
        self._channel = channel()
        self._found: deque[Any] = deque()
        self._consumer: Any = None
        self._admin: Any = None
        self._watching: asyncio.Task[None] | None = None
        self._known: frozenset[int] = frozenset()
        self._assigned: tuple[int, ...] | None = None
        self._ends: dict[int, int] = {}

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._found:
            if not await self._fetch():
                await self.aclose()
                raise StopAsyncIteration
        record = self._found[0]
        try:
            item = self._decode(record)
        except Exception as problem:  # noqa: BLE001 - any other would come again for ever
            where = f"{self._name}/{record.partition}@{record.offset}"
            pass_by = partial(self._pass, record)
            raise InputRefused(f"record {where}: {refusal(problem)}", pass_by) from None
        self._pass(record)
        return item

    def _pass(self, record: Any) -> None:
        self._offsets.next[record.partition] = record.offset + 1
        if self._found and self._found[0] is record:
            self._found.popleft()

    async def aclose(self) -> None:
        """Disconnect."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        consumer, admin = self._consumer, self._admin
        self._consumer = self._admin = self._watching = self._assigned = None
        if consumer is not None:
            await consumer.stop()
        if admin is not None:
            await admin.close()

    # ------------------------------------------------------------------------------------ records

    async def _fetch(self) -> bool:
        """Take in what the brokers have; false if all is read that was to be read."""
        if self._consumer is None:
            await self._connect()
        await self._check_watching()
        mine = share(self._known, self._channel)
        if mine != self._assigned:
            await self._assign(mine)
        if not mine:
            await asyncio.sleep(0 if self._until_end else RETRY_S)
            return not self._until_end
        try:
            found = await self._consumer.getmany(timeout_ms=POLL_MS)
        except library().errors.OffsetOutOfRangeError as problem:
            await self._go_on_with_oldest(problem.args[0])
            return True
        for records in found.values():
            self._found.extend(records)
        if not self._found:
            await self._pass_what_is_no_record(mine)
            return not (self._until_end and self._is_read())
        return True

    async def _pass_what_is_no_record(self, mine: Iterable[int]) -> None:
        """Markers of transactions and records of aborted ones have offsets, and are not given."""
        for each in mine:
            position = await self._consumer.position(self._place(each))
            self._offsets.next[each] = max(self._offsets.next[each], position)

    def _is_read(self) -> bool:
        looked = (
            each for each in self._ends if self._consumer.highwater(self._place(each)) is not None
        )
        return has_ended(self._offsets.next, self._ends, looked)

    async def _go_on_with_oldest(self, refused: Mapping[Any, int]) -> None:
        """The brokers do not have these positions: records were removed, or the whole topic."""
        oldest = await self._consumer.beginning_offsets(list(refused))
        if self._until_end:
            ends = await self._consumer.end_offsets(list(refused))
            self._ends |= {place.partition: end for place, end in ends.items()}
        for place, position in refused.items():
            LOG.warning("%s", gone(f"{self._name}/{place.partition}", position, oldest[place]))
            self._offsets.next[place.partition] = oldest[place]
            self._consumer.seek(place, oldest[place])

    # --------------------------------------------------------------------------------- partitions

    async def _assign(self, mine: tuple[int, ...]) -> None:
        """Read these, each from where it stands. What was fetched and not given comes again."""
        consumer = self._consumer
        begins = beginnings(mine, self._offsets, self._begin)
        for where, offsets_of in (
            ("earliest", consumer.beginning_offsets),
            ("latest", consumer.end_offsets),
        ):
            places = [self._place(each) for each, begin in begins.items() if begin == where]
            found = await offsets_of(places) if places else {}
            self._offsets.next |= {place.partition: at for place, at in found.items()}
        self._offsets.has_begun = True
        if self._until_end:
            ends = await consumer.end_offsets([self._place(each) for each in mine]) if mine else {}
            self._ends = {place.partition: end for place, end in ends.items()}
        consumer.assign([self._place(each) for each in mine])
        for each in mine:
            consumer.seek(self._place(each), self._offsets.next[each])
        self._assigned = mine

    def _place(self, partition: int) -> Any:
        return library().TopicPartition(self._name, partition)

    async def _watch(self) -> None:
        """Look for partitions that were added. A broker may know of them later than another."""
        while True:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(library().errors.KafkaError, OSError):
                self._known |= await self._partitions()

    async def _check_watching(self) -> None:
        """Raises what ended the watch, which begins again: or partitions were not read any more."""
        if self._watching is not None and self._watching.done():
            ended, self._watching = self._watching, asyncio.create_task(self._watch())
            await ended

    async def _partitions(self) -> frozenset[int]:
        """The partitions of the topic. Raises KafkaError where they cannot be known."""
        (found,) = await self._admin.describe_topics([self._name])
        errors = library().errors
        problem = errors.for_code(found["error_code"])
        if problem in (errors.UnknownTopicOrPartitionError, errors.LeaderNotAvailableError):
            return frozenset()
        if problem is not errors.NoError:
            raise problem(f"topic {self._name}")
        return frozenset(each["partition"] for each in found["partitions"])

    # --------------------------------------------------------------------------------- connecting

    async def _connect(self) -> None:
        """Raises KafkaError, and ValueError if the topic does not exist."""
        kafka = library()
        arguments = {"bootstrap_servers": self._servers, **connection(self._security)}
        named = {key: value for key, value in self._options.items() if key == "client_id"}
        reads = {"isolation_level": "read_committed", **self._options}
        self._admin = kafka.admin.AIOKafkaAdminClient(**arguments, **named)
        self._consumer = kafka.AIOKafkaConsumer(
            **arguments, enable_auto_commit=False, auto_offset_reset="none", **reads
        )
        try:
            await start(self._admin, self._servers)
            await start(self._consumer, self._servers)
            self._known = await self._found_partitions()
        except BaseException:
            await self.aclose()
            raise
        if not self._until_end:
            self._watching = asyncio.create_task(self._watch())

    async def _found_partitions(self) -> frozenset[int]:
        for _ in range(max(1, round(MISSING_S / RETRY_S))):
            if found := await self._partitions():
                return found
            await asyncio.sleep(RETRY_S)
        raise ValueError(f"topic {self._name} does not exist at {self._servers}")
