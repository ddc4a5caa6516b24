"""What people take away from a job by hand comes back once, as it was, and nothing else moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.test_job_life import PLURALS, condition, left
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/children.py",
    "services/fusion_backend/core/child_rules.py",
    "services/fusion_backend/core/appearing.py",
)

Obj = dict[str, Any]


def versions(world: World) -> dict[tuple[str, str], str]:
    return {
        (plural, name): each["metadata"]["resourceVersion"]
        for plural in PLURALS
        for name, each in world.objects(plural, "j").items()
    }


def delete(world: World, plural: str, name: str) -> None:
    world.store.delete(world.kind(plural), "default", name, DeleteOptions())


async def resized_once(world: World, *, services: str = "PerJob") -> None:
    """Width 3 in force, 2 submitted; fusion-backend knows plans 0 and 1."""
    await with_example(world, "j", width=2, more={"services": services})
    world.resize("j", "Counted", 3)
    await world.until(
        "resized", lambda: world.is_running("j") and len(world.live_pods("j")) == 3 + OUTSIDE
    )
    await world.settle()


def a_child(world: World, kind: str) -> tuple[str, str]:
    """(plural, name) of a child."""
    config_maps = world.objects("configmaps", "j")
    pack = world.objects("streamspes", "j")["j-1"]["spec"]["pack"]["name"]
    assert pack in config_maps
    return {
        "PE": ("streamspes", "j-1"),
        "Service": ("services", "j-pes"),
        "pack": ("configmaps", pack),
        "ConfigMap of the job": ("configmaps", "j"),
        "plan record": ("configmaps", "j.plan.1"),
        "HostPool": ("streamshostpools", "j-0"),
        "ParallelRegion": ("streamsprs", "j-0"),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "PE",
        "Service",
        "pack",
        "ConfigMap of the job",
        "plan record",
        "HostPool",
        "ParallelRegion",
    ],
)
def test_a_child_that_somebody_deletes_comes_back_once_and_nothing_else_restarts(
    tmp_path: Path, kind: str
) -> None:
    """A PE goes on counting its launches; a region has the width in force, not that of the spec."""

    async def test(world: World) -> None:
        await resized_once(world)
        plural, name = a_child(world, kind)
        before, old = versions(world), world.objects(plural, "j")[name]
        launched = world.objects("streamspes", "j")["j-1"]["status"]["launchCount"]
        start = len(world.requests)
        delete(world, plural, name)
        await world.until(
            "back",
            lambda: (
                world.objects(plural, "j").get(name, old)["metadata"]["uid"]
                != old["metadata"]["uid"]
            ),
        )
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        made = [each for each in world.writes(start) if each.method == "POST"]
        of_kind = [each for each in made if each.path.partition("?")[0].endswith(f"/{plural}")]
        assert len(of_kind) == 1
        new = world.objects(plural, "j")[name]
        ours = ("contentId", "width", "hostpool", "operators", "alias")
        for field in ours:
            assert new.get("spec", {}).get(field) == old.get("spec", {}).get(field)
        assert new.get("data") == old.get("data")
        assert new.get("binaryData") == old.get("binaryData")
        after = versions(world)
        is_moved = {key for key in before if before[key] != after.get(key)}
        mine = {(plural, name)}
        if kind == "PE":
            status = world.objects("streamspes", "j")["j-1"]["status"]
            assert status["launchCount"] == launched + 1
            mine |= {key for key in before if key[0] == "pods" and key[1].startswith("j-1-")}
        assert is_moved <= mine

    simulate(tmp_path, test)


@pytest.mark.parametrize("plural", PLURALS)
def test_nothing_of_a_job_that_is_being_deleted_is_made_again(tmp_path: Path, plural: str) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        jobs, hold = world.kind("streamsjobs"), {"metadata": {"finalizers": ["example.com/hold"]}}
        world.store.patch(jobs, "default", "j", hold, MERGE)
        names = list(world.objects(plural, "j"))
        world.store.delete(jobs, "default", "j", DeleteOptions())
        for name in names:
            delete(world, plural, name)
        start = len(world.requests)
        await world.until("nothing left", lambda: left(world) == {})
        await world.settle()
        made = [each for each in world.writes(start) if each.method == "POST"]
        assert [each for each in made if "/events" not in each.path] == []

    simulate(tmp_path, test)


def test_annotating_a_host_pool_does_nothing(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        before, start = versions(world), len(world.requests)
        patch = {"metadata": {"annotations": {"note": "of a person"}}}
        world.store.patch(world.kind("streamshostpools"), "default", "j-0", patch, MERGE)
        await world.settle()
        assert world.writes(start) == []
        after = versions(world)
        assert {key for key in before if after[key] != before[key]} == {("streamshostpools", "j-0")}

    simulate(tmp_path, test)


def test_owner_references_that_somebody_took_off_come_back_and_a_deletion_leaves_nothing(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        nobody = {"metadata": {"ownerReferences": None}}
        robbed = [(p, n) for p in PLURALS if p != "pods" for n in world.objects(p, "j")]
        for plural, name in robbed:
            world.store.patch(world.kind(plural), "default", name, nobody, MERGE)
        await world.settle()
        for plural, name in robbed:
            (owner,) = world.objects(plural, "j")[name]["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "j", True)
        delete(world, "streamsjobs", "j")
        await world.until("nothing left", lambda: left(world) == {})

    simulate(tmp_path, test)


def test_an_orphaning_deletion_that_is_seen_late_is_not_taken_for_a_theft_of_owners(
    tmp_path: Path,
) -> None:
    """Children lose their owner before the Job is gone; all of them stay."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        names = {plural: set(world.objects(plural, "j")) for plural in PLURALS}
        orphaned = DeleteOptions(propagation="Orphan")
        world.store.delete(world.kind("streamsjobs"), "default", "j", orphaned)
        await world.until("orphaned", lambda: "j" not in world.objects("streamsjobs"))
        await world.settle()
        assert {plural: set(world.objects(plural, "j")) for plural in PLURALS} == names
        for each in world.objects("streamspes", "j").values():
            assert not each["metadata"].get("ownerReferences")

    simulate(tmp_path, test)


def test_a_pe_that_is_made_again_after_an_orphaning_deletion_does_not_run_twice(
    tmp_path: Path,
) -> None:
    """The pod that was left behind goes before the new PE launches its own."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        (before,) = (pod for pod in world.objects("pods", "j") if pod.startswith("j-1-"))
        uid = world.objects("streamspes", "j")["j-1"]["metadata"]["uid"]
        orphaned = DeleteOptions(propagation="Orphan")
        world.store.delete(world.kind("streamspes"), "default", "j-1", orphaned)
        await world.settle()
        assert world.objects("streamspes", "j")["j-1"]["metadata"]["uid"] != uid
        pods = [pod for pod in world.objects("pods", "j") if pod.startswith("j-1-")]
        assert len(pods) == 1
        assert pods != [before]

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- plan records


def damaged(record: Obj, how: str) -> Obj:
    """The same ConfigMap as somebody wrote it who did not know better."""
    meta = record["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "ownerReferences")}
    body = {**record, "metadata": kept}
    match how:
        case "no gzip":
            body["binaryData"] = {"record.json.gz": "bm90IGd6aXA="}
        case "no text":
            body["data"] = {"about.json": "{"}
        case "nothing":
            body.pop("data")
            body.pop("binaryData")
        case "no parts":
            body["data"] = {
                "about.json": body["data"]["about.json"].replace(
                    '"parts":[]', '"parts":["j.plan.1.1"]'
                )
            }
    return body


@pytest.mark.parametrize("how", ["no gzip", "no text", "nothing", "no parts", "deleted"])
def test_a_plan_record_that_is_lost_while_nobody_looks_is_made_again_and_nothing_restarts(
    tmp_path: Path, how: str
) -> None:
    """The plan before it and the widths in force give the very same plan; the Job says it."""

    async def test(world: World) -> None:
        await resized_once(world)
        before = versions(world)
        record = world.objects("configmaps", "j")["j.plan.1"]
        await world.stop("fusion-backend")
        delete(world, "configmaps", "j.plan.1")
        if how != "deleted":
            world.store.create(world.kind("configmaps"), "default", damaged(record, how))
        world.start("fusion-backend")
        await world.until(
            "made again",
            lambda: (
                (world.objects("configmaps", "j").get("j.plan.1") or {}).get("binaryData")
                == record["binaryData"]
            ),
        )
        await world.settle()
        assert world.is_running("j")
        after = versions(world)
        assert {key for key in before if after.get(key) != before[key]} == {
            ("configmaps", "j.plan.1")
        }
        assert condition(world, "Fused")["status"] == "True"
        told = [e for e in world.objects("events").values() if e["reason"] == "PlanDamaged"]
        assert bool(told) == (how != "deleted")

    simulate(tmp_path, test)


# --------------------------------------------------------------------------- names


def test_a_name_that_somebody_takes_during_a_resize_is_reported_until_it_is_free(
    tmp_path: Path,
) -> None:
    """What ran before the resize is not touched by it."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2, more={"services": "PerPE"})
        name = labels.pe_name("j", 2 + OUTSIDE)
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"clusterIP": "None", "selector": {"app": "mine"}},
        }
        world.store.create(world.kind("services"), "default", body)
        world.resize("j", "Counted", 3)
        await world.until(
            "told", lambda: condition(world, "Submitted").get("reason") == "NameTaken"
        )
        assert world.phase("j") == "Resizing"
        assert f"Service {name}" in condition(world, "Submitted")["message"]
        delete(world, "services", name)
        await world.until("resized", lambda: world.is_running("j"))
        assert condition(world, "Submitted")["status"] == "True"

    simulate(tmp_path, test)
