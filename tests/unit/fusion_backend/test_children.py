"""The bodies of children as they are written, word for word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts import labels
from planner.numbering.records import (
    Fusion,
    HighWater,
    PeRecord,
    PlanRecord,
    PoolRecord,
    RegionRecord,
)
from services.chassis.table.entries import Entry
from services.fusion_backend.core import children, packs, pe_services
from services.fusion_backend.core.snapshot import JobSeen

CONTENT = "0123456789abcdef" * 4
PE = PeRecord(
    id=3,
    name="shop-3",
    meaning="m",
    content_id=CONTENT,
    config_map="shop-3-0123456789",
    operators=("A", "B[1]"),
    restartable=True,
    relocatable=True,
    input_ports=(0, 2),
    regions=(1,),
    host_pool=1,
    exlocations=("apart",),
)
POOL = PoolRecord(1, "gpus", 2, "shared", (), ("gpu",))
RECORD = PlanRecord(
    generation=4,
    bundle_digest="d",
    job_name="shop",
    job_id=7,
    application_name="app::Main",
    application_scope="Default",
    fusion=Fusion.legacy(),
    regions=(RegionRecord(1, "R", 3),),
    pools=(POOL,),
    pes=(PE,),
    operators=(),
    port_runs=(),
    splitters=(),
    high_water=HighWater(),
)
OWNER = {
    "apiVersion": "streams.ibm.com/v1",
    "kind": "Job",
    "name": "shop",
    "uid": "uid-shop",
    "controller": True,
    "blockOwnerDeletion": True,
}
MARKS = {
    "app": "streams",
    "streams.ibm.com/job": "shop",
    "streams.ibm.com/job-uid": "uid-shop",
    "streams.ibm.com/generation": "4",
}
PE_MARKS = MARKS | {"svc": "pe", "streams.ibm.com/pe": "3"}
ABOUT = {
    "streams.ibm.com/applicationName": "app::Main",
    "streams.ibm.com/applicationScope": "Default",
}


def job(**spec: Any) -> JobSeen:
    """A Job with a spec."""
    return JobSeen(
        namespace="default",
        name="shop",
        uid="uid-shop",
        generation=1,
        deleting=False,
        orphaning=False,
        retry="",
        spec={"bundle": {"name": "shop.sab"}, "imagePullPolicy": "IfNotPresent", **spec},
        status={},
    )


def test_a_service_selects_by_job_and_pe_and_never_by_generation() -> None:
    assert pe_services.service(job(), RECORD, PE) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "shop-3",
            "namespace": "default",
            "labels": PE_MARKS,
            "annotations": ABOUT | {"streams.ibm.com/inputPorts": "0,2"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {
                "app": "streams",
                "streams.ibm.com/job": "shop",
                "streams.ibm.com/pe": "3",
            },
            "ports": [
                {"name": "sys-0", "port": 10000, "protocol": "TCP", "targetPort": 10000},
                {"name": "sys-2", "port": 10002, "protocol": "TCP", "targetPort": 10002},
                {"name": "sys-metrics", "port": 9696, "protocol": "TCP", "targetPort": 9696},
                {
                    "name": "sys-notifications",
                    "port": 10000,
                    "protocol": "UDP",
                    "targetPort": 10000,
                },
                {
                    "name": "sys-consistentregion",
                    "port": 10001,
                    "protocol": "UDP",
                    "targetPort": 10001,
                },
            ],
        },
    }


def test_a_pe_is_the_template_with_what_the_plan_says() -> None:
    template = {
        "runtimeTraceLevel": "DEBUG",
        "launchCount": 9,
        "operators": ["ignored"],
        "restartFailedPod": None,
        "resources": {"requests": {"cpu": "1"}},
    }
    body = children.processing_element(job(processingElement=template), RECORD, PE, launch_count=0)
    assert body == {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "metadata": {
            "name": "shop-3",
            "namespace": "default",
            "labels": PE_MARKS
            | {"streams.ibm.com/cr": "false", "region.streams.ibm.com/1": "true"},
            "annotations": ABOUT,
            "ownerReferences": [OWNER],
        },
        "spec": {
            "id": 3,
            "job": "shop",
            "generation": 4,
            "contentId": CONTENT,
            "operators": ["A", "B[1]"],
            "bundleName": "shop.sab",
            "imagePullPolicy": "IfNotPresent",
            "runtimeTraceLevel": "DEBUG",
            "restartFailedPod": True,
            "resources": {"requests": {"cpu": "1"}},
            "placement": {"exLocations": ["apart"], "hostPoolLocation": {"poolIndex": 1}},
            "launchCount": 0,
        },
    }


def test_a_resize_brings_a_pe_that_it_changes_to_what_is_planned_and_leaves_the_launch_count() -> (
    None
):
    """Stale operators, placements and edits by hand go; what is as planned is not written."""
    made = children.processing_element(job(), RECORD, PE, launch_count=0)["spec"]
    spec = made | {
        "contentId": "before",
        "generation": 3,
        "operators": ["A"],
        "placement": {"host": "gone", "exLocations": ["apart"]},
        "image": "by-hand:1",
        "launchCount": 7,
    }
    seen = {"metadata": {"labels": {"region.streams.ibm.com/0": "true"}}, "spec": spec}
    entry = Entry("ProcessingElement", "default", PE.name, "uid", 1, seen)
    assert children.processing_element_patch(job(), RECORD, PE, entry) == {
        "metadata": {
            "labels": {
                "region.streams.ibm.com/0": None,
                "region.streams.ibm.com/1": "true",
                "streams.ibm.com/generation": "4",
            }
        },
        "spec": {
            "contentId": CONTENT,
            "generation": 4,
            "operators": ["A", "B[1]"],
            "placement": {"host": None, "hostPoolLocation": {"poolIndex": 1}},
            "image": None,
        },
    }


def test_a_config_map_of_a_pe_alone_is_made_as_older_releases_made_it() -> None:
    body = packs.config_map(job(), 4, [PE], {CONTENT: "<aadl/>"})
    assert body["immutable"] is True
    assert body["data"] == {"aadl.xml": "<aadl/>"}
    assert body["metadata"]["name"] == "shop-3-0123456789"
    assert body["metadata"]["annotations"] == {"streams.ibm.com/contentId": CONTENT}


def test_a_pack_is_immutable_and_says_what_is_under_each_key() -> None:
    third = replace(PE, config_map="shop.pack.1", key="pe-3.xml")
    fourth = replace(third, id=4, content_id="f" * 64, key="pe-4.xml")
    texts = {CONTENT: "<three/>", "f" * 64: "<four/>", "other": "<other/>"}
    body = packs.config_map(job(), 4, [third, fourth], texts)
    assert body["immutable"] is True
    assert body["data"] == {"pe-3.xml": "<three/>", "pe-4.xml": "<four/>"}
    assert body["metadata"]["name"] == "shop.pack.1"
    listed = {"streams.ibm.com/contentIds": "pe-3.xml=0123456789 pe-4.xml=ffffffffff"}
    assert body["metadata"]["annotations"] == listed
    assert labels.PE not in body["metadata"]["labels"]


def test_the_config_map_of_the_job_can_be_patched() -> None:
    body = children.job_config_map(job(), 4, "id", "0.1.0=3.0@0\n")
    assert "immutable" not in body
    assert body["metadata"]["name"] == "shop"
    assert body["data"] == {"operator_port_labels.properties": "0.1.0=3.0@0\n"}


def test_a_region_and_a_pool_are_named_by_their_index() -> None:
    region = children.parallel_region(job(), RECORD, RECORD.regions[0])
    assert region["metadata"]["name"] == "shop-1"
    assert region["spec"] == {"alias": "R", "width": 3, "index": 1, "job": "shop"}
    pool = children.host_pool(job(), RECORD, POOL)
    assert pool["spec"]["hostpool"] == {
        "name": "gpus",
        "index": 1,
        "membershipMode": "shared",
        "size": 2,
        "hosts": [],
        "tags": ["gpu"],
    }
    assert "finalizers" not in pool["metadata"]


@pytest.mark.parametrize("mode", ["shared", "exclusive"])
def test_a_pool_with_a_place_that_a_pe_asks_for_is_marked_and_can_be_held(mode: Any) -> None:
    """The finalizer is there before the first mark, or a crash between them leaves marks behind."""
    record = replace(RECORD, pes=(PE, replace(PE, id=4, in_pool_index=0)))
    pool = children.host_pool(job(), record, replace(POOL, mode=mode))
    assert pool["spec"]["labelsMembers"] is True
    assert pool["metadata"]["finalizers"] == ["streams.ibm.com/node-claims"]
    other = children.host_pool(job(), record, replace(POOL, index=2))
    assert other["spec"]["labelsMembers"] is False
    assert "finalizers" not in other["metadata"]


def test_a_pe_says_where_it_must_run_and_how_strictly() -> None:
    asked = {"topologyKey": "zone", "required": False, "nodeName": True}
    pe = replace(PE, host="h1", colocations=("x", "y"), in_pool_index=0)
    assert placement(pe, placement=asked) == {
        "host": "h1",
        "coLocations": ["x", "y"],
        "exLocations": ["apart"],
        "hostPoolLocation": {"poolIndex": 1, "inpoolIndex": 0},
        "topologyKey": "zone",
        "required": False,
        "nodeName": True,
    }


def test_a_pe_without_constraints_says_nothing_of_places() -> None:
    free = replace(PE, host_pool=None, exlocations=())
    assert placement(free, placement={"topologyKey": "zone", "required": False}) is None


def test_the_pool_of_those_without_one_is_no_constraint() -> None:
    free = replace(PE, host_pool=0, exlocations=())
    record = replace(RECORD, pools=(PoolRecord(0, "$default", None, "shared", (), ()),))
    assert placement(free, record=record) is None


def test_an_isolated_pe_is_avoided_by_all_others_operator_by_operator() -> None:
    """The names of its own are in no label of its pods: they would keep it from every node."""
    free = replace(PE, host_pool=None, exlocations=())
    two = replace(free, id=4, isolation=True, isolated=("A", "B[1]"))
    one = replace(free, id=5, isolation=True, isolated=("C",))
    record = replace(RECORD, pes=(free, two, one))
    assert placement(free, record=record) == {"isolationLabels": ["A", "B[1]", "C"]}
    assert placement(two, record=record) == {
        "isolation": "A",
        "isolations": ["A", "B[1]"],
        "isolationLabels": ["C"],
    }
    assert placement(one, record=record) == {
        "isolation": "C",
        "isolations": ["C"],
        "isolationLabels": ["A", "B[1]"],
    }


def test_an_older_record_names_the_first_operator_of_an_isolated_pe() -> None:
    old = replace(PE, host_pool=None, exlocations=(), isolation=True)
    assert placement(old, record=replace(RECORD, pes=(old,))) == {
        "isolation": "A",
        "isolations": ["A"],
    }


def placement(pe: PeRecord, *, record: PlanRecord | None = None, **spec: Any) -> Any:
    """What the ProcessingElement of a PE says of places."""
    seen = job(bundle={"name": "shop.sab"}, **spec)
    known = record or replace(RECORD, pes=(pe,))
    body = children.processing_element(seen, known, pe, launch_count=0)
    return body["spec"].get("placement")


def test_every_child_carries_the_uid_of_its_job() -> None:
    bodies = [
        pe_services.service(job(), RECORD, PE),
        packs.config_map(job(), 4, [PE], {CONTENT: ""}),
        children.job_config_map(job(), 4, "", ""),
        children.parallel_region(job(), RECORD, RECORD.regions[0]),
        children.host_pool(job(), RECORD, POOL),
        children.processing_element(job(), RECORD, PE, launch_count=0),
    ]
    assert {body["metadata"]["labels"][labels.JOB_UID] for body in bodies} == {"uid-shop"}


def test_a_pe_has_the_pull_policy_always_unless_job_or_template_say_another() -> None:
    plain = children.processing_element(job(imagePullPolicy=None), RECORD, PE, launch_count=0)
    assert plain["spec"]["imagePullPolicy"] == "Always"
    inherited = children.processing_element(job(), RECORD, PE, launch_count=0)
    assert inherited["spec"]["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize("restartable", [True, False])
def test_a_pe_is_restarted_as_its_operators_say_unless_the_job_does(restartable: bool) -> None:
    pe = replace(PE, restartable=restartable)
    made = children.processing_element(job(), RECORD, pe, launch_count=0)
    assert made["spec"]["restartFailedPod"] is restartable
    told: Any = {"restartFailedPod": not restartable}
    other = children.processing_element(job(processingElement=told), RECORD, pe, launch_count=0)
    assert other["spec"]["restartFailedPod"] is not restartable
