"""A template that too many PEs would carry: nothing of the plan is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.simulation.applications import submit_example
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/packs.py",
    "services/fusion_backend/core/rendering.py",
    "services/fusion_backend/core/spec/pod_*",
)

_TEXTS = {"one": "x" * 31_000, "two": "y" * 31_000}
LARGE: dict[str, Any] = {
    "processingElement": {"podTemplate": {"metadata": {"annotations": _TEXTS}}}
}
"""62,000 bytes: some 1,080 PEs may carry them."""
TOO_WIDE = 1_200
CHILDREN = ("streamspes", "streamsprs", "configmaps", "services", "pods")


def test_a_template_times_its_pes_is_refused_with_nothing_left(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=TOO_WIDE, more=LARGE)
        await world.until("refused", lambda: world.phase("j") == "Failed")
        await world.settle()
        status = world.objects("streamsjobs")["j"]["status"]
        assert status["reason"] == "TemplateTooLarge"
        for said in ("podTemplate is 62,0", f"{TOO_WIDE + 4:,} PEs", "at most 67,108,864"):
            assert said in status["message"]
        (accepted,) = [each for each in status["conditions"] if each["type"] == "Accepted"]
        assert (accepted["status"], accepted["reason"]) == ("False", "TemplateTooLarge")
        assert [plural for plural in CHILDREN if world.objects(plural, "j")] == []
        written = [each for each in world.writes() if "j.plan" in each.path or "/j-" in each.path]
        assert written == []

    simulate(tmp_path, test)


def test_a_width_that_too_many_pes_would_come_of_is_refused(tmp_path: Path) -> None:
    """The last good width stays in force, and no PE is written."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=2, more=LARGE)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        pes = world.objects("streamspes", "j")
        world.resize("j", "Counted", TOO_WIDE)
        await world.settle()
        (region,) = world.objects("streamsprs", "j").values()
        assert region["status"]["width"] == 2
        assert region["status"]["reason"] == "WidthRefused"
        assert "width 2 stays in force" in region["status"]["message"]
        assert f"{TOO_WIDE + 4:,} PEs" in region["status"]["message"]
        assert world.objects("streamspes", "j") == pes
        assert "j.plan.1" not in world.objects("configmaps", "j")
        world.resize("j", "Counted", 3)
        await world.until("resized", lambda: len(world.live_pods("j")) == len(pes) + 1)

    simulate(tmp_path, test)
