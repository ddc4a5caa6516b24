"""Appends records to the log in the order in which they were published.

One queue and one writer keep the order of everything. While one batch is being written the next one
gathers. What comes alone goes at once; where records come in crowds each batch gathers for
`GATHER_S` more, because an append costs the log, us and every reader as much as many records do.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import orjson

from contracts.envelope import to_headers
from contracts.topics import TopicLayout
from services.chassis.log.bus import Bus, NewRecord, Partition
from services.chassis.process.clock import Clock
from services.chassis.process.errors import Transient
from services.chassis.process.metrics import Metrics
from services.watch_ingest.core.recording import Outgoing

QUEUE_RECORDS_MAX = 4_000
"""Some batches, so that the log never waits for us: a full resync took 40 MiB for 20,000."""
BATCH_RECORDS_MAX = 500
PRODUCE_ATTEMPTS_MAX = 8
RETRY_FIRST_S = 0.1
RETRY_MAX_S = 5.0
ROOM_POLL_S = 0.01
GATHER_S = 0.005

RECORD_BYTES_MAX = 3 * 2**20
"""More than an object of etcd can hold, and less than a topic takes."""


class Unpublishable(Exception):
    """The log would not take a record; the message is for people."""


_Item = NewRecord | asyncio.Future[None]


class Publisher:
    """The only one that writes facts; `run` goes on until it is cancelled."""

    def __init__(self, bus: Bus, *, topics: TopicLayout, clock: Clock, metrics: Metrics) -> None:
        self._bus = bus
        self._topics = topics
        self._clock = clock
        self._metrics = metrics
        self._queue: asyncio.Queue[_Item] = asyncio.Queue()
        self._is_writing = False
        self.appended: Counter[Partition] = Counter()

    @property
    def is_idle(self) -> bool:
        """Whether all published records are in the log, and counted in `appended`."""
        return self._queue.empty() and not self._is_writing

    async def wait_for_room(self) -> None:
        """Wait while the log cannot keep up; returns at once when it does."""
        while self._queue.qsize() >= QUEUE_RECORDS_MAX:
            await self._clock.sleep(ROOM_POLL_S)

    def publish(self, record: Outgoing) -> None:
        """Queue a record. Never waits: what the ledger notes and what is queued must not part.

        Raises Unpublishable where the log would not take it; nothing is queued then.
        """
        self._queue.put_nowait(self._encoded(record))

    async def flush(self) -> None:
        """Return when everything that was published so far is in the log."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(done)
        await done

    async def run(self) -> None:
        """Write batches for ever; raises Transient when the log stays away for too long."""
        is_crowded = False
        while True:
            self._is_writing = False
            items = [await self._queue.get()]
            self._is_writing = True
            if is_crowded and self._queue.qsize() < BATCH_RECORDS_MAX:
                await self._clock.sleep(GATHER_S)
            while len(items) < BATCH_RECORDS_MAX and not self._queue.empty():
                items.append(self._queue.get_nowait())
            records = [item for item in items if isinstance(item, NewRecord)]
            is_crowded = len(records) > 1
            if records:
                await self._produce(records)
            for item in items:
                if isinstance(item, asyncio.Future) and not item.done():
                    item.set_result(None)

    async def _produce(self, records: list[NewRecord]) -> None:
        """Append a batch; a repeated one is harmless, because readers look at versions."""
        delay_s = RETRY_FIRST_S
        for attempt in range(1, PRODUCE_ATTEMPTS_MAX + 1):
            try:
                await self._bus.produce(records)
            except Transient:
                if attempt == PRODUCE_ATTEMPTS_MAX:
                    raise
                self._metrics.count("watch_ingest_produce_retries_total")
                await self._clock.sleep(delay_s)
                delay_s = min(RETRY_MAX_S, delay_s * 2)
                continue
            self.appended.update(record.partition for record in records)
            self._metrics.count("watch_ingest_records_total", len(records))
            return

    def _encoded(self, record: Outgoing) -> NewRecord:
        try:
            value = orjson.dumps(record.value)
        except (TypeError, ValueError) as problem:
            raise Unpublishable(f"it cannot be published: {problem}") from problem
        if len(value) > RECORD_BYTES_MAX:
            raise Unpublishable(
                f"it is {len(value):,} bytes, and at most {RECORD_BYTES_MAX:,} are published"
            )
        return NewRecord(
            partition=Partition(self._topics.name(record.topic), record.partition),
            key=record.key.encode(),
            value=value,
            headers=to_headers(record.envelope),
        )
