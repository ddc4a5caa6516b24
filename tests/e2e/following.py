"""One job through a fault: submitted, resized while something is broken, and looked at after.

Every pod and every plan that was ever seen is remembered: two pods of one name, two live pods of
one PE, or a launch that no plan requested, is a launch too many (`launches.py` says which are).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from contracts import labels
from loadtest.api import CORE, STREAMS, Follower, Refused
from tests.e2e.launches import Contents, PlansSeen, demanded, surplus
from tests.e2e.watching import RETRY_S, Cluster, JobObjects, Obj, followed_patiently
from tests.patience import patient

REGION = "Counted"
WIDTH = 8
WIDER = 12
CONVERGED_S_MAX = patient(150.0)
QUIET_S = patient(7.0)
"""Longer than the 5 s for which the status of a PE waits."""
LINES_LAST = 8
LINE_CHARS = 600
CHILDREN = ("pes", "regions", "pods", "config_maps", "services")


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
        self._ran_at = 0
        self._counts: dict[str, int] = {}
        self._ended_by_fault: Counter[str] = Counter()
        self._began_s = time.monotonic()

    async def settle(self) -> None:
        """Wait until the services write nothing any more."""
        async with asyncio.timeout(CONVERGED_S_MAX):
            before = -1
            while before != (now := await self.cluster.api.writes()):
                before = now
                await asyncio.sleep(QUIET_S)

    async def again(self, *, width: int) -> Ordeal:
        """Submit a Job of the same name where the old one is no more; says how long it took."""
        old = self.job.uid
        await self.cluster.submit(self.job.job, spec_of(width))
        await self.job.until(
            "the new job", lambda: self._is_new(old) and self.job.all_running(), CONVERGED_S_MAX
        )
        self.say("submitted again")
        return Ordeal(self.cluster, self.job, self.launches, self._plans)

    def _is_new(self, old: str) -> bool:
        """Whether another Job has the name, and nothing that we see is the old one's."""
        uids = {
            each["metadata"]["labels"][labels.JOB_UID]
            for kind in CHILDREN
            for each in self.job.of(kind).values()
        }
        return self.job.uid != old and uids == {self.job.uid}

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

    async def converge(
        self, what: str, width: int, pes: int, wait_s: float = CONVERGED_S_MAX
    ) -> None:
        """Wait for that width in force and one running pod a PE; says how long it took."""
        await self.job.until(
            f"width {width} after {what}",
            lambda: (
                self.job.width_in_force(REGION) == width
                and len(self.job.of("pes")) == pes
                and self.job.all_running()
            ),
            wait_s,
        )
        self.say(f"{what}: converged")
        await self.job.until("launch counts", self._is_counted, wait_s)
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
        too_many = surplus(demand, self._launches_since())
        assert not too_many, f"launches that no plan asked for, or none that one did: {too_many}"
        for name, pe in self.job.of("pes").items():
            seen = self.launches.names_of(pe)
            assert len(seen) <= _launch_count(pe), f"{name} was launched beyond its count: {seen}"
        self._begin_anew()

    def _begin_anew(self) -> None:
        """What was launched until now was right; from here on it is held against newer plans."""
        self._ran_at = max(self._contents())
        self._counts = {name: _launch_count(pe) for name, pe in self.job.of("pes").items()}
        self._ended_by_fault.clear()

    def launch_count(self, pe: str) -> int:
        """How often a PE was launched, as its status says."""
        return _launch_count(self.job.of("pes")[pe])

    def note_ended(self, pe: str) -> None:
        """The fault itself ended a pod of this PE, which is launched once more for it."""
        self._ended_by_fault[pe] += 1

    def _launches_since(self) -> dict[str, int]:
        """The launches of each PE, the one that it began with included.

        Those that the fault made necessary do not count.
        """
        return {
            name: 1 + _launch_count(pe) - self._counts.get(name, 1) - self._ended_by_fault[name]
            for name, pe in self.job.of("pes").items()
        }

    def _contents(self) -> Contents:
        """The plans since the job was last known to be right."""
        plans = self._plans.contents(self.job.uid)
        return {number: plan for number, plan in plans.items() if number >= self._ran_at}

    def _is_counted(self) -> bool:
        """Whether every PE's status and the plan in force have been seen."""
        pods = self.job.pods_of_pes()
        generation = int(self.job.status["generation"])
        return generation in self._contents() and all(
            [str(_launch_count(pe))] == [_launch_of(pod) for pod in pods[name]]
            for name, pe in self.job.of("pes").items()
        )

    def say(self, what: str) -> None:
        """Print how long something took."""
        took_s = time.monotonic() - self._began_s
        sys.stdout.write(f"{what} {took_s:.1f} s after the fault or the last resize\n")

    def mark_fault_over(self) -> None:
        """From here on the time counts."""
        self._began_s = time.monotonic()


def spec_of(width: int) -> Obj:
    """The example with a region of that width, one PE an operator."""
    return {
        "bundle": {"name": "wordcount.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": str(width)},
    }


@asynccontextmanager
async def every_launch(job: JobObjects) -> AsyncIterator[Launches]:
    """The pods that a job ever has inside of the block."""
    launches = Launches(job)
    following = asyncio.create_task(followed_patiently(launches))
    try:
        yield launches
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@asynccontextmanager
async def ordeal(
    cluster: Cluster,
    name: str,
    width: int = WIDTH,
    wait_s: float = CONVERGED_S_MAX,
    *,
    spec: Obj | None = None,
) -> AsyncIterator[Ordeal]:
    """A running job of that width, the example unless `spec` says otherwise.

    It is deleted at the end, and nothing of it may be left.
    """
    job, plans = JobObjects(cluster.api, name), PlansSeen(cluster.api, name)
    following = asyncio.create_task(followed_patiently(plans))
    try:
        async with every_launch(job) as launches, job.followed():
            await cluster.submit(name, spec or spec_of(width))
            await job.until("running", job.all_running, wait_s)
            await plans.until_seen()
            yield Ordeal(cluster, job, launches, plans)
            await cluster.delete(job)
    except AssertionError:
        lines = last_lines(cluster.system.state / "logs", name)
        sys.stdout.write("\n".join((*lines, "")))
        raise
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        listing = await cluster.api.call("GET", f"{STREAMS}/streamsjobs")
        if any(item["metadata"]["name"] == name for item in listing["items"]):
            await cluster.api.call("DELETE", f"{STREAMS}/streamsjobs/{name}")


def last_lines(logs: Path, job: str) -> Iterator[str]:
    """What each service logged last about a job, and its last warnings: nothing else is kept."""
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        of_job = [each for each in lines if f'"job":"{job}"' in each]
        warnings = [each for each in lines if '"level":"info"' not in each]
        for what, found in ((job, of_job), ("warnings", warnings)):
            yield f"{log.name}: {what}: the last of {len(found)} lines"
            yield from (each[:LINE_CHARS] for each in found[-LINES_LAST:])


def _launch_count(pe: Obj) -> int:
    return int((pe.get("status") or {}).get("launchCount", 0))


def _launch_of(pod: Obj) -> str:
    return str(pod["metadata"]["labels"][labels.LAUNCH_COUNT])
