"""Reads the projections of facts as the frozen values that decisions look at.

One function for each kind; intake.py selects the entries of a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources.conditions import StatedCondition
from contracts.resources.fields import TEXT_CHARS_MAX
from contracts.resources.host_pool import MembershipMode
from contracts.resources.job import JobCondition, JobPhase
from contracts.resources.processing_element import PePhase
from contracts.scheduling.taints import NO_EXECUTE, taint_of
from contracts.showing import shown
from contracts.unreadable import part_of
from services.chassis.table.entries import Entry, annotation, is_deleting, label
from services.pod_state_machine.core.snapshot import (
    HostPool,
    Job,
    Node,
    Pe,
    PeStatus,
    Pod,
    RestartPolicies,
)

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


def pe_of(entry: Entry) -> Pe:
    """A processing element. Raises KeyError or ValueError if it violates the schema."""
    meta, spec = entry.data["metadata"], entry.data["spec"]
    pe_id = int(spec["id"])
    return Pe(
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        id=pe_id,
        job=job_of(entry),
        job_uid=label(entry, labels.JOB_UID),
        content_id=str(spec.get("contentId") or ""),
        launch_floor=int(spec.get("launchCount") or 0),
        metadata_generation=int(meta["generation"]),
        policies=_policies(spec),
        status=_pe_status(entry.data["status"]),
        resource_version=entry.resource_version,
        generation=_number(spec.get("generation", meta["labels"].get(labels.GENERATION))),
        is_deleting=is_deleting(entry),
        is_orphaning=is_orphaning(entry),
        restart=restart_of(entry),
        created_at=_moment(meta["creationTimestamp"]),
        labels=meta["labels"],
        spec=spec,
    )


def restart_of(entry: Entry) -> str:
    """The value of the restart annotation, cut to what a status can hold for comparison."""
    return annotation(entry, labels.RESTART)[:TEXT_CHARS_MAX]


def job_of(entry: Entry) -> str:
    """The name of the job that a PE or pod belongs to."""
    return label(entry, labels.JOB)


def job_view(entry: Entry) -> Job:
    """The fields of a job that its pods need; the spec of an unreadable job counts as empty."""
    spec: Mapping[str, Any] = {} if entry.unreadable else entry.data["spec"]
    status = part_of(entry.data, "status")
    return Job(
        uid=entry.uid,
        phase=JobPhase(status.get("phase") or JobPhase.SUBMITTING),
        is_deleting=is_deleting(entry),
        image_pull_policy=spec.get("imagePullPolicy") or "",
        image_pull_secret=spec.get("imagePullSecret") or "",
        bundle=(spec.get("bundle") or {}).get("name") or "",
        certificate_secret=(status.get("transportCertificate") or {}).get("secretName") or "",
        redis_config=status.get("redisConfig") or "",
        is_unconstrained=any(
            (each.get("type"), each.get("reason")) == (JobCondition.PLACED, Reason.NO_CONSTRAINTS)
            for each in status.get("conditions") or ()
        ),
    )


def pod_of(entry: Entry, owner_uid: str) -> Pod:
    """A pod of a PE."""
    data, meta = entry.data, entry.data["metadata"]
    disruption = _condition(data, "DisruptionTarget", "True")
    grace_s = data.get("deletionGracePeriodSeconds")
    return Pod(
        name=entry.name,
        uid=entry.uid,
        owner_uid=owner_uid,
        launch=_number(label(entry, labels.LAUNCH_COUNT)) or 0,
        content_id=str(meta["annotations"].get(labels.CONTENT_ID, "")),
        phase=data["phase"],
        is_deleting=is_deleting(entry),
        disruption=shown(disruption["reason"] or "DisruptionTarget") if disruption else "",
        disruption_message=shown(disruption["message"], POD_TEXT_CHARS_MAX) if disruption else "",
        generation=_number(label(entry, labels.GENERATION)),
        node=data["node"],
        created_at=_moment(meta["creationTimestamp"]),
        finished_at=max(
            (_moment(each.get("finishedAt")) for each in data["containers"]), default=0
        ),
        deletion_due_at=_moment(meta["deletionTimestamp"]),
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


def host_pool_of(entry: Entry, node: str) -> HostPool:
    """A host pool, for a PE that is assigned to `node`."""
    spec = entry.data["spec"]
    declared = spec["hostpool"]
    return HostPool(
        name=str(declared["name"]),
        uid=entry.uid,
        tags=tuple(declared.get("tags") or ()),
        is_exclusive=declared.get("membershipMode") == MembershipMode.EXCLUSIVE,
        labels_members=bool(spec.get("labelsMembers")),
        has_claimed=node in (entry.data["status"].get("claimed") or ()),
    )


def required_pool(entry: Entry) -> str:
    """The name of the HostPool that a PE requires; empty if it requires none."""
    placement = entry.data["spec"].get("placement") or {}
    location = placement.get("hostPoolLocation") or {}
    index = location.get("poolIndex")
    return "" if index is None else labels.pe_name(job_of(entry), int(index))


def is_to_launch(entry: Entry) -> bool:
    """Whether, by its spec and status, a PE needs a launch or its pod may be on no node yet."""
    spec, status = entry.data["spec"], _pe_status(entry.data["status"])
    restart = restart_of(entry)
    return (
        status.phase in (PePhase.WAITING, PePhase.STARTING)
        or status.content_id != str(spec.get("contentId") or "")
        or status.launch_count < int(spec.get("launchCount") or 0)
        or bool(restart and restart != status.observed_restart)
    )


def _policies(spec: Data) -> RestartPolicies:
    """A null `restartFailedPod` that fusion-backend did not resolve means restartable."""
    restart_failed = spec.get("restartFailedPod")
    return RestartPolicies(
        restart_failed=True if restart_failed is None else bool(restart_failed),
        restart_completed=bool(spec.get("restartCompletedPod", False)),
        restart_deleted=bool(spec.get("restartDeletedPod", False)),
        delete_failed=bool(_given(spec, "deleteFailedPod", True)),
        failed_kept_s=float(_given(spec, "failedPodTimeToLiveInSeconds", 86_400)),
        failed_kept_max=int(_given(spec, "failedPodHistoryLimit", 3)),
        restarts_max=_number(spec.get("maxRestartsInARow")),
        node_loss_s=float(_given(spec, "nodeLossTimeOutInSeconds", 300)),
        force_relaunch=bool(_given(spec, "forceRelaunch", False)),
    )


def _given(spec: Data, field: str, default: float) -> Any:
    """A field of a spec; null means its default."""
    value = spec.get(field)
    return default if value is None else value


def _pe_status(status: Data) -> PeStatus:
    return PeStatus(
        phase=PePhase(status.get("phase") or PePhase.WAITING),
        launch_count=int(status.get("launchCount") or 0),
        pod=status.get("pod") or "",
        node=status.get("node") or "",
        content_id=status.get("contentId") or "",
        generation=_number(status.get("generation")),
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


def _moment(text: object) -> float:
    """A timestamp of the API in unix seconds; 0 if it is absent."""
    return unix_s_of(str(text)) if text else 0.0


def _number(text: object) -> int | None:
    """A decimal number in a label or field; None for anything else."""
    return int(str(text)) if text is not None and str(text).isdecimal() else None
