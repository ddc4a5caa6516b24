"""Measures time, writes, stages and CPU of a submission, resizes and a deletion.

The time of a submission or resize ends when this process observes its last new pod; that of a
deletion, when the last pod is gone. The services count writes until the job is in phase Submitted
again, and so does an API server that counts for each client.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from contracts import labels
from loadtest.api import CORE, MERGE, STREAMS, Api, Follower
from loadtest.counting import Tally, counts_until_now
from loadtest.profiles import Profile
from loadtest.scraping import Gauges, Reading

SETTLE_S = 1.0
AGREE_ATTEMPTS_MAX = 20
AGREE_PAUSE_S = 0.1


class TookTooLong(Exception):
    """A step did not end within the time-out of its profile; the message has the state."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One step: seconds until its last pod existed, new and changed PEs, and the services' figures.

    `server_writes` is the API server's count of our writes; None if it does not count by client.
    `tally` has everybody's writes until every PE was Running.
    """

    pods_created_s: float
    writes: int
    added: int
    changed: int
    server_writes: int | None = None
    took: Reading = field(default_factory=Reading)
    tally: Tally = field(default_factory=Tally)


class Observer:
    """Watches the objects of one job and waits for states of them."""

    def __init__(self, api: Api, job: str, timeout_s: float) -> None:
        self.api = api
        self.job = job
        self.timeout_s = timeout_s
        self._changed = asyncio.Condition()
        selector = f"?labelSelector={labels.JOB}%3D{job}"
        self.jobs = Follower(api, f"{STREAMS}/streamsjobs", self._changed)
        self.pes = Follower(api, f"{STREAMS}/streamspes{selector}", self._changed)
        self.pods = Follower(api, f"{CORE}/pods{selector}", self._changed)

    @property
    def phase(self) -> str:
        """The job's phase."""
        job = self.jobs.objects.get(self.job) or {}
        return str((job.get("status") or {}).get("phase", ""))

    @property
    def generation(self) -> int:
        """The job's plan generation, -1 before the first."""
        job = self.jobs.objects.get(self.job) or {}
        return int((job.get("status") or {}).get("generation", -1))

    def contents(self) -> dict[str, str]:
        """The content id of every PE, by name."""
        return {name: pe["spec"]["contentId"] for name, pe in self.pes.objects.items()}

    def launched(self) -> set[str]:
        """The PEs that have a pod with their present content id."""
        content_of_pod = {
            (_owner(pod), pod["metadata"].get("annotations", {}).get(labels.CONTENT_ID))
            for pod in self.pods.objects.values()
            if not pod["metadata"].get("deletionTimestamp")
        }
        return {
            name for name, content in self.contents().items() if (name, content) in content_of_pod
        }

    def is_planned(self, generation: int) -> bool:
        """Whether a later plan than `generation` is carried out, with a pod for every PE.

        Cheap conditions first: this runs at every event, on the cores of the services.
        """
        if self.phase != "Submitted" or self.generation <= generation:
            return False
        return bool(self.pes.objects) and len(self.launched()) == len(self.pes.objects)

    async def until(self, what: str, holds: Callable[[], bool]) -> float:
        """The monotonic time at which `holds` was first true. Raises TookTooLong."""
        try:
            async with asyncio.timeout(self.timeout_s), self._changed:
                await self._changed.wait_for(holds)
                return time.monotonic()
        except TimeoutError:
            raise TookTooLong(
                f"{self.job}: {what} did not come within {self.timeout_s:g} s; phase {self.phase}, "
                f"{len(self.pes.objects)} PEs, {len(self.pods.objects)} pods"
            ) from None


def _owner(pod: dict[str, Any]) -> str:
    owners = pod["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("name", ""))


@dataclass(frozen=True, slots=True)
class Bench:
    """The sources of figures: the API, the services' metrics, the API server's count."""

    api: Api
    gauges: Gauges
    server_counts: bool

    async def step(
        self, observer: Observer, what: str, begin: Callable[[], Awaitable[object]]
    ) -> Measured:
        """Measure one step, from its request until the job is Submitted with all of its pods."""
        before, generation = observer.contents(), observer.generation
        counted = await self._server_writes()
        reading = await self.gauges.read(self.api.session)
        start = time.monotonic()
        await begin()
        await observer.until(what, lambda: observer.is_planned(generation))
        took = (await self.gauges.read(self.api.session)).since(reading)
        server_writes = await self._server_writes_of(took, reading, counted)
        after = observer.contents()
        return Measured(
            pods_created_s=max(observer.pods.came_s.values()) - start,
            writes=took.writes,
            added=len(after.keys() - before.keys()),
            changed=sum(after[pe] != content for pe, content in before.items() if pe in after),
            server_writes=server_writes,
            took=took,
        )

    async def tallied_step(
        self, observer: Observer, what: str, begin: Callable[[], Awaitable[object]]
    ) -> Measured:
        """A step, and everybody's writes until nothing more is to come of it."""
        before = await counts_until_now(self.api, self.gauges)
        measured = await self.step(observer, what, begin)
        await _settled(observer)
        after = await counts_until_now(self.api, self.gauges)
        return replace(measured, tally=Tally.between(before, after))

    async def _server_writes_of(self, took: Reading, before: Reading, counted: int) -> int | None:
        """The server's count of the writes in `took`.

        The server counts a write before the service does, and writes go on. So both counts are read
        until they agree, and the writes after `took` are subtracted.
        """
        if not self.server_counts:
            return None
        for _ in range(AGREE_ATTEMPTS_MAX):
            by_server = await self._server_writes() - counted
            by_us = (await self.gauges.read(self.api.session)).since(before).writes
            if by_server == by_us:
                break
            await asyncio.sleep(AGREE_PAUSE_S)
        return by_server - (by_us - took.writes)

    async def _server_writes(self) -> int:
        return await self.api.writes() if self.server_counts else 0


async def measure(bench: Bench, profile: Profile) -> tuple[dict[str, Measured], float]:
    """Submit, resize and delete a job; returns the steps and the seconds of the deletion."""
    job = f"bench-{profile.pes}"
    api = bench.api
    observer = Observer(api, job, profile.timeout_s)
    steps: dict[str, Measured] = {}
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        followers = (observer.jobs, observer.pes, observer.pods)
        tasks = [group.create_task(follower.run()) for follower in followers]
        await asyncio.sleep(SETTLE_S)
        steps["submit"] = await bench.tallied_step(
            observer,
            "the submission",
            lambda: api.call("POST", f"{STREAMS}/streamsjobs", profile.job(job)),
        )
        widths = {"resize by one": profile.channels + 1}
        if profile.doubles:
            widths["resize to the double"] = 2 * (profile.channels + 1)
        for name, width in widths.items():
            path = await _region(api, job, profile)
            body = {"spec": {"width": width}}
            begin = _patching(api, path, body)
            steps[name] = await bench.tallied_step(observer, name, begin)
        start = time.monotonic()
        await api.call("DELETE", f"{STREAMS}/streamsjobs/{job}")
        gone = await observer.until("the last pod gone", lambda: not observer.pods.objects)
        for task in tasks:
            task.cancel()
    return steps, gone - start


def _patching(api: Api, path: str, body: dict[str, Any]) -> Callable[[], Awaitable[object]]:
    return lambda: api.call("PATCH", path, body, MERGE)


async def _settled(observer: Observer) -> None:
    await observer.until("all pods running", lambda: _pods_run(observer) and _pes_running(observer))
    await asyncio.sleep(SETTLE_S)


def _pods_run(observer: Observer) -> bool:
    return all(
        pod["status"].get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
        for pod in observer.pods.objects.values()
    )


def _pes_running(observer: Observer) -> bool:
    """Whether every PE's status is Running: the next step must not count writes of this one."""
    return all(
        (pe.get("status") or {}).get("phase") == "Running" for pe in observer.pes.objects.values()
    )


async def _region(api: Api, job: str, profile: Profile) -> str:
    """The path of the region that is resized."""
    regions = await api.call("GET", f"{STREAMS}/streamsprs?labelSelector={labels.JOB}%3D{job}")
    alias = profile.application.region
    region = next(each for each in regions["items"] if each["spec"]["alias"] == alias)
    return f"{STREAMS}/streamsprs/{region['metadata']['name']}"
