"""Reads the projections of facts as the frozen values that decisions look at.

One function for each kind; intake.py selects the entries of a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.belonging import labelled
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources import JOB
from contracts.resources.host_pool import MembershipMode
from contracts.resources.job import JobCondition, JobPhase
from contracts.resources.scaling import hand_over_s
from contracts.unreadable import part_of
from services.chassis.table.entries import Entry, is_deleting, label
from services.launching.core.owners import controller, owner_fields
from services.launching.core.pods import moment_in, number_in
from services.pod_state_machine.core.snapshot import HostPool, Job, Pe

Data = Mapping[str, Any]


def pe_of(entry: Entry) -> Pe:
    """A processing element. Raises KeyError or ValueError if it violates the schema."""
    meta, spec = entry.data["metadata"], entry.data["spec"]
    fields, runtime = owner_fields(entry), entry.data["status"].get("runtime") or {}
    return Pe(
        **fields,
        id=int(spec["id"]),
        job=job_of(entry),
        job_uid=label(entry, labels.JOB_UID),
        labels=meta["labels"],
        spec=spec,
        is_stray=controller(entry, JOB.kind) is None and fields["status"].launch_count == 0,
        job_field=f"metadata.labels[{labels.JOB}]" if label(entry, labels.JOB) else "spec.job",
        starts_last=bool(spec.get("startsLast")),
        resizes_in_place=bool(spec.get("resizesInPlace")),
        launch_that_hands_over=_launch_that_hands_over(entry.data["status"]),
        rests_for=_rests_for(entry.data["status"]),
        has_reported=bool(runtime),
    )


def _rests_for(status: Data) -> tuple[int, int]:
    runtime = status.get("runtime") or {}
    return _number_or(runtime.get("launch"), 0), _number_or(runtime.get("restsFor"), -1)


def _launch_that_hands_over(status: Data) -> int:
    """The newest launch of a PE whose runtime hands over; one that has not reported yet will."""
    runtime = status.get("runtime") or {}
    if not runtime.get("handsOver"):
        return 0
    return max(int(runtime.get("launch") or 0), int(status.get("launchCount") or 0))


def job_of(entry: Entry) -> str:
    """The name of the job that a PE or pod belongs to; an unlabelled PE names it in its spec."""
    root = labelled(entry.kind, entry.data)
    if root is not None:
        return root.name if root.kind == JOB.kind else ""
    is_named = entry.kind == "ProcessingElement" and not entry.unreadable
    return str(entry.data["spec"].get("job") or "") if is_named else ""


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
        submitted_since=_submitted_since(status),
        plan_generation=_number_or(status.get("generation"), -1),
        hand_over_s=hand_over_s(spec.get("scaling")),
        handed_over=_handed_over(status.get("handOver") or {}),
        hand_over=_number_or((status.get("handOver") or {}).get("generation"), -1),
        gone=_gone(status.get("handOver") or {}),
    )


def _handed_over(hand_over: Data) -> int:
    return _number_or(hand_over.get("generation"), -1) if hand_over.get("complete") else -1


def _gone(hand_over: Data) -> dict[int, int]:
    """Launches that were gone before the deadline: at it one is late that may say something."""
    ended, deadline = hand_over.get("completedAt"), hand_over.get("deadline")
    if ended and deadline and unix_s_of(ended) >= unix_s_of(deadline):
        return {}
    pes = hand_over.get("pes") or {}
    return {pe: int(pes[str(pe)]) for pe in hand_over.get("gone") or () if str(pe) in pes}


def _number_or(value: Any, default: int) -> int:
    number = number_in(value)
    return default if number is None else number


def _submitted_since(status: Mapping[str, Any]) -> float:
    """Since when its newest plan is in force, or was put in force again (unix seconds)."""
    for each in status.get("conditions") or ():
        if (each.get("type"), each.get("status")) == (JobCondition.SUBMITTED, "True"):
            return moment_in(each.get("lastTransitionTime"))
    return 0.0


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
