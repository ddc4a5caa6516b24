"""Reads the projections of facts as the frozen values that decisions look at.

One function for each kind; which entries make a snapshot is intake's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.moments import unix_s_of
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase
from services.chassis.table import Entry, is_deleting, label
from services.pod_state_machine.core.snapshot import Job, Pe, PeStatus, Pod, RestartPolicies

Data = Mapping[str, Any]

_ORPHANING = "orphan"


def controller(entry: Entry, kind: str) -> tuple[str, str] | None:
    """(name, uid) of the controller owner, if it is of this kind."""
    for owner in entry.data["metadata"]["owners"]:
        if owner["controller"] and owner["kind"] == kind:
            return str(owner["name"]), str(owner["uid"])
    return None


def is_orphaning(entry: Entry) -> bool:
    """Whether the object is being deleted in a way that leaves its children alone."""
    return _ORPHANING in entry.data["metadata"]["finalizers"]


def pe_of(entry: Entry) -> Pe:
    """A processing element; raises KeyError or ValueError where no schema has seen it."""
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
        labels=meta["labels"],
        spec=spec,
    )


def job_of(entry: Entry) -> str:
    """The name of the job that a PE or pod belongs to."""
    return label(entry, labels.JOB)


def job_view(entry: Entry) -> Job:
    """A job as its pods see it."""
    spec, status = entry.data["spec"], entry.data["status"]
    return Job(
        uid=entry.uid,
        phase=JobPhase(status.get("phase") or JobPhase.SUBMITTING),
        is_deleting=is_deleting(entry),
        image_pull_policy=spec.get("imagePullPolicy") or "",
        image_pull_secret=spec.get("imagePullSecret") or "",
        bundle=(spec.get("bundle") or {}).get("name") or "",
        certificate_secret=(status.get("transportCertificate") or {}).get("secretName") or "",
        redis_config=status.get("redisConfig") or "",
    )


def pod_of(entry: Entry, owner_uid: str) -> Pod:
    """A pod of a PE."""
    data, meta = entry.data, entry.data["metadata"]
    return Pod(
        name=entry.name,
        uid=entry.uid,
        owner_uid=owner_uid,
        launch=_number(label(entry, labels.LAUNCH_COUNT)) or 0,
        content_id=str(meta["annotations"].get(labels.CONTENT_ID, "")),
        phase=data["phase"],
        is_deleting=is_deleting(entry),
        is_disrupted=any(
            each["type"] == "DisruptionTarget" and each["status"] == "True"
            for each in data["conditions"]
        ),
        generation=_number(label(entry, labels.GENERATION)),
        node=data["node"],
        created_at=unix_s_of(meta["creationTimestamp"]) if meta["creationTimestamp"] else 0.0,
        job_uid=label(entry, labels.JOB_UID),
        problem=_problem(data),
    )


def _policies(spec: Data) -> RestartPolicies:
    """A null `restartFailedPod` that fusion-backend did not resolve means restartable."""
    restart_failed = spec.get("restartFailedPod")
    return RestartPolicies(
        restart_failed=True if restart_failed is None else bool(restart_failed),
        restart_completed=bool(spec.get("restartCompletedPod", False)),
        restart_deleted=bool(spec.get("restartDeletedPod", False)),
        delete_failed=bool(spec.get("deleteFailedPod", True)),
    )


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
    )


def _problem(data: Data) -> str:
    """What a failed pod says of itself, in a few words; empty for one that is well."""
    if data["phase"] != "Failed":
        return ""
    said = [data["message"] or data["reason"]]
    said += [
        f"Container {each['name']}: {each['reason'] or 'Error'}, exit code {each['exitCode']}."
        for each in data["containers"]
        if each["exitCode"]
    ]
    return " ".join(part for part in said if part)


def _number(text: object) -> int | None:
    """A decimal number in a label or field; None for anything else."""
    return int(str(text)) if text is not None and str(text).isdecimal() else None
