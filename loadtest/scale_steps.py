"""The steps of `make bench-scale`: submit, resize, restart and delete many jobs at once.

The bare writes that such a submission and deletion need are timed first, on the same cluster and in
the same run. Then the services do it. Jobs alone are watched meanwhile: an observer of all pods
would take a core from the services. What exists is compared before and after each step in which
nothing may change.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from cli.layouts import SANDBOX
from cli.running import RunningSystem
from contracts import labels
from loadtest.api import CORE, MERGE, STREAMS, Api, Follower
from loadtest.counting import Tally, counts_until_now
from loadtest.floor import Floor, delete_floor
from loadtest.profiles import WORDCOUNT, Application, Profile
from loadtest.scraping import Gauges, resident_bytes

TIMEOUT_S: Final = 1_800.0
POLL_S: Final = 0.5
MEMORY_POLL_S: Final = 1.0
SETTLED_S: Final = 6.0
"""More than a status waits for its pod (`MILLRACE_STATUS_SETTLE_S`)."""
IN_FLIGHT: Final = 32
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
KINDS: Final[Mapping[str, str]] = {
    "pods": f"{CORE}/pods",
    "PEs": f"{STREAMS}/streamspes",
    "ParallelRegions": f"{STREAMS}/streamsprs",
    "ConfigMaps": f"{CORE}/configmaps",
    "Services": f"{CORE}/services",
}
"""What a job consists of, by the word for it."""

Say = Callable[[str], None]


class Lost(Exception):
    """Something is missing, doubled or changed that nothing should have touched."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much: jobs of `pes` PEs each; every `resized`-th job gets another channel."""

    jobs: int
    pes: int
    application: Application = WORDCOUNT
    every: int = 10

    @property
    def total(self) -> int:
        """The PEs of all jobs."""
        return self.jobs * self.pes

    @property
    def profile(self) -> Profile:
        """The size of each job."""
        return Profile(self.pes, self.application)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jobs."""
        return tuple(f"scale-{number}" for number in range(self.jobs))


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its seconds, those of the bare writes, our writes, and memory (bytes) by service.

    `cpu_s` is of all processes. `note` says what a person should know beside the figures.
    """

    name: str
    seconds: float
    floor_s: float | None = None
    writes: int | None = None
    memory: Mapping[str, int] = field(default_factory=dict)
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    note: str = ""


class Run:
    """One run on a system that is ready."""

    def __init__(
        self,
        system: RunningSystem,
        api: Api,
        gauges: Callable[[], Gauges],
        scale: Scale,
        say: Say,
    ) -> None:
        """`gauges` are those of the processes that run now."""
        self._system, self._api, self._gauges = system, api, gauges
        self._scale, self._say = scale, say
        self._changed = asyncio.Condition()
        self._jobs = Follower(api, f"{STREAMS}/streamsjobs", self._changed)

    async def steps(self, floor_namespace: str) -> list[Step]:
        """All steps in their order. Raises Lost, TimeoutError."""
        floor_submit, floor_delete = await self._floor(floor_namespace)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._jobs.run())
            submitted = await self._step("submit", self._submit, floor_submit)
            await self._check(self._scale.total)
            resized = await self._step(f"resize of every {self._scale.every}th job", self._resize)
            more = self._scale.total + len(self._resized)
            await self._check(more)
            restarts = [step async for step in self._restarts()]
            deleted = await self._step("delete", self._delete, floor_delete)
            following.cancel()
        return [submitted, resized, *restarts, deleted]

    async def _floor(self, namespace: str) -> tuple[float, float]:
        self._say(f"bare writes: {self._scale.total} PEs")
        floor = Floor(self._api, namespace, "scale")
        submitted = await floor.submit(self._scale.total)
        deleted = await delete_floor(self._api, namespace)
        self._say(f"bare writes: submit {submitted:.1f} s, delete {deleted:.1f} s")
        return submitted, deleted

    async def _step(
        self, name: str, act: Callable[[], Awaitable[str]], floor_s: float | None = None
    ) -> Step:
        self._say(name)
        api, gauges = self._api, self._gauges()
        before, start = await counts_until_now(api, gauges), time.monotonic()
        with self._memory() as memory:
            async with asyncio.timeout(TIMEOUT_S):
                note = await act()
        seconds = time.monotonic() - start
        self._say(f"{name}: {seconds:.1f} s, {note}")
        after = await counts_until_now(api, gauges)
        spent, tally = after.reading.since(before.reading), Tally.between(before, after)
        return Step(name, seconds, floor_s, spent.writes, memory, spent.cpu_s, tally, note)

    @contextmanager
    def _memory(self) -> Iterator[dict[str, int]]:
        """The most that each service with its workers had resident, looked at each second."""
        most: dict[str, int] = {}

        def look() -> None:
            for name, child in self._system.children.items():
                if name != SANDBOX and child.pid is not None:
                    most[name] = max(most.get(name, 0), resident_bytes(child.pid))

        async def watch() -> None:
            while True:
                look()
                await asyncio.sleep(MEMORY_POLL_S)

        watching = asyncio.create_task(watch())
        try:
            yield most
        finally:
            watching.cancel()

    # ----------------------------------------------------------------------- steps

    async def _submit(self) -> str:
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def one(name: str) -> None:
            async with gate:
                await self._api.call(
                    "POST", f"{STREAMS}/streamsjobs", self._scale.profile.job(name)
                )

        await asyncio.gather(*map(one, self._scale.names))
        await self._until(lambda: self._all("Submitted", self._scale.names))
        return "until every job is Submitted"

    @property
    def _resized(self) -> tuple[str, ...]:
        return self._scale.names[:: self._scale.every]

    async def _resize(self) -> str:
        before = {name: self._generation(name) for name in self._resized}
        listing = await self._api.call("GET", KINDS["ParallelRegions"])
        width = self._scale.profile.channels + 1
        paths = [
            f"{KINDS['ParallelRegions']}/{region['metadata']['name']}"
            for region in listing["items"]
            if region["spec"]["job"] in before
            and region["spec"]["alias"] == self._scale.application.region
        ]
        body = {"spec": {"width": width}}
        await asyncio.gather(*(self._api.call("PATCH", path, body, MERGE) for path in paths))
        await self._until(
            lambda: (
                self._all("Submitted", self._resized)
                and all(self._generation(name) > number for name, number in before.items())
            )
        )
        return f"{len(paths)} jobs, {len(paths) * (self._scale.pes + 1)} PEs"

    async def _restarts(self) -> Any:
        """Every service by itself, then all at once: nothing may be written to PEs or pods."""
        services = [name for name in self._system.children if name != SANDBOX]
        before = await self._settled()
        for name in services:
            yield await self._restarted(f"restart of {name}", [name])
        yield await self._restarted("cold resync: restart of all services", services)
        after = await self._versions()
        if changed := {key for key in {*before, *after} if before.get(key) != after.get(key)}:
            raise Lost(f"restarts changed {len(changed)} objects, {sorted(changed)[0]} among them")

    async def _restarted(self, name: str, services: list[str]) -> Step:
        self._say(name)
        for each in services:
            await self._system.stop_service(each)
        start = time.monotonic()
        with self._memory() as memory:
            await asyncio.gather(*(self._system.start_service(each) for each in services))
            seconds = time.monotonic() - start
            await asyncio.sleep(MEMORY_POLL_S)
        self._say(f"{name}: {seconds:.1f} s")
        return Step(name, seconds, memory=memory, note="from start to ready")

    async def _delete(self) -> str:
        gate = asyncio.Semaphore(IN_FLIGHT)

        async def one(name: str) -> None:
            async with gate:
                await self._api.call("DELETE", f"{STREAMS}/streamsjobs/{name}")

        start = time.monotonic()
        await asyncio.gather(*map(one, self._scale.names))
        await self._until(lambda: not set(self._scale.names) & self._jobs.objects.keys())
        jobs_s = time.monotonic() - start
        left = {}
        for word, path in KINDS.items():
            left[word] = await self._left(path)
        for path in KINDS.values():
            await self._until_empty(path)
        remained = ", ".join(f"{count} {word}" for word, count in left.items() if count)
        return f"last Job gone after {jobs_s:.1f} s, then {remained or 'nothing'} left to remove"

    # ----------------------------------------------------------------------- what exists

    async def _until_empty(self, path: str) -> None:
        """Look again and again: a watch of everything would take a core from the services."""
        while True:
            if not await self._metadata(path, "&limit=1"):
                return
            await asyncio.sleep(POLL_S)

    async def _left(self, path: str) -> int:
        return len(await self._metadata(path))

    async def _metadata(self, path: str, more: str = "") -> dict[str, tuple[str, str]]:
        """The uid and version of each object of our jobs in a collection, by name."""
        query = f"?labelSelector={labels.APP}%3D{labels.APP_VALUE}{more}"
        listing = await self._api.call("GET", path + query, accept=METADATA_ONLY)
        # A real API server says null for an empty list of metadata alone.
        found = (each["metadata"] for each in listing["items"] or ())
        return {each["name"]: (each["uid"], each["resourceVersion"]) for each in found}

    async def _versions(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Of PEs uid and version, of pods the uid: kubelets write to these."""
        pes, pods = [await self._metadata(KINDS[word]) for word in ("PEs", "pods")]
        seen = {("PE", name): each for name, each in pes.items()}
        return seen | {("pod", name): (uid, "") for name, (uid, _) in pods.items()}

    async def _settled(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The versions once nothing more is written: some statuses wait for their pods."""
        before: dict[tuple[str, str], tuple[str, str]] = {}
        while (now := await self._versions()) != before:
            before = now
            await asyncio.sleep(SETTLED_S)
        return now

    async def _check(self, pes: int) -> None:
        """Each PE runs, in a pod and only one. Raises Lost."""
        async with asyncio.timeout(TIMEOUT_S):
            await self._until(lambda: all(map(self._is_healthy, self._scale.names)))
        counts = {word: await self._left(KINDS[word]) for word in ("PEs", "pods")}
        if set(counts.values()) != {pes}:
            raise Lost(f"{pes} PEs were expected, and there are {counts}")

    def _status(self, name: str) -> Mapping[str, Any]:
        return (self._jobs.objects.get(name) or {}).get("status") or {}

    def _is_healthy(self, name: str) -> bool:
        conditions = self._status(name).get("conditions") or ()
        return any((each["type"], each["status"]) == ("Healthy", "True") for each in conditions)

    def _generation(self, name: str) -> int:
        return int(self._status(name).get("generation", -1))

    def _all(self, phase: str, names: tuple[str, ...]) -> bool:
        return all(self._status(name).get("phase") == phase for name in names)

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(holds)
