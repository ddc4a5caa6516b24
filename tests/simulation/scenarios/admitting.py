"""Jobs without host constraints that fit on no node, or have to fit."""

from __future__ import annotations

from typing import Any

from sandbox.store.resources import NODE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.mains import MAINS
from tests.simulation.scenarios.applications import WORK, one_region, provide, spec_of, values
from tests.simulation.scenarios.scenario import Scenario
from tests.unit.planner.adl_writing import Adl
from tools.real.preparing import node_object

COVERS = ("services/fusion_backend/core/admission.py", "services/hostpool_manager/core/*")

CPU = "100"
"""Of a PE; a node of the sandbox has 32."""


def two_pes() -> Adl:
    """Source → Sink."""
    return Adl().chain("Source", "Sink")


def large(**more: Any) -> dict[str, Any]:
    """A Job's spec, each of whose PEs requests more than a node has."""
    return spec_of(processingElement={"resources": {"requests": {"cpu": CPU}}}, **more)


def join(world: FaultedWorld, cpus: int) -> None:
    """A node joins the cluster."""
    body = node_object(99)
    for amounts in ("capacity", "allocatable"):
        body["status"][amounts]["cpu"] = str(cpus)
    world.store.create(NODE, None, body)


def placed(world: FaultedWorld, job: str = "j") -> tuple[str, str, str]:
    """Status, reason and message of the condition Placed."""
    status = world.objects("streamsjobs").get(job, {}).get("status") or {}
    for each in status.get("conditions", ()):
        if each["type"] == "Placed":
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def is_short(world: FaultedWorld) -> bool:
    """Whether the job is submitted and says what its PEs lack."""
    return placed(world)[:2] == ("False", "InsufficientCapacity")


def is_quiet(world: FaultedWorld) -> bool:
    """Whether the job runs and has no Placement."""
    if world.objects("streamsplacements") or not world.is_running("j"):
        return False
    return placed(world)[:2] == ("True", "NoConstraints")


async def _provided(world: FaultedWorld) -> None:
    provide(world, two_pes())
    world.start(*MAINS)
    await world.settle()


async def _short(world: FaultedWorld) -> None:
    await _provided(world)
    world.submit("j", large())
    await world.until("short", lambda: is_short(world))
    await world.clock.sleep(30.0)


async def _submitted(world: FaultedWorld) -> None:
    world.submit("j", large())


async def _node_joins(world: FaultedWorld) -> None:
    join(world, 256)


async def _required(world: FaultedWorld) -> None:
    """Three PEs run on two nodes, which take three each."""
    provide(world, one_region())
    world.start(*MAINS)
    world.submit("j", _three_a_node(**values(w=1)))
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


def _three_a_node(**more: Any) -> dict[str, Any]:
    resources = {"resources": {"requests": {"cpu": "10"}}}
    options: dict[str, Any] = {
        "admission": "Require",
        "submissionTimeOutInSeconds": 20,
        "retrySeconds": 0,  # a job that is tried again is never quiet
    }
    return spec_of(processingElement=resources, **options, **more)


async def _more_than_fits(world: FaultedWorld) -> None:
    """Another job, and a width: neither fits."""
    world.submit("k", _three_a_node(**values(w=5)))
    world.resize("j", WORK, 5)


def _both_are_refused(world: FaultedWorld) -> bool:
    (region,) = world.objects("streamsprs", "j").values()
    status = region.get("status") or {}
    job = world.objects("streamsjobs")["k"].get("status") or {}
    is_kept = len(world.live_pods("j")) == 3 and status.get("width") == 1
    return is_kept and status.get("reason") == "WidthRefused" and job.get("phase") == "Failed"


SCENARIOS = (
    Scenario(
        "admit-short",
        "a job whose PEs fit on no node is submitted, and says what they lack",
        _submitted,
        is_short,
        prepare=_provided,
        one_in=8,
    ),
    Scenario(
        "admit-node-joins",
        "a node joins that takes what was unschedulable",
        _node_joins,
        is_quiet,
        prepare=_short,
        one_in=8,
    ),
    Scenario(
        "admit-required",
        "a job and a width that do not fit are refused, since they have to",
        _more_than_fits,
        _both_are_refused,
        prepare=_required,
        one_in=12,
    ),
)
