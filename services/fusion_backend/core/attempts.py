"""When an attempt to submit a job fails, what is left of it then, and when the next one begins."""

from __future__ import annotations

from contracts.resources import JobPhase
from services.fusion_backend.core.clearing import certificate_remains
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.retrying import next_attempt_at
from services.fusion_backend.core.situation import Situation


def is_spec_refused(at: Situation) -> bool:
    """Whether nothing is planned, and the spec cannot be accepted."""
    is_unplanned = at.snapshot.newest_generation < 0
    is_first = at.phase is None or at.phase is JobPhase.SUBMITTING
    return is_unplanned and is_first and at.spec_refusal is not None


def is_timed_out(at: Situation) -> bool:
    """Whether the submission has had its time and is not complete."""
    if at.deadline is None or at.now < at.deadline:
        return False
    return at.job.id is None or not at.is_complete


def is_name_taken(at: Situation) -> bool:
    """Whether a child cannot be created, since somebody else's object has its name."""
    is_submitting = at.phase is JobPhase.SUBMITTING
    return is_submitting and bool(at.snapshot.name_taken) and not at.is_complete


def is_first_plan_refused(at: Situation) -> bool:
    """Whether the planner refuses what is submitted."""
    return at.phase is JobPhase.SUBMITTING and at.is_plan_refused


def is_first_plan_unplaced(at: Situation) -> bool:
    """Whether what is submitted can run nowhere."""
    if at.phase is not JobPhase.SUBMITTING or at.snapshot.newest is not None:
        return False
    return at.placing.state is PlacementState.REFUSED


def is_failing(at: Situation) -> bool:
    """Whether the attempt fails by this decision."""
    if is_spec_refused(at) or is_timed_out(at):
        return True
    if not at.has_begun:
        return False
    return is_name_taken(at) or is_first_plan_refused(at) or is_first_plan_unplaced(at)


def has_failed(at: Situation) -> bool:
    """Whether the attempt has failed."""
    return at.phase is JobPhase.FAILED


def has_remains(at: Situation) -> bool:
    """Whether the attempt has failed, and something of it exists."""
    snapshot = at.snapshot
    exists = any(snapshot.children.values()) or snapshot.pods or certificate_remains(snapshot)
    return has_failed(at) and bool(exists)


def is_retry_due(at: Situation) -> bool:
    """Whether the next attempt that follows by itself is due."""
    due_at = next_attempt_at(at.job.status)
    return has_failed(at) and due_at is not None and at.now >= due_at


def is_retry_awaited(at: Situation) -> bool:
    """Whether another attempt follows by itself."""
    return has_failed(at) and next_attempt_at(at.job.status) is not None


def is_retried(at: Situation) -> bool:
    """Whether the spec or the annotation retry changed since the attempt failed."""
    status = at.job.status
    is_same = status.get("observedGeneration") == at.job.generation and not at.job.has_new_retry
    return has_failed(at) and not is_same
