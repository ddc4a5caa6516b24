"""Cells of the core kinds: what stands in them, as kube-apiserver's printers have it."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.http.columns import BUILTIN
from tests.unit.sandbox.http.asking import NOW_S

CREATED = {"name": "x", "creationTimestamp": "2026-09-21T13:03:50Z"}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 1, "finishedAt": "2026-09-21T14:12:20Z"}}
RUNNING = {"running": {"startedAt": "2026-09-21T14:12:20Z"}}


def cells(key: str, **parts: Any) -> dict[str, Any]:
    """Column name -> cell."""
    obj = {"metadata": {**CREATED, **parts.pop("metadata", {})}, **parts}
    return {column.name: column.cell(obj, NOW_S) for column in BUILTIN[key]}


def pod(*containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    """The cells of a Pod with these containers."""
    spec = {
        "containers": [{"name": f"c{number}"} for number in range(len(containers) or 1)],
        "initContainers": status.pop("initial", []),
    }
    meta = status.pop("metadata", {})
    said = {"phase": "Running", "containerStatuses": list(containers), **status}
    return cells("pods", metadata=meta, spec=spec, status=said)


@pytest.mark.parametrize(
    ("containers", "shown"),
    [
        (({"ready": True, "state": RUNNING},), ("1/1", "Running")),
        (({"ready": True, "state": {"waiting": {}}},), ("0/1", "Running")),
        (({"state": {"waiting": {"reason": "CrashLoopBackOff"}}},), ("0/1", "CrashLoopBackOff")),
        (({"state": ENDED},), ("0/1", "ExitCode:1")),
        (({"state": {"terminated": {"exitCode": 137, "signal": 9}}},), ("0/1", "Signal:9")),
        (({"state": {"terminated": {"reason": "OOMKilled"}}},), ("0/1", "OOMKilled")),
        (
            (
                {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                {"state": {"terminated": {"reason": "Error", "exitCode": 1}}},
            ),
            ("0/2", "Error"),
        ),
        (
            (
                {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                {"ready": True, "state": RUNNING},
            ),
            ("1/2", "NotReady"),
        ),
    ],
)
def test_a_pod_shows_the_most_telling_word_of_its_containers(
    containers: tuple[dict[str, Any], ...], shown: tuple[str, str]
) -> None:
    row = pod(*containers)
    assert (row["Ready"], row["Status"]) == shown


def test_a_pod_whose_one_container_is_done_and_the_rest_ready_is_running() -> None:
    row = pod(
        {"state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
        {"ready": True, "state": RUNNING},
        conditions=[{"type": "Ready", "status": "True"}],
    )
    assert row["Status"] == "Running"


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/2"),
        ({"waiting": {"reason": "ErrImagePull"}}, "Init:ErrImagePull"),
        (ENDED, "Init:ExitCode:1"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
    ],
)
def test_a_pod_that_initializes_shows_how_far_it_is(state: dict[str, Any], shown: str) -> None:
    initial = [{"name": "i"}, {"name": "j"}]
    row = pod(
        {"state": {"waiting": {"reason": "PodInitializing"}}},
        initial=initial,
        phase="Pending",
        initContainerStatuses=[{"name": "i", "state": state}, {"name": "j"}],
    )
    assert row["Status"] == shown


def test_containers_that_initialize_and_stay_count_as_ready() -> None:
    row = pod(
        {"ready": True, "state": RUNNING},
        initial=[{"name": "i", "restartPolicy": "Always"}],
        initContainerStatuses=[{"name": "i", "started": True, "ready": True, "restartCount": 2}],
    )
    assert (row["Ready"], row["Restarts"]) == ("2/2", "2")


def test_restarts_say_when_the_last_one_was() -> None:
    row = pod({"restartCount": 3, "ready": True, "state": RUNNING, "lastState": ENDED})
    assert row["Restarts"] == "3 (60s ago)"


def test_a_pod_that_ended_is_not_terminating_although_it_is_being_deleted() -> None:
    deleted = {"deletionTimestamp": "2026-09-21T14:13:20Z"}
    assert pod(metadata=deleted)["Status"] == "Terminating"
    assert pod(metadata=deleted, phase="Failed", containerStatuses=[])["Status"] == "Failed"
    assert pod(metadata=deleted, reason="NodeLost")["Status"] == "Unknown"


def test_a_gated_pod_and_its_gates() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert pod(phase="Pending", conditions=[condition])["Status"] == "SchedulingGated"
    gates = {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}
    status = {"conditions": [{"type": "a", "status": "True"}], "podIPs": [{"ip": "10.0.0.1"}]}
    row = cells("pods", spec=gates, status=status)
    assert (row["Readiness Gates"], row["IP"]) == ("1/2", "10.0.0.1")


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"]}, {}, ("10.0.0.1", "<none>")),
        (
            {"type": "ClusterIP", "externalIPs": ["1.1.1.1", "2.2.2.2"]},
            {},
            ("<none>", "1.1.1.1,2.2.2.2"),
        ),
        ({"type": "ExternalName", "externalName": "e.org"}, {}, ("<none>", "e.org")),
        ({"type": "LoadBalancer", "clusterIPs": ["a"]}, {}, ("a", "<pending>")),
        (
            {"type": "LoadBalancer", "clusterIPs": ["a"], "externalIPs": ["x"]},
            {"loadBalancer": {"ingress": [{"ip": "b"}, {"hostname": "c"}]}},
            ("a", "b,c,x"),
        ),
        ({}, {}, ("<none>", "<unknown>")),
    ],
)
def test_where_a_service_is_reached_depends_on_its_type(
    spec: dict[str, Any], status: dict[str, Any], shown: tuple[str, str]
) -> None:
    row = cells("services", spec=spec, status=status)
    assert (row["Cluster-IP"], row["External-IP"]) == shown


def test_a_node_shows_its_roles_and_its_architecture() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}
    info = {"kernelVersion": "6.1", "architecture": "amd64"}
    row = cells("nodes", metadata={"labels": labels}, status={"nodeInfo": info})
    assert (row["Roles"], row["Kernel-Version"]) == ("edge,worker", "6.1 (amd64)")
    assert (row["Status"], row["Version"], row["OS-Image"]) == ("Unknown", "", "<unknown>")


def test_a_claim_shows_capacity_and_access_once_it_is_bound() -> None:
    spec = {"storageClassName": "fast", "volumeMode": "Filesystem"}
    status = {
        "phase": "Bound",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
    }
    bare = cells("persistentvolumeclaims", spec=spec, status=status)
    assert (bare["Capacity"], bare["Access Modes"], bare["StorageClass"]) == ("", "", "fast")
    assert (bare["VolumeAttributesClass"], bare["VolumeMode"]) == ("<unset>", "Filesystem")
    bound = cells("persistentvolumeclaims", spec={**spec, "volumeName": "v"}, status=status)
    assert (bound["Capacity"], bound["Access Modes"]) == ("1Gi", "RWO,RWX")
    gone = cells("persistentvolumeclaims", metadata={"deletionTimestamp": "x"}, spec={})
    assert gone["Status"] == "Terminating"


def test_an_event_shows_when_it_was_seen_and_never_when_it_was_written() -> None:
    assert cells("events")["Last Seen"] == "<unknown>"
    row = cells("events", eventTime="2026-09-21T14:12:20.000000Z", reportingComponent="c")
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == ("60s", "60s", 1)
    series = {"count": 7, "lastObservedTime": "2026-09-21T14:13:01.000000Z"}
    row = cells("events", series=series, reportingComponent="c", reportingInstance="i")
    assert (row["Last Seen"], row["Count"], row["Source"]) == ("19s", 7, "c, i")


def test_an_event_about_nothing_named_shows_the_kind_alone() -> None:
    row = cells("events", involvedObject={"kind": "Pod", "fieldPath": "spec.containers{main}"})
    assert (row["Object"], row["Subobject"]) == ("pod", "spec.containers{main}")
