"""The autoscaler of the sandbox and our services: widths follow the CPU that annotations play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contracts.resources import API_VERSION
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER, POD
from sandbox.store.steering import CPU
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/counting.py",
    "services/fusion_backend/core/region_statuses.py",
    "sandbox/controllers/autoscal*",
)

WIDTH, WIDER, NARROW = 2, 4, 1
BUSY = {"metadata": {"annotations": {CPU: "160m"}}}
IDLE = {"metadata": {"annotations": {CPU: "10m"}}}
ELEMENT = {"resources": {"requests": {"cpu": "100m"}}, "podTemplate": BUSY}


def _scaler(region: str) -> dict[str, Any]:
    """At most 4 channels, CPU at 80 %."""
    target = {"apiVersion": API_VERSION, "kind": "ParallelRegion", "name": region}
    spec = {"scaleTargetRef": target, "maxReplicas": WIDER}
    return {"metadata": {"name": region}, "spec": spec}


def _condition(world: World, region: str, kind: str) -> str:
    found = world.store.get(HORIZONTAL_POD_AUTOSCALER, "default", region)["status"]["conditions"]
    return next(str(each["reason"]) for each in found if each["type"] == kind)


def test_a_region_follows_the_cpu_of_its_channels(tmp_path: Path) -> None:
    """160 % at a goal of 80 %: 2 channels become 4; idle ones become 1 after 300 s."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=WIDTH, more={"processingElement": ELEMENT})
        await world.until("running", lambda: world.is_running("j"))
        (region,) = world.objects("streamsprs", "j")
        world.store.create(HORIZONTAL_POD_AUTOSCALER, "default", _scaler(region))

        def runs(width: int) -> bool:
            return world.is_running("j") and len(world.live_pods("j")) == width + OUTSIDE

        await world.until("wider", lambda: runs(WIDER))
        await world.until(
            "limited", lambda: _condition(world, region, "ScalingLimited") == "TooManyReplicas"
        )
        for pod in world.live_pods("j").values():
            world.store.patch(POD, "default", pod["metadata"]["name"], IDLE, MERGE)
        await world.clock.sleep(200.0)
        assert runs(WIDER)
        assert _condition(world, region, "AbleToScale") == "ScaleDownStabilized"
        await world.until("narrow", lambda: runs(NARROW))

    simulate(tmp_path, test)
