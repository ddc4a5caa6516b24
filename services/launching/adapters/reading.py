"""Reads the projections of pods, nodes, and the common fields of owners as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources.conditions import StatedCondition
from contracts.resources.fields import TEXT_CHARS_MAX
from contracts.resources.processing_element import PePhase
from contracts.scheduling.taints import NO_EXECUTE, taint_of
from contracts.showing import shown
from services.chassis.table.entries import Entry, annotation, is_deleting, label
from services.launching.core.snapshot import LaunchStatus, Node, Pod, RestartPolicies

Data = Mapping[str, Any]
POD_TEXT_CHARS_MAX = 1_024
"""Limit for text of pods, containers and conditions, which may have any length."""


def controller(entry: Entry, kind: str) -> tuple[str, str] | None:
    """(name, uid) of the controller owner, if it is of this kind."""
    for owner in entry.data["metadata"]["owners"]:
        if owner["controller"] and owner["kind"] == kind:
            return str(owner["name"]), str(owner["uid"])
    return None


def is_orphaning(entry: Entry) -> bool:
    """Whether the object is being deleted with propagation policy Orphan."""
    return labels.ORPHAN_FINALIZER in entry.data["metadata"]["finalizers"]


def restart_of(entry: Entry) -> str:
    """The value of the restart annotation, cut to what a status can hold for comparison."""
    return annotation(entry, labels.RESTART)[:TEXT_CHARS_MAX]


def pod_of(entry: Entry, owner_uid: str) -> Pod:
    """A pod, and the uid of the owner that controls it."""
    data, meta = entry.data, entry.data["metadata"]
    disruption = _condition(data, "DisruptionTarget", "True")
    grace_s = data.get("deletionGracePeriodSeconds")
    return Pod(
        name=entry.name,
        uid=entry.uid,
        owner_uid=owner_uid,
        launch=number_in(label(entry, labels.LAUNCH_COUNT)) or 0,
        content_id=str(meta["annotations"].get(labels.CONTENT_ID, "")),
        phase=data["phase"],
        is_deleting=is_deleting(entry),
        disruption=shown(disruption["reason"] or "DisruptionTarget") if disruption else "",
        disruption_message=shown(disruption["message"], POD_TEXT_CHARS_MAX) if disruption else "",
        generation=number_in(label(entry, labels.GENERATION)),
        node=data["node"],
        created_at=moment_in(meta["creationTimestamp"]),
        finished_at=max(
            (moment_in(each.get("finishedAt")) for each in data["containers"]), default=0
        ),
        deletion_due_at=moment_in(meta["deletionTimestamp"]),
        deletion_grace_s=None if grace_s is None else float(grace_s),
        job_uid=label(entry, labels.JOB_UID),
        problem=shown(_problem(data), POD_TEXT_CHARS_MAX),
        blocked=_blocked(data),
        is_unreported=_is_unreported(data),
        is_set_aside=label(entry, labels.SERVICE_ROLE) == labels.ROLE_ZOMBIE,
        restart=restart_of(entry),
        pinned_to=annotation(entry, labels.ASSIGNED_NODE),
    )


def node_of(entry: Entry) -> Node:
    """A node."""
    taints = [taint_of(each) for each in entry.data["taints"]]
    return Node(
        name=entry.name,
        is_ready=entry.data["ready"],
        is_out_of_service=any(each.key == labels.OUT_OF_SERVICE_TAINT for each in taints),
        is_closed=entry.data["unschedulable"] or any(each.effect == NO_EXECUTE for each in taints),
        hostname=str(entry.data["metadata"]["labels"].get(labels.HOSTNAME, "")),
    )


def policies_of(spec: Data) -> RestartPolicies:
    """A null `restartFailedPod` that fusion-backend did not resolve means restartable."""
    restart_failed = spec.get("restartFailedPod")
    return RestartPolicies(
        restart_failed=True if restart_failed is None else bool(restart_failed),
        restart_completed=bool(spec.get("restartCompletedPod", False)),
        restart_deleted=bool(spec.get("restartDeletedPod", False)),
        delete_failed=bool(_given(spec, "deleteFailedPod", True)),
        failed_kept_s=float(_given(spec, "failedPodTimeToLiveInSeconds", 86_400)),
        failed_kept_max=int(_given(spec, "failedPodHistoryLimit", 3)),
        restarts_max=number_in(spec.get("maxRestartsInARow")),
        node_loss_s=float(_given(spec, "nodeLossTimeOutInSeconds", 300)),
        force_relaunch=bool(_given(spec, "forceRelaunch", False)),
    )


def _given(spec: Data, field: str, default: float) -> Any:
    """A field of a spec; null means its default."""
    value = spec.get(field)
    return default if value is None else value


def launch_status_of(status: Data) -> LaunchStatus:
    """The status that an owner records its launches in."""
    return LaunchStatus(
        phase=PePhase(status.get("phase") or PePhase.WAITING),
        launch_count=int(status.get("launchCount") or 0),
        pod=status.get("pod") or "",
        node=status.get("node") or "",
        content_id=status.get("contentId") or "",
        generation=number_in(status.get("generation")),
        observed_generation=int(status.get("observedGeneration") or 0),
        restarts=int(status.get("restarts") or 0),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        next_restart=status.get("nextRestartTime") or "",
        observed_restart=status.get("observedRestart") or "",
        connectivity=status.get("connectivity") or "",
        conditions=tuple(StatedCondition.of(each) for each in status.get("conditions") or ()),
    )


def _problem(data: Data) -> str:
    """The problem in the status of a pod that failed or does not start; empty if it has none."""
    if data["phase"] == "Pending":
        return _blocking_message(data)
    if data["phase"] != "Failed":
        return ""
    parts = [data["message"] or data["reason"]]
    parts += [
        f"Container {each['name']}: {each['reason'] or 'Error'}, exit code {each['exitCode']}."
        for each in data["containers"]
        if each["exitCode"]
    ]
    return " ".join(part for part in parts if part)


_PULLING = frozenset(
    (
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    )
)
_ON_THE_WAY = frozenset(("", "ContainerCreating", "PodInitializing"))


def _blocked(data: Data) -> Reason | None:
    """Why a pending pod does not start; None if it does or its status has no reason."""
    if data["phase"] != "Pending":
        return None
    if _condition(data, "PodScheduled", "False"):
        return Reason.UNSCHEDULABLE
    waits = {each["waiting"] for each in data["containers"]} - _ON_THE_WAY
    if waits & _PULLING:
        return Reason.IMAGE_PULL_FAILED
    return Reason.CONTAINER_NOT_STARTED if waits else None


def _blocking_message(data: Data) -> str:
    unscheduled = _condition(data, "PodScheduled", "False")
    if unscheduled:
        return str(unscheduled["message"])
    return " ".join(
        f"Container {each['name']}: {each['waiting']}: {each.get('waitingMessage', '')}".rstrip(
            ": "
        )
        for each in data["containers"]
        if each["waiting"] not in _ON_THE_WAY
    )


def _is_unreported(data: Data) -> bool:
    """Whether the state of a pod that may run is unknown: its kubelet does not report."""
    unready = _condition(data, "Ready", "False")
    is_cut_off = unready is not None and unready["reason"] == "NodeNotReady"
    return data["phase"] == "Unknown" or (data["phase"] == "Running" and is_cut_off)


def _condition(data: Data, type_: str, status: str) -> Data | None:
    """The pod's condition of this type, if it has this status."""
    found = (each for each in data["conditions"] if each["type"] == type_)
    return next((each for each in found if each["status"] == status), None)


def moment_in(text: object) -> float:
    """A timestamp of the API in unix seconds; 0 if it is absent."""
    return unix_s_of(str(text)) if text else 0.0


def number_in(text: object) -> int | None:
    """A decimal number in a label or field; None for anything else."""
    return int(str(text)) if text is not None and str(text).isdecimal() else None
