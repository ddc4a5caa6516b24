"""Services die in the middle; the cluster converges and nothing runs twice."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from contracts.bundle_format import pack
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import Cluster, JobObjects, System

pytestmark = pytest.mark.e2e
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
    (cluster.system.bundles / "wordcount.sab").write_bytes(pack(example_adl()))
    name = f"killed-{service.replace('_', '-')}"
    async with JobObjects(cluster.api, name).followed() as job:
        spec = {
            "bundle": {"name": "wordcount.sab"},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": str(WIDTH)},
        }
        await cluster.submit(name, spec)
        await job.until("some children", lambda: len(job.of("config_maps")) > 3)
        for pid in pids_of(cluster.system, service):
            os.kill(pid, signal.SIGKILL)
        await job.until("running", job.all_running)
        pes = len(job.of("pes"))
        await cluster.resize(job, "Counted", WIDTH + 5)
        await job.until("more children", lambda: len(job.of("config_maps")) > pes + 4)
        for pid in pids_of(cluster.system, service):
            os.kill(pid, signal.SIGKILL)
        await job.until(
            "the new width",
            lambda: (
                job.width_in_force("Counted") == WIDTH + 5
                and job.all_running()
                and len(job.live_pods()) == pes + 5
            ),
        )
        await cluster.delete(job)
