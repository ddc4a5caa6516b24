"""Pods come and go while a service that should see them is away: each launch has one pod."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandbox.http.in_process import Fault
from tests.simulation.hands import (
    PE,
    annotate,
    cordon,
    delete_pod,
    launch_of,
    newest_pod,
    phase_of,
    pods_of,
    quietly,
    runs_as,
    with_pes,
)
from tests.simulation.world import Request, World, simulate

COVERS = ("services/watch_ingest/core/resync.py", "services/launching/adapters/launches.py")


def test_a_pe_is_launched_again_whose_pod_is_drained_unobserved(
    tmp_path: Path,
) -> None:
    """watch-ingest saw neither its node nor its end, and its node is open when it is back.

    Found by numbered tuples: the PE stayed Stopped.
    """

    async def test(world: World) -> None:
        await with_pes(world)
        killed = as_a_pod_is_made(world, "watch-ingest")
        annotate(world, PE, "monday")
        await world.until("made", lambda: max(pods_of(world, PE), default=0) == 2)
        await killed[0]
        assert phase_of(world, PE) == "Waiting"
        delete_pod(world, newest_pod(world, PE), by_force=True)
        assert not pods_of(world, PE)
        world.start("watch-ingest")
        await world.until("restarted", lambda: runs_as(world, PE, 3))
        await quietly(world)
        assert launch_of(world, PE) == 3

    simulate(tmp_path, test)


def test_no_launch_has_two_pods_because_its_first_is_gone_when_the_service_is_back(
    tmp_path: Path,
) -> None:
    """Two processes of one launch would share the names of their states."""

    async def test(world: World) -> None:
        await with_pes(world)
        killed = as_a_pod_is_made(world, "pod-state-machine")
        annotate(world, PE, "monday")
        await world.until("made", lambda: max(pods_of(world, PE), default=0) == 2)
        await killed[0]
        await world.clock.sleep(1.0)
        cordon(world, str(newest_pod(world, PE)["spec"]["nodeName"]))
        delete_pod(world, newest_pod(world, PE), by_force=True)
        await world.clock.sleep(1.0)
        assert (phase_of(world, PE), pods_of(world, PE)) == ("Waiting", {})
        world.start("pod-state-machine")
        await world.until("restarted", lambda: runs_as(world, PE, 3))
        await quietly(world)
        assert launch_of(world, PE) == 3

    simulate(tmp_path, test)


def as_a_pod_is_made(world: World, service: str) -> list[asyncio.Task[None]]:
    """Kill a service with the next request that makes a pod; the list then has the killing."""
    killed: list[asyncio.Task[None]] = []

    def kill(request: Request) -> Fault | None:
        if not killed and (request.method, request.path.split("/")[-1]) == ("POST", "pods"):
            killed.append(asyncio.create_task(world.kill(service)))
        return None

    world.faults = kill
    return killed
