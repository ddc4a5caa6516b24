"""ProcessingElements that somebody creates and that name no Job, or no id of one, report that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sandboxed import MERGE
from tests.simulation.hands import PE, quietly, with_pes
from tests.simulation.world import GROUP, Obj, World, simulate

STRAY = "stray"


def create(world: World, **spec: Any) -> None:
    kind = world.kind("streamspes")
    body = {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, "metadata": {"name": STRAY}}
    world.store.create(kind, "default", {**body, "spec": {"id": 7, **spec}})


def accepted(world: World) -> Obj:
    status = world.objects("streamspes")[STRAY].get("status") or {}
    found = [each for each in status.get("conditions") or () if each["type"] == "Accepted"]
    return found[0] if found else {}


def events(world: World) -> list[Obj]:
    return [
        each for each in world.objects("events").values() if each["involvedObject"]["name"] == STRAY
    ]


def test_a_pe_that_names_no_job_that_exists_reports_field_and_value_once(tmp_path: Path) -> None:
    """Also over a restart of the service; and a corrected reference takes the report away."""
    text = "spec.job is nope: namespace default has no Job of that name"

    async def test(world: World) -> None:
        await with_pes(world)
        create(world, job="nope")
        await world.clock.sleep(3.0)
        assert accepted(world) == {}
        await world.until("reported", lambda: accepted(world).get("message") == text)
        await world.kill("pod-state-machine")
        world.start("pod-state-machine")
        await quietly(world)
        status = world.objects("streamspes")[STRAY]["status"]
        assert (accepted(world)["status"], accepted(world)["reason"]) == (
            "False",
            "InvalidReference",
        )
        assert (status["reason"], status["message"]) == ("InvalidReference", text)
        (event,) = events(world)
        assert (event["reason"], event["type"], event["message"]) == (
            "InvalidReference",
            "Warning",
            text,
        )
        world.store.patch(world.kind("streamspes"), "default", STRAY, {"spec": {"job": "j"}}, MERGE)
        await world.until("another", lambda: "Job j did not make" in accepted(world)["message"])
        assert "spec.id is 7" in accepted(world)["message"]

    simulate(tmp_path, test)


def test_a_pe_that_gets_the_labels_of_a_job_reports_that_it_has_no_such_id(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        pe = world.objects("streamspes")[PE]
        marks = pe["metadata"]["labels"]
        assert "Accepted" not in {
            each["type"] for each in (pe.get("status") or {}).get("conditions") or ()
        }
        create(world, job="nope")
        await world.until("reported", lambda: accepted(world) != {})
        patch = {"metadata": {"labels": marks}, "spec": {"job": "j"}}
        world.store.patch(world.kind("streamspes"), "default", STRAY, patch, MERGE)
        await world.until(
            "another", lambda: "has none with spec.id 7" in accepted(world)["message"]
        )

    simulate(tmp_path, test)


def test_a_copy_of_a_pe_under_another_name_says_which_one_has_its_id(tmp_path: Path) -> None:
    """It has the labels of a living Job, and waited without a word."""

    async def test(world: World) -> None:
        await with_pes(world)
        planned = world.objects("streamspes")[PE]
        kind = world.kind("streamspes")
        meta = {"name": STRAY, "labels": planned["metadata"]["labels"]}
        body = {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, "metadata": meta}
        world.store.create(kind, "default", {**body, "spec": planned["spec"]})
        await world.until("reported", lambda: accepted(world) != {})
        number = planned["spec"]["id"]
        named = f"{PE} of Job j has spec.id {number}, and the pod; delete this one"
        assert accepted(world)["message"] == f"metadata.name is {STRAY}: {named}"
        await world.clock.sleep(30.0)
        (event,) = events(world)
        assert (event["reason"], event["message"]) == (
            "InvalidReference",
            accepted(world)["message"],
        )
        assert len(world.objects("pods")) == len(world.objects("streamspes")) - 1

    simulate(tmp_path, test)


def test_the_deletion_of_a_job_reports_no_reference(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_pes(world)
        world.store.delete(world.kind("streamsjobs"), "default", "j")
        await world.until("gone", lambda: not world.objects("streamspes"))
        found = [each["reason"] for each in world.objects("events").values()]
        assert "InvalidReference" not in found

    simulate(tmp_path, test)
