"""Jobs without host constraints that do not fit: they say what they lack, or are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.e2e.hosted import Hosted
from tests.e2e.nodes import NODES, OF_TEST, another_node, remove, wanted_by
from tests.e2e.placing import (
    Traits,
    condition_of_job,
    ground,
    joining,
    placement_of,
    time_out,
    until_refused,
)
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "services/fusion_backend/core/admission.py",
    "services/fusion_backend/core/rooms.py",
    "services/hostpool_manager/core/deciding.py",
    "services/hostpool_manager/core/quotas.py",
    "placement/taken.py",
    "placement/nearing.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
LARGE = {"resources": {"requests": {"cpu": "100"}}}
"""Of a PE; the nodes of a test have 32 CPUs unless it says otherwise."""
RACK = "e2e.millrace.dev/rack"
SPARE: Obj = {"key": "e2e.millrace.dev/spare", "effect": "NoSchedule"}


def two() -> Hosted:
    """Two operators that may run anywhere."""
    return Hosted().operator("a").operator("b")


def is_placed(job: JobObjects, status: str, reason: str) -> bool:
    """Whether the condition Placed says this."""
    placed = condition_of_job(job, "Placed")
    return (placed.get("status"), placed.get("reason")) == (status, reason)


@asynccontextmanager
async def spare_node(cluster: Cluster, owner: str, body: Obj) -> AsyncIterator[None]:
    """One node more of the test, which has a taint for good."""
    body["metadata"]["labels"][OF_TEST] = owner
    await cluster.api.call("POST", NODES, body)
    try:
        yield
    finally:
        await remove(cluster.api, body["metadata"]["name"])


async def test_a_job_that_fits_on_no_node_says_what_it_lacks_until_one_joins(
    cluster: Cluster,
) -> None:
    """It is submitted: the cluster may grow."""
    async with ground(cluster, "short", Traits()) as there, cluster.job("short") as job:
        await there.submit(job, two(), template=LARGE)
        await job.until("short", lambda: is_placed(job, "False", "InsufficientCapacity"))
        message = condition_of_job(job, "Placed")["message"]
        for words in ("PE 0 ('a')", "100 cpu", f"closest: {there.nodes[0]} lacks 68 cpu"):
            assert words in message
        assert job.phase == "Submitted"
        async with joining(there, Traits(cpu="256")) as added:
            await job.until("running", lambda: job.is_settled() and not job.of("placements"))
            await job.until("placed", lambda: is_placed(job, "True", "NoConstraints"))
            assert {pod["spec"]["nodeName"] for pod in job.of("pods").values()} == {added}
            assert "affinity" not in next(iter(job.of("pods").values()))["spec"]
            await cluster.delete(job)


async def test_selectors_and_tolerations_of_the_pod_template_count(cluster: Cluster) -> None:
    """A node joins that the scheduler may use: it has the label, and its taint is tolerated."""
    async with ground(cluster, "racked", Traits()) as there, cluster.job("racked") as job:
        pods = wanted_by("racked")
        pods["spec"] |= {
            "nodeSelector": {**pods["spec"]["nodeSelector"], RACK: "r1"},
            "tolerations": [{**SPARE, "operator": "Exists"}],
        }
        await there.submit(job, two(), template={"podTemplate": pods})
        await job.until("unlabelled", lambda: is_placed(job, "False", "LabelsMissing"))
        body = another_node()
        body["metadata"]["labels"][RACK] = "r1"
        body["spec"] = {"taints": [SPARE]}
        async with spare_node(cluster, there.owner, body):
            await job.until("running", lambda: job.is_settled() and not job.of("placements"))
            await job.until("placed", lambda: is_placed(job, "True", "NoConstraints"))
            await cluster.delete(job)


async def test_a_job_that_has_to_fit_is_refused_and_one_that_fits_is_not_bound(
    cluster: Cluster,
) -> None:
    """The submission waits for capacity as one with host constraints does."""
    async with ground(cluster, "must", Traits()) as there, cluster.job("must") as job:
        await there.submit(job, two(), template=LARGE, admission="Require")
        await job.until("short", lambda: is_placed(job, "False", "InsufficientCapacity"))
        assert job.of("pes") == job.of("pods") == {}
        await time_out(job, 1)
        refused = await until_refused(job)
        assert f"{there.nodes[0]} lacks 68 cpu" in refused["message"]
    async with ground(cluster, "can", Traits()) as there, cluster.job("can") as job:
        await there.run(job, two(), admission="Require")
        assert placement_of(job)["status"]["phase"] == "Placed"
        assert is_placed(job, "True", "Placed")
        assert all("affinity" not in pod["spec"] for pod in job.of("pods").values())
