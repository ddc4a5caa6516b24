"""Which PEs are withheld: somebody deleted them, and their flag forbids to create them again.

A PE comes back when its `restartFailedPod` permits: that of the Job's template, else what its
operators say. The Job's status records the others, in `deletedProcessingElements`. A PE counts as
deleted by somebody if it is missing from a plan that was in force, or, during a resize, if the plan
before had it. A new value of the annotation `retry` restores all of them: they are created first,
and the record is taken back when they exist.
"""

from __future__ import annotations

from contracts.resources import JobPhase
from services.fusion_backend.core.children import is_restartable
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import spec_in_force


def withheld_pes(snapshot: Snapshot, plan: KnownPlan, *, is_in_force: bool) -> frozenset[int]:
    """The PEs of a plan that are not to be created; `is_in_force`: it was complete once."""
    job, seen = snapshot.job, snapshot.of("ProcessingElement")
    assert job is not None, "PEs belong to a Job"
    missing = [pe for pe in plan.record.pes if pe.name not in seen]
    if not missing or is_restoring(job):
        return frozenset()
    were_there = job.recorded_deletions | _pes_before(snapshot, job)
    spec = spec_in_force(plan.inputs, job.spec)
    return frozenset(
        pe.id
        for pe in missing
        if (is_in_force or pe.id in were_there) and not is_restartable(spec, pe)
    )


def _pes_before(snapshot: Snapshot, job: JobSeen) -> frozenset[int]:
    """The PEs of the plan that the status speaks of, as far as it is known."""
    before = snapshot.plans.get(job.plan_generation)
    if job.phase == JobPhase.SUBMITTING or before is None:
        return frozenset()  # of a submission it would be a plan of an attempt that failed
    return frozenset(pe.id for pe in before.record.pes)


def is_restoring(job: JobSeen) -> bool:
    """Whether somebody requests the deleted PEs back."""
    return bool(job.recorded_deletions) and job.has_new_retry


def deletions_to_record(
    snapshot: Snapshot, plan: KnownPlan, withheld: frozenset[int]
) -> frozenset[int]:
    """The PEs that the status should record as deleted; restored ones until all of them exist."""
    job = snapshot.job
    assert job is not None, "PEs belong to a Job"
    planned, seen = snapshot.pe_records(plan), snapshot.of("ProcessingElement")
    missing = frozenset(
        pe for pe in job.recorded_deletions if pe in planned and planned[pe].name not in seen
    )
    if missing and is_restoring(job):
        return job.recorded_deletions  # or the retry would count as answered
    return missing | withheld
