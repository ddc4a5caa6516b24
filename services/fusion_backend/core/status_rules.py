"""What the status of a Job says next: one write a decision, the most urgent one first.

The sentences are made in wording*.py. Everything that a status says of a plan in force is written
when every object of the plan exists, nothing is left over and the regions have their statuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from contracts.reasons import Reason
from contracts.resources import JobCondition, JobPhase
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core import wording
from services.fusion_backend.core.attempts import (
    has_failed,
    has_remains,
    is_first_plan_refused,
    is_first_plan_unplaced,
    is_name_taken,
    is_retried,
    is_retry_awaited,
    is_retry_due,
    is_spec_refused,
    is_timed_out,
)
from services.fusion_backend.core.conditions import condition, is_current
from services.fusion_backend.core.effects import Effect, JobStatusChange, TakeJobId, WriteJobStatus
from services.fusion_backend.core.health_due import health_due_at
from services.fusion_backend.core.losing import open_losses, tells_of_losses
from services.fusion_backend.core.progress import all_completed, all_ended
from services.fusion_backend.core.rules import JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation
from services.fusion_backend.core.wording_conditions import (
    health,
    is_health_due,
    progress,
    steady,
)
from services.fusion_backend.core.wording_failures import failed, refusal_of
from services.fusion_backend.core.wording_hand_overs import (
    hand_over_begun,
    hand_over_changed,
    hand_over_ended,
)
from services.fusion_backend.core.wording_plans import placing, reports_placing
from services.fusion_backend.core.wording_shares import within_resources


class StatusObservation(Enum):
    """What the status of a Job does not say yet; a rule has one each."""

    JOB_GONE = "the Job does not exist"
    DELETION_UNRECORDED = "the Job is being deleted, its children too, and something holds it still"
    JOB_DELETING = "the Job is being deleted"
    REMAINS = "the job failed, and children or pods of it exist"
    RETRIED = "the job failed, and the spec or the annotation retry changed since"
    RETRY_DUE = "the job failed for a cause that can pass; the next attempt is due, or can succeed"
    RETRY_AWAITED = "the job failed for a cause that can pass, and its next attempt is not due yet"
    FAILED_FOR_GOOD = "the job failed, and nothing changed since"
    SPEC_REFUSED = "nothing is planned, and the spec cannot be accepted"
    TIMED_OUT = "the submission has had its time and is not complete"
    NO_ID_TO_TAKE = "taking a job id fails for a while already"
    NOT_BEGUN = "the Job has no status"
    WITHOUT_ID = "the job has no id"
    NAME_TAKEN = "the name of a child belongs to somebody else"
    PLAN_REFUSED = "the planner refuses what is submitted"
    PLACEMENT_REFUSED = "what is submitted can run nowhere"
    RECORD_DAMAGED = "the newest plan record cannot be read, and no condition says so"
    DELETIONS_UNRECORDED = (
        "PEs that somebody deleted stay away, or came back, and the status does not record it"
    )
    HAND_OVER_ENDED = "each PE that hands over has sealed its state or ended, or has had its time"
    HAND_OVER_DUE = (
        "PEs that the plan changes or removes hand over, or wait for the end of an older hand-over"
    )
    HAND_OVER_CHANGED = "a PE ended in a hand-over, and the others do not know it"
    COMPLETE = "a generation in progress is in force"
    IN_PROGRESS = "a newer plan is put in force than the one that the status speaks of"
    WORK_ENDED = "every PE reports that its streams have ended, and the status does not say it"
    WORK_DONE = "every PE has completed"
    WORK_RESUMED = "a PE of a completed job runs again"
    CONDITIONS_DIFFER = "conditions differ, as after an edit of the spec"
    LOSSES_CHANGED = (
        "tuples were lost, or are acknowledged or forgotten, and Healthy does not say so"
    )
    HEALTH_CHANGED = "PEs run, or do not run, otherwise than Healthy and the message say"
    PLACING_UNRECORDED = "a plan waits for its placement, and the condition Placed does not say so"
    TROUBLE_UNRECORDED = (
        "what goes wrong, or no longer does, is not what the condition Submitted says"
    )
    CURRENT = "the status says what is so"


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Write the status; `phase` is the one to which it leads, None if it stays."""

    change: Callable[[Situation], JobStatusChange]
    phase: JobPhase | None = None

    def __call__(self, at: Situation) -> tuple[Effect, ...]:
        return (WriteJobStatus(at.job.uid, self.change(at)),)


@dataclass(frozen=True, slots=True)
class BeginAttempt:
    """Begin an attempt; with it, take a job id if there is none."""

    phase: JobPhase = JobPhase.SUBMITTING

    def __call__(self, at: Situation) -> tuple[Effect, ...]:
        if at.job.id is None:
            return (TakeJobId(at.job.uid, wording.begun(at)),)
        return (WriteJobStatus(at.job.uid, wording.begun(at)),)


def _of_refusal(at: Situation) -> Reason:
    return refusal_of(at).reason


def _is_deletion_held(at: Situation) -> bool:
    """Whether the Job is being deleted and its children are, and no pod is to go before them."""
    job = at.job
    if not job.deleting or job.orphaning or job.uid in at.snapshot.with_pods:
        return False
    return not at.deletions


def _is_damage_unrecorded(at: Situation) -> bool:
    if at.damage is None:
        return False
    desired = wording.damaged(at).conditions
    return not all(is_current(at.job.status, each) for each in desired)


def _are_deletions_unrecorded(at: Situation) -> bool:
    if at.awaits_record:
        return False
    return at.deletions_to_record != at.job.recorded_deletions


def _is_trouble_unrecorded(at: Situation) -> bool:
    desired = progress(at)
    return desired is not None and not is_current(at.job.status, desired)


def _has_work_done(at: Situation) -> bool:
    return at.is_put_in_force and all_completed(at.snapshot, at.plan.record)


def _has_ended(at: Situation) -> bool:
    if at.job.has_ended or not at.is_put_in_force:
        return False
    record = at.plan.record
    return all_ended(at.snapshot, record) and not all_completed(at.snapshot, record)


def _conditions_differ(at: Situation) -> bool:
    if not at.is_put_in_force:
        return False
    status = at.job.status
    is_seen = status.get("observedGeneration") == at.job.generation
    return not is_seen or not all(
        is_current(status, each) for each in (*steady(at), *within_resources(at))
    )


def _have_losses_changed(at: Situation) -> bool:
    """A loss is shown at once, and so is its end; that it grows, once in a while."""
    recorded = condition(at.job.status, JobCondition.HEALTHY.value)
    says_losses, has_losses = tells_of_losses(recorded), open_losses(at) is not None
    if not says_losses and not has_losses:
        return False  # without a look at every PE
    if not at.is_put_in_force:  # the rest of Healthy waits for the end of that
        return has_losses and not says_losses
    desired = health(at)
    is_all = desired.reason is Reason.TUPLES_LOST and recorded.get("reason") != desired.reason
    is_news = is_all or says_losses != has_losses
    is_due = is_news or at.phase is _P.COMPLETED or at.now >= health_due_at(at)
    return is_due and not is_current(at.job.status, desired)


def _has_health_changed(at: Situation) -> bool:
    """Or Healthy names PEs that run by now: all that do not, no node has room for."""
    lacking = {pe.id for pe in at.without_room} if at.not_running else set[int]()
    is_lasting = bool(lacking) and lacking.issuperset(at.not_running)
    recorded = condition(at.job.status, JobCondition.HEALTHY.value).get("status")
    is_outdated = recorded != "True" and not is_current(at.job.status, health(at))
    return is_health_due(at) or (is_lasting and is_outdated)


_O, _P = StatusObservation, JobPhase
_FIRST: Final = frozenset({_P.SUBMITTING})
_NEW: Final[frozenset[StrEnum | None]] = frozenset({None, _P.SUBMITTING})
_FAILED: Final = frozenset({_P.FAILED})
_RUNNING: Final = frozenset({_P.SUBMITTED, _P.COMPLETED})
_FAIL = WriteStatus(failed, _P.FAILED)
STATUS_RULES: Final[tuple[JobRule, ...]] = (
    # A Job that goes, or failed
    Rule(_O.JOB_GONE, lambda at: at.snapshot.job is None, leave, Reason.OWNER_DELETED),
    Rule(
        _O.DELETION_UNRECORDED,
        lambda at: _is_deletion_held(at) and at.phase is not _P.DELETING,
        WriteStatus(wording.deleting, _P.DELETING),
        Reason.DELETING,
    ),
    Rule(_O.JOB_DELETING, lambda at: at.job.deleting, leave, Reason.OWNER_DELETED),
    Rule(_O.REMAINS, has_remains, leave, Reason.CLEARING),
    Rule(_O.RETRIED, is_retried, BeginAttempt(), Reason.RETRY_REQUESTED, _FAILED),
    Rule(_O.RETRY_DUE, is_retry_due, BeginAttempt(), Reason.RETRY_DUE, _FAILED),
    Rule(_O.RETRY_AWAITED, is_retry_awaited, leave, Reason.WAITING, _FAILED),
    Rule(_O.FAILED_FOR_GOOD, has_failed, leave, Reason.NOTHING_TO_CHANGE),
    # An attempt that begins, and fails
    Rule(_O.SPEC_REFUSED, is_spec_refused, _FAIL, _of_refusal, _NEW),
    Rule(_O.TIMED_OUT, is_timed_out, _FAIL, _of_refusal, _FIRST),
    Rule(
        _O.NO_ID_TO_TAKE,
        lambda at: at.job.id is None and _is_trouble_unrecorded(at),
        WriteStatus(wording.trouble_seen),
        Reason.WAITING,
    ),
    Rule(
        _O.NOT_BEGUN,
        lambda at: at.phase is None,
        BeginAttempt(),
        Reason.SUBMITTING,
        frozenset({None}),
    ),
    Rule(_O.WITHOUT_ID, lambda at: at.job.id is None, BeginAttempt(), Reason.SUBMITTING, _FIRST),
    Rule(_O.NAME_TAKEN, is_name_taken, _FAIL, _of_refusal, _FIRST),
    Rule(
        _O.PLAN_REFUSED,
        is_first_plan_refused,
        _FAIL,
        _of_refusal,
        _FIRST,
    ),
    Rule(
        _O.PLACEMENT_REFUSED,
        is_first_plan_unplaced,
        _FAIL,
        _of_refusal,
        _FIRST,
    ),
    # A generation that is put in force
    Rule(
        _O.RECORD_DAMAGED,
        _is_damage_unrecorded,
        WriteStatus(wording.damaged),
        Reason.PLAN_DAMAGED,
        BEGUN,
    ),
    Rule(
        _O.DELETIONS_UNRECORDED,
        _are_deletions_unrecorded,
        WriteStatus(wording.deletions_recorded),
        Reason.PE_DELETED,
        BEGUN,
    ),
    Rule(
        _O.HAND_OVER_ENDED,
        lambda at: at.hand_over.is_ended and not at.hand_over.is_due,
        WriteStatus(hand_over_ended),
        Reason.RESIZING,
        BEGUN,
    ),
    Rule(
        # Where the phase is to change as well, the status of IN_PROGRESS has it.
        _O.HAND_OVER_DUE,
        lambda at: at.hand_over.is_due and at.phase not in _RUNNING,
        WriteStatus(hand_over_begun),
        Reason.RESIZING,
        BEGUN,
    ),
    Rule(
        _O.HAND_OVER_CHANGED,
        lambda at: at.hand_over.is_changed,
        WriteStatus(hand_over_changed),
        Reason.RESIZING,
        BEGUN,
    ),
    Rule(
        _O.COMPLETE,
        lambda at: at.in_progress and at.is_put_in_force,
        WriteStatus(wording.submitted, _P.SUBMITTED),
        Reason.SUBMITTED,
        BEGUN,
    ),
    Rule(
        _O.IN_PROGRESS,
        lambda at: at.in_progress and at.phase in _RUNNING and at.snapshot.newest is not None,
        WriteStatus(wording.resizing, _P.RESIZING),
        Reason.RESIZING,
        _RUNNING,
    ),
    # A job that runs
    Rule(
        # Its PEs wait for that: none of them ends while another one may need what it has.
        _O.WORK_ENDED,
        lambda at: at.phase is _P.SUBMITTED and _has_ended(at),
        WriteStatus(wording.ended),
        Reason.COMPLETED,
        frozenset({_P.SUBMITTED}),
    ),
    Rule(
        _O.WORK_DONE,
        lambda at: at.phase is _P.SUBMITTED and _has_work_done(at),
        WriteStatus(wording.completed, _P.COMPLETED),
        Reason.COMPLETED,
        frozenset({_P.SUBMITTED}),
    ),
    Rule(
        _O.WORK_RESUMED,
        lambda at: at.phase is _P.COMPLETED and at.is_put_in_force and not _has_work_done(at),
        WriteStatus(wording.submitted, _P.SUBMITTED),
        Reason.SUBMITTED,
        frozenset({_P.COMPLETED}),
    ),
    Rule(
        _O.CONDITIONS_DIFFER,
        _conditions_differ,
        WriteStatus(wording.changed_conditions),
        Reason.ACCEPTED,
        _RUNNING,
    ),
    Rule(
        _O.LOSSES_CHANGED,
        _have_losses_changed,
        WriteStatus(wording.losses_seen),
        Reason.TUPLES_LOST,
        _RUNNING | {_P.RESIZING},
    ),
    Rule(
        _O.HEALTH_CHANGED,
        lambda at: at.phase is _P.SUBMITTED and at.is_put_in_force and _has_health_changed(at),
        WriteStatus(wording.health_seen),
        Reason.SOME_NOT_RUNNING,
        frozenset({_P.SUBMITTED}),
    ),
    # What something waits for
    Rule(
        _O.PLACING_UNRECORDED,
        lambda at: at.placing.is_waiting and not reports_placing(at),
        WriteStatus(placing),
        Reason.PLACING,
        BEGUN,
    ),
    Rule(
        _O.TROUBLE_UNRECORDED,
        _is_trouble_unrecorded,
        WriteStatus(wording.trouble_seen),
        Reason.WAITING,
        BEGUN,
    ),
    Rule(_O.CURRENT, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)
