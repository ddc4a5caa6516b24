"""Jobs end: deleted, re-created under the same name at once, or failed and tried again."""

from __future__ import annotations

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.faulted_world import FaultedWorld
from tests.simulation.invariants import CHILDREN
from tests.simulation.scenarios.applications import (
    ONE_PE,
    one_region,
    provide,
    spec_of,
)
from tests.simulation.scenarios.losing import one_pe_running
from tests.simulation.scenarios.resizing import running
from tests.simulation.scenarios.scenario import Scenario
from tests.simulation.scenarios.submitting import j_runs, services_running

COVERS = (
    "services/fusion_backend/core/clean_up_rules.py",
    "services/fusion_backend/core/clearing.py",
    "services/pod_state_machine/core/clearing.py",
    "services/launching/core/ending.py",
)


def _delete(world: FaultedWorld) -> None:
    world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())


async def _deleted(world: FaultedWorld) -> None:
    _delete(world)


async def deleted_and_held(world: FaultedWorld) -> None:
    """A finalizer keeps the garbage collector out: the services alone must leave nothing."""
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    world.store.patch(world.kind("streamsjobs"), "default", "j", hold, MERGE)
    _delete(world)


async def _deleted_and_created(world: FaultedWorld) -> None:
    _delete(world)
    world.submit("j", spec_of(fusion=ONE_PE))


async def _deleted_while_submitting(world: FaultedWorld) -> None:
    world.submit("j", spec_of(fusion=ONE_PE))
    await world.until("its PE", lambda: bool(world.objects("streamspes", "j")), wait_s=1500.0)
    _delete(world)


async def _without_bundle_at_first(world: FaultedWorld) -> None:
    """The Job names a bundle that is no bundle; it fails, is repaired, and tried again."""
    (world.bundles / "late.sab").write_bytes(b"this is no bundle")
    world.submit("j", spec_of(bundle="late.sab", fusion=ONE_PE))
    await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=1500.0)
    provide(world, one_region(), "late.sab")
    patch = {"metadata": {"annotations": {labels.RETRY: "1"}}}
    world.store.patch(world.kind("streamsjobs"), "default", "j", patch, MERGE)


def nothing_is_left(world: FaultedWorld) -> bool:
    """No child of the job exists."""
    return not any(world.objects(plural, "j") for plural in CHILDREN)


def _job_and_all_are_gone(world: FaultedWorld) -> bool:
    return "j" not in world.objects("streamsjobs") and nothing_is_left(world)


SCENARIOS = (
    Scenario(
        "delete",
        "a job is deleted",
        _deleted,
        _job_and_all_are_gone,
        prepare=running(one_region(), w=1),
    ),
    Scenario(
        "delete-held",
        "a job is deleted while the garbage collector may not help",
        deleted_and_held,
        nothing_is_left,
        prepare=one_pe_running(),
    ),
    Scenario(
        "delete-submitting",
        "a job is deleted while it is submitted",
        _deleted_while_submitting,
        _job_and_all_are_gone,
        prepare=services_running,
        loose="how much had been created by then depends on who was faster",
    ),
    Scenario(
        "recreate",
        "a job is deleted, and one of the same name is created at once",
        _deleted_and_created,
        j_runs,
        prepare=one_pe_running(),
    ),
    Scenario(
        "retry",
        "a job fails for its bundle, which is mended, and is tried anew by annotation",
        _without_bundle_at_first,
        j_runs,
        prepare=services_running,
    ),
)
