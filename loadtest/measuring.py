"""Measures the running system: a submission, a resize, a deletion; by time and by writes.

Times of submission and resize end when the last pod object that the step needs exists, that of the
deletion when the last pod is gone; writes are counted by the API server until the job is in phase
Submitted again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from contracts import labels
from contracts.resources import API_VERSION
from loadtest.api import CORE, MERGE, STREAMS, Api, Follower
from loadtest.profiles import REGION, Profile

SETTLE_S = 1.0
# The example has this many operators outside its parallel region.
OUTSIDE = 4


class TookTooLong(Exception):
    """A step did not end within the profile's time-out; the message says what was there."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One step: seconds until its last pod existed; our writes; PEs that came and that changed."""

    pods_created_s: float
    writes: int
    added: int
    changed: int


class Observer:
    """Follows one job's objects and waits for states of them."""

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
        """The content id of every PE by name."""
        return {name: pe["spec"]["contentId"] for name, pe in self.pes.objects.items()}

    def launched(self) -> set[str]:
        """The PEs whose present content has a pod."""
        content_of_pod = {
            (_owner(pod), pod["metadata"].get("annotations", {}).get(labels.CONTENT_ID))
            for pod in self.pods.objects.values()
            if not pod["metadata"].get("deletionTimestamp")
        }
        return {
            name for name, content in self.contents().items() if (name, content) in content_of_pod
        }

    async def until(self, what: str, holds: Callable[[], bool]) -> float:
        """The monotonic time at which `holds` first held."""
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


async def measure(api: Api, profile: Profile, bundle: str) -> tuple[Measured, Measured, float]:
    """Submit a job of the profile's size, resize it by its step, delete it (seconds)."""
    job = f"bench-{profile.pes}"
    observer = Observer(api, job, profile.timeout_s)
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        followers = (observer.jobs, observer.pes, observer.pods)
        tasks = [group.create_task(follower.run()) for follower in followers]
        submitted = await _submit(api, observer, profile, bundle)
        await asyncio.sleep(SETTLE_S)
        await observer.until("all pods running", lambda: _all_running(observer))
        resized = await _resize(api, observer, profile)
        start = time.monotonic()
        await api.call("DELETE", f"{STREAMS}/streamsjobs/{job}")
        gone = await observer.until("the last pod gone", lambda: not observer.pods.objects)
        for task in tasks:
            task.cancel()
    return submitted, resized, gone - start


def _all_running(observer: Observer) -> bool:
    return all(pod["status"].get("phase") == "Running" for pod in observer.pods.objects.values())


async def _submit(api: Api, observer: Observer, profile: Profile, bundle: str) -> Measured:
    body = {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "metadata": {"name": observer.job},
        "spec": {
            "bundle": {"name": bundle},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": str(profile.pes - OUTSIDE)},
        },
    }
    writes = await api.writes()
    start = time.monotonic()
    await api.call("POST", f"{STREAMS}/streamsjobs", body)
    last_pod = await observer.until("all pods", lambda: len(observer.launched()) >= profile.pes)
    await observer.until("phase Submitted", lambda: observer.phase == "Submitted")
    return Measured(
        pods_created_s=last_pod - start,
        writes=await api.writes() - writes,
        added=len(observer.contents()),
        changed=0,
    )


async def _resize(api: Api, observer: Observer, profile: Profile) -> Measured:
    before, generation = observer.contents(), observer.generation
    width = profile.pes - OUTSIDE + profile.step
    regions = await api.call(
        "GET", f"{STREAMS}/streamsprs?labelSelector={labels.JOB}%3D{observer.job}"
    )
    region = next(r for r in regions["items"] if r["spec"]["alias"] == REGION)
    writes = await api.writes()
    start = time.monotonic()
    await api.call(
        "PATCH",
        f"{STREAMS}/streamsprs/{region['metadata']['name']}",
        {"spec": {"width": width}},
        MERGE,
    )
    wanted = profile.pes + profile.step

    def pods_exist() -> bool:
        contents = observer.contents()
        return len(contents) >= wanted and len(observer.launched()) == len(contents)

    def is_submitted() -> bool:
        return observer.phase == "Submitted" and observer.generation > generation

    # Pods of PEs whose content changes last of all are seen only when the job is Submitted again.
    last_pod = await observer.until("all pods of the resize", pods_exist)
    await observer.until("phase Submitted after the resize", is_submitted)
    after = observer.contents()
    changed = sum(after[name] != content for name, content in before.items() if name in after)
    return Measured(
        pods_created_s=last_pod - start,
        writes=await api.writes() - writes,
        added=len(after.keys() - before.keys()),
        changed=changed,
    )
