"""Pods that wait for a Secret: PE and Job name it and its field, and all goes on when it comes."""

from __future__ import annotations

from pathlib import Path

from tests.simulation.hands import (
    JOB,
    PE,
    delete_pod,
    edit,
    holds,
    newest_pod,
    quietly,
    runs_as,
    status_of,
    with_pes,
)
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/awaited.py",
    "services/fusion_backend/adapters/awaiting.py",
    "services/pod_state_machine/core/awaiting.py",
)

NAMED = "spec.appPropertiesSecret: Secret open"


def health(world: World) -> str:
    """The message of the Job's condition Healthy."""
    found = world.objects("streamsjobs")[JOB]["status"]["conditions"]
    return next(str(each.get("message")) for each in found if each["type"] == "Healthy")


def test_a_pe_whose_secret_is_missing_names_it_and_its_field_after_ten_seconds(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        edit(world, PE, appPropertiesSecret="open", launchCount=2)
        delete_pod(world, newest_pod(world, PE), by_force=True)
        began = world.clock.now()
        await world.until("reported", lambda: status_of(world, PE)["reason"] == "VolumesNotMounted")
        assert world.clock.now() - began >= 9.0  # timestamps have whole seconds
        assert NAMED in status_of(world, PE)["message"]
        assert holds(world, PE, "PodBlocked")
        await world.until("repeated by the Job", lambda: NAMED in health(world))
        await quietly(world)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "open"}}
        world.store.create(world.kind("secrets"), "default", secret)
        await world.until("runs", lambda: runs_as(world, PE, 2))
        assert not holds(world, PE, "PodBlocked")
        await quietly(world)

    simulate(tmp_path, test)
