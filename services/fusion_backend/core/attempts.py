"""When an attempt to submit a job fails, what is left of it then, and when the next one begins."""

from __future__ import annotations

from typing import Final

from contracts.moments import past_s
from contracts.reasons import Reason
from contracts.resources import JobPhase
from services.fusion_backend.core.appearing import have_appeared
from services.fusion_backend.core.awaited import awaited_of
from services.fusion_backend.core.clearing import certificate_remains
from services.fusion_backend.core.placement_states import PlacementState
from services.fusion_backend.core.retrying import MOST_S, next_attempt_at
from services.fusion_backend.core.situation import Situation

_BEHIND_URLS: Final = ("url", "http", "github")


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
    """Whether the next attempt that follows by itself is due: it is time, or nothing lacks now."""
    due_at = next_attempt_at(at.job.status)
    if not has_failed(at) or due_at is None:
        return False
    is_time = at.now >= past_s(due_at, at.now + MOST_S)
    return is_time or at.snapshot.is_bundle_there or has_appeared(at)


def has_appeared(at: Situation) -> bool:
    """Whether nodes are there that the failed attempt lacked."""
    return have_appeared(at.snapshot, awaited_of(at.job.status))


def is_bundle_looked_for(at: Situation) -> bool:
    """Whether the next attempt begins as soon as the bundle is in the bundle root."""
    if at.is_leaving or not is_retry_awaited(at) or is_retry_due(at):
        return False
    if at.job.status.get("reason") != Reason.BUNDLE_MISSING or not has_bundle_folder(at):
        return False
    return not has_remains(at) and not is_retried(at) and at.spec_refusal is None


def has_bundle_folder(at: Situation) -> bool:
    """Whether the bundle of the job is a file of a directory."""
    bundle = at.job.spec_field("bundle") or {}
    return at.snapshot.has_bundle_folder and not any(bundle.get(name) for name in _BEHIND_URLS)


def is_retry_awaited(at: Situation) -> bool:
    """Whether another attempt follows by itself."""
    return has_failed(at) and next_attempt_at(at.job.status) is not None


def is_retried(at: Situation) -> bool:
    """Whether the spec or the annotation retry changed since the attempt failed."""
    status = at.job.status
    is_same = status.get("observedGeneration") == at.job.generation and not at.job.has_new_retry
    return has_failed(at) and not is_same
