"""One instance decides at a time; another one stands by and takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from contracts.topics import CLUSTER
from services.chassis.log.bus import NewRecord
from services.chassis.log.memory_log import MemoryLog
from services.hostpool_manager.adapters.permissions import LEASE
from tests.unit.hostpool_manager.scene import Scene, a_class
from tests.virtual_time import virtually


def holder(scene: Scene) -> str:
    """The identity of the instance that holds the Lease."""
    return str(scene.get("Lease", LEASE)["spec"].get("holderIdentity"))


@virtually
async def test_a_standby_decides_when_the_one_that_leads_has_gone() -> None:
    scene = Scene()
    scene.node("n1")
    async with scene.running("one", "two"):
        leader = holder(scene).removeprefix("hostpool-manager-")
        scene.runtimes[leader].stopping.set()
        await asyncio.sleep(3)
        assert holder(scene) == f"hostpool-manager-{'two' if leader == 'one' else 'one'}"
        scene.placement("shop", a_class("0"))
        await asyncio.sleep(2)
        assert scene.status()["phase"] == "Placed"


@virtually
async def test_an_instance_that_loses_the_lease_writes_nothing_and_leads_again_once_free() -> None:
    scene = Scene()
    scene.node("n1")
    async with scene.running():
        stolen = {
            "spec": {"holderIdentity": "somebody", "acquireTime": "2026-01-01T00:00:00.000000Z"}
        }
        scene.patch("Lease", LEASE, stolen)
        await asyncio.sleep(8)
        scene.placement("shop", a_class("0"))
        await asyncio.sleep(3)
        assert scene.status() == {}
        await asyncio.sleep(20)
        assert scene.status()["phase"] == "Placed"


class LateLog(MemoryLog):
    """A log that delays facts of the cluster while `is_on_time` is not set."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        super().__init__(now=now)
        self.is_on_time = asyncio.Event()
        self.is_on_time.set()

    async def produce(self, records: list[NewRecord]) -> None:  # type: ignore[override]
        if any(CLUSTER.name() == each.partition.topic for each in records):
            await self.is_on_time.wait()
        await super().produce(records)


@virtually
async def test_a_new_leader_knows_writes_of_its_predecessor_before_their_facts() -> None:
    """The first leader assigned the only room in a status that is not in the log yet."""
    scene = Scene()
    late = LateLog(now=scene.sandbox.clock.now)
    scene.log = late
    scene.node("n1", cpu="1")
    async with scene.running("one", "two"):
        late.is_on_time.clear()
        scene.placement("second", a_class("0"))
        scene.placement("first", a_class("0"))
        status = {
            "phase": "Placed",
            "observedGeneration": 1,
            "generation": 0,
            "pools": [],
            "assignments": [{"node": "n1", "pes": "0"}],
        }
        scene.patch("Placement", "first", {"status": status}, subresource="status")
        leader = holder(scene).removeprefix("hostpool-manager-")
        scene.runtimes[leader].stopping.set()
        await asyncio.sleep(5)
        assert scene.status("second")["reason"] == "InsufficientCapacity"
        assert scene.status("first")["phase"] == "Placed"
        late.is_on_time.set()
