"""How far the PEs of a plan are: which have their pods, which run, and whether all are done."""

from __future__ import annotations

from collections.abc import Container

from contracts import labels
from contracts.reasons import Reason
from contracts.resources import PePhase
from planner.numbering.records import PlanRecord
from services.chassis.table.entries import Entry, annotation, is_deleting
from services.fusion_backend.core.pods_seen import pod_phase_of
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import Snapshot

_ENDED_PHASES = frozenset({PePhase.COMPLETED, PePhase.FAILED, PePhase.STOPPED})


def pes_without_pod(
    snapshot: Snapshot, record: PlanRecord, withheld: Container[int] = ()
) -> list[int]:
    """PEs without a pod object, in any phase, of the content that the plan gives them.

    Nothing waits for a PE that is withheld. One whose pod came, ended and went has had it: nothing
    launches it again, so a generation that waited for it would never be complete.
    """
    entries = snapshot.of("ProcessingElement")
    return [
        pe.id
        for pe in record.pes
        if pe.id not in withheld
        and not any(
            annotation(pod, labels.CONTENT_ID) == pe.content_id
            for pod in snapshot.pods.get(pe.id, ())
        )
        and not _has_ended(entries.get(pe.name), pe.content_id)
    ]


def _has_ended(entry: Entry | None, content_id: str) -> bool:
    """Whether the PE's status says that a launch of this content is over and none is to come."""
    if entry is None:
        return False
    seen = PeSeen(entry)
    return seen.phase in _ENDED_PHASES and seen.launched_content_id == content_id


def pes_not_running(snapshot: Snapshot, record: PlanRecord) -> list[int]:
    """PEs that neither run the content that the plan gives them, nor have completed it."""
    entries = snapshot.of("ProcessingElement")
    return [
        pe.id
        for pe in record.pes
        if not any(
            pod_phase_of(pod) in ("Running", "Succeeded")
            and not is_deleting(pod)
            and annotation(pod, labels.CONTENT_ID) == pe.content_id
            for pod in snapshot.pods.get(pe.id, ())
        )
        and not _has_completed(entries.get(pe.name), pe.content_id)
    ]


def _has_completed(entry: Entry | None, content_id: str) -> bool:
    """Whether the PE's status says that it has completed this; somebody may delete its pod."""
    is_over = _has_ended(entry, content_id)
    return is_over and entry is not None and PeSeen(entry).phase == PePhase.COMPLETED


def completed_pods(snapshot: Snapshot, record: PlanRecord) -> int:
    """How many PEs of the plan have completed."""
    entries = snapshot.of("ProcessingElement")
    return sum(
        any(pod_phase_of(pod) == "Succeeded" for pod in snapshot.pods.get(pe.id, ()))
        or _has_completed(entries.get(pe.name), pe.content_id)
        for pe in record.pes
    )


_NOT_STARTING = frozenset(
    {Reason.VOLUMES_NOT_MOUNTED, Reason.IMAGE_PULL_FAILED, Reason.CONTAINER_NOT_STARTED}
)
"""Reasons whose message stays as it is while a pod waits, so that a Job may repeat it."""
TROUBLE_CHARS_MAX = 600


def start_trouble(snapshot: Snapshot, record: PlanRecord) -> str:
    """Why the first PE whose pod cannot start does not run; empty without one."""
    entries, idle = snapshot.of("ProcessingElement"), set(pes_not_running(snapshot, record))
    for pe in record.pes:
        entry = entries.get(pe.name) if pe.id in idle else None
        if entry is not None and (seen := PeSeen(entry)).reason in _NOT_STARTING:
            return f"PE {pe.id}: {seen.reason}: {seen.message}"[:TROUBLE_CHARS_MAX].rstrip()
    return ""


def all_ended(snapshot: Snapshot, record: PlanRecord) -> bool:
    """Whether every PE of the plan has nothing left to do."""
    entries = snapshot.of("ProcessingElement")
    return bool(record.pes) and all(
        (entry := entries.get(pe.name)) is not None
        and _has_nothing_left(seen := PeSeen(entry))
        and seen.launched_content_id in (pe.content_id, None)
        for pe in record.pes
    )


def _has_nothing_left(seen: PeSeen) -> bool:
    """Whether the newest launch of a PE says so, or has completed."""
    runtime = seen.status.get("runtime") or {}
    is_reported = runtime.get("ended") and runtime.get("launch") == seen.launch_count
    return bool(is_reported) or seen.phase == PePhase.COMPLETED


def all_completed(snapshot: Snapshot, record: PlanRecord) -> bool:
    """Whether every PE of the plan has done its work, and none is launched again by its policy."""
    entries = snapshot.of("ProcessingElement")
    return bool(record.pes) and all(
        (entry := entries.get(pe.name)) is not None
        and (seen := PeSeen(entry)).phase == PePhase.COMPLETED
        and not seen.restarts_completed
        and seen.reason != Reason.BACKING_OFF
        and seen.launched_content_id in (pe.content_id, None)
        for pe in record.pes
    )
