"""When nothing changes nothing is written, and when a service reads its topics again neither.

Jobs of several regions, in a row and nested, one of them resized, and one that is gone, are the
history that is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.topics import TopicLayout, sync_group
from sandbox.store.deleting import DeleteOptions
from services.watch_ingest.adapters.log_state import fact_partitions
from tests.e2e.applications import FIRST, SECOND, nested, row_of_our_own
from tests.simulation.applications import submit_example
from tests.simulation.mains import UNCONSTRAINED
from tests.simulation.world import World, simulate

COVERS = (
    "services/chassis/running/confirming.py",
    "services/chassis/table/table.py",
    "services/watch_ingest/core/noticing.py",
)

STEADY_S = 600.0
LEGACY: dict[str, Any] = {"fusion": {"legacy": True}}


async def with_a_past(world: World) -> None:
    """Jobs run, were resized or are gone, and nothing is written any more."""
    (world.bundles / "row.sab").write_bytes(row_of_our_own())
    (world.bundles / "nested.sab").write_bytes(nested())
    world.start()
    world.submit("row", {"bundle": {"name": "row.sab"}, **LEGACY})
    world.submit("one", {"bundle": {"name": "row.sab"}, "fusion": {"manual": 1}})
    world.submit("nested", {"bundle": {"name": "nested.sab"}, **LEGACY})
    submit_example(world, "bygone", width=2)
    jobs = ("row", "one", "nested")
    await world.until("running", lambda: all(map(world.is_running, (*jobs, "bygone"))))
    world.resize("row", FIRST, 4)
    world.resize("row", SECOND, 3)
    world.resize("one", SECOND, 2)
    world.resize("nested", "N", 3)
    world.store.delete(world.kind("streamsjobs"), "default", "bygone", DeleteOptions())
    await world.until("resized", lambda: world.live_pods("row").keys() >= {"row-9"})
    await world.until("running", lambda: all(map(world.is_running, jobs)))
    await world.settle()


def test_a_steady_cluster_of_several_regions_is_not_written_to(tmp_path: Path) -> None:
    """Ten minutes pass without one write of any service, Leases excepted."""

    async def test(world: World) -> None:
        await with_a_past(world)
        before = len(world.requests)
        await world.clock.sleep(STEADY_S)
        assert world.writes(before) == []

    simulate(tmp_path, test)


@pytest.mark.parametrize("service", sorted(UNCONSTRAINED))
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_service_that_reads_its_topics_again_from_the_beginning_writes_nothing(
    tmp_path: Path, service: str, end: str
) -> None:
    """Each alone, while the others go on, for ten minutes; then a resize comes to pass."""

    async def test(world: World) -> None:
        await with_a_past(world)
        if end == "stopped":
            await world.stop(service)
        else:
            await world.kill(service)
        partitions = fact_partitions(TopicLayout())
        await world.log.commit(sync_group(), await world.log.start_offsets(partitions))
        before = len(world.requests)
        world.start(service)
        await world.clock.sleep(STEADY_S)
        assert world.writes(before) == []
        world.resize("row", FIRST, 2)
        await world.until(
            "resized", lambda: world.is_running("row") and len(world.live_pods("row")) == 8
        )

    simulate(tmp_path, test)
