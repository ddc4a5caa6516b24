"""The job of `millrace demo`: sentences at a rate, whose words are counted in a parallel region."""

from __future__ import annotations

import asyncio
import re
import runpy
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from cli import jobs
from cli.connecting import PODS, Cluster, aclosing_transport
from cli.failing import Failure
from cli.flowing import Flow, Reading, flow_table
from cli.following import Follower
from cli.live import JobView, PeView
from cli.pod_requests import HEADERS, lost_in, metrics_of, processed_in
from cli.resources import SENTENCES
from cli.showing import Renderable, Screen, cell, live, stacked
from services.chassis.kube.port import Transport, path_of
from services.chassis.process.errors import ChassisError

NAMESPACE: Final = "default"
JOB: Final = "sentences"
REGION: Final = "Counted"
STORE: Final = "state"
SAMPLE_S: Final = 0.25
POLL_S: Final = 0.25
_COUNT: Final = re.compile(r"^ *(?P<count>\d+)  (?P<word>\w+)$", re.M)


def truth_of(sentences: int) -> dict[str, int]:
    """How often each word is in so many sentences, by the application itself."""
    found: dict[str, int] = runpy.run_path(str(SENTENCES / "app.py"))["truth"](sentences)
    return found


def counts_in(log: str) -> dict[str, int]:
    """The table that the sink has logged."""
    return {each["word"]: int(each["count"]) for each in _COUNT.finditer(log)}


@dataclass
class Watched:
    """The job while its tuples flow: the samples, and what was seen to be lost."""

    follower: Follower
    transport: Transport
    flow: Flow = field(default_factory=Flow)
    lost_by_pod: dict[str, int] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def lost(self) -> int:
        """So many tuples PEs have reported to be lost."""
        return sum(self.lost_by_pod.values())

    async def sample(self) -> None:
        """Read the metrics of all PEs once."""
        view = self.follower.view
        pes = [pe for pe in view.pes.values() if pe.pod_name and pe.is_running] if view else []
        texts = await asyncio.gather(
            *(metrics_of(self.transport, NAMESPACE, pe.pod_name) for pe in pes)
        )
        readings: dict[str, Reading] = {}
        for pe, text in zip(pes, texts, strict=True):
            readings |= _readings(pe, processed_in(text))
            if text:
                self.lost_by_pod[pe.pod] = max(lost_in(text), self.lost_by_pod.get(pe.pod, 0))
        self.flow.add(time.monotonic(), readings)
        self.changed.set()
        self.changed.clear()

    async def until_flowing(
        self, channels: int, timeout_s: float, *, but: Collection[str] = ()
    ) -> float:
        """Wait for tuples on so many channels, in other pods; returns when. Raises Failure."""
        try:
            async with asyncio.timeout(timeout_s):
                while not self.flow.flows_on(channels, but=but):
                    await self.changed.wait()
        except TimeoutError:
            text = f"tuples do not flow on {channels} channels within {timeout_s:g} s"
            raise Failure(f"{text}; `millrace why {JOB}` says more") from None
        return time.monotonic()

    async def counts(self, truth: Mapping[str, int], timeout_s: float) -> dict[str, int]:
        """The table in the log of the sink, which it writes when it has every word; or nothing."""
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            found = counts_in(await self._log())
            if len(found) >= len(truth):
                return found
            await asyncio.sleep(POLL_S)
        return {}

    async def _log(self) -> str:
        view = self.follower.view
        for pe in view.pes.values() if view else ():
            if "Report" in pe.operators and pe.pod_name:
                path = path_of(PODS, NAMESPACE, pe.pod_name, "log")
                try:
                    response = await self.transport.request("GET", path, body=None, headers=HEADERS)
                except ChassisError:
                    continue
                return response.body.decode(errors="replace")
        return ""


def _readings(pe: PeView, processed: Mapping[str, float]) -> dict[str, Reading]:
    return {
        name: Reading(pe.id, pe.pod, tuples)
        for name, tuples in processed.items()
        if name.startswith(f"{REGION}[")
    }


@asynccontextmanager
async def watched(cluster: Cluster, follower: Follower, console: Screen) -> AsyncIterator[Watched]:
    """The job, sampled and shown while the context lasts."""
    async with aclosing_transport(cluster.kubeconfig) as transport:
        found = Watched(follower, transport)
        with live(console) as display:

            async def go_on() -> None:
                while True:
                    await found.sample()
                    if console.is_terminal:
                        display.update(_panel(found), refresh=True)
                    await asyncio.sleep(SAMPLE_S)

            task = asyncio.create_task(go_on())
            try:
                yield found
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                display.update(_panel(found), refresh=True)


def _panel(found: Watched) -> Renderable:
    return stacked(cell(""), flow_table(found.flow))


async def resized(
    cluster: Cluster, found: Watched, width: int, timeout_s: float
) -> tuple[JobView, JobView, float]:
    """Give the region another width; returns the job before and after, and the seconds until
    tuples flow on all channels. Raises Failure.
    """
    before, pods = found.follower.view, found.flow.pods
    region = await jobs.region_of(cluster.kube, NAMESPACE, JOB, REGION)
    begun_s = time.monotonic()
    await jobs.set_width(cluster.kube, region, width)

    def is_in_force() -> bool:
        view = found.follower.view
        return view is None or view.has_failed or _has(view, width)

    await found.follower.until(f"width {width} of {REGION}", is_in_force, timeout_s)
    jobs.refuse_if_failed(found.follower.view, JOB)
    flowing_s = await found.until_flowing(width, timeout_s, but=pods)
    after = found.follower.view
    if before is None or after is None:
        raise Failure(f"job {JOB} does not exist any more")
    return before, after, flowing_s - begun_s


def _has(view: JobView, width: int) -> bool:
    return view.regions.get(REGION) == (width, width) and view.is_running
