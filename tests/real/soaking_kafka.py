"""`make soak-kafka`: the adapter for Kafka on a broker of its own, with TLS and SCRAM.

For MINUTES, in one process:

* flow: a parallel source reads a topic that gets more partitions under load, and a sink writes what
  it reads to another one. The topic has records of a plain producer, of transactions that commit or
  abort, tombstones, and records that are no JSON. The broker is ended, in good order or killed, and
  started again. At the end both topics are read by a client of its own, and compared.
* retention: a source stops with its state, the broker removes records behind and before its
  position, and another source goes on from that state.

Exit code 1 where a record is lost, comes twice, or is lost without a report.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import KafkaError

from cli.showing import answer, print_lines
from millrace import App
from millrace.adapters import kafka
from millrace.adapters.kafka_security import connection
from tests.patience import patient
from tests.real.secured import BROKER, PASSWORD, USER, Secured, broker_beside, scram_login
from tools.real.building import build_of
from tools.real.launching import start_part
from tools.real.pair import PairOptions, new_plan
from tools.real.pins import read_pins
from tools.real.processes import stop
from tools.real.progress import Progress
from tools.real.state import PairFolder

MINUTES: Final = 30
INPUT, OUTPUT, SHORT = "input", "output", "short"
RECORDS_A_SECOND: Final = 300
PARTITIONS_MAX: Final = 40
POLL_MS: Final = 500
GROW_S: Final = 20.0
RESTART_S: Final = 60.0
LAST_BEFORE_END: Final = 90.0
DRAIN_S: Final = 60.0
"""From the last record to the end of the flow."""


@dataclass
class Number:
    """What the flow carries."""

    value: int


@dataclass
class Done:
    """What was done, for the table, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    partitions: int = 4
    wrong: list[str] = field(default_factory=list)


class Soak:
    """One run: its broker, its clock and what it has done."""

    def __init__(self, broker: Secured, seconds: float) -> None:
        """Nothing has begun."""
        self.security = kafka.Security(
            username=USER, password=PASSWORD, ca=str(broker.folder / "ca.pem")
        )
        self.folder = PairFolder(broker.folder)
        self.servers = broker.servers
        self.client = {"bootstrap_servers": broker.servers, **connection(self.security)}
        self.end = time.monotonic() + seconds
        self.done = Done()
        self.random = random.Random(42)
        self._number = 0

    def goes_on(self, *, until_s: float = 0) -> bool:
        """Whether it is not yet time to end, or so long before that."""
        return time.monotonic() + until_s < self.end

    def numbered(self) -> bytes:
        """The next record."""
        self._number += 1
        return b'{"value":%d}' % self._number

    @contextlib.asynccontextmanager
    async def admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        """A client that makes topics."""
        admin = AIOKafkaAdminClient(**self.client)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()


# ----------------------------------------------------------------------------------------- the flow


async def flow(soak: Soak, is_ready: asyncio.Event) -> None:
    """The application: what it skips is counted."""
    app = App("soak::Kafka")
    topic = kafka.topic(INPUT, Number, servers=soak.servers, security=soak.security)
    sink = kafka.writer(OUTPUT, servers=soak.servers, key="value", security=soak.security)
    app.source(topic, parallel=2, on_error="skip", name="In").end_parallel().sink(sink)
    seconds = soak.end - time.monotonic() + patient(DRAIN_S)
    is_ready.set()
    result = await app.run_async(seconds=seconds)
    soak.done.counts["skipped"] = result["In"].skipped
    soak.done.counts["read by the source"] = result["In"].given


async def produce(soak: Soak) -> None:
    """Plain records, tombstones and what is no JSON, in no order of partitions."""
    while soak.goes_on():
        with contextlib.suppress(KafkaError):
            await produce_some(soak)


async def produce_some(soak: Soak) -> None:
    """Until the time is over, or the producer is refused: it takes nothing more then."""
    producer = aiokafka.AIOKafkaProducer(
        **soak.client, acks="all", enable_idempotence=True, metadata_max_age_ms=1_000
    )
    await producer.start()
    refused: list[BaseException] = []

    def note(answer: asyncio.Future[object]) -> None:
        if problem := answer.exception():
            refused.append(problem)

    while soak.goes_on() and not refused:
        kind = soak.random.choices(("record", "tombstone", "no JSON"), (97, 2, 1))[0]
        value = soak.numbered() if kind == "record" else None if kind == "tombstone" else b"oops"
        sent = await producer.send(INPUT, value, key=b"%d" % soak.random.getrandbits(30))
        sent.add_done_callback(note)
        soak.done.counts[f"written: {kind}"] += 1
        await asyncio.sleep(1 / RECORDS_A_SECOND)
    await producer.stop()


async def transact(soak: Soak) -> None:
    """Transactions of five records; each third one is aborted."""
    while soak.goes_on():
        producer = aiokafka.AIOKafkaProducer(**soak.client, transactional_id="soak")
        with contextlib.suppress(KafkaError):
            await producer.start()
            for number in range(100):
                await producer.begin_transaction()
                for _ in range(5):
                    await producer.send(INPUT, soak.numbered())
                await producer.flush()
                aborts = number % 3 == 2
                await (producer.abort_transaction if aborts else producer.commit_transaction)()
                soak.done.counts[f"transactions {'aborted' if aborts else 'committed'}"] += 1
                await asyncio.sleep(0.3)
                if not soak.goes_on():
                    break
        with contextlib.suppress(KafkaError, TimeoutError):
            await asyncio.wait_for(producer.stop(), patient(30))


async def grow(soak: Soak) -> None:
    """Add one to three partitions, again and again."""
    done = soak.done
    while soak.goes_on() and done.partitions < PARTITIONS_MAX:
        await asyncio.sleep(GROW_S)
        with contextlib.suppress(KafkaError):
            count = min(PARTITIONS_MAX, done.partitions + soak.random.randint(1, 3))
            async with soak.admin() as admin:
                await admin.create_partitions({INPUT: NewPartitions(count)})
            done.partitions = count
            done.counts["times partitions were added"] += 1


async def restart(soak: Soak) -> None:
    """End the broker, each second time by SIGKILL, and start it again."""
    plan = soak.folder.plan()
    assert plan is not None
    while soak.goes_on(until_s=LAST_BEFORE_END):
        await asyncio.sleep(RESTART_S)
        kills = soak.done.counts["broker restarted"] % 2 == 1
        process = soak.folder.running(BROKER)
        assert process is not None
        await asyncio.to_thread(stop, [process], grace_s=0.0 if kills else 20.0)
        await asyncio.sleep(soak.random.uniform(0, 10))
        await start_part(soak.folder, plan, BROKER)
        soak.done.counts["broker restarted"] += 1
        soak.done.counts["of these, killed"] += kills


# ---------------------------------------------------------------------------------------- retention


class Losses(logging.Handler):
    """Counts warnings of the adapter."""

    def __init__(self) -> None:
        """None yet."""
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append(record.getMessage())


async def retain(soak: Soak, losses: Losses) -> None:
    """Sources that follow each other by their state, while the broker removes records."""
    offsets, written = kafka.Offsets({0: 0}), 0
    producer = aiokafka.AIOKafkaProducer(**soak.client, acks="all", enable_idempotence=True)
    await producer.start()
    while soak.goes_on():
        for _ in range(100):
            await producer.send_and_wait(SHORT, b'{"value":%d}' % written, partition=0)
            written += 1
        before, oldest = offsets.next.get(0, 0), soak.random.randint(written - 150, written - 1)
        oldest = max(oldest, 0)
        try:
            async with soak.admin() as admin:
                place = aiokafka.TopicPartition(SHORT, 0)
                await admin.delete_records({place: RecordsToDelete(before_offset=oldest)})
        except KafkaError:
            continue  # the broker is away: nobody knows what it has removed
        soak.done.counts["times records were removed"] += 1
        known = len(losses.lines)
        found = await read_short(soak, offsets, written)
        if found != list(range(max(before, oldest), written)):
            soak.done.wrong.append(f"retention: {len(found)} read from {before}, oldest {oldest}")
        lost = max(0, oldest - before)
        soak.done.counts["records removed before they were read"] += lost
        lines = losses.lines[known:]
        expected = [f"up to {lost} records of {SHORT}/0 are lost"] if lost else []
        if [each.split(",")[0] for each in lines if SHORT in each] != expected:
            soak.done.wrong.append(f"retention: {lost} lost, and reported: {lines}")
        soak.done.counts["of these, reported"] += lost
        await asyncio.sleep(2)
    await producer.stop()


async def read_short(soak: Soak, offsets: kafka.Offsets, written: int) -> list[int]:
    """What a source reads from that state up to the last record."""
    reader = kafka.topic(
        SHORT, Number, servers=soak.servers, begin="earliest", security=soak.security
    )
    found: list[int] = []
    while offsets.next.get(0) != written:
        source = reader.function(offsets, **reader.fn_kwargs)
        with contextlib.suppress(KafkaError):
            async for each in source:
                found.append(each.value)
                if offsets.next[0] == written:
                    break
        await source.aclose()
    return found


# -------------------------------------------------------------------------------------- the verdict


async def contents(soak: Soak, topic: str) -> Counter[int]:
    """The numbers of a topic, as a client without millrace reads them."""
    found: Counter[int] = Counter()
    consumer = aiokafka.AIOKafkaConsumer(**soak.client, isolation_level="read_committed")
    await consumer.start()
    consumer.assign(
        [
            aiokafka.TopicPartition(topic, each)
            for each in range(soak.done.partitions if topic == INPUT else 1)
        ]
    )
    await consumer.seek_to_beginning()
    ends = await consumer.end_offsets(consumer.assignment())
    while any([await consumer.position(place) < end for place, end in ends.items()]):
        for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
            for record in records:
                if record.value and record.value.startswith(b'{"value":'):
                    found[int(record.value[9:-1])] += 1
    await consumer.stop()
    return found


async def judge(soak: Soak) -> bool:
    """Print the table; whether nothing is wrong."""
    done, wanted = soak.done, await contents(soak, INPUT)
    found = await contents(soak, OUTPUT)
    twice_in = sum(count - 1 for count in wanted.values() if count > 1)
    lost = sum((wanted - found).values())
    twice = sum((found - wanted).values())
    rows = {
        **done.counts,
        "partitions at the end": done.partitions,
        "records that count": wanted.total(),
        "written twice by the producers": twice_in,
        "records that arrived": found.total(),
        "lost": lost,
        "twice, or of aborted transactions": twice,
    }
    for name, count in rows.items():
        print_lines(f"{name:40} {count:>10,}")
    for each in done.wrong:
        print_lines(each)
    holds = not lost and not twice and not done.wrong and bool(found)
    answer("each record once" if holds else "FAILED: see the table")
    return holds


async def soaked(broker: Secured, seconds: float) -> bool:
    """Whether everything came once."""
    soak, losses, is_ready = Soak(broker, seconds), Losses(), asyncio.Event()
    logging.getLogger("millrace.runtime.kafka").addHandler(losses)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    async with soak.admin() as admin:
        await admin.create_topics([NewTopic(INPUT, 4, 1), NewTopic(OUTPUT, 1, 1)])
        await admin.create_topics([NewTopic(SHORT, 1, 1)])
    await asyncio.sleep(2)
    running = asyncio.create_task(flow(soak, is_ready))
    await is_ready.wait()
    await asyncio.sleep(10)  # it begins at the end of the topic
    parts = (produce(soak), transact(soak), grow(soak), restart(soak), retain(soak, losses))
    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(part)
        group.create_task(progress(soak))
    await running
    return await judge(soak)


async def progress(soak: Soak) -> None:
    """A line each minute."""
    while soak.goes_on():
        await asyncio.sleep(min(60.0, max(0.1, soak.end - time.monotonic())))
        shown = ", ".join(f"{count:,} {name}" for name, count in soak.done.counts.items())
        print_lines(f"{time.strftime('%H:%M:%S')} {shown}")


def main(minutes: float) -> int:
    """Run it on a new broker; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="millrace-soak-") as folder:
        with Progress() as shown:
            pins = read_pins()
            build = asyncio.run(build_of(pins, shown))
        plan = new_plan(PairOptions(), pins, build)
        more = {"transaction.state.log.num.partitions": "4"}
        with broker_beside(plan, Path(folder), scram_login((USER,)), more) as broker:
            return 0 if asyncio.run(soaked(broker, 60 * minutes)) else 1


if __name__ == "__main__":
    sys.exit(main(float(os.environ.get("MINUTES") or MINUTES)))
