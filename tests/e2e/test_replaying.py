"""Every service reads the whole log again: nothing is written, and everything goes on."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from contextlib import aclosing
from urllib.parse import quote

import pytest

from contracts.topics import CATALOGUE, PARTITIONS, TopicLayout, partition_of, sync_group
from services.chassis.log.bus import Partition
from services.chassis.process.clock import SystemClock
from services.chassis.running.hosting import open_bus
from services.roster import readers
from tests.e2e.examples import REGION, until_width, with_example
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, Obj, System

COVERS = (
    "services/chassis/running/replaying.py",
    "services/chassis/table/restoring.py",
    "services/chassis/table/epochs.py",
    "services/chassis/table/tombstones.py",
    "services/watch_ingest/core/resync.py",
    "services/watch_ingest/adapters/publisher.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
READERS = ("fusion-backend", "pod-state-machine")
LISTENED_S = 1
"""For events that are past already."""


async def test_reading_the_whole_log_again_writes_nothing(cluster: Cluster) -> None:
    """Neither to a job that was resized, nor of one that is gone; then a resize comes to pass."""
    async with cluster.job("replayed") as job, cluster.job("bygone") as bygone:
        await with_example(cluster, bygone, 2)
        await with_example(cluster, job, 3)
        await cluster.delete(bygone)
        await cluster.resize(job, REGION, 5)
        await until_width(job, 5)
        before, heads = job.versions(), await heads_of(cluster)
        async with cluster.stopped(*READERS, "watch-ingest"):
            starts = await rewind(cluster.system)
        for service in READERS:
            assert began_at(cluster.system, service).items() <= starts.items()
        await until_all_is_decided(cluster, "replayed")
        assert await events_since(cluster, heads, ["replayed", "bygone"]) == []
        assert job.versions() == before
        await cluster.resize(job, REGION, 4)
        await until_width(job, 4)


async def rewind(system: System) -> dict[str, int]:
    """Let readers begin where the log begins; returns the offset for each TOPIC/PARTITION."""
    bus = open_bus(system.bus, SystemClock())
    partitions = [
        Partition(topic.name(system.prefix), number)
        for topic in CATALOGUE
        for number in range(TopicLayout().count(topic))
        if readers(topic)
    ]
    try:
        starts = await bus.start_offsets(partitions)
        await bus.commit(sync_group(system.prefix), starts)
    finally:
        await bus.close()
    return {f"{each.topic}/{each.number}": offset for each, offset in starts.items()}


def began_at(system: System, service: str) -> dict[str, int]:
    """Where a service began to read when it was last started, as its log says."""
    lines = (system.state / "logs" / f"{service}.log").read_text().splitlines()
    begun = [json.loads(line) for line in lines if '"reading_begins"' in line]
    offsets: dict[str, int] = begun[-1]["offsets"]
    assert offsets
    return offsets


async def until_all_is_decided(cluster: Cluster, job: str) -> None:
    """Wait for a new job in the same partition: what came before it was read before it."""
    names = (f"after-{job}-{number}" for number in itertools.count())
    wanted = partition_of("default", job, PARTITIONS)
    name = next(each for each in names if partition_of("default", each, PARTITIONS) == wanted)
    async with cluster.job(name) as new:
        await with_example(cluster, new, 1)


async def heads_of(cluster: Cluster) -> dict[str, str]:
    """For each kind the version of now."""
    listings = {kind: await cluster.api.call("GET", path) for kind, path in PATHS.items()}
    return {kind: each["metadata"]["resourceVersion"] for kind, each in listings.items()}


async def events_since(cluster: Cluster, heads: dict[str, str], jobs: Sequence[str]) -> list[Obj]:
    """What happened to objects of jobs, what came and went included."""
    selector = quote(f"streams.ibm.com/job in ({','.join(jobs)})")

    async def of(kind: str, version: str) -> list[Obj]:
        path = f"{PATHS[kind]}?labelSelector={selector}&timeoutSeconds={LISTENED_S}"
        async with aclosing(cluster.api.watch(path, version)) as events:
            return [event async for event in events]

    found = await asyncio.gather(*(of(kind, version) for kind, version in heads.items()))
    return list(itertools.chain.from_iterable(found))
