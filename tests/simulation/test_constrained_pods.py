"""Pods of constrained PEs: they go where they are assigned, whoever is down, and wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contracts import labels
from contracts.bundle_format import pack
from tests.sandboxed import MERGE
from tests.simulation.hands import (
    PE,
    TEN_MINUTES_S,
    cordon,
    fail,
    later,
    launch_of,
    newest_pod,
    node_of,
    phase_of,
    pods_of,
    quietly,
    runs_as,
    status_of,
)
from tests.simulation.mains import MAINS
from tests.simulation.world import World, simulate
from tests.unit.planner.adl_writing import Adl

COVERS = (
    "services/pod_state_machine/core/pod_placement.py",
    "services/pod_state_machine/core/awaiting.py",
    "services/pod_state_machine/adapters/assignments.py",
)

APART = '<exLocation exlocId="apart"/>'
IN_POOL = '<poolLocation poolIndex="1"/>'
DECIDE = ("hostpool-manager", "node-tainter")
"""Who decides where PEs run, and who marks their nodes."""
NODES = tuple(f"node-{number}" for number in range(4))


def two_apart() -> Adl:
    """Source → Work, which are on different hosts."""
    adl = Adl().operator("Source", 0, 1, resources=APART)
    return adl.operator("Work", 1, 0, resources=APART).connect("Source", "Work")


def one_alone() -> Adl:
    """Source → Work, of which Work runs in an exclusive pool of one node with the tag gold."""
    adl = Adl().pool("Own", "exclusive", '<tag name="gold"/>')
    adl.operator("Source", 0, 1, resources=APART)
    return adl.operator("Work", 1, 0, resources=IN_POOL).connect("Source", "Work")


def submitted(world: World, adl: Adl, services: Sequence[str] = tuple(MAINS)) -> None:
    """Start some services, and submit the application as job j."""
    world.start(*services)
    (world.bundles / "app.sab").write_bytes(pack(adl.text().encode()))
    world.submit("j", {"bundle": {"name": "app.sab"}, "fusion": {"legacy": True}})


async def running(world: World, adl: Adl) -> None:
    """The application runs, and all is quiet."""
    submitted(world, adl)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


def assigned(world: World, pe: int = 1) -> str:
    """The node that the Placement assigns a PE to."""
    (placement,) = world.objects("streamsplacements").values()
    return next(
        str(each["node"])
        for each in placement["status"]["assignments"]
        if str(pe) in each["pes"].split(",") or each["pes"] == "0-1"
    )


def test_a_pe_restarts_on_its_node_while_those_who_decide_are_down(tmp_path: Path) -> None:
    """An assignment that stands is enough; so it is after a restart of pod-state-machine."""

    async def test(world: World) -> None:
        await running(world, two_apart())
        node = node_of(world, PE)
        assert node == assigned(world)
        for service in (*DECIDE, "pod-state-machine"):
            await world.kill(service)
        fail(world, PE)
        world.start("pod-state-machine")
        await later(world, "runs again", lambda: runs_as(world, PE, 2))
        assert node_of(world, PE) == node
        await quietly(world)

    simulate(tmp_path, test)


def test_a_pod_that_its_node_does_not_take_goes_where_its_pe_is_assigned_again(
    tmp_path: Path,
) -> None:
    """It waits as long as nobody has decided, and starts but once where it was decided."""

    async def test(world: World) -> None:
        await running(world, two_apart())
        node = node_of(world, PE)
        await world.kill("hostpool-manager")
        cordon(world, node)
        fail(world, PE)
        await later(world, "waits", lambda: status_of(world, PE)["reason"] == "Unschedulable")
        await world.settle()
        assert (launch_of(world, PE), "nodeName" in newest_pod(world, PE)["spec"]) == (2, False)
        world.start("hostpool-manager")
        await later(world, "runs elsewhere", lambda: runs_as(world, PE, 3))
        assert node_of(world, PE) == assigned(world) != node
        assert sorted(pods_of(world, PE)) == [3]
        await quietly(world)

    simulate(tmp_path, test)


def test_a_pe_says_what_it_waits_for_and_starts_when_its_node_is_marked(tmp_path: Path) -> None:
    """No pod of an exclusive pool is anywhere before the pool keeps others away."""

    async def test(world: World) -> None:
        tag = {"metadata": {"labels": {f"{labels.TAG_PREFIX}gold": ""}}}
        world.store.patch(world.kind("nodes"), None, NODES[2], tag, MERGE)
        others = [each for each in MAINS if each != "node-tainter"]
        submitted(world, one_alone(), others)
        said = f"waits until node {NODES[2]} is claimed for the pool Own"
        await later(world, "said", lambda: said in status_of(world, PE).get("message", ""))
        await world.settle()
        assert (phase_of(world, PE), pods_of(world, PE)) == ("Waiting", {})
        world.start("node-tainter")
        await later(world, "runs", lambda: runs_as(world, PE, 1))
        assert node_of(world, PE) == NODES[2]
        await quietly(world)

    simulate(tmp_path, test)


def test_a_pe_without_a_placement_waits_for_one(tmp_path: Path) -> None:
    """Somebody deletes it while hostpool-manager is down; what runs goes on."""

    async def test(world: World) -> None:
        await running(world, two_apart())
        await world.kill("hostpool-manager")
        world.store.delete(world.kind("streamsplacements"), "default", "j")
        await world.settle()
        assert launch_of(world, PE) == 1
        fail(world, PE)
        said = "waits for its placement"
        await later(world, "said", lambda: said in status_of(world, PE)["message"])
        await world.clock.sleep(TEN_MINUTES_S)
        assert pods_of(world, PE) == {}
        world.start("hostpool-manager")
        await later(world, "runs", lambda: runs_as(world, PE, 2))
        assert node_of(world, PE) == assigned(world)
        await quietly(world)

    simulate(tmp_path, test)
