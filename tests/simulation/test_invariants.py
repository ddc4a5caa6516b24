"""The invariants can fail: each is shown a world in which it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.simulation.applications import with_example
from tests.simulation.invariants import StatusWatch, leftovers, podless
from tests.simulation.world import World, simulate


def test_what_must_hold_when_nothing_is_written_is_reported_apart_from_what_does_not(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        assert (podless(world.store), leftovers(world.store)) == ([], [])
        await world.stop_all()
        pod = world.live_pods("j")["j-1"]["metadata"]["name"]
        world.store.delete(world.kind("pods"), "default", pod, DeleteOptions(grace_period_s=0))
        assert podless(world.store) == ["j-1 has 0 live pods"]
        owner = {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "name": "gone", "uid": "u"}
        meta = {"name": "left", "labels": {labels.JOB_UID: "u"}, "ownerReferences": [owner]}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        world.store.create(world.kind("configmaps"), "default", body)
        assert leftovers(world.store) == ["configmaps left"]
        watch = StatusWatch(world.store)
        watch.check()
        watch._highest = {key: number + 1 for key, number in watch._highest.items()}
        with pytest.raises(AssertionError, match="fell from"):
            watch.check()

    simulate(tmp_path, test)
