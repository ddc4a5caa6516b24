"""What decisions use of an object: one function for each kind, from the object to its projection.

An object whose projection did not change says nothing, so the heartbeats of nodes wake nobody.
Which kinds there are, and what becomes of an object that cannot be projected: `facts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from contracts import labels
from contracts.belonging import container_of
from contracts.pod_phases import container_in, phase_in
from contracts.scheduling.requests import pod_requests
from contracts.unreadable import part_of

Obj = Mapping[str, Any]

MANAGED_FIELDS_TOO_LARGE: Final = "managedFieldsTooLarge"
"""A metadata key: `managedFields`, which are left out, are so large that they slow each write."""


def metadata(obj: Obj) -> dict[str, Any]:
    """The part of an object's metadata that decisions use; never `managedFields`."""
    meta = obj["metadata"]
    seen: dict[str, Any] = {
        "labels": meta.get("labels") or {},
        "annotations": {
            key: value
            for key, value in (meta.get("annotations") or {}).items()
            if key.startswith(labels.PREFIX)
        },
        "owners": [
            {
                "kind": owner["kind"],
                "name": owner["name"],
                "uid": owner["uid"],
                "controller": bool(owner.get("controller")),
            }
            for owner in meta.get("ownerReferences") or ()
        ],
        "finalizers": meta.get("finalizers") or [],
        "deletionTimestamp": meta.get("deletionTimestamp"),
        "creationTimestamp": meta.get("creationTimestamp"),
        "generation": meta.get("generation", 0),
    }
    if meta.get(MANAGED_FIELDS_TOO_LARGE):
        seen[MANAGED_FIELDS_TOO_LARGE] = True
    return seen


def has_large_managed_fields(data: Obj) -> bool:
    """Whether the object of a projection should lose its `managedFields` before it is written."""
    return MANAGED_FIELDS_TOO_LARGE in part_of(data, "metadata")


def metadata_only(obj: Obj) -> dict[str, Any]:
    return {"metadata": metadata(obj)}


def custom_resource(obj: Obj) -> dict[str, Any]:
    return {
        "metadata": metadata(obj),
        "spec": obj.get("spec") or {},
        "status": obj.get("status") or {},
    }


_SERVICE_FIELDS = (
    "type",
    "clusterIP",
    "externalName",
    "externalIPs",
    "publishNotReadyAddresses",
    "selector",
)
_PORT_FIELDS = ("name", "port", "protocol", "targetPort")


def service(obj: Obj) -> dict[str, Any]:
    """Where a Service leads, without the fields that the API server fills in."""
    spec = obj.get("spec") or {}
    seen = {key: spec[key] for key in _SERVICE_FIELDS if key in spec}
    seen["ports"] = [
        {key: port[key] for key in _PORT_FIELDS if key in port} for port in spec.get("ports") or ()
    ]
    return {"metadata": metadata(obj), "spec": seen}


RESIZE_PENDING: Final = "PodResizePending"
"""A condition of a pod: its kubelet does not put changed resources in force."""
_POD_CONDITIONS = frozenset({"PodScheduled", "Ready", "DisruptionTarget", RESIZE_PENDING})
_WAITING_CHARS_MAX = 1024
_LAST_LINE_CHARS_MAX = 512
"""Of a container's termination message, which may have 4,096."""


def pod(obj: Obj) -> dict[str, Any] | None:
    if (obj["metadata"].get("labels") or {}).get(labels.APP) != labels.APP_VALUE:
        return None
    status = obj.get("status") or {}
    container = container_of(obj)
    since, phase = _unready_since(obj), phase_in(status, container)
    return {
        **({"notReadyToStartSince": since} if since else {}),
        "metadata": metadata(obj),
        "node": (obj.get("spec") or {}).get("nodeName", ""),
        "phase": phase,
        **_running(status, phase, container),
        "reason": status.get("reason", ""),
        "message": status.get("message", ""),
        "conditions": [
            {key: condition.get(key, "") for key in ("type", "status", "reason", "message")}
            for condition in status.get("conditions") or ()
            if condition.get("type") in _POD_CONDITIONS
        ],
        "containers": [
            _container(each)
            for list_ in ("initContainerStatuses", "containerStatuses")
            for each in status.get(list_) or ()
        ],
        "deletionGracePeriodSeconds": obj["metadata"].get("deletionGracePeriodSeconds"),
        **_resources(obj, container),
    }


def _running(status: Obj, phase: str, container: str) -> dict[str, Any]:
    """Where a pod is reached, and since when it runs.

    Nothing before it runs: the address comes earlier, and is worth no fact of its own.
    """
    if phase != "Running":
        return {}
    address = status.get("podIP")
    state = container_in(status.get("containerStatuses"), container).get("state") or {}
    started = (state.get("running") or {}).get("startedAt")
    return {
        **({"ip": address} if address else {}),
        **({"startedAt": started} if started else {}),
    }


def _resources(obj: Obj, container: str) -> dict[str, Any]:
    """The resources of the owner's container; while a resize is pending also those that it has."""
    status, containers = obj.get("status") or {}, (obj.get("spec") or {}).get("containers")
    given = container_in(containers, container).get("resources")
    if not given:
        return {}
    seen: dict[str, Any] = {"resources": given}
    conditions = status.get("conditions") or ()
    if any(each.get("type") == RESIZE_PENDING for each in conditions):
        held = container_in(status.get("containerStatuses"), container).get("resources")
        seen["heldResources"] = held or {}
    return seen


def _unready_since(obj: Obj) -> str:
    """Since when a pod that is on a node has no sandbox, as while a volume cannot be mounted.

    Empty, and no field, once it has one: pods that run have the same projection as ever.
    """
    status = obj.get("status") or {}
    if status.get("phase", "Pending") != "Pending" or not (obj.get("spec") or {}).get("nodeName"):
        return ""
    return next(
        (
            str(each.get("lastTransitionTime") or "")
            for each in status.get("conditions") or ()
            if each.get("type") == "PodReadyToStartContainers" and each.get("status") == "False"
        ),
        "",
    )


def _container(status: Obj) -> dict[str, Any]:
    state = status.get("state") or {}
    terminated = state.get("terminated") or {}
    waiting = state.get("waiting") or {}
    seen = {
        "name": status.get("name", ""),
        "waiting": waiting.get("reason", ""),
        "waitingMessage": waiting.get("message", "")[:_WAITING_CHARS_MAX],
        "exitCode": terminated.get("exitCode"),
        "reason": terminated.get("reason", ""),
        "finishedAt": terminated.get("finishedAt"),
    }
    # Only where it wrote one: other containers have the same projection as ever.
    if lines := str(terminated.get("message") or "").strip().splitlines():
        seen["lastLine"] = lines[-1].strip()[:_LAST_LINE_CHARS_MAX]
    return seen


_PE_ID = re.compile("[0-9]{1,9}")


def bound_pod(obj: Obj) -> dict[str, Any] | None:
    spec = obj.get("spec") or {}
    if not spec.get("nodeName"):
        return None
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return None
    return {
        "node": spec["nodeName"],
        "requests": pod_requests(spec),
        "isLeaving": obj["metadata"].get("deletionTimestamp") is not None,
        **_of_streams(obj["metadata"].get("labels") or {}),
    }


def _of_streams(marks: Mapping[str, str]) -> dict[str, Any]:
    """The job and PE of a pod; empty and -1 for pods that are not of Streams."""
    pe = marks.get(labels.PE, "")
    is_ours = marks.get(labels.APP) == labels.APP_VALUE and labels.JOB in marks
    return {
        "job": marks[labels.JOB] if is_ours else "",
        "jobUid": marks.get(labels.JOB_UID, "") if is_ours else "",
        "pe": int(pe) if is_ours and _PE_ID.fullmatch(pe) else -1,
    }


def node(obj: Obj) -> dict[str, Any]:
    spec = obj.get("spec") or {}
    status = obj.get("status") or {}
    ready = next(
        (c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"),
        "Unknown",
    )
    return {
        "metadata": {"labels": obj["metadata"].get("labels") or {}},
        "taints": spec.get("taints") or [],
        "unschedulable": bool(spec.get("unschedulable")),
        "addresses": status.get("addresses") or [],
        "allocatable": status.get("allocatable") or {},
        "ready": ready == "True",
    }
