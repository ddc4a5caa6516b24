"""A job with automatic fusion says how much CPU its cluster uses, and how much of that it uses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from loadtest.api import CORE, MERGE, Refused
from sandbox.store.steering import CPU
from tests.e2e.applications import THIRD, submit_row
from tests.e2e.metrics_serving import metrics_served
from tests.e2e.nodes import change
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects
from tests.patience import patient

COVERS = (
    "services/fusion_backend/adapters/cluster_cpu.py",
    "services/fusion_backend/core/wording_shares.py",
    "contracts/metrics.py",
    "planner/fusion/reckoning.py",
    "cli/cpu_usage.py",
    "sandbox/http/measuring.py",
    "sandbox/store/played_cpu.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"
NODE = "node-0"
OF_NODE, OF_POD = 1500, 250
USES = re.compile(r"the cluster uses ([0-9.]+) of ([0-9.]+) CPUs(?:, ([0-9.]+) of them for this)?")


@asynccontextmanager
async def cpu_in_use(cluster: Cluster, name: str) -> AsyncIterator[None]:
    """The metrics API is there: played by an annotation, or served to a real control plane."""
    if name == "sandbox":
        await change(cluster.api, NODE, {"metadata": {"annotations": {CPU: f"{OF_NODE}m"}}})
        try:
            yield
        finally:
            await change(cluster.api, NODE, {"metadata": {"annotations": {CPU: None}}})
        return
    async with metrics_served(cluster.api, of_pod=OF_POD, of_all=OF_NODE):
        async with asyncio.timeout(patient(60.0)):
            while True:
                with suppress(Refused):
                    await cluster.api.call("GET", NODE_METRICS)
                    break
                await asyncio.sleep(0.2)
        yield


def uses(job: JobObjects) -> tuple[float, float, float]:
    """The CPU in use, of how much, and that of the job itself; zeros if nothing says it."""
    conditions = job.status.get("conditions") or ()
    message = next((each["message"] for each in conditions if each["type"] == "Fused"), "")
    found = USES.search(message)
    return tuple(float(each or 0) for each in found.groups()) if found else (0.0, 0.0, 0.0)  # type: ignore[return-value]


async def test_automatic_fusion_reads_the_cpu_in_use_and_tells_it_from_the_jobs_own(
    cluster: Cluster, request: pytest.FixtureRequest
) -> None:
    """At the submission nothing is the job's own; at a resize its pods are."""
    backend = request.node.callspec.params["system"]
    async with cpu_in_use(cluster, backend), cluster.job("measured") as job:
        async with cluster.stopped("fusion-backend"):
            pass  # it may remember a cluster without metrics
        await submit_row(cluster, job, {"automatic": True}, scaling={"settleSeconds": 0})
        await job.until("running", job.all_running)
        used, of, own = uses(job)
        assert OF_NODE / 1000 <= used < of
        assert own == 0
        if backend == "sandbox":
            for pod in job.live_pods().values():
                patch = {"metadata": {"annotations": {CPU: f"{OF_POD}m"}}}
                await cluster.api.call(
                    "PATCH", f"{CORE}/pods/{pod['metadata']['name']}", patch, MERGE
                )
        pods = len(job.live_pods())
        await cluster.resize(job, THIRD, 3)
        await job.until("resized", lambda: uses(job)[2] > 0 and job.all_running())
        assert uses(job)[2] == pods * OF_POD / 1000
