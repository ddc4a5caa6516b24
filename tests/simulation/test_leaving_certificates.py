"""The Secret of a job goes with it, however often its deletion fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example
from tests.simulation.test_job_life import left
from tests.simulation.test_provisions import ENCRYPTED, SECRET, running, status
from tests.simulation.world import Request, World, simulate

COVERS = ("services/fusion_backend/adapters/certif*", "services/fusion_backend/core/provision*")


class DeletionFails:
    """Secrets cannot be deleted until somebody allows it."""

    def __init__(self) -> None:
        self.is_on = True

    def __call__(self, asked: Request) -> Fault | None:
        is_deletion = asked.method == "DELETE" and "/secrets" in asked.path
        return Fault(status=503) if self.is_on and is_deletion else None


@pytest.mark.parametrize("killed", [False, True])
def test_a_certificate_that_could_not_be_deleted_with_the_last_child_is_deleted_later(
    tmp_path: Path, killed: bool
) -> None:
    """A finalizer holds the Job, so that no garbage collector takes it; also after a crash."""

    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        jobs, hold = world.kind("streamsjobs"), {"metadata": {"finalizers": ["example.com/hold"]}}
        world.store.patch(jobs, "default", "j", hold, MERGE)
        world.faults = fails = DeletionFails()
        world.store.delete(jobs, "default", "j", DeleteOptions())
        await world.until("no child", lambda: left(world) == {})
        assert SECRET in world.objects("secrets")
        if killed:
            await world.kill("fusion-backend")
            world.start("fusion-backend")
        fails.is_on = False
        await world.until("gone", lambda: world.objects("secrets") == {})
        await world.settle()
        assert "transportCertificate" not in status(world)

    simulate(tmp_path, test)


def test_a_failed_attempt_leaves_no_certificate_although_its_deletion_failed_first(
    tmp_path: Path,
) -> None:
    """The Job stays, and does not say that it had one."""

    async def test(world: World) -> None:
        fails = DeletionFails()
        world.faults = lambda asked: (
            Fault(status=403)
            if asked.method == "POST" and asked.path.endswith("/streamspes")
            else fails(asked)
        )
        world.start()
        submit_example(world, "j", width=2, more={**ENCRYPTED, "submissionTimeOutInSeconds": 60})
        await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=120.0)
        await world.until("no child", lambda: left(world) == {})
        assert SECRET in world.objects("secrets")
        fails.is_on = False
        await world.until("gone", lambda: world.objects("secrets") == {}, wait_s=120.0)
        await world.settle()
        assert "transportCertificate" not in status(world)

    simulate(tmp_path, test)
