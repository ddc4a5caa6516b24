"""Widths change: up, down, in a row, during other changes, in one region, two, nested ones."""

from __future__ import annotations

from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.mains import WIDTH_MAX
from tests.simulation.scenarios.applications import (
    WORK,
    nested_regions,
    one_region,
    provide,
    spec_of,
    two_regions,
    values,
)
from tests.simulation.scenarios.scenario import Act, Holds, Scenario
from tests.simulation.scenarios.submitting import services_running
from tests.unit.planner.adl_writing import Adl

COVERS = (
    "services/fusion_backend/core/region_rules.py",
    "services/fusion_backend/core/generation_rules.py",
    "services/fusion_backend/core/child_rules.py",
    "planner/resizing.py",
)

OVERTAKEN = (
    "a width that is overtaken may have been planned or not: generations, launches and the objects"
    " of overtaken plans may be more or fewer"
)


def running(adl: Adl, **widths: int) -> Act:
    """A job j of an application runs with widths, and nothing is written."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, adl)
        world.start()
        world.submit("j", spec_of(**values(**widths)))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def runs_with(pes: int) -> Holds:
    """Job j runs with so many PEs."""
    return lambda world: world.is_running("j") and len(world.live_pods("j")) == pes


def resized(*widths: int) -> Act:
    """Somebody sets the width of the region, and again as soon as each is in force."""

    async def act(world: FaultedWorld) -> None:
        for width in widths:
            await world.until("running", lambda: world.is_running("j"), wait_s=1500.0)
            world.resize("j", WORK, width)

    return act


def resized_quickly(delay_s: float, *widths: tuple[str, int]) -> Act:
    """Somebody sets widths of regions, one after the other, and waits for none."""

    async def act(world: FaultedWorld) -> None:
        for alias, width in widths:
            world.resize("j", alias, width)
            await world.clock.sleep(delay_s)

    return act


async def _resized_while_submitting(world: FaultedWorld) -> None:
    world.submit("j", spec_of(**values(w=1)))
    await world.until("its region", lambda: bool(world.objects("streamsprs", "j")), wait_s=1500.0)
    world.resize("j", WORK, 2)


def _is_refused(world: FaultedWorld) -> bool:
    (region,) = world.objects("streamsprs", "j").values()
    status = region.get("status") or {}
    return status.get("width") == 1 and str(WIDTH_MAX + 1) in status.get("message", "")


def _full(adl: Adl, **widths: int) -> Act:
    """As `running`, with PEs so large that each of the two nodes has room for two."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, adl)
        world.start()
        half = {"resources": {"requests": {"cpu": "15"}}}
        world.submit("j", spec_of(processingElement=half, **values(**widths)))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def _has_grown_without_room(world: FaultedWorld) -> bool:
    """All PEs of before run, the new one waits for a node, and region and job report it."""
    pods = {name: pod["status"].get("phase") for name, pod in world.live_pods("j").items()}
    (region,) = world.objects("streamsprs", "j").values()
    job = world.objects("streamsjobs")["j"]
    return (
        pods == {"j-4": "Pending"} | {f"j-{pe}": "Running" for pe in range(4)}
        and job["status"]["phase"] == "Submitted"
        and "no node has room for PE 4" in (region.get("status") or {}).get("message", "")
    )


def _sharing(adl: Adl, **widths: int) -> Act:
    """As `running`, with resources of the whole job."""

    async def prepare(world: FaultedWorld) -> None:
        provide(world, adl)
        world.start()
        whole = {"limits": {"cpu": "6", "memory": "6Gi"}}
        world.submit("j", spec_of(resources=whole, **values(**widths)))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()

    return prepare


def _has_equal_shares(world: FaultedWorld) -> bool:
    """Six PEs run, and the pod of each has a CPU."""
    pods = world.live_pods("j").values()
    shares = {pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] for pod in pods}
    return runs_with(6)(world) and shares == {"1"}


SCENARIOS = (
    Scenario(
        "resize-up",
        "a region grows from 1 to 2",
        resized(2),
        runs_with(4),
        prepare=running(one_region(), w=1),
    ),
    Scenario(
        "resize-down",
        "a region shrinks from 2 to 1",
        resized(1),
        runs_with(3),
        prepare=running(one_region(), w=2),
    ),
    Scenario(
        "resize-chain",
        "a region grows from 1 to 2 to 3, each when the one before is in force",
        resized(2, 3),
        runs_with(5),
        prepare=running(one_region(), w=1),
    ),
    Scenario(
        "resize-chain-long",
        "a region grows from 1 to 5 to 10, each when the one before is in force",
        resized(5, 10),
        runs_with(12),
        prepare=running(one_region(), w=1),
        one_in=8,
    ),
    Scenario(
        "resize-overtaken",
        "a region's width is changed again while the first change is carried out",
        resized_quickly(0.02, (WORK, 2), (WORK, 3)),
        runs_with(5),
        prepare=running(one_region(), w=1),
        loose=OVERTAKEN,
    ),
    Scenario(
        "resize-back",
        "a region's width is changed and put back at once",
        resized_quickly(0.02, (WORK, 2), (WORK, 1)),
        runs_with(3),
        prepare=running(one_region(), w=1),
        loose=OVERTAKEN,
    ),
    Scenario(
        "resize-submitting",
        "a region's width is changed while its job is submitted",
        _resized_while_submitting,
        runs_with(4),
        prepare=services_running,
        loose=OVERTAKEN,
    ),
    Scenario(
        "resize-two",
        "the widths of two regions are changed at once",
        resized_quickly(0.0, ("A", 2), ("B", 2)),
        runs_with(7),
        prepare=running(two_regions(), a=1, b=1),
        loose=OVERTAKEN,
    ),
    Scenario(
        "resize-nested",
        "the outer one of two nested regions grows",
        resized_quickly(0.0, ("Outer", 2)),
        runs_with(6),
        prepare=running(nested_regions(), o=1, i=1),
    ),
    Scenario(
        "resize-full",
        "a region grows by a PE that no node has room for",
        resized_quickly(0.0, (WORK, 3)),
        _has_grown_without_room,
        prepare=_full(one_region(), w=2),
    ),
    Scenario(
        "resize-refused",
        "a width over the limit is asked for",
        resized_quickly(0.0, (WORK, WIDTH_MAX + 1)),
        _is_refused,
        prepare=running(one_region(), w=1),
    ),
    Scenario(
        "resize-shares",
        "one of two regions grows from 1 to 2; pods of the other take a smaller share in place",
        resized_quickly(0.02, ("A", 2)),
        _has_equal_shares,
        prepare=_sharing(two_regions(), a=1, b=1),
    ),
)
