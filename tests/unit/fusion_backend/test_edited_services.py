"""Services that somebody edited: what counts as an edit, and what repairs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts import labels
from contracts.unreadable import ObjectUnreadable, Unreadable
from services.chassis.table.entries import Entry
from services.fusion_backend.core.effects import CreateChild, DeleteChild, PatchChild
from services.fusion_backend.core.pe_services import has_address, is_as_planned, service_patch
from tests.builders import a_service
from tests.unit.fusion_backend.objects import merge
from tests.unit.fusion_backend.test_children import PE, job
from tests.unit.fusion_backend.world import JOB, SERVICE, World

Obj = dict[str, Any]
LONE = replace(PE, id=0, name="shop-0", input_ports=())


MODES = pytest.mark.parametrize(
    ("services", "name", "pe"), [("PerJob", SERVICE, -1), ("PerPE", f"{JOB}-0", 0)]
)


def submitted(services: str) -> World:
    world = World(services=services)
    world.converge()
    return world


def test_what_the_api_server_fills_in_is_no_edit() -> None:
    assert is_as_planned(a_service().entry(), "shop", LONE)
    others = {"sessionAffinity": "ClientIP", "ipFamilies": ["IPv6", "IPv4"], "clusterIPs": []}
    assert is_as_planned(a_service().with_spec(**others).entry(), "shop", LONE)
    ports = [{**each, "nodePort": 0} for each in a_service().build()["spec"]["ports"]]
    assert is_as_planned(a_service().with_spec(ports=ports).entry(), "shop", LONE)


@pytest.mark.parametrize(
    "edit",
    [
        {"selector": {labels.JOB: "else"}},
        {"ports": []},
        {"type": "ExternalName"},
        {"externalName": "example.com"},
        {"externalIPs": ["203.0.113.7"]},
        {"publishNotReadyAddresses": False},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_what_leads_elsewhere_is_an_edit_and_the_patch_takes_it_back(edit: Obj) -> None:
    edited = a_service().with_spec(**edit)
    assert not is_as_planned(edited.entry(), "shop", LONE)
    mended = edited.build()
    merge(mended, service_patch(job(), 0, LONE, edited.entry()))
    assert mended == a_service().build()


def test_a_service_as_planned_is_given_no_spec_by_a_patch_of_its_marks() -> None:
    """Such as one whose annotation somebody took off."""
    patch = service_patch(job(), 0, LONE, a_service().entry())
    assert patch["spec"] == {}


def test_a_fact_of_an_older_release_which_says_metadata_only_is_no_edit() -> None:
    entry = a_service().entry()
    older = replace(entry, data={"metadata": entry.data["metadata"]})
    assert is_as_planned(older, "shop", LONE)
    assert not has_address(older)


def test_nobody_decides_on_a_service_that_cannot_be_read() -> None:
    entry = a_service().entry()
    hidden: Entry = replace(entry, data=Unreadable("why", {"metadata": entry.data["metadata"]}))
    with pytest.raises(ObjectUnreadable):
        has_address(hidden)
    with pytest.raises(ObjectUnreadable):
        is_as_planned(hidden, "shop", LONE)


@MODES
def test_an_edited_service_is_patched_under_the_version_that_was_seen(
    services: str, name: str, pe: int
) -> None:
    world = submitted(services)
    before = world.meaning()
    world.edit("Service", name, selector={"team": "blue", labels.PE: "1"})
    seen = int(world.objects["Service", name]["metadata"]["resourceVersion"])
    assert world.step().effects == (PatchChild("Service", name, 0, seen, pe),)
    assert world.meaning() == before


@MODES
def test_a_service_with_an_address_goes_and_comes_back_once_its_job_is_confirmed(
    services: str, name: str, pe: int
) -> None:
    """The API server refuses a patch that takes an address away."""
    world = submitted(services)
    before = world.meaning()
    world.edit("Service", name, clusterIP="10.96.0.7")
    service = world.objects["Service", name]["metadata"]
    uid, version = service["uid"], int(service["resourceVersion"])
    assert world.step().effects == (DeleteChild("Service", name, uid, version),)
    assert world.step().effects == (CreateChild("Service", name, 0, pe, confirmed=True),)
    assert world.meaning() == before


@MODES
def test_a_submission_waits_for_a_service_that_leads_elsewhere(
    services: str, name: str, pe: int
) -> None:
    world = World(services=services)
    world.pods_run = False
    while ("Service", name) not in world.objects:
        world.step()
    world.edit("Service", name, type="ExternalName", externalName="example.com", clusterIP=None)
    world.converge()
    assert world.objects["Service", name]["spec"]["clusterIP"] == "None"
