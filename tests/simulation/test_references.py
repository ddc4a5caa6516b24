"""ParallelRegions and HostPools that name what does not exist say so, and pass over a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.world import GROUP, Obj, World, simulate

COVERS = (
    "services/fusion_backend/core/reference_rules.py",
    "services/fusion_backend/core/references.py",
)

NO_JOB = "spec.job is j: namespace default has no Job of that name"
NO_POOL = "spec.hostpool.name is gpu: Job j has the host pool $default"
POOL: Obj = {"job": "j", "hostpool": {"name": "gpu", "index": 0}}
STRAYS: dict[str, Obj] = {
    "streamsprs": {"job": "j", "alias": "Counted", "width": 2},
    "streamshostpools": POOL,
}


def _create(world: World, plural: str, spec: Obj) -> None:
    kind = world.kind(plural)
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, "metadata": {"name": "stray"}}
    world.store.create(kind, "default", {**body, "spec": spec})


def _accepted(world: World, plural: str, name: str = "stray") -> Any:
    status = world.objects(plural)[name].get("status") or {}
    found = [each for each in status.get("conditions") or () if each["type"] == "Accepted"]
    return found[0] if found else None


def _events(world: World, reason: str) -> list[Obj]:
    return [each for each in world.objects("events").values() if each["reason"] == reason]


def _is_reported(world: World, plural: str, words: str) -> bool:
    found = _accepted(world, plural)
    return bool(found and found["reason"] == "InvalidReference" and words in found["message"])


def test_objects_that_name_a_job_before_it_exists_report_that_and_then_what_it_lacks(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        world.start()
        for plural, spec in STRAYS.items():
            _create(world, plural, spec)
        await world.until("reported", lambda: all(_is_reported(world, at, NO_JOB) for at in STRAYS))
        events = _events(world, "InvalidReference")
        assert sorted(each["involvedObject"]["kind"] for each in events) == [
            "HostPool",
            "ParallelRegion",
        ]
        submit_example(world, "j", width=3)
        await world.until("its pool", lambda: _is_reported(world, "streamshostpools", NO_POOL))
        assert _accepted(world, "streamsprs")["reason"] != "InvalidReference"
        await world.settle()
        world.store.patch(
            world.kind("streamshostpools"),
            "default",
            "stray",
            {"spec": {"hostpool": {"name": "$default"}}},
            MERGE,
        )
        await world.until(
            "right again",
            lambda: _accepted(world, "streamshostpools")["reason"] != "InvalidReference",
        )

    simulate(tmp_path, test)


def test_a_stray_that_is_there_before_its_job_for_a_moment_is_not_written(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        world.start()
        _create(world, "streamshostpools", {"job": "j", "hostpool": {"name": "$default"}})
        await world.clock.sleep(2)
        submit_example(world, "j", width=3)
        await world.until("running", lambda: world.is_running("j"))
        assert not _events(world, "InvalidReference")

    simulate(tmp_path, test)


def test_a_job_that_is_deleted_reports_nothing_of_its_children(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: not world.objects("streamsprs", "j"))
        await world.settle()
        assert not _events(world, "InvalidReference")

    simulate(tmp_path, test)


def test_a_region_whose_index_is_edited_says_so_and_is_resized_all_the_same(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        regions = world.kind("streamsprs")
        (name,) = (
            name
            for name, each in world.objects("streamsprs", "j").items()
            if each["spec"]["alias"] == "Counted"
        )
        patch = {"spec": {"index": 7, "width": 5}}
        world.store.patch(regions, "default", name, patch, MERGE)
        await world.until(
            "resized",
            lambda: (
                world.phase("j") == "Submitted"
                and len(world.objects("streamspes", "j")) == 5 + OUTSIDE
            ),
        )
        await world.settle()
        assert _accepted(world, "streamsprs", name)["reason"] == "InvalidReference"
        world.store.patch(regions, "default", name, {"spec": {"index": 0}}, MERGE)
        await world.settle()
        assert _accepted(world, "streamsprs", name)["status"] == "True"

    simulate(tmp_path, test)
