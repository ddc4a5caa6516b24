"""One job through a fault: submitted, resized while something is broken, and looked at after.

Every pod and every plan that was ever seen is remembered: two pods of one name, two live pods of
one PE, or a launch that no plan asked for, is a launch too many (`launches.py` says which are).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from contracts import labels
from loadtest.api import CORE, STREAMS, Follower, Refused
from tests.e2e.watching import RETRY_S, Cluster, JobObjects, Obj, followed_patiently
from tests.real.faults.launches import Contents, PlansSeen, demanded, surplus

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
        self._names: dict[str, set[str]] = defaultdict(set)

    def _keep(self, name: str, obj: Obj) -> None:
        super()._keep(name, obj)
        self.uids.setdefault(name, set()).add(obj["metadata"]["uid"])
        self._names[obj["metadata"]["ownerReferences"][0]["uid"]].add(name)

    def names_of(self, pe: Obj) -> set[str]:
        """The names of all pods that a PE ever had."""
        return self._names[pe["metadata"]["uid"]]


class Ordeal:
    """A running job that goes through a fault; all of its pods and plans have been seen."""

    def __init__(
        self, cluster: Cluster, job: JobObjects, launches: Launches, plans: PlansSeen
    ) -> None:
        self.cluster = cluster
        self.job = job
        self.launches = launches
        self._plans = plans
        self._ran_at = max(self._contents())
        self._ended_by_fault: Counter[str] = Counter()
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
        await self.job.until("launch counts", self._is_counted, CONVERGED_S_MAX)
        self.check_launches()

    def check_launches(self) -> None:
        """No launch happened twice, no PE has two pods, and none was launched without a reason.

        An untouched PE has one launch, a changed one a launch more for each plan that changed it,
        or fewer, where plans coalesced.
        """
        twice = {name: uids for name, uids in self.launches.uids.items() if len(uids) > 1}
        assert not twice, f"launched twice: {twice}"
        pods = self.job.pods_of_pes()
        assert all(len(each) == 1 for each in pods.values()), f"not one pod a PE: {pods.keys()}"
        demand = demanded(self._contents(), ran_at=self._ran_at)
        too_many = surplus(demand, self._launches_wanted())
        assert not too_many, f"launches that no plan asked for, or none that one did: {too_many}"
        for name, pe in self.job.of("pes").items():
            seen = self.launches.names_of(pe)
            assert len(seen) <= _launch_count(pe), f"{name} was launched beyond its count: {seen}"

    def launch_count(self, pe: str) -> int:
        """How often a PE was launched, as its status says."""
        return _launch_count(self.job.of("pes")[pe])

    def note_ended(self, pe: str) -> None:
        """The fault itself ended a pod of this PE, which is launched once more for it."""
        self._ended_by_fault[pe] += 1

    def _launches_wanted(self) -> dict[str, int]:
        """Launches by PE, but for those that the fault made necessary."""
        pes = self.job.of("pes")
        return {name: _launch_count(pe) - self._ended_by_fault[name] for name, pe in pes.items()}

    def _contents(self) -> Contents:
        return self._plans.contents(self.job.uid)

    def _is_counted(self) -> bool:
        """Whether every PE's status and the plan in force have been seen."""
        pods = self.job.pods_of_pes()
        generation = int(self.job.status["generation"])
        return generation in self._contents() and all(
            [str(_launch_count(pe))] == [_launch_of(pod) for pod in pods[name]]
            for name, pe in self.job.of("pes").items()
        )

    def mark_fault_over(self) -> None:
        """From here on the time counts."""
        self._began_s = time.monotonic()


@asynccontextmanager
async def ordeal(cluster: Cluster, name: str) -> AsyncIterator[Ordeal]:
    """A running job of width WIDTH; it is deleted at the end, and nothing of it may be left."""
    job = JobObjects(cluster.api, name)
    launches, plans = Launches(job), PlansSeen(cluster.api, name)
    spec = {
        "bundle": {"name": "wordcount.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": str(WIDTH)},
    }
    following = [asyncio.create_task(followed_patiently(each)) for each in (launches, plans)]
    try:
        async with job.followed():
            await cluster.submit(name, spec)
            await job.until("running", job.all_running, CONVERGED_S_MAX)
            await plans.until_seen()
            yield Ordeal(cluster, job, launches, plans)
            await cluster.delete(job)
    finally:
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        listing = await cluster.api.call("GET", f"{STREAMS}/streamsjobs")
        if any(item["metadata"]["name"] == name for item in listing["items"]):
            await cluster.api.call("DELETE", f"{STREAMS}/streamsjobs/{name}")


def _launch_count(pe: Obj) -> int:
    return int((pe.get("status") or {}).get("launchCount", 0))


def _launch_of(pod: Obj) -> str:
    return str(pod["metadata"]["labels"][labels.LAUNCH_COUNT])
