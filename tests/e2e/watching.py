"""What the end-to-end tests ask of a running system: create, wait by watch, read."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from cli.controlling import ask
from loadtest.api import CORE, MERGE, STREAMS, Api, Follower, Refused
from tests.patience import patient

Obj = dict[str, Any]
Versions = dict[tuple[str, str], str]
"""A resourceVersion for each object, by what it is and its name."""

PATHS = {
    "pes": f"{STREAMS}/streamspes",
    "regions": f"{STREAMS}/streamsprs",
    "pools": f"{STREAMS}/streamshostpools",
    "placements": f"{STREAMS}/streamsplacements",
    "pods": f"{CORE}/pods",
    "config_maps": f"{CORE}/configmaps",
    "services": f"{CORE}/services",
}
"""What a job consists of."""

TEST_S_MAX = patient(400)
"""For a test with its setup; like WAIT_S a guard, and no aim."""
WAIT_S = patient(float(os.environ.get("MILLRACE_TESTS_WAIT_S", "120")))
"""A guard against hanging: after a service was killed its Lease takes 15 s, a busy machine more.

A planted bug is waited for less long: most tests that it breaks wait for what never comes."""
RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class System:
    """A running `millrace up`; `bus` is the URL of its log, `prefix` that of its topics."""

    kubeconfig: Path
    bundles: Path
    state: Path
    process: subprocess.Popen[bytes]
    bus: str
    prefix: str


async def followed_patiently(follower: Follower) -> None:
    """Follow for ever, and again after an API server was away."""
    while True:
        try:
            await follower.run()
        except (aiohttp.ClientError, Refused):
            await asyncio.sleep(RETRY_S)


class JobObjects:
    """Everything of one job, followed by watches."""

    def __init__(self, api: Api, job: str) -> None:
        self.api = api
        self.job = job
        self.path = f"{STREAMS}/streamsjobs/{job}"
        self._changed = asyncio.Condition()
        self._following: list[asyncio.Task[None]] = []
        ours = f"?labelSelector=streams.ibm.com%2Fjob%3D{job}"
        self._jobs = Follower(api, f"{STREAMS}/streamsjobs", self._changed)
        self._of = {kind: Follower(api, path + ours, self._changed) for kind, path in PATHS.items()}

    def of(self, kind: str) -> dict[str, Obj]:
        """Objects of one kind by name."""
        return self._of[kind].objects

    @property
    def status(self) -> Obj:
        """The Job's status; empty if it does not exist."""
        return (self._jobs.objects.get(self.job) or {}).get("status") or {}

    @property
    def uid(self) -> str:
        """The Job's uid; empty if it does not exist."""
        return str((self._jobs.objects.get(self.job) or {}).get("metadata", {}).get("uid", ""))

    @property
    def phase(self) -> str:
        """The Job's phase."""
        return str(self.status.get("phase", ""))

    def live_pods(self) -> dict[str, Obj]:
        """Pods that are not on their way out."""
        pods = self.of("pods")
        return {n: p for n, p in pods.items() if not p["metadata"].get("deletionTimestamp")}

    def pods_of_pes(self) -> dict[str, list[Obj]]:
        """Live pods by PE name."""
        found: dict[str, list[Obj]] = {name: [] for name in self.of("pes")}
        for pod in self.live_pods().values():
            found.setdefault(pod["metadata"]["ownerReferences"][0]["name"], []).append(pod)
        return found

    def all_running(self) -> bool:
        """Submitted, one running pod a PE."""
        pods = self.pods_of_pes()
        return (
            self.phase == "Submitted"
            and bool(pods)
            and all(
                len(each) == 1 and each[0]["status"].get("phase") == "Running"
                for each in pods.values()
            )
        )

    def width_in_force(self, alias: str) -> int:
        """The width that a region's status says is in force; 0 before the first."""
        for region in self.of("regions").values():
            if region["spec"]["alias"] == alias:
                return int((region.get("status") or {}).get("width", 0))
        return 0

    def is_settled(self) -> bool:
        """Running, and everything that the services write about it is written.

        That tuples were lost before, and nobody acknowledged it, does not matter here.
        """
        healthy = [each for each in self.status.get("conditions", ()) if each["type"] == "Healthy"]
        return (
            self.all_running()
            and any(each["status"] == "True" or each["reason"] == "TuplesLost" for each in healthy)
            and len(self.of("pods")) == len(self.of("pes"))
            and all(
                (pe.get("status") or {}).get("phase") == "Running" for pe in self.of("pes").values()
            )
        )

    def versions(self) -> Versions:
        """Everything of the job, and the Job itself."""
        found = {
            (kind, name): str(each["metadata"]["resourceVersion"])
            for kind in self._of
            for name, each in self.of(kind).items()
        }
        for name in {self.job} & self._jobs.objects.keys():
            version = self._jobs.objects[name]["metadata"]["resourceVersion"]
            found["jobs", name] = str(version)
        return found

    async def until(self, what: str, holds: Callable[[], bool], wait_s: float = WAIT_S) -> None:
        """Wait by watch; fails with what there was instead, or with what ended a watch."""
        waiting = asyncio.create_task(self._come(holds))
        try:
            await asyncio.wait(
                {waiting, *self._following}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
            )
            if waiting.done():
                return await waiting
        finally:
            waiting.cancel()
        for task in self._following:
            if task.done():
                await task
        counts = {kind: len(each.objects) for kind, each in self._of.items()}
        raise AssertionError(f"{what} did not come in {wait_s:g} s: {self.status} {counts}")

    async def _come(self, holds: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(holds)

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[JobObjects]:
        """Follow until the block ends."""
        followers = [self._jobs, *self._of.values()]
        self._following = [asyncio.create_task(followed_patiently(each)) for each in followers]
        try:
            yield self
        finally:
            for task in self._following:
                task.cancel()
            await asyncio.gather(*self._following, return_exceptions=True)


class Cluster:
    """The running system as a test sees it."""

    def __init__(self, api: Api, system: System) -> None:
        self.api = api
        self.system = system

    async def submit(self, name: str, spec: Obj) -> None:
        """Create a Job."""
        body = {
            "apiVersion": "streams.ibm.com/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.api.call("POST", f"{STREAMS}/streamsjobs", body)

    async def resize(self, job: JobObjects, alias: str, width: int) -> None:
        """Set a region's width."""
        name = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == alias)
        await self.api.call(
            "PATCH", f"{STREAMS}/streamsprs/{name}", {"spec": {"width": width}}, MERGE
        )

    async def delete(self, job: JobObjects) -> None:
        """Delete a Job and wait until nothing of it is left."""
        try:
            await self.api.call("DELETE", job.path)
        except Refused as refused:
            if "404" not in str(refused):
                raise
        await job.until("the end of the job and all its children", lambda: not job.versions())

    @asynccontextmanager
    async def job(self, name: str) -> AsyncIterator[JobObjects]:
        """A job of that name, followed; at the end it and all of it are deleted, come what may."""
        async with JobObjects(self.api, name).followed() as job:
            try:
                yield job
            finally:
                await self.delete(job)

    @asynccontextmanager
    async def stopped(self, *services: str) -> AsyncIterator[None]:
        """Services stop as SIGTERM stops them, and start again in this order after the block."""
        try:
            for service in services:
                said = await ask(self.system.state, "stop", service)
                log = self.system.state / "logs" / f"{service}.log"
                assert said == f"{service} ended with code 0", f"{said}\n{log.read_text()[-3000:]}"
            yield
        finally:
            for service in services:
                await ask(self.system.state, "start", service)

    async def events(self, name: str) -> list[Obj]:
        """Events about a Job."""
        listing = await self.api.call("GET", f"{CORE}/events")
        items: list[Obj] = listing["items"]
        return [each for each in items if each["involvedObject"]["name"] == name]
