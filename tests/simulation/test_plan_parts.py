"""A plan record that exceeds a ConfigMap is written so that its head is the generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.fusion_backend.core import recording
from tests.simulation.applications import with_example
from tests.simulation.world import World, simulate

COVERS = ("contracts/resources/job.py", "services/fusion_backend/core/recording.py")


def test_the_head_of_a_plan_record_comes_after_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sees the head can read the whole; a crash before it leaves no generation."""
    monkeypatch.setattr(recording, "PART_BYTES_MAX", 500)
    monkeypatch.setattr(recording, "PARTS_MAX", 100)

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        written = {
            name: int(each["metadata"]["resourceVersion"])
            for name, each in world.objects("configmaps", "j").items()
            if name.startswith("j.plan.0")
        }
        head = written.pop("j.plan.0")
        assert len(written) > 1
        assert all(version < head for version in written.values())

    simulate(tmp_path, test)
