"""What of a job is deleted: leftovers of older plans, or all of it; and what others left over.

The children of a Job that goes are described in clearing.py.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.attempts import has_failed, has_remains, is_failing
from services.fusion_backend.core.clearing import job_confirmed_gone, strangers_cleared
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.rules import JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation


class CleanUpObservation(Enum):
    """What of a job is left over; a rule has one each."""

    JOB_GONE = "the Job does not exist"
    JOB_ORPHANING = "the Job is being deleted, and its children are to stay"
    JOB_DELETING = "the Job is being deleted, and its children with it"
    REMAINS = "the job failed, and children or pods of it exist"
    JOB_FAILED = "the job failed, and nothing of it is left"
    JOB_FAILING = "the attempt fails by this decision"
    NOT_BEGUN = "the job has no id or no phase"
    RECORD_AWAITED = "no plan is read, or a newer one is about to replace it"
    CHILDREN_DIFFER = "children are missing or differ from the plan"
    HAND_OVER_AWAITED = "PEs hand over: those that the plan removes have not all sealed their state"
    PODS_MISSING = "a PE has no pod of its planned content: what runs instead stays until then"
    LEFTOVERS = "children exist that no plan names"
    NOTHING_LEFT = "nothing is left over"


class PredecessorObservation(Enum):
    """What former Jobs of the name left over; a rule has one each."""

    REPORTED_GONE = "only a record says that the Job is deleted"
    STRANGERS = "children of Jobs that are gone exist"
    NOTHING_LEFT = "nothing is left over"


def delete_children(at: Situation) -> tuple[Effect, ...]:
    """Delete every child of the Job."""
    return at.deletions


def delete_leftovers(at: Situation) -> tuple[Effect, ...]:
    """Delete what no plan names."""
    return at.leftovers


def confirm(at: Situation) -> tuple[Effect, ...]:
    """Ask the API server whether the Job is gone; clear what is of other Jobs meanwhile."""
    return (*job_confirmed_gone(at.snapshot), *strangers_cleared(at.snapshot))


def clear_strangers(at: Situation) -> tuple[Effect, ...]:
    """Delete children of Jobs that are gone."""
    return strangers_cleared(at.snapshot)


_O = CleanUpObservation
CLEAN_UP_RULES: Final[tuple[JobRule, ...]] = (
    Rule(_O.JOB_GONE, lambda at: at.snapshot.job is None, leave, Reason.OWNER_DELETED),
    Rule(
        _O.JOB_ORPHANING,
        lambda at: at.job.deleting and at.job.orphaning,
        leave,
        Reason.OWNER_DELETED,
    ),
    Rule(_O.JOB_DELETING, lambda at: at.job.deleting, delete_children, Reason.DELETING),
    Rule(_O.REMAINS, has_remains, delete_children, Reason.CLEARING),
    Rule(_O.JOB_FAILED, has_failed, leave, Reason.NOTHING_TO_CHANGE),
    Rule(_O.JOB_FAILING, is_failing, leave, Reason.WAITING),
    Rule(_O.NOT_BEGUN, lambda at: not at.has_begun, leave, Reason.WAITING),
    Rule(_O.RECORD_AWAITED, lambda at: at.awaits_record, leave, Reason.WAITING, BEGUN),
    Rule(_O.CHILDREN_DIFFER, lambda at: not at.difference.is_empty, leave, Reason.WAITING, BEGUN),
    Rule(_O.HAND_OVER_AWAITED, lambda at: at.hand_over.is_awaited, leave, Reason.WAITING, BEGUN),
    Rule(
        _O.PODS_MISSING,
        lambda at: at.in_progress and bool(at.podless),
        leave,
        Reason.WAITING,
        BEGUN,
    ),
    Rule(
        _O.LEFTOVERS,
        lambda at: bool(at.leftovers),
        delete_leftovers,
        Reason.NO_LONGER_PLANNED,
        BEGUN,
    ),
    Rule(_O.NOTHING_LEFT, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)

PREDECESSOR_RULES: Final[tuple[JobRule, ...]] = (
    Rule(
        PredecessorObservation.REPORTED_GONE,
        lambda at: bool(at.snapshot.reported_gone),
        confirm,
        Reason.OWNER_DELETED,
    ),
    Rule(
        PredecessorObservation.STRANGERS,
        lambda at: bool(strangers_cleared(at.snapshot)),
        clear_strangers,
        Reason.OWNER_DELETED,
    ),
    Rule(PredecessorObservation.NOTHING_LEFT, always, leave, Reason.NOTHING_TO_CHANGE),
)
