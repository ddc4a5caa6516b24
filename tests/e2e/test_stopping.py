"""A service is stopped and started in the middle; what happened meanwhile comes to pass, once."""

from __future__ import annotations

import pytest

from loadtest.api import CORE
from tests.e2e.examples import REGION, RESTARTED, submit_example, until_width, with_example
from tests.e2e.test_life import launches
from tests.e2e.watching import TEST_S_MAX, Cluster

COVERS = (
    "services/watch_ingest/adapters/ingesting.py",
    "services/watch_ingest/adapters/noticing.py",
    "services/watch_ingest/core/noticing.py",
    "services/chassis/running/leading.py",
    "services/chassis/running/hosting.py",
    "cli/controlling.py",
    "cli/running.py",
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(TEST_S_MAX),
    pytest.mark.parametrize("service", ["watch-ingest", "fusion-backend", "pod-state-machine"]),
]


async def test_a_job_whose_submission_a_service_missed_runs_when_it_is_back(
    cluster: Cluster, service: str
) -> None:
    """It ends in the middle of a submission, which the others cannot finish; each PE runs once."""
    async with cluster.job(f"begun-without-{service}") as job:
        await submit_example(cluster, job, 8)
        await job.until("begun", lambda: bool(job.phase))
        async with cluster.stopped(service):
            pass
        await until_width(job, 8)
        assert set(launches(job).values()) == {1}


async def test_a_resize_and_a_lost_pod_that_a_service_missed_come_to_pass(
    cluster: Cluster, service: str
) -> None:
    """Both happen while it is away; the PE that lost its pod has no launch more than it needs."""
    async with cluster.job(f"resized-without-{service}") as job:
        await with_example(cluster, job, 3, processingElement=RESTARTED)
        (lost,) = job.pods_of_pes()[f"{job.job}-0"]
        async with cluster.stopped(service):
            await cluster.resize(job, REGION, 5)
            await cluster.api.call("DELETE", f"{CORE}/pods/{lost['metadata']['name']}")
            await job.until("the pod gone", lambda: lost["metadata"]["name"] not in job.of("pods"))
        await until_width(job, 5)
        new = {f"{job.job}-{number}" for number in (4, 7, 8)}
        assert launches(job) == {name: 1 if name in new else 2 for name in job.of("pes")}


async def test_a_deletion_that_a_service_missed_leaves_nothing(
    cluster: Cluster, service: str
) -> None:
    """The Job is deleted while the service is away, and gone with all it had when it is back."""
    async with cluster.job(f"deleted-without-{service}") as job:
        await with_example(cluster, job, 3)
        async with cluster.stopped(service):
            await cluster.api.call("DELETE", job.path)
        await job.until("nothing left", lambda: not job.versions())
