"""Labels that people take off a job's children, or change, are put back, and nothing restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from tests.sandboxed import MERGE
from tests.simulation.applications import with_example
from tests.simulation.test_job_life import left
from tests.simulation.test_job_repairs import a_child, delete, resized_once
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/membership.py",
    "contracts/labels.py",
    "services/launching/core/owners.py",
)

Obj = dict[str, Any]
KINDS = [
    "PE",
    "Service",
    "pack",
    "ConfigMap of the job",
    "plan record",
    "HostPool",
    "ParallelRegion",
]


def marks(world: World, plural: str, name: str) -> dict[str, str]:
    found: dict[str, str] = world.objects(plural)[name]["metadata"].get("labels") or {}
    return found


def label(world: World, plural: str, name: str, change: Obj | None) -> None:
    patch = {"metadata": {"labels": change}}
    world.store.patch(world.kind(plural), "default", name, patch, MERGE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_whose_labels_were_all_taken_off_gets_them_back_and_nothing_restarts(
    tmp_path: Path, kind: str
) -> None:
    """It stays the object that it was: its owner says whose it is."""

    async def test(world: World) -> None:
        await resized_once(world)
        plural, name = a_child(world, kind)
        before, pods = world.objects(plural, "j")[name], set(world.objects("pods", "j"))
        label(world, plural, name, None)
        await world.until("labelled", lambda: labels.JOB in marks(world, plural, name))
        await world.settle()
        after = world.objects(plural, "j")[name]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        generation = {labels.GENERATION: "1"}  # the newest writes it
        assert after["metadata"]["labels"] == before["metadata"]["labels"] | generation
        assert set(world.objects("pods", "j")) == pods
        assert world.is_running("j")

    simulate(tmp_path, test)


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_that_names_another_job_is_put_right_and_a_deletion_leaves_nothing(
    tmp_path: Path, kind: str
) -> None:
    """Also where a job of that other name lives: it neither takes the child nor deletes it."""

    async def test(world: World) -> None:
        await resized_once(world)
        await with_example(world, "k", width=1)
        plural, name = a_child(world, kind)
        before = world.objects(plural, "j")[name]
        label(world, plural, name, {labels.JOB: "k"})
        await world.until("put right", lambda: marks(world, plural, name)[labels.JOB] == "j")
        await world.settle()
        assert world.objects(plural)[name]["metadata"]["uid"] == before["metadata"]["uid"]
        assert marks(world, plural, name) == before["metadata"]["labels"]
        delete(world, "streamsjobs", "j")
        await world.until("nothing left", lambda: left(world) == {})
        assert world.is_running("k")

    simulate(tmp_path, test)


@pytest.mark.parametrize("key", [labels.PE, labels.SERVICE_ROLE, labels.GENERATION])
def test_a_single_label_that_is_taken_off_a_pe_comes_back(tmp_path: Path, key: str) -> None:
    async def test(world: World) -> None:
        await resized_once(world)
        label(world, "streamspes", "j-1", {key: None})
        await world.until("labelled", lambda: key in marks(world, "streamspes", "j-1"))
        await world.settle()
        assert world.is_running("j")

    simulate(tmp_path, test)


def test_the_label_by_which_monitors_find_the_service_of_a_job_comes_back(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await resized_once(world)
        label(world, "services", "j-pes", {labels.SERVICE_ROLE: None})
        await world.until("back", lambda: labels.SERVICE_ROLE in marks(world, "services", "j-pes"))
        await world.settle()

    simulate(tmp_path, test)


def test_the_label_of_a_region_comes_back_to_a_pe_so_that_its_next_pod_is_counted(
    tmp_path: Path,
) -> None:
    """An autoscaler counts the pods of a region by it."""

    async def test(world: World) -> None:
        await resized_once(world)
        of_region = labels.region_label(0)
        counted = [pe for pe in world.objects("streamspes") if of_region in marks_of(world, pe)]
        label(world, "streamspes", counted[0], {of_region: None})
        await world.until("labelled", lambda: of_region in marks_of(world, counted[0]))
        await world.settle()

    simulate(tmp_path, test)


def marks_of(world: World, pe: str) -> dict[str, str]:
    return marks(world, "streamspes", pe)


def test_a_label_of_somebody_else_stays(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await resized_once(world)
        start = len(world.requests)
        label(world, "services", "j-pes", {"team": "blue"})
        await world.settle()
        assert world.writes(start) == []
        assert marks(world, "services", "j-pes")["team"] == "blue"

    simulate(tmp_path, test)


def test_a_job_that_is_deleted_takes_a_child_without_labels_with_it(tmp_path: Path) -> None:
    """A finalizer holds the Job, so that no garbage collector takes it."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        world.store.patch(world.kind("streamsjobs"), "default", "j", hold, MERGE)
        await world.kill("fusion-backend")
        delete(world, "streamsjobs", "j")
        label(world, "streamsprs", "j-0", None)
        world.start("fusion-backend")
        await world.until("gone", lambda: world.objects("streamsprs") == {})
        await world.until("nothing left", lambda: left(world) == {})

    simulate(tmp_path, test)
