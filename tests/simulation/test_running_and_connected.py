"""What says that a PE runs and what it reports of its connections are one write.

Writes of statuses are counted by PE and service; PEs of images that report nothing are
not late.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from contracts import labels
from contracts.runtime_image import REPOSITORY
from sandbox.store.deleting import DeleteOptions
from tests.simulation.applications import with_example
from tests.simulation.calling import connectivity_of, report, report_runtime, runtime_of
from tests.simulation.hands import fail
from tests.simulation.world import Obj, World, simulate

COVERS = (
    "services/launching/core/running.py",
    "services/pe_gateway/core/reports.py",
    "services/pe_gateway/core/report_rules.py",
)

GATEWAY, LAUNCHES = "pe-gateway", "pod-state-machine"
OURS = {"processingElement": {"image": REPOSITORY, "restartFailedPod": True}}
OTHER = {"processingElement": {"image": "elsewhere/streams-runtime:6", "restartFailedPod": True}}
STARTED = {"started": {"runtime": "millrace 0.1", "handsOver": False}}
_LOOK_S = 0.02


class Runtimes:
    """Plays runtimes that report their start, and some time later that they are connected."""

    def __init__(self, world: World, connects_after_s: float, phase: str = "Running") -> None:
        self._world = world
        self._phase = phase
        self._connects_after_s = connects_after_s
        self._begun: set[str] = set()
        self._tasks = {asyncio.create_task(self._play())}

    async def _play(self) -> None:
        while True:
            for pe, pod in self._world.live_pods("j").items():
                uid = pod["metadata"]["uid"]
                if pod["status"].get("phase") == self._phase and uid not in self._begun:
                    self._begun.add(uid)
                    self._tasks.add(asyncio.create_task(self._report(pe, pod)))
            await asyncio.sleep(_LOOK_S)

    async def _report(self, pe: str, pod: Obj) -> None:
        """A pod that facts have not shown yet is refused, and a late write makes it try again."""
        await _until_taken(lambda: report_runtime(self._world, pe, STARTED, pod=pod))
        await _until_taken(lambda: report(self._world, pe, "Partial", pod=pod))
        await asyncio.sleep(self._connects_after_s)
        await _until_taken(lambda: report(self._world, pe, "Full", pod=pod))


async def _until_taken(send: Callable[[], Awaitable[int]]) -> None:
    while await send() in (403, 503):  # noqa: ASYNC110  the answers are what is waited for
        await asyncio.sleep(_LOOK_S)


def statuses(world: World, since: int) -> Counter[str]:
    """How many writes of the status each PE had."""
    patches = (each for each in world.writes(since) if each.path.endswith("/status"))
    return Counter(each.path.split("/")[-2] for each in patches if "/streamspes/" in each.path)


def _phases(world: World, since: int, pe: str) -> list[tuple[str, str | None, str | None]]:
    """(service, phase, connectivity) of each write of a PE's status."""
    found = []
    for each in world.writes(since):
        if each.path.endswith(f"/streamspes/{pe}/status"):
            status = json.loads(each.body)["status"]
            found.append((each.service, status.get("phase"), status.get("connectivity")))
    return found


async def _submitted(world: World, connects_after_s: float, *, width: int = 2) -> Runtimes:
    """A job that runs, and its runtimes, which play as long as they are kept."""
    runtimes = Runtimes(world, connects_after_s)
    world.start(GATEWAY)
    await with_example(world, "j", width=width, more=OURS)
    return runtimes


def test_a_pe_that_connects_within_two_seconds_runs_and_is_connected_by_one_write(
    tmp_path: Path,
) -> None:
    async def life(world: World) -> None:
        _playing = await _submitted(world, 1.0)
        assert len(statuses(world, 0)) == 6
        for pe in statuses(world, 0):
            assert _phases(world, 0, pe) == [
                (LAUNCHES, "Starting", None),
                (GATEWAY, "Running", "Full"),
            ], pe
            assert runtime_of(world, pe)["launch"] == 1
            status = world.objects("streamspes")[pe]["status"]
            assert (status["reason"], status["node"] != "") == ("PodRunning", True)

    simulate(tmp_path, life)


def test_a_report_that_comes_before_the_pod_is_seen_to_run_waits_for_that(tmp_path: Path) -> None:
    """Containers run before their kubelet reports it."""

    async def life(world: World) -> None:
        _playing = Runtimes(world, 0.0, "Pending")
        world.start(GATEWAY)
        await with_example(world, "j", width=2, more=OURS)
        assert _phases(world, 0, "j-1")[-1] == (GATEWAY, "Running", "Full")
        assert statuses(world, 0)["j-1"] == 2

    simulate(tmp_path, life)


@pytest.mark.parametrize("pes", [6, 44])
def test_a_resize_costs_each_pe_that_it_launches_the_intent_and_one_write_more(
    tmp_path: Path, pes: int
) -> None:
    async def life(world: World) -> None:
        _playing = await _submitted(world, 0.2, width=pes - 4)
        before = {pe: status["status"]["launchCount"] for pe, status in _pes(world).items()}
        since = len(world.requests)
        world.resize("j", "Counted", pes - 3)
        await world.until("resized", lambda: len(world.live_pods("j")) == pes + 1)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        for pe, status in _pes(world).items():
            written = _phases(world, since, pe)
            last = [] if status["status"]["launchCount"] == before.get(pe) else [written[-1]]
            assert last in ([], [(GATEWAY, "Running", "Full")]), (pe, written)
            assert len(written) <= 2 * len(last), (pe, written)

    simulate(tmp_path, life)


def _pes(world: World) -> dict[str, Obj]:
    return world.objects("streamspes", "j")


def test_a_deletion_writes_no_status_of_a_pe(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        _playing = await _submitted(world, 0.2)
        since = len(world.requests)
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: not _pes(world) and not world.live_pods("j"))
        await world.settle()
        assert statuses(world, since) == {}

    simulate(tmp_path, life)


def test_a_pe_that_connects_later_runs_when_its_first_report_has_settled(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        _playing = await _submitted(world, 20.0)
        assert _phases(world, 0, "j-1")[1:] == [
            (GATEWAY, "Running", "Partial"),
            (GATEWAY, None, "Full"),
        ]

    simulate(tmp_path, life)


@pytest.mark.parametrize(
    ("more", "least_s", "most_s"), [(OURS, 1.9, 3.1), (OTHER, 0.0, 0.5)], ids=["ours", "other"]
)
def test_only_a_pe_of_our_runtime_is_waited_for_and_not_for_long(
    tmp_path: Path, more: Obj, least_s: float, most_s: float
) -> None:
    """Nothing reports in either of them."""

    async def life(world: World) -> None:
        world.start(GATEWAY)
        since = await _running_since(world, more)
        assert least_s <= since <= most_s
        again = len(world.requests)
        begin = await _failed_and_running(world)
        assert begin <= 0.5, "a PE that did not report when it ran last is not waited for"
        assert statuses(world, again)["j-1"] <= 3

    simulate(tmp_path, life)


async def _running_since(world: World, more: Obj) -> float:
    """How long after the pod of PE 1 its status says Running (seconds)."""
    submitting = asyncio.create_task(with_example(world, "j", width=2, more=more))
    late_s = await _late_s(world, 1)
    await submitting
    return late_s


async def _failed_and_running(world: World) -> float:
    fail(world, "j-1")
    return await _late_s(world, 2)


async def _late_s(world: World, launch: int) -> float:
    def runs() -> bool:
        pod = world.live_pods("j").get("j-1")
        if pod is None or pod["metadata"]["labels"][labels.LAUNCH_COUNT] != str(launch):
            return False
        return bool(pod["status"].get("phase") == "Running")

    await world.until("the pod runs", runs)
    begin = world.clock.now()
    await world.until("the PE runs", lambda: _phase(world) == "Running")
    return world.clock.now() - begin


def _phase(world: World) -> str:
    return str((world.objects("streamspes")["j-1"].get("status") or {}).get("phase"))


def test_a_gateway_that_is_away_delays_running_by_the_wait_alone(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        late_s = await _running_since(world, OURS)
        assert 1.9 <= late_s <= 3.1
        world.start(GATEWAY)
        await world.settle()
        assert await report(world, "j-1", "Full") == 204
        assert connectivity_of(world, "j-1") == "Full"

    simulate(tmp_path, life)
