"""Pods fail, complete, vanish, are evicted, and are asked to start again; each PE does as told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from sandbox.http.in_process import Fault, When
from tests.simulation.applications import OUTSIDE
from tests.simulation.hands import (
    FLAGS,
    PE,
    annotate,
    complete,
    condition_of,
    cordon,
    delete_pod,
    edit,
    evict,
    fail,
    holds,
    launch_of,
    name_of,
    newest_pod,
    node_of,
    phase_of,
    pods_of,
    quietly,
    remove_node,
    runs_as,
    status_of,
    taint,
    with_pes,
)
from tests.simulation.world import Request, World, simulate

COVERS = (
    "services/launching/core/restarting.py",
    "services/launching/core/pod_rules.py",
    "services/launching/core/conditions.py",
    "services/launching/core/recording.py",
)

End = Callable[[World], None]


def deleted(world: World) -> None:
    delete_pod(world, newest_pod(world, PE))


def deleted_by_force(world: World) -> None:
    delete_pod(world, newest_pod(world, PE), by_force=True)


def failed(world: World) -> None:
    fail(world, PE)


def completed(world: World) -> None:
    complete(world, PE)


def evicted(world: World) -> None:
    evict(world, newest_pod(world, PE))


def evicted_by_kubelet(world: World) -> None:
    world.cluster.controllers.kubelet.evict("default", name_of(newest_pod(world, PE)))


def tainted(world: World) -> None:
    taint(world, node_of(world, PE), "example.com/away", "NoExecute")


ENDS: tuple[tuple[End, str, str], ...] = (
    (failed, "restartFailedPod", "Failed"),
    (completed, "restartCompletedPod", "Completed"),
    (deleted, "restartDeletedPod", "Stopped"),
    (deleted_by_force, "restartDeletedPod", "Stopped"),
    (evicted, "restartFailedPod", "Failed"),
    (evicted_by_kubelet, "restartFailedPod", "Failed"),
    (tainted, "restartFailedPod", "Failed"),
)


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize(("end", "flag", "phase"), ENDS, ids=[each[0].__name__ for each in ENDS])
def test_each_end_of_a_pod_is_restarted_by_its_own_flag_and_no_other(
    tmp_path: Path, end: End, flag: str, phase: str, wanted: bool
) -> None:
    """The other two flags say the opposite. Afterwards nothing is written."""

    async def test(world: World) -> None:
        flags = {each: wanted is (each == flag) for each in FLAGS}
        await with_pes(world, **flags)
        end(world)
        if wanted:
            await world.until("restarted", lambda: runs_as(world, PE, 2))
        else:
            await world.until("over", lambda: phase_of(world, PE) == phase)
        await quietly(world)
        assert launch_of(world, PE) == 1 + wanted

    simulate(tmp_path, test)


@pytest.mark.parametrize("end", [evicted, tainted], ids=["evicted", "tainted"])
def test_a_drain_restarts_a_job_with_default_flags_and_says_why(tmp_path: Path, end: End) -> None:
    """Also where a replay and a restart of the service come after it."""

    async def test(world: World) -> None:
        await with_pes(world)
        cordon(world, node_of(world, PE))
        end(world)
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        assert condition_of(world, PE, "BackingOff")["reason"] == "Disrupted"
        await world.kill("pod-state-machine")
        world.start("pod-state-machine")
        await quietly(world)
        assert launch_of(world, PE) == 2
        assert "restarts" not in status_of(world, PE)

    simulate(tmp_path, test)


@pytest.mark.parametrize("service", ["pod-state-machine", "watch-ingest"])
@pytest.mark.parametrize("end", [evicted, failed], ids=["evicted", "failed"])
def test_an_end_in_an_outage_is_reported_from_a_deletion(
    tmp_path: Path, end: End, service: str
) -> None:
    """The pod is long gone when the service is back; nobody has seen its last state.

    watch-ingest only finds it missing, so that the drained node has to tell why.
    """

    async def test(world: World) -> None:
        await with_pes(world)
        pod = newest_pod(world, PE)
        await world.kill(service)
        cordon(world, node_of(world, PE))
        end(world)
        await world.clock.sleep(1.0)
        if end is failed:
            delete_pod(world, pod)
        await world.until("gone", lambda: not pods_of(world, PE))
        world.start(service)
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        await quietly(world)

    simulate(tmp_path, test)


@pytest.mark.parametrize("service", ["pod-state-machine", "watch-ingest"])
def test_a_deletion_in_an_outage_stays_one(tmp_path: Path, service: str) -> None:
    """The node is well, so somebody wished it."""

    async def test(world: World) -> None:
        await with_pes(world)
        await world.kill(service)
        deleted(world)
        await world.until("gone", lambda: not pods_of(world, PE))
        world.start(service)
        await world.until("stopped", lambda: phase_of(world, PE) == "Stopped")
        await quietly(world)
        assert launch_of(world, PE) == 1

    simulate(tmp_path, test)


def test_a_failed_pod_that_is_then_deleted_restarts_once(tmp_path: Path) -> None:
    """With every flag set: the failure and the deletion are of one launch."""

    async def test(world: World) -> None:
        await with_pes(world, **dict.fromkeys(FLAGS, True))
        pod = newest_pod(world, PE)
        fail(world, PE)
        await world.until("failed", lambda: _phase_now(world, pod) in ("Failed", ""))
        if name_of(pod) in world.objects("pods"):
            delete_pod(world, pod)
        await world.until("restarted", lambda: runs_as(world, PE, 2))
        await quietly(world)
        assert launch_of(world, PE) == 2

    simulate(tmp_path, test)


def _phase_now(world: World, pod: dict[str, Any]) -> str:
    found = world.objects("pods").get(name_of(pod), {})
    return str((found.get("status") or {}).get("phase", ""))


def test_a_pod_deleted_while_a_resize_replaces_it_is_launched_once(tmp_path: Path) -> None:
    """Its launch was superseded before the deletion."""

    async def test(world: World) -> None:
        await with_pes(world, **dict.fromkeys(FLAGS, True))
        before = {pe: launch_of(world, pe) for pe in world.objects("streamspes", "j")}
        world.resize("j", "Counted", 4)
        await world.until(
            "intended", lambda: any(launch_of(world, pe) > count for pe, count in before.items())
        )
        for pod in world.live_pods("j").values():
            if pod["metadata"]["labels"][labels.LAUNCH_COUNT] == "1":
                delete_pod(world, pod)
        await world.until("settled", lambda: world.is_running("j"))
        await quietly(world)
        assert all(launch_of(world, pe) <= 2 for pe in world.objects("streamspes", "j"))
        assert len(world.live_pods("j")) == 4 + OUTSIDE

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- crash loops


def test_a_crash_loop_backs_off_and_its_conditions_say_when_and_how_often(tmp_path: Path) -> None:
    """Once it runs well, the condition says what the last restart was for."""

    async def test(world: World) -> None:
        await with_pes(world)
        for launch in (1, 2, 3):
            fail(world, PE)
            await world.until("next", lambda n=launch: launch_of(world, PE) == n + 1)  # type: ignore[misc]
            await world.until("runs", lambda n=launch: runs_as(world, PE, n + 1))  # type: ignore[misc]
        fail(world, PE)
        await world.until("backing off", lambda: holds(world, PE, "BackingOff"))
        status, told = status_of(world, PE), condition_of(world, PE, "BackingOff")
        assert (status["phase"], status["reason"], status["restarts"]) == (
            "Failed",
            "BackingOff",
            3,
        )
        assert told["reason"] == "PodFailed"
        assert status["nextRestartTime"] in told["message"]
        assert "restarts in a row: 3" in told["message"]
        await world.until("restarted", lambda: runs_as(world, PE, 5))
        assert not holds(world, PE, "BackingOff")
        assert "nextRestartTime" not in status_of(world, PE)
        await quietly(world)

    simulate(tmp_path, test)


@pytest.mark.parametrize("way_on", ["cap", "launchCount", "annotation"])
def test_a_cap_on_restarts_leaves_the_pe_failed_and_says_how_to_go_on(
    tmp_path: Path, way_on: str
) -> None:
    async def test(world: World) -> None:
        await with_pes(world, maxRestartsInARow=2)
        for launch in (1, 2, 3):
            await world.until("runs", lambda n=launch: runs_as(world, PE, n))  # type: ignore[misc]
            fail(world, PE)
        await world.until("exhausted", lambda: holds(world, PE, "RestartsExhausted"))
        await quietly(world)
        assert (phase_of(world, PE), launch_of(world, PE)) == ("Failed", 3)
        told = condition_of(world, PE, "RestartsExhausted")["message"]
        for way in ("spec.maxRestartsInARow", "spec.launchCount", "streams.ibm.com/restart"):
            assert way in told
        match way_on:
            case "cap":
                edit(world, PE, maxRestartsInARow=3)
            case "launchCount":
                edit(world, PE, launchCount=4)
            case "annotation":
                annotate(world, PE, "again")
        await world.until("runs", lambda: runs_as(world, PE, 4))
        assert not holds(world, PE, "RestartsExhausted")
        await quietly(world)

    simulate(tmp_path, test)


def test_failed_pods_are_kept_aside_up_to_a_number_and_a_time(tmp_path: Path) -> None:
    """Of four failures the newest two stay, labelled so that nothing counts them; then they go."""

    async def test(world: World) -> None:
        kept_s = 7200
        await with_pes(
            world,
            deleteFailedPod=False,
            failedPodHistoryLimit=2,
            failedPodTimeToLiveInSeconds=kept_s,
        )
        for launch in (1, 2, 3, 4):
            await world.until("runs", lambda n=launch: runs_as(world, PE, n))  # type: ignore[misc]
            fail(world, PE)
        await world.until("runs", lambda: runs_as(world, PE, 5))
        await quietly(world)
        pods = pods_of(world, PE)
        assert sorted(pods) == [3, 4, 5]
        roles = {n: pod["metadata"]["labels"][labels.SERVICE_ROLE] for n, pod in pods.items()}
        assert roles == {3: "zombie", 4: "zombie", 5: "pe"}
        assert world.phase("j") == "Submitted"
        await world.clock.sleep(kept_s)
        await quietly(world, lambda: sorted(pods_of(world, PE)) == [5])

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- robustness


def test_a_pod_that_dies_while_its_service_is_away_is_launched_when_it_is_back(
    tmp_path: Path,
) -> None:
    """Scenario 27: the original never launched it again."""

    async def test(world: World) -> None:
        await with_pes(world)
        for service in ("fusion-backend", "pod-state-machine", "watch-ingest"):
            await world.kill(service)
            fail(world, PE)
            await world.clock.sleep(30.0)
            launch = launch_of(world, PE)
            world.start(service)
            await world.until("runs", lambda n=launch: _runs_after(world, n))  # type: ignore[misc]
            await quietly(world)

    simulate(tmp_path, test)


def _runs_after(world: World, launch: int) -> bool:
    newest = launch_of(world, PE)
    return newest >= launch and runs_as(world, PE, newest) and len(pods_of(world, PE)) == 1


def test_the_intent_of_a_restart_may_lose_its_answer(tmp_path: Path) -> None:
    """Applied or not, the failure is dealt with once."""
    for number, when in enumerate((When.BEFORE, When.AFTER)):
        folder = tmp_path / str(number)
        folder.mkdir()

        async def test(world: World, when: When = when) -> None:
            await with_pes(world)
            lost: list[str] = []

            def fault(request: Request) -> Fault | None:
                if lost or f"streamspes/{PE}/status" not in request.path:
                    return None
                lost.append(request.path)
                return Fault(lost=when)

            world.faults = fault
            fail(world, PE)
            await world.until("restarted", lambda: runs_as(world, PE, 2))
            await quietly(world)
            assert lost

        simulate(folder, test)


def test_a_node_that_vanishes_with_its_pods_restarts_them_elsewhere(tmp_path: Path) -> None:
    """Pod garbage collection calls them failed and disrupted, whichever fact is seen."""

    async def test(world: World) -> None:
        await with_pes(world)
        gone = node_of(world, PE)
        world.cluster.controllers.nodes.stop(gone)
        there = [pe for pe in world.objects("streamspes", "j") if node_of(world, pe) == gone]
        remove_node(world, gone)
        await world.until("elsewhere", lambda: all(runs_as(world, pe, 2) for pe in there))
        assert all(node_of(world, pe) != gone for pe in there)
        await quietly(world)

    simulate(tmp_path, test)
