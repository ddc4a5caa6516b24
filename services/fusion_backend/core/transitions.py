"""The life cycle of a job: every pair of recorded phase and observation, on one page.

A row says what is done when a job whose status records a phase is observed to be so; what is
ignored says why, and what cannot be says so and is a defect if it happens. Nothing else in
fusion-backend decides what follows what; the docs' diagram is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from contracts.reasons import Reason
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition


class Phase(StrEnum):
    """What `status.phase` records; NONE before the first status, and when the Job is gone."""

    NONE = ""
    SUBMITTING = "Submitting"
    SUBMITTED = "Submitted"
    RESIZING = "Resizing"
    FAILED = "Failed"
    COMPLETED = "Completed"
    DELETING = "Deleting"


class Observation(StrEnum):
    """What the whole snapshot shows; of several that hold, the first in this order counts."""

    JOB_GONE = "the Job does not exist"
    JOB_ORPHANING = "the Job is deleted and its children are to stay"
    JOB_DELETING = "the Job is being deleted"
    REMAINS = "the job failed, and children or pods of it exist"
    FAILED_FOR_GOOD = "the job failed, and neither spec nor retry changed since"
    RETRIED = "the job failed, and the spec or the annotation retry changed since"
    SPEC_REFUSED = "nothing is planned, and the spec cannot be accepted"
    NOT_BEGUN = "the job has no id or no phase"
    TIMED_OUT = "the submission time-out has passed"
    NAME_TAKEN = "the name of a child belongs to somebody else"
    PLAN_UNREAD = "the newest plan record is not read yet"
    PLAN_DAMAGED = "the newest plan record cannot be read"
    SERVERS_UNKNOWN = "there is no plan, and the redis servers of its checkpoints are not found yet"
    UNPLANNED = "there is no plan, nor an answer of the planner"
    PLANNING = "there is no plan, and the planner works on it or is called again later"
    PLAN_REFUSED = "there is no plan, and the planner refuses"
    PLACEMENT_UNREQUESTED = "there is no plan record, and its Placement does not request it yet"
    PLACING = "there is no plan record, and where the planned job may run is not decided yet"
    PLACEMENT_REFUSED = "there is no plan record, and the planned job can run nowhere"
    PLANNED = "there is no plan record, and the planner has answered"
    PLAN_LOST = "the newest plan record was deleted, and we still know it"
    WIDTHS_UNPLANNED = "other widths are requested, without an answer of the planner"
    WIDTHS_UNREQUESTED = "other widths are planned, and the Placement does not request them yet"
    WIDTHS_UNPLACED = "other widths are planned, and can run nowhere"
    WIDTHS_PLANNED = "other widths are requested, and the planner has answered"
    TEXTS_MISSING = "a text that has to be written is not known"
    CHILDREN_DIFFER = "children are missing or differ from the plan"
    CHILDREN_LEAVING = "planned children are being deleted"
    PODS_MISSING = "a PE has no pod of its planned content"
    LEFTOVERS = "children exist that the plan does not name"
    WIDTHS_UNSAID = "a ParallelRegion does not say which width is in force"
    COMPLETE = "every object of the newest plan exists"
    WORK_DONE = "every PE has completed its work"
    WORK_RESUMED = "a PE of a completed job works again"
    STATUS_DIFFERS = "conditions do not say what is so, as after an edit of the spec"
    HEALTH_CHANGED = "the condition Healthy is not what the pods show"
    WIDTHS_PLACING = "other widths are planned, and where they may run is not decided yet"
    IN_PLACE = "everything is as planned"


class Action(StrEnum):
    """What a transition does; `deciding.py` has one function an action."""

    DELETE_CHILDREN = "delete children by collection"
    BEGIN = "begin an attempt"
    FAIL = "record the failure and say why"
    READ_PLAN = "read the plan record"
    DISCARD_PLAN = "say that the plan record is damaged, and delete it"
    RECORD_AGAIN = "write the plan record again"
    FIND_SERVERS = "ask the DNS for the redis servers"
    PLAN = "run the planner"
    RECORD_PLAN = "create the plan record"
    ASK_PLACEMENT = "create the host pools, then ask with the Placement"
    PLAN_WIDTHS = "run the planner with the new widths"
    KEEP_REFUSAL = "keep the refusal of the new widths"
    RECORD_WIDTHS = "create the plan record of the new widths"
    RENDER = "render the missing texts again"
    WRITE_CHILDREN = "write the difference"
    WAIT = "wait"
    CLEAN_UP = "delete what no plan names"
    SAY_WIDTHS = "say which widths are in force"
    MARK_SUBMITTED = "record that the generation is complete"
    MARK_COMPLETED = "record that the work is done"
    SAY_STATUS = "say what is so"
    SAY_HEALTH = "say whether every pod runs"


_Rows = dict[tuple[Phase, Observation], Row[Phase, Action]]

_P, _O, _A = Phase, Observation, Action
_R = Reason
_PLANNED = (Phase.SUBMITTING, Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)
_RUNNING = (Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)


def _rows() -> _Rows:
    submitting, failed, submitted = _P.SUBMITTING, _P.FAILED, _P.SUBMITTED
    table: _Rows = {
        (_P.NONE, _O.JOB_GONE): Ignored(
            _R.OWNER_DELETED, "children of Jobs that are gone are cleared in any case"
        ),
        (failed, _O.REMAINS): Transition(failed, _A.DELETE_CHILDREN, _R.CLEARING),
        (failed, _O.FAILED_FOR_GOOD): Ignored(
            _R.NOTHING_TO_CHANGE, "Failed is terminal for a generation of the Job"
        ),
        (failed, _O.RETRIED): Transition(submitting, _A.BEGIN, _R.RETRY_REQUESTED),
        (submitting, _O.TIMED_OUT): Transition(failed, _A.FAIL, _R.SUBMISSION_TIMED_OUT),
        (submitting, _O.NAME_TAKEN): Transition(failed, _A.FAIL, _R.NAME_TAKEN),
        (submitting, _O.PLAN_REFUSED): Transition(failed, _A.FAIL, _R.SPEC_INVALID),
        (submitting, _O.PLACEMENT_REFUSED): Transition(failed, _A.FAIL, _R.NO_PLACEMENT),
        (_P.COMPLETED, _O.WORK_RESUMED): Transition(submitted, _A.MARK_SUBMITTED, _R.SUBMITTED),
        (submitted, _O.WORK_DONE): Transition(_P.COMPLETED, _A.MARK_COMPLETED, _R.COMPLETED),
        (submitted, _O.HEALTH_CHANGED): Transition(submitted, _A.SAY_HEALTH, _R.SOME_NOT_RUNNING),
    }
    for phase in (_P.NONE, submitting):
        table[phase, _O.SPEC_REFUSED] = Transition(failed, _A.FAIL, _R.SPEC_INVALID)
        table[phase, _O.NOT_BEGUN] = Transition(submitting, _A.BEGIN, _R.SUBMITTING)
    for phase in Phase:
        table[phase, _O.JOB_ORPHANING] = Ignored(
            _R.OWNER_DELETED, "children of an orphaning deletion are left alone"
        )
        table[phase, _O.JOB_DELETING] = Transition(_P.DELETING, _A.DELETE_CHILDREN, _R.DELETING)
    for phase in _PLANNED:
        table |= _rows_with_a_plan(phase)
    for phase in _RUNNING:
        table[phase, _O.PLAN_REFUSED] = Ignored(
            _R.NOTHING_TO_CHANGE, "what runs goes on; there is nothing to go by"
        )
        table[phase, _O.PLACEMENT_REFUSED] = Ignored(
            _R.NOTHING_TO_CHANGE, "what runs goes on where it is"
        )
    for phase in (submitted, _P.COMPLETED):
        table[phase, _O.STATUS_DIFFERS] = Transition(phase, _A.SAY_STATUS, _R.ACCEPTED)
        table[phase, _O.IN_PLACE] = Ignored(_R.NOTHING_TO_CHANGE, "the world is as it should be")
    return table


def _rows_with_a_plan(phase: Phase) -> _Rows:
    repaired = _P.SUBMITTING if phase is _P.SUBMITTING else _P.RESIZING
    doing = {_P.SUBMITTING: _R.SUBMITTING, _P.RESIZING: _R.RESIZING}.get(phase, _R.REPAIRING)
    return {
        (phase, _O.PLAN_UNREAD): Transition(phase, _A.READ_PLAN, _R.WAITING),
        (phase, _O.PLAN_DAMAGED): Transition(phase, _A.DISCARD_PLAN, _R.PLAN_DAMAGED),
        (phase, _O.SERVERS_UNKNOWN): Transition(phase, _A.FIND_SERVERS, _R.WAITING),
        (phase, _O.UNPLANNED): Transition(phase, _A.PLAN, _R.PLANNING),
        (phase, _O.PLANNING): Transition(phase, _A.WAIT, _R.PLANNING),
        (phase, _O.PLACEMENT_UNREQUESTED): Transition(phase, _A.ASK_PLACEMENT, _R.PLACING),
        (phase, _O.PLACING): Transition(phase, _A.WAIT, _R.PLACING),
        (phase, _O.PLANNED): Transition(repaired, _A.RECORD_PLAN, _R.FUSED),
        (phase, _O.PLAN_LOST): Transition(phase, _A.RECORD_AGAIN, _R.REPAIRING),
        (phase, _O.WIDTHS_UNPLANNED): Transition(phase, _A.PLAN_WIDTHS, _R.PLANNING),
        (phase, _O.WIDTHS_UNREQUESTED): Transition(phase, _A.ASK_PLACEMENT, _R.PLACING),
        (phase, _O.WIDTHS_UNPLACED): Transition(phase, _A.KEEP_REFUSAL, _R.WIDTH_REFUSED),
        (phase, _O.WIDTHS_PLACING): Transition(phase, _A.WAIT, _R.PLACING),
        (phase, _O.WIDTHS_PLANNED): Transition(repaired, _A.RECORD_WIDTHS, _R.RESIZING),
        (phase, _O.TEXTS_MISSING): Transition(phase, _A.RENDER, doing),
        (phase, _O.CHILDREN_DIFFER): Transition(phase, _A.WRITE_CHILDREN, doing),
        (phase, _O.CHILDREN_LEAVING): Transition(phase, _A.WAIT, _R.WAITING),
        (phase, _O.PODS_MISSING): Transition(repaired, _A.WAIT, _R.WAITING),
        (phase, _O.LEFTOVERS): Transition(phase, _A.CLEAN_UP, _R.NO_LONGER_PLANNED),
        (phase, _O.WIDTHS_UNSAID): Transition(phase, _A.SAY_WIDTHS, _R.WIDTH_IN_FORCE),
        (phase, _O.COMPLETE): Transition(_P.SUBMITTED, _A.MARK_SUBMITTED, _R.SUBMITTED),
    }


_WHY_FORBIDDEN: Mapping[Observation, str] = {
    Observation.JOB_GONE: "a Job that is gone has no recorded phase",
    Observation.REMAINS: "only a failed job is observed so",
    Observation.FAILED_FOR_GOOD: "only a failed job is observed so",
    Observation.RETRIED: "only a failed job is observed so",
    Observation.SPEC_REFUSED: "a spec is judged only while nothing is planned",
    Observation.NOT_BEGUN: "the id is written with the first phase and never changes",
    Observation.TIMED_OUT: "only a submission has a time-out",
    Observation.NAME_TAKEN: "only a submission fails for a name; what runs goes on",
    Observation.WORK_DONE: "work is judged when the generation is complete, and recorded once",
    Observation.WORK_RESUMED: "only of a completed job",
    Observation.STATUS_DIFFERS: "a generation in progress ends in COMPLETE, which says all",
    Observation.HEALTH_CHANGED: "health is judged of a job that is submitted and works",
    Observation.IN_PLACE: "a generation in progress ends in COMPLETE",
}


def _complete(rows: _Rows) -> _Rows:
    for phase in Phase:
        for observation in Observation:
            why = _WHY_FORBIDDEN.get(observation)
            if phase is _P.NONE or phase is _P.FAILED:
                why = why or "a plan belongs to a phase after Submitting was recorded"
            if phase is _P.DELETING:
                why = "a deletion that has begun is never taken back"
            if why is not None:
                rows.setdefault((phase, observation), Forbidden(why))
    return rows


TRANSITIONS: Mapping[tuple[Phase, Observation], Row[Phase, Action]] = _complete(_rows())
