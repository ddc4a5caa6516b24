"""The bodies of children as they are written, word for word."""

from __future__ import annotations

from typing import Any

from contracts import labels
from services.fusion_backend.core import children
from services.fusion_backend.core.numbering.records import (
    Fusion,
    HighWater,
    PeRecord,
    PlanRecord,
    PoolRecord,
    RegionRecord,
)
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
    assert children.service(job(), RECORD, PE) == {
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
    assert children.processing_element_patch(job(), RECORD, PE, seen) == {
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


def test_the_config_map_of_a_pe_is_immutable_and_says_its_content() -> None:
    body = children.pe_config_map(job(), 4, PE, "<aadl/>")
    assert body["immutable"] is True
    assert body["data"] == {"aadl.xml": "<aadl/>"}
    assert body["metadata"]["name"] == "shop-3-0123456789"
    assert body["metadata"]["annotations"] == {"streams.ibm.com/contentId": CONTENT}


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


def test_every_child_carries_the_uid_of_its_job() -> None:
    bodies = [
        children.service(job(), RECORD, PE),
        children.pe_config_map(job(), 4, PE, ""),
        children.job_config_map(job(), 4, "", ""),
        children.parallel_region(job(), RECORD, RECORD.regions[0]),
        children.host_pool(job(), RECORD, POOL),
        children.processing_element(job(), RECORD, PE, launch_count=0),
    ]
    assert {body["metadata"]["labels"][labels.JOB_UID] for body in bodies} == {"uid-shop"}
