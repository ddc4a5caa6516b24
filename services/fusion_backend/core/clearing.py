"""What has to go with a Job: its children by collection, and never those that nobody owns.

A child that no longer names its Job as owner was orphaned on purpose and is left alone. A
collection is deleted only if all its members that we see name the owner; else one by one.

Pods go first: as long as a Job that goes has a pod that nobody deletes yet, its children stay. They
are what the pod runs on, and their removal is what the API server would do instead. Whatever keeps
pods from being deleted, the garbage collector takes children and pods in the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts import labels
from contracts.resources.processing_element import is_encrypted
from services.chassis.table import Entry, is_deleting
from services.fusion_backend.core.effects import (
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
)
from services.fusion_backend.core.provisions import encrypted_pes
from services.fusion_backend.core.snapshot import CHILD_KINDS, Snapshot

PE = "ProcessingElement"


def delete_children(snapshot: Snapshot) -> tuple[Effect, ...]:
    """Effects that delete every child of the Job that is not being deleted yet."""
    assert snapshot.job is not None, "children of a Job that is gone are strangers"
    entries = [entry for kind in CHILD_KINDS for entry in snapshot.of(kind).values()]
    return _deleted(snapshot, entries, snapshot.job.uid)


def strangers_cleared(snapshot: Snapshot) -> tuple[Effect, ...]:
    """Effects that delete children of Jobs of this name that are gone."""
    uids = sorted({_job_uid(entry) for entry in snapshot.strangers})
    return tuple(
        effect
        for uid in uids
        if uid
        for effect in _deleted(
            snapshot, [entry for entry in snapshot.strangers if _job_uid(entry) == uid], uid
        )
    )


def _deleted(snapshot: Snapshot, entries: Iterable[Entry], job_uid: str) -> tuple[Effect, ...]:
    staying = [entry for entry in entries if not is_deleting(entry)]
    if job_uid in snapshot.with_pods and all(is_owned(entry, job_uid) for entry in staying):
        return ()
    effects: list[Effect] = []
    if _may_have_certificate(snapshot, staying, job_uid):
        effects.append(DeleteCertificate(job_uid))
    for kind in CHILD_KINDS:
        members = [entry for entry in staying if entry.kind == kind]
        owned = [entry for entry in members if is_owned(entry, job_uid)]
        if owned and len(owned) == len(members):
            effects.append(DeleteChildren(kind, job_uid))
            continue
        effects += [
            DeleteChild(entry.kind, entry.name, entry.uid, entry.resource_version)
            for entry in owned
        ]
    return tuple(effects)


def _may_have_certificate(snapshot: Snapshot, staying: Iterable[Entry], job_uid: str) -> bool:
    """Whether a Secret may have been made for the Job, beside children that go.

    An attempt that fails before its first PE has one as well; no fact tells of Secrets.
    """
    owned = [entry for entry in staying if is_owned(entry, job_uid)]
    job = snapshot.job
    if owned and job is not None and job.uid == job_uid:
        template = job.spec.get("processingElement") or {}
        if job.status.get("transportCertificate") or is_encrypted(template):
            return True
    return encrypted_pes(entry.data["spec"] for entry in owned if entry.kind == PE)


def _job_uid(entry: Entry) -> str:
    return str(entry.data["metadata"]["labels"].get(labels.JOB_UID, ""))


def is_owned(entry: Entry, job_uid: str) -> bool:
    """Whether the object names a Job's uid as an owner."""
    return any(owner["uid"] == job_uid for owner in entry.data["metadata"]["owners"])
