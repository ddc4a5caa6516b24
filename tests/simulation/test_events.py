"""Events on ProcessingElements: failures, restarts, stops and refusals, once for each change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.sandboxed import MERGE
from tests.simulation.hands import (
    PE,
    annotate,
    cordon,
    delete_pod,
    evict,
    fail,
    newest_pod,
    phase_of,
    quietly,
    runs_as,
    status_of,
    with_pes,
)
from tests.simulation.world import World, simulate


def events_of(world: World, pe: str = PE) -> list[dict[str, str]]:
    """Reason, type and message of each Event that a service wrote about a PE."""
    return [
        {key: each[key] for key in ("reason", "type", "message")}
        for each in world.objects("events").values()
        if each["involvedObject"]["kind"] == "ProcessingElement"
        and each["involvedObject"]["name"] == pe
    ]


def reasons_of(world: World) -> Counter[str]:
    return Counter(each["reason"] for each in events_of(world))


def test_a_submission_and_a_restart_by_hand_write_no_event_but_that_of_the_restart(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        assert events_of(world) == []
        annotate(world, PE, "again")
        await world.until("runs", lambda: runs_as(world, PE, 2))
        (event,) = events_of(world)
        assert (event["reason"], event["type"]) == ("RestartRequested", "Normal")

    simulate(tmp_path, test)


@pytest.mark.parametrize("crashes", [True, False])
def test_each_failure_and_each_restart_has_one_event(tmp_path: Path, crashes: bool) -> None:
    """Also where the service dies after each of them, and decides again."""

    async def test(world: World) -> None:
        await with_pes(world, maxRestartsInARow=3)
        for launch in (1, 2, 3, 4):
            await world.until("runs", lambda n=launch: runs_as(world, PE, n))  # type: ignore[misc]
            fail(world, PE)
            if crashes:
                await world.clock.sleep(0.05)
                await world.kill("pod-state-machine")
                world.start("pod-state-machine")
        await world.until("over", lambda: status_of(world, PE)["reason"] == "TooManyRestarts")
        await quietly(world)
        reasons = reasons_of(world)
        assert (reasons["Restarted"], reasons["TooManyRestarts"]) == (3, 1)
        assert reasons["PodFailed"] <= 3
        assert sum(reasons.values()) <= 7
        failures = [each for each in events_of(world) if "exit code 1" in each["message"]]
        assert failures
        first = next(e for e in events_of(world) if "Launch 2 follows" in e["message"])
        assert "restarts in a row: 1." in first["message"]

    simulate(tmp_path, test)


def test_a_pod_that_somebody_deletes_is_reported_with_the_way_to_launch_it_again(
    tmp_path: Path,
) -> None:
    """Status, Event and columns of the PE say the same."""

    async def test(world: World) -> None:
        await with_pes(world)
        delete_pod(world, newest_pod(world, PE))
        await world.until("stopped", lambda: phase_of(world, PE) == "Stopped")
        await quietly(world)
        (event,) = events_of(world)
        assert (event["reason"], event["type"]) == ("PodDeleted", "Normal")
        status = status_of(world, PE)
        assert status["reason"] == "PodDeleted"
        assert status["message"] == event["message"]
        for word in (
            "The pod was deleted.",
            "No restart follows, since spec.restartDeletedPod is false: set it",
            "raise spec.launchCount above 1",
            "annotation streams.ibm.com/restart",
        ):
            assert word in event["message"]

    simulate(tmp_path, test)


def test_a_pod_without_room_is_reported_once_and_a_resize_not_at_all(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        for node in world.store.list(world.kind("nodes"), None).items:
            cordon(world, node["metadata"]["name"])
        annotate(world, PE, "again")
        await world.until("waits", lambda: status_of(world, PE)["reason"] == "Unschedulable")
        await quietly(world)
        assert reasons_of(world) == Counter(RestartRequested=1, Unschedulable=1)
        (event,) = [each for each in events_of(world) if each["reason"] == "Unschedulable"]
        assert event["type"] == "Warning"
        assert "nodes are available" in event["message"]

    simulate(tmp_path, test)


def test_an_eviction_has_one_event(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        await world.clock.sleep(100.0)
        evict(world, newest_pod(world, PE))
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        await quietly(world)
        (event,) = events_of(world)
        assert (event["reason"], event["type"]) == ("Restarted", "Warning")

    simulate(tmp_path, test)


def test_a_changed_content_is_launched_without_an_event(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        regions = world.objects("streamsprs")
        name = next(iter(regions))
        width = regions[name]["spec"]["width"] + 1
        patch = {"spec": {"width": width}}
        world.store.patch(world.kind("streamsprs"), "default", name, patch, MERGE)
        await world.settle()
        pes = world.objects("streamspes")
        assert max(pe["status"]["launchCount"] for pe in pes.values()) > 1
        assert [each for pe in pes for each in events_of(world, pe)] == []

    simulate(tmp_path, test)
