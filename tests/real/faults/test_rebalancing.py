"""Partitions move to another member of the group while a service acts on what it has read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contracts.topics import PARTITIONS, RESOURCES, partition_of, reader_group
from services.chassis.log.bus import Partition
from services.chassis.log.kafka_log import KafkaLog
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.killing import pids_of
from tests.e2e.watching import Cluster
from tests.patience import patient
from tests.real.faults.processes import STAGES, tracebacks
from tools.real.pair import Pair

COVERS = (
    "services/chassis/log/kafka_membership.py",
    "services/chassis/running/own_part.py",
    "services/chassis/table/sharing.py",
)

PATIENCE_S = patient(90.0)
POLL_S = 0.05
pytestmark = [pytest.mark.real, pytest.mark.e2e]


class Member:
    """A member of a service's group that reads nothing: what it is given nobody works on."""

    def __init__(self, servers: str, group: str, topic: str) -> None:
        self.has: frozenset[Partition] = frozenset()
        self._log = KafkaLog(servers, now=time.time)
        self._following = asyncio.create_task(self._follow(group, topic))

    async def leave(self) -> None:
        """End, as a service that is stopped."""
        await self._log.close()
        await self._following

    async def _follow(self, group: str, topic: str) -> None:
        async for assigned in self._log.assignment(group, [topic]):
            self.has = assigned


@asynccontextmanager
async def taken(servers: str, group: str, partition: Partition) -> AsyncIterator[None]:
    """Inside of the block the partition is not the service's: members have joined until it was."""
    members: list[Member] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not any(partition in member.has for member in members):
                if all(member.has for member in members) and len(members) < PARTITIONS - 1:
                    members.append(Member(servers, group, partition.topic))
                await asyncio.sleep(POLL_S)
        yield
    finally:
        for member in members:
            await member.leave()


@pytest.mark.parametrize("service", STAGES)
async def test_a_rebalance_in_the_middle_of_a_resize_loses_and_doubles_nothing(
    cluster: Cluster, pair: Pair, service: str
) -> None:
    """Another member has the job's partition for a while, with effects in flight; then it leaves.

    What the service has begun comes to an end, the rest is done when the partition is back: it is
    restored from the newest resync, in the same process.
    """
    name = f"rebalanced-{service}"
    topic = RESOURCES.name(cluster.system.prefix)
    partition = Partition(topic, partition_of("default", name, PARTITIONS))
    group = reader_group(cluster.system.prefix, service)
    pids = pids_of(cluster.system, service)
    async with ordeal(cluster, name) as job:
        pes, maps = len(job.job.of("pes")), len(job.job.of("config_maps"))
        await job.resize(WIDER)
        await job.job.until("the first effects", lambda: len(job.job.of("config_maps")) > maps + 1)
        async with taken(pair.bootstrap_servers, group, partition):
            await job.resize(WIDER + 1)
        job.mark_fault_over()
        await job.converge(f"{service} without the partition", WIDER + 1, pes + WIDER + 1 - WIDTH)
    assert pids_of(cluster.system, service) == pids
    assert not tracebacks(cluster.system)
