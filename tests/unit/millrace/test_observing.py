"""What a PE that runs shows of itself."""

from __future__ import annotations

import pytest

from millrace.runtime.observing import snapshot_of
from tests.unit.millrace import test_hand_over as job
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime
SOURCE, KILLED = 0, 1


async def test_only_connections_that_are_up_are_counted_as_connections() -> None:
    async with Cluster(job.app, store=MemoryStore()) as cluster:
        await cluster.until(lambda: all(pod.is_connected for pod in cluster.pods.values()))
        (before,) = snapshot_of(cluster.pods[SOURCE].running).outputs
        assert before.required_connecting == 0
        await cluster.kill(KILLED)
        await cluster.until(lambda: not cluster.pods[SOURCE].is_connected)
        (after,) = snapshot_of(cluster.pods[SOURCE].running).outputs
        assert after.required_connecting == 1
        assert {each.pe for each in before.connections} - {each.pe for each in after.connections}
        assert len(after.connections) == len(before.connections) - 1
