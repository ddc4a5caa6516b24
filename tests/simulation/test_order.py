"""In which order services write: what pods wait for goes first (docs/adr/0006)."""

from __future__ import annotations

from pathlib import Path

from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import Request, World, simulate

COVERS = (
    "services/fusion_backend/core/deciding.py",
    "services/fusion_backend/core/children.py",
    "services/launching/core/deciding.py",
)

WIDTH = 12


def places(requests: list[Request], method: str, ending: str) -> list[int]:
    """Where requests of a kind stand among all writes."""
    return [
        place
        for place, request in enumerate(requests)
        if request.method == method and request.path.partition("?")[0].endswith(ending)
    ]


def test_a_submission_writes_first_what_its_pods_wait_for(tmp_path: Path) -> None:
    """The Service of the job is first; a status of a PE comes after its pod, never before."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=WIDTH)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        writes = world.writes()
        pes, services = (places(writes, "POST", f"/{each}") for each in ("streamspes", "services"))
        pods = places(writes, "POST", "/pods")
        statuses = [
            place
            for place in places(writes, "PATCH", "/status")
            if "/streamspes/" in writes[place].path
        ]
        assert len(pes) == len(pods) == WIDTH + OUTSIDE
        assert len(services) == 1
        assert services[0] < pes[0]
        firsts = statuses[: len(pods)]
        assert all(pod < status for pod, status in zip(pods, firsts, strict=True))
        status = {n: pe["status"] for n, pe in world.objects("streamspes", "j").items()}
        assert {(each["launchCount"], each["phase"]) for each in status.values()} == {
            (1, "Running")
        }

    simulate(tmp_path, test)


def test_services_of_single_pes_begin_when_every_pe_is_on_its_way(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=WIDTH, more={"services": "PerPE"})
        writes = world.writes()
        pes, services = (places(writes, "POST", f"/{each}") for each in ("streamspes", "services"))
        assert len(pes) == len(services) == WIDTH + OUTSIDE
        assert pes[-1] < services[0]

    simulate(tmp_path, test)


def test_a_resize_begins_to_launch_before_everything_is_written(tmp_path: Path) -> None:
    """PE by PE, each with its ConfigMap; and no pod whose end was seen is requested."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=WIDTH)
        before = len(world.requests)
        world.resize("j", "Counted", WIDTH + 1)
        await world.until("resized", lambda: f"j-{WIDTH + OUTSIDE}" in world.live_pods("j"))
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        writes = world.writes(before)
        config_maps = places(writes, "POST", "/configmaps")
        changed = [p for p in places(writes, "PATCH", "") if "/streamspes/" in writes[p].path]
        assert changed[0] < config_maps[-1]
        asked = [r for r in world.requests[before:] if r.method == "GET" and "/pods/" in r.path]
        assert asked == []

    simulate(tmp_path, test)


def test_a_deletion_takes_the_pods_before_what_they_run_on(tmp_path: Path) -> None:
    """Each collection once, that of the pods first."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=4)
        before = len(world.requests)
        jobs, hold = world.kind("streamsjobs"), {"metadata": {"finalizers": ["example.com/hold"]}}
        world.store.patch(jobs, "default", "j", hold, MERGE)  # or the collector is faster
        world.store.delete(jobs, "default", "j", DeleteOptions())
        await world.until("gone", lambda: not world.objects("pods", "j"))
        await world.settle()
        kinds = [
            request.path.partition("?")[0].rpartition("/")[2] for request in world.writes(before)
        ]
        collections = [kind for kind in kinds if kind != "status"]
        assert collections[0] == "pods"
        assert collections.count("pods") == 1

    simulate(tmp_path, test)
