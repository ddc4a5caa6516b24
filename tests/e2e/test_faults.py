"""Services die in the middle; the cluster converges and nothing runs twice."""

from __future__ import annotations

import pytest

from tests.e2e.examples import OUTSIDE, REGION, submit_example, until_width
from tests.e2e.killing import kill
from tests.e2e.watching import TEST_S_MAX, Cluster

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WIDTH = 20


@pytest.mark.parametrize("service", ["fusion_backend", "pod_state_machine", "watch_ingest"])
async def test_a_service_killed_during_a_submission_and_a_resize_converges(
    cluster: Cluster, service: str
) -> None:
    """SIGKILL in the middle of both; every PE ends with exactly one running pod."""
    async with cluster.job(f"killed-{service.replace('_', '-')}") as job:
        await submit_example(cluster, job, WIDTH)
        await job.until("some children", lambda: len(job.of("config_maps")) > 3)
        kill(cluster.system, service)
        await until_width(job, WIDTH)
        await cluster.resize(job, REGION, WIDTH + 5)
        await job.until("more children", lambda: len(job.of("config_maps")) > WIDTH + OUTSIDE + 4)
        kill(cluster.system, service)
        await until_width(job, WIDTH + 5)
