"""A quota of nodes for exclusive host pools: refused beyond it, and given when it is free again."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.mains import MAINS
from tests.simulation.scenarios.applications import provide, spec_of
from tests.simulation.scenarios.placing import exclusive_pool, tag
from tests.simulation.world import World, simulate


def test_a_job_beyond_the_quota_of_its_namespace_is_refused_until_nodes_are_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_EXCLUSIVE_NODES_MAX", "1")

    async def test(world: World) -> None:
        adl = exclusive_pool()
        provide(world, adl)  # type: ignore[arg-type]
        for node in ("node-1", "node-2"):
            tag(world, node)  # type: ignore[arg-type]
        world.start(*MAINS)
        world.submit("first", spec_of())
        await world.until("the first runs", lambda: world.is_running("first"))
        world.submit("second", spec_of())
        await world.until("refused", lambda: world.phase("second") == "Failed")
        status = world.objects("streamsjobs")["second"]["status"]
        assert status["reason"] == "NodeQuotaExceeded"
        assert "Own (1) take 1 node and other jobs of namespace default have 1" in status["message"]
        world.store.delete(world.kind("streamsjobs"), "default", "first", DeleteOptions())
        await world.until("gone", lambda: not world.objects("streamshostpools", "first"))
        retry = {"metadata": {"annotations": {labels.RETRY: "1"}}}
        world.store.patch(world.kind("streamsjobs"), "default", "second", retry, MERGE)
        await world.until("the second runs", lambda: world.is_running("second"))

    simulate(tmp_path, test)
