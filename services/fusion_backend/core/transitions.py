"""The life cycle of a job: every pair of recorded phase and observation, on one page.

A row says what is done when a job whose status records a phase is observed to be so; what is
ignored says why, and what cannot be says so and is a defect if it happens. Nothing else in
fusion-backend decides what follows what; the docs' diagram is drawn from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What `status.phase` records; NONE before the first status, and when the Job is gone."""

    NONE = ""
    SUBMITTING = "Submitting"
    SUBMITTED = "Submitted"
    RESIZING = "Resizing"
    FAILED = "Failed"
    COMPLETED = "Completed"


class Observation(StrEnum):
    """What the whole snapshot shows; of several that hold, the first in this order counts."""

    JOB_GONE = "the Job does not exist"
    JOB_ORPHANING = "the Job is deleted and its children are to stay"
    JOB_DELETING = "the Job is being deleted"
    REMAINS = "the job failed and children of it exist"
    FAILED_FOR_GOOD = "the job failed, and neither spec nor retry changed since"
    TRIED_ANEW = "the job failed, and the spec or the annotation retry changed since"
    SPEC_REFUSED = "nothing is planned, and the spec cannot be accepted"
    NOT_BEGUN = "the job has no id or no phase"
    TIMED_OUT = "the submission time-out has passed"
    NAME_TAKEN = "the name of a child belongs to somebody else"
    PLAN_UNREAD = "the newest plan record is not read yet"
    PLAN_LOST = "the newest plan record was deleted, and we still know it"
    UNPLANNED = "there is no plan, nor an answer of the planner"
    PLAN_REFUSED = "there is no plan, and the planner refuses"
    PLANNED = "there is no plan record, and the planner has answered"
    WIDTHS_UNPLANNED = "other widths are asked for, without an answer of the planner"
    WIDTHS_PLANNED = "other widths are asked for, and the planner has answered"
    TEXTS_MISSING = "a text that has to be written is not known"
    CHILDREN_DIFFER = "children are missing or differ from the plan"
    CHILDREN_LEAVING = "planned children are being deleted"
    PODS_MISSING = "a PE has no pod of its planned content"
    LEFTOVERS = "children exist that the plan does not name"
    WIDTHS_UNSAID = "a ParallelRegion does not say which width is in force"
    COMPLETE = "every object of the newest plan exists"
    WORK_DONE = "every PE has completed its work"
    WORK_RESUMED = "a PE of a completed job works again"
    SPEC_EDITED = "the spec was edited after its submission"
    HEALTH_CHANGED = "the condition Healthy is not what the pods show"
    IN_PLACE = "everything is as planned"


class Action(StrEnum):
    """What a transition does; `deciding.py` has one function an action."""

    DELETE_CHILDREN = "delete children by collection"
    BEGIN = "begin an attempt"
    FAIL = "record the failure and say why"
    READ_PLAN = "read the plan record"
    RECORD_AGAIN = "write the plan record again"
    PLAN = "run the planner"
    RECORD_PLAN = "create the plan record"
    PLAN_WIDTHS = "run the planner with the new widths"
    RECORD_WIDTHS = "create the plan record of the new widths"
    RENDER = "render the missing texts again"
    WRITE_CHILDREN = "write the difference"
    WAIT = "wait"
    CLEAN_UP = "delete what no plan names"
    SAY_WIDTHS = "say which widths are in force"
    MARK_SUBMITTED = "record that the generation is complete"
    MARK_COMPLETED = "record that the work is done"
    SAY_EDITED = "say that the edit is seen"
    SAY_HEALTH = "say whether every pod runs"


@dataclass(frozen=True, slots=True)
class Transition:
    """Go to `phase`, at once or in the end, by `action`."""

    phase: Phase
    action: Action


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing is done, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Forbidden:
    """This cannot be; the sentence says why."""

    why: str


Row = Transition | Ignored | Forbidden

_P, _O, _A = Phase, Observation, Action
_PLANNED = (Phase.SUBMITTING, Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)
_RUNNING = (Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)


def _rows() -> dict[tuple[Phase, Observation], Row]:
    table: dict[tuple[Phase, Observation], Row] = {
        (_P.NONE, _O.JOB_GONE): Ignored("children of Jobs that are gone are cleared in any case"),
        (_P.FAILED, _O.REMAINS): Transition(_P.FAILED, _A.DELETE_CHILDREN),
        (_P.FAILED, _O.FAILED_FOR_GOOD): Ignored("Failed is terminal for a generation of the Job"),
        (_P.FAILED, _O.TRIED_ANEW): Transition(_P.SUBMITTING, _A.BEGIN),
        (_P.NONE, _O.SPEC_REFUSED): Transition(_P.FAILED, _A.FAIL),
        (_P.SUBMITTING, _O.SPEC_REFUSED): Transition(_P.FAILED, _A.FAIL),
        (_P.NONE, _O.NOT_BEGUN): Transition(_P.SUBMITTING, _A.BEGIN),
        (_P.SUBMITTING, _O.NOT_BEGUN): Transition(_P.SUBMITTING, _A.BEGIN),
        (_P.SUBMITTING, _O.TIMED_OUT): Transition(_P.FAILED, _A.FAIL),
        (_P.SUBMITTING, _O.NAME_TAKEN): Transition(_P.FAILED, _A.FAIL),
        (_P.SUBMITTING, _O.PLAN_REFUSED): Transition(_P.FAILED, _A.FAIL),
        (_P.COMPLETED, _O.WORK_RESUMED): Transition(_P.SUBMITTED, _A.MARK_SUBMITTED),
        (_P.SUBMITTED, _O.WORK_DONE): Transition(_P.COMPLETED, _A.MARK_COMPLETED),
        (_P.SUBMITTED, _O.HEALTH_CHANGED): Transition(_P.SUBMITTED, _A.SAY_HEALTH),
    }
    for phase in Phase:
        table[phase, _O.JOB_ORPHANING] = Ignored("children of an orphaning deletion are left alone")
        table[phase, _O.JOB_DELETING] = Transition(phase, _A.DELETE_CHILDREN)
    for phase in _PLANNED:
        table |= _rows_with_a_plan(phase)
    for phase in _RUNNING:
        table[phase, _O.PLAN_REFUSED] = Ignored("what runs goes on; there is nothing to go by")
    for phase in (_P.SUBMITTED, _P.COMPLETED):
        table[phase, _O.SPEC_EDITED] = Transition(phase, _A.SAY_EDITED)
        table[phase, _O.IN_PLACE] = Ignored("the world is as it should be")
    return table


def _rows_with_a_plan(phase: Phase) -> dict[tuple[Phase, Observation], Row]:
    repaired = _P.SUBMITTING if phase is _P.SUBMITTING else _P.RESIZING
    return {
        (phase, _O.PLAN_UNREAD): Transition(phase, _A.READ_PLAN),
        (phase, _O.PLAN_LOST): Transition(phase, _A.RECORD_AGAIN),
        (phase, _O.UNPLANNED): Transition(phase, _A.PLAN),
        (phase, _O.PLANNED): Transition(repaired, _A.RECORD_PLAN),
        (phase, _O.WIDTHS_UNPLANNED): Transition(phase, _A.PLAN_WIDTHS),
        (phase, _O.WIDTHS_PLANNED): Transition(repaired, _A.RECORD_WIDTHS),
        (phase, _O.TEXTS_MISSING): Transition(phase, _A.RENDER),
        (phase, _O.CHILDREN_DIFFER): Transition(phase, _A.WRITE_CHILDREN),
        (phase, _O.CHILDREN_LEAVING): Transition(phase, _A.WAIT),
        (phase, _O.PODS_MISSING): Transition(repaired, _A.WAIT),
        (phase, _O.LEFTOVERS): Transition(phase, _A.CLEAN_UP),
        (phase, _O.WIDTHS_UNSAID): Transition(phase, _A.SAY_WIDTHS),
        (phase, _O.COMPLETE): Transition(_P.SUBMITTED, _A.MARK_SUBMITTED),
    }


_WHY_FORBIDDEN: Mapping[Observation, str] = {
    Observation.JOB_GONE: "a Job that is gone has no recorded phase",
    Observation.REMAINS: "only a failed job is observed so",
    Observation.FAILED_FOR_GOOD: "only a failed job is observed so",
    Observation.TRIED_ANEW: "only a failed job is observed so",
    Observation.SPEC_REFUSED: "a spec is judged only while nothing is planned",
    Observation.NOT_BEGUN: "the id is written with the first phase and never changes",
    Observation.TIMED_OUT: "only a submission has a time-out",
    Observation.NAME_TAKEN: "only a submission fails for a name; what runs goes on",
    Observation.WORK_DONE: "work is judged when the generation is complete, and recorded once",
    Observation.WORK_RESUMED: "only of a completed job",
    Observation.SPEC_EDITED: "an edit is judged when the generation is complete",
    Observation.HEALTH_CHANGED: "health is judged of a job that is submitted and works",
    Observation.IN_PLACE: "a generation in progress ends in COMPLETE",
}


def _complete(
    rows: dict[tuple[Phase, Observation], Row],
) -> dict[tuple[Phase, Observation], Row]:
    for phase in Phase:
        for observation in Observation:
            why = _WHY_FORBIDDEN.get(observation)
            if phase is _P.NONE or phase is _P.FAILED:
                why = why or "a plan belongs to a phase after Submitting was recorded"
            if why is not None:
                rows.setdefault((phase, observation), Forbidden(why))
    return rows


TRANSITIONS: Mapping[tuple[Phase, Observation], Row] = _complete(_rows())
