"""The check of launches can fail; the other tests of this folder rest on it."""

from __future__ import annotations

import pytest

from loadtest.api import MERGE, STREAMS
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.watching import Cluster

COVERS = ("loadtest/api.py", "services/launching/core/restarting.py", "tests/e2e/launches.py")

pytestmark = [pytest.mark.real, pytest.mark.e2e]


async def test_a_restart_that_no_plan_requested_is_reported(cluster: Cluster) -> None:
    """A person restarts a PE, which looks like a service that does so for no reason."""
    async with ordeal(cluster, "told") as job:
        pes = len(job.job.of("pes"))
        name = min(job.job.of("pes"))
        again = {"spec": {"launchCount": 2}}
        await cluster.api.call("PATCH", f"{STREAMS}/streamspes/{name}", again, MERGE)
        await job.job.until("another launch", lambda: job.launch_count(name) == 2)
        with pytest.raises(AssertionError, match="launches that no plan asked for"):
            await job.converge("a PE restarted", WIDTH, pes)
        job.note_ended(name)
        await job.converge("a PE restarted, as was noted", WIDTH, pes)
        await job.resize(WIDER)
        await job.converge("a resize after it", WIDER, pes + WIDER - WIDTH)
