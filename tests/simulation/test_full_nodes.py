"""Resizes on nodes that have no room for all: what ran goes on, and what is new waits."""

from __future__ import annotations

from pathlib import Path

from contracts.bundle_format import pack
from tests.simulation.hands import cordon
from tests.simulation.scenarios.applications import WORK, one_region
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/rooms.py",
    "placement/settling.py",
    "services/hostpool_manager/core/following.py",
)

NODES = tuple(f"node-{number}" for number in range(4))
HALF = {"resources": {"requests": {"cpu": "15"}}}


async def _full(world: World, width: int) -> None:
    world.start()
    (world.bundles / "app.sab").write_bytes(pack(one_region().text().encode()))
    spec = {
        "bundle": {"name": "app.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"w": str(width)},
        "processingElement": HALF,
    }
    world.submit("j", spec)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


def _message(world: World, pe: str) -> str:
    found = world.objects("streamspes", "j").get(pe) or {}
    return str((found.get("status") or {}).get("message"))


def test_new_pes_wait_while_a_changed_one_finds_no_node(tmp_path: Path) -> None:
    """No node takes pods for a while: the resize ends without its new PEs, which start later."""

    async def test(world: World) -> None:
        await _full(world, width=2)
        for node in NODES:
            cordon(world, node)
        world.resize("j", WORK, 4)
        await world.until("waiting", lambda: "starts when" in _message(world, "j-5"), wait_s=600)
        assert world.live_pods("j").keys() == {f"j-{pe}" for pe in range(4)}
        await world.settle()
        job = world.objects("streamsjobs")["j"]
        assert job["status"]["phase"] == "Submitted"
        events = {each["reason"]: each for each in world.objects("events").values()}
        assert "Resized" not in events
        assert "PE 0 (" in events["SomeNotRunning"]["message"]
        assert events["SomeNotRunning"]["type"] == "Warning"
        (region,) = world.objects("streamsprs", "j").values()
        assert "no node has room for PE 4 (" in region["status"]["message"]
        for node in NODES:
            cordon(world, node, is_open=True)
        await world.until("running", lambda: world.is_running("j"), wait_s=600)
        assert len(world.live_pods("j")) == 6

    simulate(tmp_path, test, nodes=4)
