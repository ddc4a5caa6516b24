"""Objects that nobody can read stop nothing, say so on themselves, and are forgotten when they go.

The definitions are those of an older release, which keep whatever a spec says: people upgrade
definitions and services at different times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.unreadable import FACT_DEPTH_MAX
from sandbox.store.deleting import DeleteOptions
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example
from tests.simulation.mains import MAINS
from tests.simulation.test_job_life import condition, left, status
from tests.simulation.world import GROUP, Obj, World, simulate

COVERS = ("contracts/unreadable.py", "contracts/projections.py")

KINDS = {
    "streamspes": "ProcessingElement",
    "streamsprs": "ParallelRegion",
    "streamshostpools": "HostPool",
    "streamsplacements": "Placement",
}
SPECS: Mapping[str, Obj] = {
    "streamspes": {"id": 0},
    "streamsprs": {"alias": "A", "width": 1},
    "streamshostpools": {"hostpool": {"name": "p", "index": 0}},
    "streamsplacements": {"generation": 0, "pools": [], "classes": []},
}


def nested(levels: int = FACT_DEPTH_MAX + 1) -> Obj:
    found: Obj = {}
    for _ in range(levels):
        found = {"a": found}
    return found


def deep_template() -> Obj:
    return {"processingElement": {"podTemplate": {"spec": {"affinity": nested()}}}}


def create(
    world: World, plural: str, kind: str, name: str, spec: Obj, metadata: Obj | None = None
) -> None:
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"} | (metadata or {}),
        "spec": spec,
    }
    world.store.create(world.kind(plural), "default", body)


def readable(world: World, plural: str, name: str) -> Obj:
    """Condition Readable of an object."""
    found = world.objects(plural)[name].get("status", {}).get("conditions") or ()
    return next((each for each in found if each["type"] == "Readable"), {})


def events(world: World, name: str) -> list[str]:
    found = world.store.list(world.kind("events"), None).items
    return [str(each["reason"]) for each in found if each["involvedObject"]["name"] == name]


def patch(world: World, plural: str, name: str, body: Any) -> None:
    world.store.patch(world.kind(plural), "default", name, body, MERGE)


def delete(world: World, plural: str, name: str) -> None:
    world.store.delete(world.kind(plural), "default", name, DeleteOptions())


async def with_every_service(world: World) -> None:
    world.start(*MAINS)
    submit_example(world, "j", width=2)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_job_that_nests_too_deep_fails_by_name_and_delays_no_other(
    tmp_path: Path, restarted: bool
) -> None:
    """Also where every service starts while it is there, and lists it first."""

    async def test(world: World) -> None:
        if not restarted:
            world.start(*MAINS)
            await world.settle()
        submit_example(world, "bad", width=1, more=deep_template())
        if restarted:
            world.start(*MAINS)
        submit_example(world, "j", width=2)
        await world.until("running", lambda: world.is_running("j"), wait_s=30.0)
        await world.until("refused", lambda: status(world, "bad").get("phase") == "Failed")
        assert status(world, "bad")["reason"] == "ObjectUnreadable"
        accepted = condition(world, "Accepted", "bad")
        assert accepted["status"] == "False"
        assert "spec.processingElement.podTemplate.spec.affinity" in accepted["message"]
        assert "delete the Job" in accepted["message"]
        assert "ObjectUnreadable" in events(world, "bad")
        await world.settle()
        assert left(world, "bad") == {}
        mended = {"spec": {"processingElement": {"podTemplate": None}}}
        patch(world, "streamsjobs", "bad", mended)
        await world.until("mended", lambda: world.is_running("bad"))

    simulate(tmp_path, test, is_permissive=True)


def test_a_running_job_stays_as_it_is_when_its_spec_becomes_unreadable(tmp_path: Path) -> None:
    """The edit is refused as a whole; every service may start again meanwhile; a width counts."""

    async def test(world: World) -> None:
        await with_every_service(world)
        pods = set(world.objects("pods", "j"))
        patch(world, "streamsjobs", "j", {"spec": deep_template()})
        await world.until("refused", lambda: condition(world, "Accepted")["status"] == "False")
        assert condition(world, "Accepted")["reason"] == "EditRefused"
        assert status(world)["phase"] == "Submitted"
        for service in MAINS:
            await world.kill(service)
            world.start(service)
        await world.settle()
        assert set(world.objects("pods", "j")) == pods
        world.resize("j", "Counted", 3)
        await world.until("resized", lambda: world.is_running("j"))
        patch(world, "streamsjobs", "j", {"spec": {"processingElement": {"podTemplate": None}}})
        await world.until("accepted", lambda: condition(world, "Accepted")["status"] == "True")
        patch(world, "streamsjobs", "j", {"spec": deep_template()})
        await world.settle()
        delete(world, "streamsjobs", "j")
        await world.until("gone", lambda: left(world) == {})

    simulate(tmp_path, test, is_permissive=True)


@pytest.mark.parametrize("plural", KINDS)
def test_an_object_of_ours_says_on_itself_that_it_cannot_be_read_until_it_can(
    tmp_path: Path, plural: str
) -> None:
    """By condition and Event; nothing is written twice; a job beside it is resized."""

    async def test(world: World) -> None:
        await with_every_service(world)
        create(world, plural, KINDS[plural], "bad-0", {**SPECS[plural], "extra": nested()})
        await world.until("told", lambda: readable(world, plural, "bad-0") != {}, wait_s=30.0)
        told = readable(world, plural, "bad-0")
        assert (told["status"], told["reason"]) == ("False", "ObjectUnreadable")
        assert "spec.extra" in told["message"]
        assert events(world, "bad-0") == ["ObjectUnreadable"]
        await world.settle()
        written = len(world.writes())
        for service in MAINS:
            await world.kill(service)
            world.start(service)
        await asyncio.sleep(120)
        again = world.writes()[written:]
        assert [each for each in again if "bad-0" in each.path or "/events" in each.path] == []
        world.resize("j", "Counted", 3)
        await world.until("resized", lambda: world.is_running("j"), wait_s=30.0)
        patch(world, plural, "bad-0", {"spec": {"extra": None}})
        await world.until("taken back", lambda: readable(world, plural, "bad-0") == {})
        await world.settle()
        delete(world, plural, "bad-0")
        await world.settle()

    simulate(tmp_path, test, is_permissive=True)


def test_an_unreadable_child_that_only_claims_to_be_of_a_job_delays_it_nothing(
    tmp_path: Path,
) -> None:
    """Who may create PEs could else stop every job of the namespace."""

    async def test(world: World) -> None:
        await with_every_service(world)
        true_pe = world.objects("streamspes", "j")["j-0"]
        meta = true_pe["metadata"]
        for number, owners in enumerate((meta["ownerReferences"], [])):
            body = {
                "apiVersion": f"{GROUP}/v1",
                "kind": "ProcessingElement",
                "metadata": {
                    "name": f"j-{90 + number}",
                    "namespace": "default",
                    "labels": meta["labels"],
                    "ownerReferences": owners,
                },
                "spec": {**true_pe["spec"], "extra": nested()},
            }
            world.store.create(world.kind("streamspes"), "default", body)
        for service in MAINS:
            await world.kill(service)
            world.start(service)
        world.resize("j", "Counted", 3)
        await world.until(
            "resized", lambda: status(world).get("widths") == {"Counted": 3}, wait_s=60.0
        )
        await world.settle()
        assert condition(world, "Stalled") == {}

    simulate(tmp_path, test, is_permissive=True)
