"""Watch-ingest against a sandboxed cluster and a log in memory, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from contracts.facts import KINDS, Epoch, Fact, FactType, SyncCompleted
from contracts.topics import CLUSTER, PARTITIONS, RESOURCES, TopicLayout, sync_group
from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.errors import Transient
from services.chassis.running.wiring import Runtime
from services.chassis.table.reading import decode
from services.watch_ingest.adapters.leading import LEASE, ingest
from services.watch_ingest.adapters.log_state import fact_partitions, highest_incarnation
from services.watch_ingest.adapters.publisher import Publisher
from services.watch_ingest.core.publishing import Ledger, Publication, facts_of_object
from services.watch_ingest.core.recording import fact_record
from services.watch_ingest.settings import WatchIngestSettings
from tests.builders import a_job
from tests.sandboxed import Sandboxed
from tests.virtual_time import run_virtually

MERGE = "application/merge-patch+json"
PREFIX = "millrace"
TOPICS = TopicLayout(PREFIX)


@dataclass
class World:
    """A cluster, a log, and the service that runs between them."""

    sandbox: Sandboxed = field(default_factory=Sandboxed)

    def __post_init__(self) -> None:
        self.log = MemoryLog(now=self.sandbox.clock.now)
        self.runtime = self.new_runtime()

    def new_runtime(self, namespaces: tuple[str, ...] = ()) -> Runtime:
        return Runtime(
            service="watch-ingest",
            bus=self.log,
            kube=self.sandbox.client(),
            clock=self.sandbox.clock,
            random=random.Random(1),
            new_id=lambda: "one",
            topics=TOPICS,
            namespaces=namespaces,
        )

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[asyncio.Task[None]]:
        """The service until the end of the block, from its first complete resync on."""
        task = asyncio.create_task(_run(self.runtime))
        await asyncio.sleep(2)
        try:
            yield task
        finally:
            self.runtime.stopping.set()
            await asyncio.wait((task,))

    async def said(self) -> list[Fact | SyncCompleted]:
        """Everything in the log, partition by partition."""
        ends = await self.log.end_offsets(fact_partitions(TOPICS))
        wanted = {partition for partition, end in ends.items() if end > 0}
        found: list[Fact | SyncCompleted] = []
        if not wanted:
            return found
        async for batch in self.log.read(dict.fromkeys(wanted, 0)):
            found += [decode(record).fact for record in batch]
            if len(found) == sum(ends.values()):
                break
        return found

    async def committed(self) -> int:
        """Sum of the offsets that the newest complete resync began at."""
        offsets = await self.log.committed(sync_group(PREFIX), fact_partitions(TOPICS))
        return sum(offset or 0 for offset in offsets.values())


async def _run(runtime: Runtime) -> None:
    await ingest(runtime, WatchIngestSettings())


def facts_of(said: Sequence[Fact | SyncCompleted], kind: str) -> list[tuple[FactType, int]]:
    return [
        (each.type, each.epoch.list_number)
        for each in said
        if isinstance(each, Fact) and each.kind == kind
    ]


def completions(said: Sequence[Fact | SyncCompleted], *, full: bool = True) -> dict[str, int]:
    """How often the list of each kind was reported to be complete."""
    kinds = [each.kind for each in said if isinstance(each, SyncCompleted) and each.full is full]
    return {kind: kinds.count(kind) for kind in kinds}


def test_the_first_resync_says_what_exists_and_that_this_is_all() -> None:
    """Readers restore from the offsets that are committed then."""

    async def test() -> None:
        world = World()
        world.sandbox.create(a_job())
        async with world.speaking() as task:
            said = await world.said()
            assert facts_of(said, "Job") == [(FactType.ADDITION, 1)]
            assert len(facts_of(said, "Node")) == 1
            partitions = {kind: TopicLayout().count(KINDS[kind].topic) for kind in KINDS}
            assert completions(said) == partitions
            assert {each.epoch.cluster_uid for each in said} == {
                world.sandbox.cluster.store.cluster_uid
            }
            assert world.runtime.probes.is_ready()
            assert await world.committed() == 0
            committed = await world.log.committed(sync_group(PREFIX), fact_partitions(TOPICS))
            assert None not in committed.values()
        assert task.exception() is None

    run_virtually(test())


def test_changes_and_deletions_are_reported_as_they_happen() -> None:
    """By the watch, in the epoch of the list before."""

    async def test() -> None:
        world = World()
        store, jobs = world.sandbox.cluster.store, world.sandbox.kind("Job")
        async with world.speaking():
            world.sandbox.create(a_job())
            await asyncio.sleep(1)
            store.delete(jobs, "default", "shop", DeleteOptions())
            await asyncio.sleep(1)
            said = facts_of(await world.said(), "Job")
        assert said == [
            (FactType.ADDITION, 1),
            (FactType.MODIFICATION, 1),
            (FactType.DELETION, 1),
        ]

    run_virtually(test())


def test_everything_is_reported_again_every_hour_and_compared_every_ten_minutes() -> None:
    """A comparison of an unchanged cluster says no fact; an hourly resync moves the restore."""

    async def test() -> None:
        world = World()
        world.sandbox.create(a_job())
        async with world.speaking():
            await asyncio.sleep(3300)
            said = await world.said()
            assert facts_of(said, "Job") == [(FactType.ADDITION, 1)]
            assert completions(said, full=False)["Job"] >= 5 * PARTITIONS
            assert await world.committed() == 0
            before_hour = len(said)
            await asyncio.sleep(400)
            assert (FactType.ADDITION, 2) in facts_of(await world.said(), "Job")
            assert await world.committed() >= before_hour

    run_virtually(test())


def test_an_emptied_log_is_filled_again() -> None:
    """Nobody else could, and nothing restarts because of it."""

    async def test() -> None:
        world = World()
        world.sandbox.create(a_job())
        async with world.speaking():
            await world.log.empty()
            assert await world.said() == []
            await asyncio.sleep(10)
            said = await world.said()
            assert facts_of(said, "Job") == [(FactType.ADDITION, 2)]
            assert len(completions(said)) == len(KINDS)

    run_virtually(test())


def test_a_new_leader_speaks_in_a_higher_incarnation_than_anything_in_the_log() -> None:
    """Even if the Lease was deleted and its version says less: the log remembers."""

    async def test() -> None:
        world = World()
        async with world.speaking():
            pass
        first = await highest_incarnation(world.log, TOPICS)
        assert first > 0
        cluster_partition = Partition(CLUSTER.name(PREFIX), 0)
        record = await _last(world, cluster_partition)
        far = record.value.replace(
            f'"incarnation":{first}'.encode(), f'"incarnation":{first + 10_000}'.encode()
        )
        await world.log.produce([NewRecord(cluster_partition, record.key, far, record.headers)])
        world.runtime = world.new_runtime()
        async with world.speaking():
            assert await highest_incarnation(world.log, TOPICS) == first + 10_001

    run_virtually(test())


async def _last(world: World, partition: Partition) -> NewRecord:
    end = (await world.log.end_offsets([partition]))[partition]
    async for batch in world.log.read({partition: end - 1}):
        return NewRecord(partition, batch[-1].key, batch[-1].value, batch[-1].headers)
    raise AssertionError("the log ended")


def test_who_lost_the_lease_is_silent_until_it_leads_again() -> None:
    """Somebody else speaks meanwhile; later it says everything as another incarnation."""

    async def test() -> None:
        world = World()
        store = world.sandbox.cluster.store
        async with world.speaking() as task:
            (first,) = _incarnations(await world.said())
            for renewal in range(6):  # somebody else leads for half a minute
                stolen = {"spec": {"holderIdentity": f"other-{renewal}", "acquireTime": None}}
                store.patch(world.sandbox.kind("Lease"), "default", LEASE, stolen, MERGE)
                await asyncio.sleep(6)
            before = len(await world.said())
            world.sandbox.create(a_job())
            await asyncio.sleep(5)
            assert len(await world.said()) == before
            await asyncio.sleep(20)
            said = await world.said()
            assert not task.done()
            assert max(_incarnations(said)) > first
            assert any(isinstance(each, Fact) and each.kind == "Job" for each in said)

    run_virtually(test())


def test_an_instance_that_was_killed_leads_at_once_under_its_name() -> None:
    """Nobody waits for a Lease whose holder is gone for certain."""

    async def test() -> None:
        world = World()
        world.runtime = replace(world.runtime, instance="pod-1")
        killed = asyncio.create_task(_run(world.runtime))
        await asyncio.sleep(2)
        killed.cancel()
        await asyncio.wait((killed,))
        world.sandbox.create(a_job())
        world.runtime = replace(world.new_runtime(), instance="pod-1")
        async with world.speaking():
            assert any(isinstance(each, Fact) and each.kind == "Job" for each in await world.said())

    run_virtually(test())


def _incarnations(said: Sequence[Fact | SyncCompleted]) -> set[int]:
    return {each.epoch.incarnation for each in said}


def test_a_watch_that_breaks_loses_no_change() -> None:
    """Streams that are cut again and again end in the same facts."""

    async def test() -> None:
        world = World()

        def cut(_method: str, path: str) -> Fault | None:
            return Fault(cut_after_lines=1) if "watch=1" in path else None

        world.sandbox.faults = cut
        async with world.speaking():
            for number in range(5):
                world.sandbox.create(a_job(f"job-{number}"))
                await asyncio.sleep(0.2)
            await asyncio.sleep(120)
            said = [e.name for e in await world.said() if isinstance(e, Fact) and e.kind == "Job"]
            assert sorted(set(said)) == [f"job-{number}" for number in range(5)]

    run_virtually(test())


def test_an_api_server_that_is_away_at_the_start_is_waited_for() -> None:
    """A service that starts before the API server must not end."""

    async def test() -> None:
        world = World()
        away = True

        def faults(_method: str, _path: str) -> Fault | None:
            return Fault(status=503) if away else None

        world.sandbox.faults = faults
        async with world.speaking() as task:
            assert not task.done()
            away = False
            await asyncio.sleep(60)
            assert world.runtime.probes.is_ready()

    run_virtually(test())


def test_only_the_namespaces_of_the_setting_are_watched() -> None:
    """Each of them is listed, and a kind is complete when all of them are."""

    async def test() -> None:
        world = World()
        world.runtime = world.new_runtime(("default", "kube-system"))
        world.sandbox.create(a_job())
        world.sandbox.create(a_job("other").in_namespace("kube-system"))
        namespaces = world.sandbox.kind("Namespace")
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
        world.sandbox.cluster.store.create(namespaces, None, body)
        world.sandbox.create(a_job("hidden").in_namespace("elsewhere"))
        async with world.speaking():
            said = await world.said()
        names = [each.name for each in said if isinstance(each, Fact) and each.kind == "Job"]
        assert sorted(names) == ["other", "shop"]
        assert completions(said)["Job"] == PARTITIONS

    run_virtually(test())


class _FlakyLog(MemoryLog):
    """A log that refuses a few batches."""

    failures = 3

    async def produce(self, records: Sequence[NewRecord]) -> None:
        if self.failures:
            self.failures -= 1
            raise Transient("the broker is away")
        await super().produce(records)


def test_a_log_that_is_away_for_a_moment_gets_everything_in_order() -> None:
    """Batches are tried again before the next one is written."""

    async def test() -> None:
        world = World()
        world.log = _FlakyLog(now=world.sandbox.clock.now)
        world.runtime = world.new_runtime()
        async with world.speaking():
            for number in range(20):
                world.sandbox.create(a_job(f"job-{number}"))
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            versions: dict[str, list[int]] = {}
            for each in await world.said():
                if isinstance(each, Fact) and each.kind == "Job":
                    versions.setdefault(each.name, []).append(each.resource_version)
            assert len(versions) == 20
            assert all(found == sorted(found) for found in versions.values())
            assert world.runtime.metrics.value("watch_ingest_produce_retries_total") == 3

    run_virtually(test())


def test_records_that_are_reported_while_a_batch_is_written_go_out_as_one_batch() -> None:
    """Nothing lingers, yet a busy log gets large batches."""

    class Counting(MemoryLog):
        batches: list[int]

        async def produce(self, records: Sequence[NewRecord]) -> None:
            self.batches.append(len(records))
            await asyncio.sleep(0.1)
            await super().produce(records)

    async def test() -> None:
        world = World()
        log = Counting(now=world.sandbox.clock.now)
        log.batches = []
        await log.ensure_topics({RESOURCES.name(PREFIX): PARTITIONS})
        publisher = Publisher(
            log, topics=TOPICS, clock=world.sandbox.clock, metrics=world.runtime.metrics
        )
        running = asyncio.create_task(publisher.run())
        record = fact_record(_a_saying(), 1.0, TOPICS)
        publisher.publish(record)
        await asyncio.sleep(0.05)
        for _ in range(30):
            publisher.publish(record)
        await publisher.flush()
        running.cancel()
        assert log.batches == [1, 30]

    run_virtually(test())


def _a_saying() -> Publication:
    (only,) = facts_of_object(Ledger(), KINDS["Job"], a_job().build(), Epoch(1, 1, "c"))
    return only
