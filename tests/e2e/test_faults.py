"""Services die in the middle; the cluster converges and nothing runs twice."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.e2e.examples import OUTSIDE, REGION, submit_example, until_width
from tests.e2e.watching import TEST_S_MAX, Cluster, System

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
WIDTH = 20


def pids_of(system: System, service: str) -> list[int]:
    """The service's processes below `millrace up`."""
    parent = str(system.process.pid)
    found = subprocess.run(
        ["pgrep", "-P", parent, "-f", f"services.{service}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(pid) for pid in found.stdout.split()]


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


def kill(system: System, service: str) -> None:
    """End a service in the middle of whatever it does."""
    pids = pids_of(system, service)
    assert pids, f"{service} does not run"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
