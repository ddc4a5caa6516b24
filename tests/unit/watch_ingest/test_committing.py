"""Where readers restore from moves only when all that they would find there is in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from contracts.topics import TopicLayout, sync_group
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.log.memory_log import MemoryLog
from services.chassis.process.errors import Transient
from services.watch_ingest.adapters.log_state import fact_partitions
from tests.builders import a_job
from tests.unit.watch_ingest.test_ingesting import PREFIX, World
from tests.virtual_time import run_virtually


class _SlowLog(MemoryLog):
    """A log in which every batch takes a second; it notes how much it holds at each commit."""

    commits: list[int]

    async def produce(self, records: Sequence[NewRecord]) -> None:
        await asyncio.sleep(1.0)
        await super().produce(records)

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        if group == sync_group(PREFIX):
            self.commits.append(await self.length())
        await super().commit(group, offsets)

    async def length(self) -> int:
        """How many facts there are."""
        return sum((await self.end_offsets(fact_partitions(TopicLayout(PREFIX)))).values())


def test_the_offsets_of_a_resync_are_committed_when_its_last_record_is_in_the_log() -> None:
    """Else a reader would begin there, and wait for an end that nobody has said yet."""

    async def test() -> None:
        world = World()
        log = _SlowLog(now=world.sandbox.clock.now)
        log.commits = []
        world.log = log
        world.runtime = world.new_runtime()
        for number in range(20):
            world.sandbox.create(a_job(f"job-{number}"))
        async with world.speaking():
            await asyncio.sleep(30)
        assert log.commits == [await log.length()]

    run_virtually(test())


class _DeafLog(MemoryLog):
    """A log that commits, and whose answers are lost at first."""

    deaf = 3

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        await super().commit(group, offsets)
        if group == sync_group(PREFIX) and self.deaf:
            self.deaf -= 1
            raise Transient("the answer was lost")


def test_a_commit_whose_answer_is_lost_is_tried_again() -> None:
    """It ended the service, whose successor said everything again."""

    async def test() -> None:
        world = World()
        log = _DeafLog(now=world.sandbox.clock.now)
        world.log = log
        world.runtime = world.new_runtime()
        world.sandbox.create(a_job("job"))
        async with world.speaking() as service:
            await asyncio.sleep(60)
            assert not service.done()
        assert log.deaf == 0

    run_virtually(test())
