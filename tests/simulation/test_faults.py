"""Crash anywhere, replay anything, lose the log: it converges and writes nothing twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from contracts.topics import TopicLayout, sync_group
from sandbox.http.in_process import Fault, When
from services.chassis.log.memory_log import MemoryLog
from services.watch_ingest.adapters.log_state import fact_partitions
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.mains import UNCONSTRAINED
from tests.simulation.world import WRITES, Request, World, simulate

COVERS = (
    "services/chassis/running/reconciling.py",
    "services/chassis/running/carrying_out.py",
    "services/chassis/table/restoring.py",
    "services/launching/core/recording.py",
    "services/fusion_backend/core/generation_rules.py",
    "services/watch_ingest/core/publishing.py",
)


@pytest.mark.parametrize("service", sorted(UNCONSTRAINED))
def test_a_service_killed_anywhere_in_a_submission_and_a_resize_converges(
    tmp_path: Path, service: str
) -> None:
    """Killed after so many requests of its own and started again, at several places."""
    for place in (1, 3, 8, 15, 30, 60):
        folder = tmp_path / f"{place}"
        folder.mkdir()

        async def test(world: World, place: int = place) -> None:
            world.start()
            submit_example(world, "j", width=4)
            await _kill_after(world, service, place)
            await world.until("running", lambda: world.is_running("j"))
            world.resize("j", "Counted", 7)
            await _kill_after(world, service, place)
            await world.until(
                "resized",
                lambda: world.is_running("j") and len(world.live_pods("j")) == 7 + OUTSIDE,
            )
            await world.settle()
            assert len(world.objects("pods", "j")) == 7 + OUTSIDE

        simulate(folder, test, seed=place)


async def _kill_after(world: World, service: str, requests: int) -> None:
    """Kill a service when it has made so many requests (or has no more to make); start it again."""
    start = len(world.requests)

    def made() -> int:
        return sum(r.service == service for r in world.requests[start:])

    end = world.clock.now() + 5
    await world.until("requests", lambda: made() >= requests or world.clock.now() > end)
    await world.kill(service)
    await world.clock.sleep(0.5)
    world.start(service)


def test_replaying_the_whole_topic_writes_nothing_to_a_steady_cluster(tmp_path: Path) -> None:
    """Every record is reported again, twice, in order; no service writes anything."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        before = len(world.requests)
        for _ in range(2):
            await world.say_again(await world.facts())
            await world.settle()
        assert world.writes(before) == []

    simulate(tmp_path, test)


def test_services_that_begin_at_the_beginning_of_the_log_write_nothing(tmp_path: Path) -> None:
    """They live through what a job that is gone was, and one that was resized.

    Nothing newer corrects them before watch-ingest is back.
    """

    async def test(world: World) -> None:
        from sandbox.store.deleting import DeleteOptions

        await with_example(world, "bygone", width=2)
        world.store.delete(world.kind("streamsjobs"), "default", "bygone", DeleteOptions())
        submit_example(world, "j", width=3)
        await world.until("running", lambda: world.is_running("j"))
        world.resize("j", "Counted", 5)
        await world.until(
            "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == 5 + OUTSIDE
        )
        await world.settle()
        for service in UNCONSTRAINED:
            await world.stop(service)
        partitions = fact_partitions(TopicLayout())
        starts = await world.log.start_offsets(partitions)
        await world.log.commit(sync_group(), starts)
        before = len(world.requests)
        world.start("fusion-backend", "pod-state-machine")
        await world.settle()
        world.start("watch-ingest")
        await world.settle()
        assert world.writes(before) == []

    simulate(tmp_path, test)


def test_an_emptied_log_restarts_nothing(tmp_path: Path) -> None:
    """The log is lost under a running job, services restart: no write, no restart."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods = {n: p["metadata"]["uid"] for n, p in world.live_pods("j").items()}
        before = len(world.requests)
        await world.log.empty()
        for service in UNCONSTRAINED:
            await world.stop(service)
        world.start()
        await world.settle()
        assert world.writes(before) == []
        world.resize("j", "Counted", 4)
        await world.until(
            "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == 4 + OUTSIDE
        )
        assert "j-2" in pods

    simulate(tmp_path, test)


def test_restore_reads_what_exists_however_old_the_log_is(tmp_path: Path) -> None:
    """A log with a long history before the last resync costs a restarted reader no more records."""
    read: list[int] = []
    for history in (0, 5_000):
        folder = tmp_path / f"{history}"
        folder.mkdir()

        async def test(world: World, history: int = history) -> None:
            await with_example(world, "j", width=3)
            records = await world.facts()
            await world.say_again([records[n % len(records)] for n in range(history)])
            await world.stop("watch-ingest")
            world.start("watch-ingest")
            await world.settle()
            await world.stop("pod-state-machine")
            counting = _CountingLog(world.log)
            world.start("pod-state-machine", bus=counting)  # type: ignore[arg-type]
            await world.settle()
            read.append(counting.records_read)

        simulate(folder, test)
    assert read[0] > 0
    assert read[1] <= read[0] * 1.1


class _CountingLog:
    """A log that counts what is read from it."""

    def __init__(self, inner: MemoryLog) -> None:
        self._inner = inner
        self.records_read = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def read(self, *args: object, **options: object) -> object:
        async for batch in self._inner.read(*args, **options):  # type: ignore[arg-type]
            self.records_read += len(batch)
            yield batch


@pytest.mark.parametrize("seed", range(6))
def test_lost_and_failing_requests_delay_but_do_not_change_the_outcome(
    tmp_path: Path, seed: int
) -> None:
    """One write in ten breaks before or after its effect, or meets a 503; all converges."""
    dice = random.Random(seed)

    def faults(request: Request) -> Fault | None:
        if request.method not in WRITES or dice.random() > 0.1:
            return None
        return dice.choice(
            [Fault(lost=When.BEFORE), Fault(lost=When.AFTER), Fault(status=503), Fault(delay_s=2.0)]
        )

    async def test(world: World) -> None:
        world.faults = faults
        world.start()
        submit_example(world, "j", width=5)
        await world.until("running", lambda: world.is_running("j"))
        world.resize("j", "Counted", 8)
        await world.until(
            "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == 8 + OUTSIDE
        )
        world.faults = None
        await world.settle()
        names = set(world.objects("streamspes", "j"))
        assert len(names) == 8 + OUTSIDE
        assert world.objects("services", "j").keys() == {"j-pes"}

    simulate(tmp_path, test, seed=seed)


def test_a_steady_cluster_is_not_written_to(tmp_path: Path) -> None:
    """Two hours with hourly resyncs pass without one write, Leases excepted."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        before = len(world.requests)
        await world.clock.sleep(7_300)
        assert world.writes(before) == []

    simulate(tmp_path, test)


def test_a_deleted_job_leaves_nothing(tmp_path: Path) -> None:
    """Deletion in the background, by the services and the garbage collector together."""

    async def test(world: World) -> None:
        from sandbox.store.deleting import DeleteOptions

        await with_example(world, "j", width=3)
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.settle()
        for plural in (
            "streamspes",
            "streamsprs",
            "streamshostpools",
            "pods",
            "services",
            "configmaps",
        ):
            assert world.objects(plural, "j") == {}, plural

    simulate(tmp_path, test)
