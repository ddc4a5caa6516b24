"""An instance of watch-ingest that stands by until the Lease is free."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count

from services.chassis.kube.leases import LeaderLease
from services.chassis.kube.port import KubeClient
from services.watch_ingest.adapters.leading import LEASE
from tests.sandboxed import SandboxTransport, new_cluster
from tests.unit.watch_ingest.test_ingesting import World
from tests.virtual_time import run_virtually


def test_a_standby_speaks_of_the_cluster_that_it_leads_in() -> None:
    """While it waited for the Lease another cluster came to stand behind the same address."""

    async def test() -> None:
        world = World()
        clock, uids = world.sandbox.clock, count(1)
        transport = SandboxTransport(world.sandbox.cluster)
        world.runtime = replace(world.runtime, kube=KubeClient(transport, "standby"))
        leader = LeaderLease(
            world.sandbox.client(), namespace="default", name=LEASE, holder="leader", clock=clock
        )
        await leader.acquire()
        keeping = asyncio.create_task(leader.keep())
        async with world.speaking():
            await asyncio.sleep(60)
            assert await world.said() == []
            next_one = new_cluster(now=clock.now, nodes=1, new_uid=lambda: f"next-{next(uids)}")
            transport.turn_to(next_one)
            await asyncio.sleep(5)
            said = await world.said()
        keeping.cancel()
        assert {each.epoch.cluster_uid for each in said} == {next_one.store.cluster_uid}

    run_virtually(test())
