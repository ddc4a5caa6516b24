"""A Service that somebody edits by hand leads to its PE again, and nothing else is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import with_example
from tests.simulation.test_job_repairs import resized_once, versions
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/core/pe_services.py",
    "services/fusion_backend/core/child_rules.py",
)

Obj = dict[str, Any]
SERVICE, OF_PE = "j-pes", "j-1"
MENDED_S_MAX = 5.0
THEIRS = {"name": "sys-0", "port": 10_000, "protocol": "TCP", "targetPort": 6_666}
OUTSIDE = {"type": "ExternalName", "externalName": "elsewhere.example.com"}
EDITS: dict[str, Obj] = {
    "a key of the selector": {"selector": {labels.JOB: "k"}},
    "a foreign key in the selector": {"selector": {"team": "blue"}},
    "another selector": {"selector": {"app": "else", labels.JOB: None, labels.PE: None}},
    "no selector": {"selector": None},
    "other ports": {"ports": [THEIRS]},
    "no ports": {"ports": None},
    "only pods that are ready": {"publishNotReadyAddresses": None},
    "an address of somebody": {"externalIPs": ["203.0.113.7"]},
    "a name of somewhere else": OUTSIDE,
}


def edit(world: World, spec: Obj, name: str = SERVICE) -> None:
    world.store.patch(world.kind("services"), "default", name, {"spec": spec}, MERGE)


def spec_of(world: World, name: str = SERVICE) -> Obj:
    found = world.objects("services", "j").get(name)
    return {} if found is None else dict(found["spec"])


def written(world: World, start: int) -> list[tuple[str, str]]:
    """(method, plural and name) of what was written since."""
    return [
        (each.method, "/".join(each.path.partition("?")[0].split("/")[5:]))
        for each in world.writes(start)
    ]


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_by_hand_is_repaired_by_one_patch_within_seconds(tmp_path: Path, what: str) -> None:
    async def test(world: World) -> None:
        await resized_once(world)
        before, uid = spec_of(world), world.objects("services")[SERVICE]["metadata"]["uid"]
        others, start, now = versions(world), len(world.requests), world.clock.now()
        edit(world, EDITS[what])
        assert spec_of(world) != before
        await world.until("mended", lambda: spec_of(world) == before)
        assert world.clock.now() - now <= MENDED_S_MAX
        await world.settle()
        assert written(world, start) == [("PATCH", f"services/{SERVICE}")]
        assert world.objects("services")[SERVICE]["metadata"]["uid"] == uid
        after = versions(world)
        assert {key for key in others if others[key] != after.get(key)} == {("services", SERVICE)}

    simulate(tmp_path, test)


def test_the_edited_service_of_one_pe_is_repaired_by_one_patch(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await resized_once(world, services="PerPE")
        before, start = spec_of(world, OF_PE), len(world.requests)
        edit(world, {"selector": {labels.PE: "0"}, "ports": [THEIRS]}, OF_PE)
        assert spec_of(world, OF_PE) != before
        await world.until("mended", lambda: spec_of(world, OF_PE) == before)
        await world.settle()
        assert written(world, start) == [("PATCH", f"services/{OF_PE}")]

    simulate(tmp_path, test)


def test_a_service_that_got_an_address_is_deleted_and_made_again(tmp_path: Path) -> None:
    """The API server lets nobody take an address away from a Service that has one."""

    async def test(world: World) -> None:
        await resized_once(world)
        before, others, start = spec_of(world), versions(world), len(world.requests)
        await world.kill("fusion-backend")
        edit(world, OUTSIDE)
        edit(world, {"type": "ClusterIP", "externalName": None})
        assert spec_of(world)["clusterIP"] != "None"
        world.start("fusion-backend")
        await world.until("made again", lambda: spec_of(world) == before)
        await world.settle()
        assert written(world, start) == [
            ("DELETE", f"services/{SERVICE}"),
            ("POST", "services"),
        ]
        after = versions(world)
        assert {key for key in others if others[key] != after.get(key)} == {("services", SERVICE)}

    simulate(tmp_path, test)


def test_a_service_without_its_labels_that_leads_elsewhere_gets_back_both(tmp_path: Path) -> None:
    """No watch shows it then: it is met when its creation is tried."""

    async def test(world: World) -> None:
        await resized_once(world)
        before = world.objects("services", "j")[SERVICE]
        edit(world, {"selector": {labels.PE: "0"}})
        patch = {"metadata": {"labels": None}}
        world.store.patch(world.kind("services"), "default", SERVICE, patch, MERGE)
        await world.until("mended", lambda: spec_of(world) == before["spec"])
        await world.settle()
        after = world.objects("services", "j")[SERVICE]
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"] == before["spec"]

    simulate(tmp_path, test)


def test_fields_that_lead_nowhere_else_are_left_to_people(tmp_path: Path) -> None:
    """What the API server fills in may be said otherwise: a headless Service takes no notice."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        start = len(world.requests)
        edit(world, {"sessionAffinity": "ClientIP", "internalTrafficPolicy": "Local"})
        await world.settle()
        assert written(world, start) == []
        assert spec_of(world)["sessionAffinity"] == "ClientIP"

    simulate(tmp_path, test)


def test_a_job_with_an_edited_service_is_deleted_whole(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await with_example(world, "j", width=2)
        edit(world, {"selector": {labels.JOB: "k"}})
        world.store.delete(world.kind("streamsjobs"), "default", "j", DeleteOptions())
        await world.until("gone", lambda: world.objects("services") == {})
        await world.settle()
        assert world.objects("streamspes") == {}

    simulate(tmp_path, test)
