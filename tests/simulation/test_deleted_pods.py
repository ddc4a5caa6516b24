"""Pods that somebody deletes after their end, and failed pods that are deleted after a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.hands import (
    PE,
    annotate,
    complete,
    cordon,
    delete_pod,
    edit,
    fail,
    launch_of,
    newest_pod,
    node_of,
    phase_of,
    pods_of,
    quietly,
    runs_as,
    status_of,
    with_pes,
)
from tests.simulation.world import World, simulate

COVERS = (
    "services/launching/core/restarting.py",
    "services/pod_state_machine/adapters/gone_pods.py",
)

NO_OTHER_RESTARTS = {"restartFailedPod": False, "restartCompletedPod": False}
HOUR_S = 3_600.0


@pytest.mark.parametrize("phase", ["Failed", "Completed"])
@pytest.mark.parametrize("wanted", [True, False])
def test_an_ended_pod_that_somebody_deletes_is_launched_again_if_its_flag_says_so(
    tmp_path: Path, phase: str, wanted: bool
) -> None:
    """With the other two flags false; also where the service was away when it was deleted."""

    async def test(world: World) -> None:
        await with_pes(world, restartDeletedPod=wanted, **NO_OTHER_RESTARTS)
        for launch, is_away in ((1, False), (2, True)):
            (fail if phase == "Failed" else complete)(world, PE)
            await world.until("over", lambda: phase_of(world, PE) == phase)
            await world.settle()
            if is_away:
                await world.kill("pod-state-machine")
            delete_pod(world, newest_pod(world, PE))
            if is_away:
                world.start("pod-state-machine")
            if not wanted:
                await quietly(world, lambda: phase_of(world, PE) == phase)
                return
            await world.until("again", lambda n=launch + 1: runs_as(world, PE, n))  # type: ignore[misc]
            assert status_of(world, PE)["restarts"] == launch
        await quietly(world)

    simulate(tmp_path, test)


def test_an_ended_pod_that_a_drain_takes_away_stays_ended(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world, restartDeletedPod=True)
        complete(world, PE)
        await world.until("over", lambda: phase_of(world, PE) == "Completed")
        cordon(world, node_of(world, PE))
        delete_pod(world, newest_pod(world, PE))
        await quietly(world, lambda: launch_of(world, PE) == 1)

    simulate(tmp_path, test)


@pytest.mark.parametrize("deleted", [True, False])
def test_the_failed_pod_of_a_pe_that_will_not_run_again_stays_for_its_retention(
    tmp_path: Path, deleted: bool
) -> None:
    """Its own deletion is no deletion by somebody, whatever restartDeletedPod says."""

    async def test(world: World) -> None:
        await with_pes(world, restartFailedPod=False, restartDeletedPod=deleted)
        fail(world, PE)
        await world.until("over", lambda: phase_of(world, PE) == "Failed")
        pod = status_of(world, PE)["pod"]
        await world.clock.sleep(HOUR_S - 60)
        assert list(pods_of(world, PE)) == [1]
        await world.clock.sleep(120)
        assert pods_of(world, PE) == {}
        status = status_of(world, PE)
        assert (status["phase"], status["reason"]) == ("Failed", "PodFailed")
        assert "pod" not in status
        assert f"Pod {pod} was deleted 3600 s after its end." in status["message"]
        await world.kill("pod-state-machine")
        world.start("pod-state-machine")
        await quietly(world, lambda: launch_of(world, PE) == 1)
        annotate(world, PE, "again")
        await world.until("runs", lambda: runs_as(world, PE, 2))

    simulate(tmp_path, test)


def test_the_last_pod_of_exhausted_restarts_stays_for_its_retention(tmp_path: Path) -> None:
    """What it waits for is taken up afterwards, too: a higher limit launches it."""

    async def test(world: World) -> None:
        await with_pes(world, maxRestartsInARow=1, failedPodRetentionSeconds=100)
        for launch in (1, 2):
            await world.until("runs", lambda n=launch: runs_as(world, PE, n))  # type: ignore[misc]
            fail(world, PE)
        await world.until("over", lambda: status_of(world, PE)["reason"] == "TooManyRestarts")
        assert list(pods_of(world, PE)) == [2]
        await world.clock.sleep(200)
        assert pods_of(world, PE) == {}
        await quietly(world, lambda: status_of(world, PE)["reason"] == "TooManyRestarts")
        edit(world, PE, maxRestartsInARow=5)
        await world.until("runs", lambda: runs_as(world, PE, 3))

    simulate(tmp_path, test)


def test_a_failed_pod_stays_where_failed_pods_are_not_deleted(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world, restartFailedPod=False, deleteFailedPod=False)
        fail(world, PE)
        await world.clock.sleep(2 * HOUR_S)
        assert list(pods_of(world, PE)) == [1]

    simulate(tmp_path, test)
