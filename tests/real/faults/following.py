"""One job through a fault: submitted, resized while something is broken, and looked at after.

Every pod that was ever seen is remembered: two pods of one name, or two live pods of one PE, are a
duplicate launch. Services that restart for no reason show as launches beyond the plan's.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from loadtest.api import CORE, STREAMS, Follower, Refused
from tests.e2e.watching import RETRY_S, Cluster, JobObjects, Obj, followed_patiently

REGION = "Counted"
WIDTH = 8
WIDER = 12
CONVERGED_S_MAX = 150.0


class Launches(Follower):
    """The pods of a job, and the uids that each name ever had; survives an API server's outage."""

    def __init__(self, job: JobObjects) -> None:
        selector = f"?labelSelector=streams.ibm.com%2Fjob%3D{job.job}"
        super().__init__(job.api, f"{CORE}/pods{selector}", asyncio.Condition())
        self.uids: dict[str, set[str]] = {}

    def _keep(self, name: str, obj: Obj) -> None:
        super()._keep(name, obj)
        self.uids.setdefault(name, set()).add(obj["metadata"]["uid"])


class Ordeal:
    """A job that goes through a fault; `launches` has seen all of its pods."""

    def __init__(self, cluster: Cluster, job: JobObjects, launches: Launches) -> None:
        self.cluster = cluster
        self.job = job
        self.launches = launches
        self._began_s = time.monotonic()

    async def resize(self, width: int) -> None:
        """Set the region's width; repeated while the API server is away."""
        while True:
            try:
                await self.cluster.resize(self.job, REGION, width)
            except (aiohttp.ClientError, Refused):
                await asyncio.sleep(RETRY_S)
                continue
            self._began_s = time.monotonic()
            return

    async def converge(self, what: str, width: int, pes: int) -> None:
        """Wait for that width in force and one running pod a PE; says how long it took."""
        await self.job.until(
            f"width {width} after {what}",
            lambda: (
                self.job.width_in_force(REGION) == width
                and len(self.job.of("pes")) == pes
                and self.job.all_running()
            ),
            CONVERGED_S_MAX,
        )
        took_s = time.monotonic() - self._began_s
        sys.stdout.write(f"{what}: converged {took_s:.1f} s after the fault or the last resize\n")
        self.check_launches()

    def check_launches(self) -> None:
        """No launch happened twice, and no PE has two pods."""
        twice = {name: uids for name, uids in self.launches.uids.items() if len(uids) > 1}
        assert not twice, f"launched twice: {twice}"
        assert all(len(pods) == 1 for pods in self.job.pods_of_pes().values())

    def mark_fault_over(self) -> None:
        """From here on the time counts."""
        self._began_s = time.monotonic()


@asynccontextmanager
async def ordeal(cluster: Cluster, name: str) -> AsyncIterator[Ordeal]:
    """A running job of width WIDTH; it is deleted at the end, and nothing of it may be left."""
    job = JobObjects(cluster.api, name)
    launches = Launches(job)
    spec = {
        "bundle": {"name": "wordcount.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": str(WIDTH)},
    }
    following = asyncio.create_task(followed_patiently(launches))
    try:
        async with job.followed():
            await cluster.submit(name, spec)
            await job.until("running", job.all_running, CONVERGED_S_MAX)
            yield Ordeal(cluster, job, launches)
            await cluster.delete(job)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        listing = await cluster.api.call("GET", f"{STREAMS}/streamsjobs")
        if any(item["metadata"]["name"] == name for item in listing["items"]):
            await cluster.api.call("DELETE", f"{STREAMS}/streamsjobs/{name}")
