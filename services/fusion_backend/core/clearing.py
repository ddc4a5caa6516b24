"""What has to go with a Job: its children by collection, and never those that nobody owns.

A child that no longer names its Job as owner was orphaned on purpose and is left alone. A
collection is deleted only if all its members that we see name the owner; else one by one, and so is
what lost the labels of its collection.

1. Services go first. Each pod that goes changes Endpoints and EndpointSlices of its Service: one
   write in four of a deletion.
2. Pods are next: as long as a Job that goes has a pod that nobody deletes yet, its other children
   stay. They are what the pod runs on, and their removal is what the API server would do instead.
   Whatever keeps pods from being deleted, the garbage collector takes children and pods in the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts import labels
from contracts.resources.processing_element import is_encrypted
from services.chassis.table.entries import Entry, is_deleting, label
from services.fusion_backend.core.effects import (
    ConfirmJobGone,
    DeleteCertificate,
    DeleteChild,
    DeleteChildren,
    Effect,
)
from services.fusion_backend.core.seen import PeSeen, controlling_job
from services.fusion_backend.core.snapshot import CHILD_KINDS, Snapshot, job_uid_of
from services.fusion_backend.core.spec.provisions import CERTIFICATE, encrypted_pes

PE = "ProcessingElement"
SERVICE = "Service"


def delete_children(snapshot: Snapshot) -> tuple[Effect, ...]:
    """Effects that delete every child of the Job that is not being deleted yet."""
    assert snapshot.job is not None, "children of a Job that is gone are strangers"
    entries = [entry for kind in CHILD_KINDS for entry in snapshot.of(kind).values()]
    return _deleted(snapshot, entries, snapshot.job.uid)


def strangers_cleared(snapshot: Snapshot) -> tuple[Effect, ...]:
    """Effects that delete children of Jobs of this name that are gone.

    Owner and labels must both say so: what only names a Job that is not there may be anybody's, and
    is the garbage collector's.
    """
    left: dict[str, list[Entry]] = {}
    for entry in snapshot.strangers:
        uid = job_uid_of(entry)
        if uid and is_member(snapshot, entry, uid):
            left.setdefault(uid, []).append(entry)
    return tuple(effect for uid in sorted(left) for effect in _deleted(snapshot, left[uid], uid))


def job_confirmed_gone(snapshot: Snapshot) -> tuple[Effect, ...]:
    """A GET of a Job that only a record calls deleted: a false record must not stop the job."""
    return (ConfirmJobGone(snapshot.reported_gone),) if snapshot.reported_gone else ()


def _deleted(snapshot: Snapshot, entries: Iterable[Entry], job_uid: str) -> tuple[Effect, ...]:
    staying = [entry for entry in entries if not is_deleting(entry)]
    has_pods = job_uid in snapshot.with_pods and all(is_owned(entry, job_uid) for entry in staying)
    effects: list[Effect] = []
    if not has_pods and _may_have_certificate(snapshot, staying, job_uid):
        effects.append(DeleteCertificate(job_uid))
    for kind in (SERVICE,) if has_pods else CHILD_KINDS:
        of_kind = [entry for entry in staying if entry.kind == kind]
        members = [entry for entry in of_kind if is_member(snapshot, entry, job_uid)]
        one_by_one = [entry for entry in of_kind if is_owned(entry, job_uid)]
        if members and all(is_owned(entry, job_uid) for entry in members):
            effects.append(DeleteChildren(kind, job_uid))
            one_by_one = [entry for entry in one_by_one if entry not in members]
        effects += [
            DeleteChild(entry.kind, entry.name, entry.uid, entry.resource_version)
            for entry in one_by_one
        ]
    return tuple(effects)


def _may_have_certificate(snapshot: Snapshot, staying: Iterable[Entry], job_uid: str) -> bool:
    """Whether a Secret may have been made for the Job, beside children that go.

    An attempt that fails before its first PE has one as well; no fact tells of Secrets.
    """
    owned = [entry for entry in staying if is_owned(entry, job_uid)]
    job = snapshot.job
    if job is not None and job.uid == job_uid:
        template = job.spec_field("processingElement") or {}
        if certificate_remains(snapshot) or (owned and is_encrypted(template)):
            return True
    pes = [entry for entry in owned if entry.kind == PE and not entry.unreadable]
    return encrypted_pes(PeSeen(entry).spec for entry in pes)


def certificate_remains(snapshot: Snapshot) -> bool:
    """Whether the Job's certificate is still to be deleted, children or none.

    Its status names the certificate until it is deleted; without a status, a failure shows it.
    """
    job = snapshot.job
    is_named = job is not None and job.status.get("transportCertificate")
    return bool(is_named) or CERTIFICATE in snapshot.troubles


def is_member(snapshot: Snapshot, entry: Entry, job_uid: str) -> bool:
    """Whether a deletion by collection reaches an object: it goes by labels."""
    is_named = label(entry, labels.JOB) == snapshot.name
    return is_named and label(entry, labels.JOB_UID) == job_uid


def is_owned(entry: Entry, job_uid: str) -> bool:
    """Whether the Job with this uid controls the object: every child of ours is controlled."""
    owner = controlling_job(entry)
    return owner is not None and owner[1] == job_uid
