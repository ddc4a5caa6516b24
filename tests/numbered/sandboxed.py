"""Jobs of the numbered application as grounds of schedules, on a running `millrace up`.

`Prepared` is what differs elsewhere: tests/node/scheduling.py has that of the real node.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from os import SEEK_END
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from cli.bundling import pack_source
from cli.controlling import ask
from contracts import labels
from loadtest.api import CORE, MERGE, Refused
from tests.e2e.nodes import NODES, change, drain
from tests.e2e.watching import PATHS, Cluster, JobObjects, Obj
from tests.numbered.checking import Found, found
from tests.patience import patient
from tests.places import ROOT

BUNDLE: Final = "tests.Numbered.sab"
CRASHING: Final = "tests.Crashing.sab"
FAILING: Final = "tests.Failing.sab"
ENDING: Final = "tests.Ending.sab"
VARIABLES: Final = {BUNDLE: "app", CRASHING: "crashing", FAILING: "failing", ENDING: "ending"}
REGION: Final = "Counting"
CLAIM: Final = "numbered"
UNSCHEDULABLE: Final = "Unschedulable"
COMPLETED: Final = "Completed"
IMAGE: Final = "millrace/runtime:0.1.0"
FLOW_S_MAX: Final = patient(240.0)
"""So long may it take until all tuples are at the sink, once a schedule is over."""
POLL_S: Final = 0.5
DRAINED_S_MAX: Final = patient(60.0)
"""From the eviction of a pod until its PE has another one that stays, or is gone."""
PART_BYTES: Final = 1 << 20
STILL_S: Final = patient(15.0)
"""Where tuples are lost, a sink that gets none for so long has got all that come."""


@dataclass
class Prepared:
    """A cluster with the bundle and the claim. One service and one node are away at a time.

    `claim`: the folder of the claim on this machine.
    """

    cluster: Cluster
    claim: Path
    services: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    nodes: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def stopped(self, service: str) -> AsyncIterator[None]:
        """A service is away while the block lasts."""
        state = self.cluster.system.state
        await ask(state, "stop", service)
        try:
            yield
        finally:
            await ask(state, "start", service)


async def prepared(cluster: Cluster, folder: Path, *bundles: str) -> Prepared:
    """Pack applications in a folder, and create the claim that all jobs share."""
    for bundle in bundles or (BUNDLE,):
        source = ROOT / "tests" / "numbered" / f"app.py:{VARIABLES[bundle]}"
        packed = pack_source(source, folder / bundle)
        (cluster.system.bundles / bundle).write_bytes(packed.read_bytes())
    return await with_claim(cluster)


async def with_claim(cluster: Cluster) -> Prepared:
    """Create the claim that all jobs share."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    try:
        await cluster.api.call("POST", f"{CORE}/persistentvolumeclaims", claim)
    except Refused as refused:
        if "409" not in str(refused):
            raise
    return Prepared(cluster, _claim(cluster))


def spec_of(
    job: str,
    fusion: Mapping[str, Any],
    values: Mapping[str, object],
    bundle: str = BUNDLE,
    image: str = IMAGE,
) -> Obj:
    """The spec of a Job; `values` are submission-time values of the application."""
    return {
        "bundle": {"name": bundle},
        "fusion": dict(fusion),
        "submissionTimeValues": {name: str(each) for name, each in values.items()},
        "processingElement": {
            "image": image,
            "checkpointRepository": {"fileSystem": {"volumeClaim": {"name": CLAIM}}},
            "dataVolumeClaim": {"name": CLAIM, "subPath": f"data-{job}"},
        },
    }


def _claim(cluster: Cluster) -> Path:
    return cluster.system.state / "run" / "claims" / "default" / CLAIM


def states_of(cluster: Cluster) -> Path:
    """The folder in which each job has one with the states of its PEs."""
    return _claim(cluster) / "default"


class Numbered:
    """One job of the application: a ground of schedules, with what its sink wrote."""

    def __init__(
        self,
        around: Prepared,
        job: JobObjects,
        count: int,
        skipped: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """A job of `count` tuples that is submitted; those of some numbers are skipped."""
        self.job = job
        self.count = count
        self._skipped = skipped
        self._due = sum(not skipped(each) for each in range(count))
        self._around = around
        self._api = around.cluster.api
        self._file = around.claim / f"data-{job.job}" / "counted.jsonl"
        self._read = self._lines = 0

    # ------------------------------------------------------------------ the ground

    async def resize(self, width: int, *, waits: bool) -> None:
        """Set the region's width; with `waits` return when it is in force."""
        await self._around.cluster.resize(self.job, REGION, width)
        if waits:
            await self.until_width(width)

    def launches(self) -> dict[str, tuple[int, int]]:
        """For each PE the launch that it has to have, and the newest that has reported."""
        statuses = {name: each.get("status") or {} for name, each in self.job.of("pes").items()}
        return {
            name: (each.get("launchCount", 0), (each.get("runtime") or {}).get("launch", 0))
            for name, each in statuses.items()
        }

    async def until_width(self, width: int) -> None:
        """Return when the width is in force, and all PEs run, or have completed."""
        await self.job.until(
            f"width {width}",
            lambda: (
                self.job.width_in_force(REGION) == width
                and (self.job.all_running() or self.job.phase == COMPLETED)
            ),
        )

    async def until_completed(self) -> None:
        """Return when the job is completed."""
        await self.job.until("completed", lambda: self.job.phase == COMPLETED)

    async def restart(self, place: float) -> None:
        """Restart a PE as `millrace restart` does; returns when its next launch runs."""
        pe = self._pe_at(place)
        mark = await self._request_restart(pe)
        await self.job.until(
            f"the next launch of {pe}",
            lambda: pe not in self.job.of("pes") or self._restarted(pe) == mark,
        )

    async def _request_restart(self, pe: str) -> str:
        """Request a restart, unless a resize took the PE away; returns the mark of the request."""
        mark = uuid.uuid4().hex
        patch = {"metadata": {"annotations": {labels.RESTART: mark}}}
        try:
            await self._api.call("PATCH", f"{PATHS['pes']}/{pe}", patch, MERGE)
        except Refused as refused:
            if "404" not in str(refused):
                raise
        return mark

    async def resize_without(self, width: int, place: float, *, begun: bool) -> None:
        """Set the width while no node takes the next launch of a PE; the hand-over has begun then.

        Other jobs wait for a node as well where they launch something meanwhile.
        """
        async with self._around.nodes:
            nodes = (await self._api.call("GET", NODES))["items"]
            names = [each["metadata"]["name"] for each in nodes]
            # A launch that has not begun is gone in a hand-over, and says so 12 s later only.
            await self.job.until(
                "the report of each launch",
                lambda: (
                    not begun
                    or self.job.phase == COMPLETED
                    or all(has == due for due, has in self.launches().values())
                ),
            )
            pe, before = self._pe_at(place), self._hand_over.get("generation")
            try:
                for name in names:
                    await change(self._api, name, {"spec": {"unschedulable": True}})
                await self._request_restart(pe)
                await self.job.until(
                    f"{pe} without a node",
                    lambda: (
                        self._reason(pe) in (None, UNSCHEDULABLE) or self.job.phase == COMPLETED
                    ),
                )
                await self.resize(width, waits=False)
                await self.job.until(
                    f"a hand-over to width {width}",
                    lambda: (
                        self._hand_over.get("generation") != before
                        or self.job.width_in_force(REGION) == width
                    ),
                )
            finally:
                for name in names:
                    await change(self._api, name, {"spec": {"unschedulable": None}})
        await self.until_width(width)

    @property
    def _hand_over(self) -> Obj:
        found: Obj = self.job.status.get("handOver") or {}
        return found

    def _reason(self, pe: str) -> str | None:
        """Why a PE does not run; None if a resize took it away."""
        found = self.job.of("pes").get(pe)
        return None if found is None else str((found.get("status") or {}).get("reason", ""))

    async def drain(self, place: float) -> None:
        """Drain the node of a PE, and uncordon it once its PEs have other pods.

        While it is closed, it shows why pods that never ran are gone.
        """
        async with self._around.nodes:
            pods = self.job.pods_of_pes().get(self._pe_at(place))
            node = str(pods[0]["spec"].get("nodeName", "")) if pods else ""
            if not node:
                return
            there = f"{CORE}/pods?fieldSelector=spec.nodeName%3D{node}"
            before = (await self._api.call("GET", there))["items"]
            try:
                await drain(self._around.cluster, node, "", Path())
                for pod in before:
                    await self._launched_again(pod)
            finally:
                await change(self._api, node, {"spec": {"unschedulable": None}})

    async def _launched_again(self, evicted: Obj) -> None:
        """Return when the PE of an evicted pod has another pod that stays, or is gone."""
        meta = evicted["metadata"]
        pe = f"{meta['labels'][labels.JOB]}-{meta['labels'][labels.PE]}"
        of_pe = f"{labels.JOB}={meta['labels'][labels.JOB]},{labels.PE}={meta['labels'][labels.PE]}"
        async with asyncio.timeout(DRAINED_S_MAX):
            while True:
                try:
                    found_pe = await self._api.call("GET", f"{PATHS['pes']}/{pe}")
                except Refused as refused:
                    if "404" not in str(refused):
                        raise
                    return  # a resize took it away
                if found_pe["status"].get("phase") == COMPLETED:
                    return
                pods = await self._api.call("GET", f"{CORE}/pods?labelSelector={quote(of_pe)}")
                found = [each["metadata"] for each in pods["items"]]
                staying = [each for each in found if not each.get("deletionTimestamp")]
                if any(each["uid"] != meta["uid"] for each in staying):
                    return
                await asyncio.sleep(POLL_S)

    async def away(self, service: str, seconds: float) -> None:
        """Stop a service, and start it after so long."""
        async with self._around.services[service], self._around.stopped(service):
            await asyncio.sleep(seconds)

    def _pe_at(self, place: float) -> str:
        pes = sorted(self.job.of("pes"))
        return pes[int(place * len(pes))]

    def _restarted(self, pe: str) -> str:
        """The newest request for a restart that was carried out."""
        return str((self.job.of("pes")[pe].get("status") or {}).get("observedRestart", ""))

    @property
    def failures(self) -> int:
        """At how many tuples a function has raised."""
        return len(list(self._file.parent.glob("failed-*")))

    # ------------------------------------------------------------------ the sink

    @property
    def lines(self) -> int:
        """How many lines the sink has written. Each is read once."""
        try:
            with self._file.open("rb") as file:
                if file.seek(0, SEEK_END) < self._read:  # the sink has begun again
                    self._read = self._lines = 0
                file.seek(self._read)
                for part in iter(lambda: file.read(PART_BYTES), b""):
                    whole = part.rfind(b"\n") + 1  # a killed sink takes out what follows
                    if not whole:
                        break
                    self._lines += part.count(b"\n")
                    self._read += whole
                    file.seek(self._read)
        except FileNotFoundError:
            return 0
        return self._lines

    async def found(self, wait_s: float = FLOW_S_MAX) -> Found:
        """What the sink wrote, once it has as many lines as tuples were made."""
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            is_there = self.lines >= self._due
            await asyncio.sleep(POLL_S)  # what comes twice comes soon
            if is_there:
                break
        return self.found_now()

    async def found_still(self, wait_s: float = FLOW_S_MAX) -> Found:
        """What the sink wrote, once nothing comes any more."""
        still, before = time.monotonic(), -1
        end = still + wait_s
        while time.monotonic() < min(end, still + STILL_S):
            if (now := self.lines) != before:
                before, still = now, time.monotonic()
            await asyncio.sleep(POLL_S)
        return self.found_now()

    def found_now(self) -> Found:
        """What the sink has written so far."""
        with self._file.open("rb") as file:
            return found(file, self.count, self._skipped)
