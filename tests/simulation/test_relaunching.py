"""People ask for launches, and delete what a launch needs; each asking is answered once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from tests.simulation.hands import (
    FLAGS,
    PE,
    annotate,
    edit,
    fail,
    launch_of,
    phase_of,
    pods_of,
    quietly,
    runs_as,
    status_of,
    with_pes,
)
from tests.simulation.world import Request, World, simulate

COVERS = (
    "services/launching/core/restarting.py",
    "services/launching/core/situation.py",
    "services/pod_state_machine/core/deciding.py",
)


def test_a_raised_launch_count_is_the_next_launch_and_makes_one_pod(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world, **dict.fromkeys(FLAGS, True))
        edit(world, PE, launchCount=7)
        await world.until("runs", lambda: runs_as(world, PE, 7))
        await quietly(world)
        assert sorted(pods_of(world, PE)) == [7]
        edit(world, PE, launchCount=3)
        await quietly(world, lambda: runs_as(world, PE, 7))

    simulate(tmp_path, test)


def test_the_annotation_restarts_once_for_each_new_value(tmp_path: Path) -> None:
    """Also over a restart of the services and a log that is read again."""

    async def test(world: World) -> None:
        await with_pes(world)
        annotate(world, PE, "monday")
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        for service in ("pod-state-machine", "watch-ingest"):
            await world.kill(service)
            world.start(service)
        await world.say_again(await world.facts())
        await quietly(world)
        assert (launch_of(world, PE), status_of(world, PE)["observedRestart"]) == (2, "monday")
        annotate(world, PE, "tuesday")
        await world.until("restarted", lambda: runs_as(world, PE, 3))
        await quietly(world)

    simulate(tmp_path, test)


def test_the_annotation_is_not_lost_between_a_pod_and_the_first_status(tmp_path: Path) -> None:
    """The pod says which value its launch answered; the status of the launch is still to come."""

    async def test(world: World) -> None:
        done: list[str] = []

        def when_the_first_status_is_written(request: Request) -> Fault | None:
            if done or f"streamspes/{PE}/status" not in request.path:
                return None
            done.append(request.path)
            annotate(world, PE, "early")
            return None

        world.faults = when_the_first_status_is_written
        await with_pes(world)
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        await quietly(world)
        assert done

    simulate(tmp_path, test)


def test_a_pe_deleted_by_hand_goes_on_counting_and_runs_once(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        edit(world, PE, launchCount=4)
        await world.until("runs", lambda: runs_as(world, PE, 4))
        uid = world.objects("streamspes")[PE]["metadata"]["uid"]
        world.store.delete(world.kind("streamspes"), "default", PE, DeleteOptions())
        await world.until(
            "again",
            lambda: (
                runs_as(world, PE, 5) and world.objects("streamspes")[PE]["metadata"]["uid"] != uid
            ),
        )
        await quietly(world)
        assert sorted(pods_of(world, PE)) == [5]

    simulate(tmp_path, test)


@pytest.mark.parametrize("which", ["job", "pe"])
def test_a_pod_that_fails_without_its_config_map_waits_for_it(tmp_path: Path, which: str) -> None:
    """Nothing is launched before everything that it mounts is there again, and then once."""

    async def test(world: World) -> None:
        await with_pes(world)
        pack: str = world.objects("streamspes", "j")[PE]["spec"]["pack"]["name"]
        name = "j" if which == "job" else pack
        await world.stop("fusion-backend")
        world.store.delete(world.kind("configmaps"), "default", name, DeleteOptions())
        fail(world, PE)
        await world.until("intended", lambda: launch_of(world, PE) == 2)
        await world.clock.sleep(60.0)
        assert phase_of(world, PE) == "Waiting"
        assert 2 not in pods_of(world, PE)
        world.start("fusion-backend")
        await world.until("runs", lambda: runs_as(world, PE, 2))
        await quietly(world)

    simulate(tmp_path, test)
