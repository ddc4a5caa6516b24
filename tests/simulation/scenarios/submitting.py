"""Submissions: from nothing, several at once, ones that fail at first."""

from __future__ import annotations

from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.scenarios.applications import (
    ONE_PE,
    WORK,
    one_region,
    provide,
    spec_of,
    values,
)
from tests.simulation.scenarios.scenario import Scenario

COVERS = (
    "services/fusion_backend/core/rules.py",
    "services/fusion_backend/core/starting.py",
    "services/fusion_backend/core/bundle_rules.py",
    "services/fusion_backend/core/status_rules.py",
)


async def only_provided(world: FaultedWorld) -> None:
    """No service runs yet; the bundle is there."""
    provide(world, one_region())


async def services_running(world: FaultedWorld) -> None:
    """Every service is live and nothing is written."""
    provide(world, one_region())
    world.start()
    await world.settle()


async def _everything_starts(world: FaultedWorld) -> None:
    world.start()
    world.submit("j", spec_of(fusion=ONE_PE))


async def _one_pe(world: FaultedWorld) -> None:
    world.submit("j", spec_of(fusion=ONE_PE))


async def _a_pe_an_operator(world: FaultedWorld) -> None:
    world.submit("j", spec_of(**values(w=2)))


async def _with_a_width_of_its_own(world: FaultedWorld) -> None:
    override = [{"alias": WORK, "width": 2}]
    world.submit("j", spec_of(parallelRegions=override, **values(w=1)))


async def _three_at_once(world: FaultedWorld) -> None:
    for name in ("j", "k", "l"):
        world.submit(name, spec_of(fusion=ONE_PE))


def _other_ids(world: FaultedWorld) -> str:
    """Ids are given in the order in which jobs are seen; what is rendered contains them."""
    jobs = world.objects("streamsjobs")
    ids = [jobs[name]["status"]["id"] for name in ("j", "k", "l")]
    assert len(set(ids)) == len(ids), f"two jobs have one id: {ids}"
    return "" if ids == [0, 1, 2] else f"the jobs have other ids than undisturbed: {ids}"


def j_runs(world: FaultedWorld) -> bool:
    """Job j is Submitted, with a running pod for each PE."""
    return world.is_running("j")


SCENARIOS = (
    Scenario(
        "start",
        "every service starts with a new job",
        _everything_starts,
        j_runs,
        prepare=only_provided,
    ),
    Scenario("submit", "a job of one PE is submitted", _one_pe, j_runs, prepare=services_running),
    Scenario(
        "submit-wide",
        "a job with a region of width 2 is submitted",
        _a_pe_an_operator,
        j_runs,
        prepare=services_running,
    ),
    Scenario(
        "submit-overridden",
        "a job's own width for a region wins over the value that it is submitted with",
        _with_a_width_of_its_own,
        lambda world: world.is_running("j") and len(world.live_pods("j")) == 4,
        prepare=services_running,
    ),
    Scenario(
        "submit-three",
        "three jobs are submitted at once",
        _three_at_once,
        lambda world: all(world.is_running(name) for name in ("j", "k", "l")),
        prepare=services_running,
        excuse=_other_ids,
        excuses_counts=False,
    ),
)
