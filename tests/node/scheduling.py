"""Random schedules of numbered tuples on the real node, where their jobs share one kubelet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.e2e.watching import JobObjects, Obj
from tests.node.installing import RUNTIME_IMAGE
from tests.node.pods import ServicePods
from tests.numbered.checking import Found
from tests.numbered.sandboxed import FLOW_S_MAX, Numbered, Prepared, spec_of
from tests.numbered.schedules import START, Schedule, play, schedule
from tests.patience import patient
from tools.real.node.plan import KEY

SEEDS = tuple(map(int, os.environ.get("MILLRACE_NODE_SEEDS", "0 1 2").split()))
"""Their fusions differ."""
COUNT = int(os.environ.get("MILLRACE_NODE_TUPLES", "20000"))
RATE = int(os.environ.get("MILLRACE_NODE_RATE", "1000"))
"""Tuples flow as long as a schedule lasts."""
ROUNDS = int(os.environ.get("MILLRACE_NODE_ROUNDS", "1"))
"""How often a schedule goes through its widths."""
LOOK_S = 0.2
HAND_OVER_S = 120
"""The node is the only one, so a hand-over waits until its drain is over."""


def on_real_node(spec: Obj) -> Obj:
    """The spec of a Job whose pods are on the real node, where the image is."""
    toleration = {"key": KEY, "operator": "Exists"}
    pod = {"nodeSelector": {KEY: "true"}, "tolerations": [toleration]}
    more = {
        "podTemplate": {"spec": pod},
        # Where the machine is shared, many interpreters may take long to start.
        "initialProbeDelayInSeconds": 120,
        # A node of two cores has the services, too.
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    }
    return spec | {
        "imagePullPolicy": "Never",
        "scaling": {"handOverSeconds": HAND_OVER_S},
        "processingElement": spec["processingElement"] | more,
    }


@dataclass(kw_only=True)
class NodePrepared(Prepared):
    """An installation with the bundle and the claim; `pods` are those of its services."""

    pods: Sequence[ServicePods]

    @asynccontextmanager
    async def stopped(self, service: str) -> AsyncIterator[None]:
        """The Deployment of a service has no pod while the block lasts.

        No drain happens meanwhile: the service could not come back to the only node, and the drain
        waits for PEs that get no pod without it.
        """
        (pods,) = (each for each in self.pods if each.service == service)
        async with self.nodes:
            await pods.scale(0)
            try:
                await pods.until_ready()
                yield
            finally:
                await pods.scale(1)
                await pods.until_ready()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a schedule did: lines at the sink when it was over, seconds of its hand-overs."""

    schedule: Schedule
    during: int
    hand_overs: Mapping[int, float]
    found: Found

    def __str__(self) -> str:
        seconds = ", ".join(f"{each:.1f}" for each in self.hand_overs.values())
        return (
            f"schedule {self.schedule.seed}, fusion {dict(self.schedule.fusion)}, "
            f"{len(self.schedule.steps)} steps: {self.during:,} of {COUNT:,} tuples were at the "
            f"sink when they were over; hand-overs of {seconds} s; {self.found}"
        )


async def outcome(around: Prepared, seed: int) -> Outcome:
    """Play the schedule of a seed with a job of its own."""
    each = schedule(seed, rounds=ROUNDS)
    async with around.cluster.job(f"exact-{seed}") as job, _hand_overs(job) as hand_overs:
        numbered = Numbered(around, job, COUNT)
        values = {"count": COUNT, "rate": RATE, "width": START}
        spec = spec_of(job.job, each.fusion, values, image=RUNTIME_IMAGE)
        await around.cluster.submit(job.job, on_real_node(spec))
        await job.until("running", job.all_running)
        await play(each, numbered)
        during = numbered.lines
        return Outcome(
            each, during, hand_overs, await numbered.found(FLOW_S_MAX + patient(5 * COUNT / RATE))
        )


@asynccontextmanager
async def _hand_overs(job: JobObjects) -> AsyncIterator[Mapping[int, float]]:
    """The seconds of each hand-over that comes to its end in the block, by generation."""
    found: dict[int, float] = {}
    looking = asyncio.create_task(_look(job, found))
    try:
        yield found
    finally:
        looking.cancel()


async def _look(job: JobObjects, found: dict[int, float]) -> None:
    while True:
        last: Mapping[str, Any] = job.status.get("handOver") or {}
        if last.get("complete"):
            began, ended = (datetime.fromisoformat(last[at]) for at in ("begun", "completedAt"))
            found[last["generation"]] = (ended - began).total_seconds()
        await asyncio.sleep(LOOK_S)
