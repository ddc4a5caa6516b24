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


class Step(StrEnum):
    """What is done; `deciding.py` has one function a step."""

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
class Row:
    """A transition: the step, and the phase that it leads to in the end."""

    step: Step
    leads_to: Phase


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing is done, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Forbidden:
    """This cannot be; the sentence says why."""

    why: str


Entry = Row | Ignored | Forbidden

_P, _O, _S = Phase, Observation, Step
_PLANNED = (Phase.SUBMITTING, Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)
_RUNNING = (Phase.SUBMITTED, Phase.RESIZING, Phase.COMPLETED)


def _rows() -> dict[tuple[Phase, Observation], Entry]:
    table: dict[tuple[Phase, Observation], Entry] = {
        (_P.NONE, _O.JOB_GONE): Ignored("children of Jobs that are gone are cleared in any case"),
        (_P.FAILED, _O.REMAINS): Row(_S.DELETE_CHILDREN, _P.FAILED),
        (_P.FAILED, _O.FAILED_FOR_GOOD): Ignored("Failed is terminal for a generation of the Job"),
        (_P.FAILED, _O.TRIED_ANEW): Row(_S.BEGIN, _P.SUBMITTING),
        (_P.NONE, _O.SPEC_REFUSED): Row(_S.FAIL, _P.FAILED),
        (_P.SUBMITTING, _O.SPEC_REFUSED): Row(_S.FAIL, _P.FAILED),
        (_P.NONE, _O.NOT_BEGUN): Row(_S.BEGIN, _P.SUBMITTING),
        (_P.SUBMITTING, _O.NOT_BEGUN): Row(_S.BEGIN, _P.SUBMITTING),
        (_P.SUBMITTING, _O.TIMED_OUT): Row(_S.FAIL, _P.FAILED),
        (_P.SUBMITTING, _O.NAME_TAKEN): Row(_S.FAIL, _P.FAILED),
        (_P.SUBMITTING, _O.PLAN_REFUSED): Row(_S.FAIL, _P.FAILED),
        (_P.COMPLETED, _O.WORK_RESUMED): Row(_S.MARK_SUBMITTED, _P.SUBMITTED),
        (_P.SUBMITTED, _O.WORK_DONE): Row(_S.MARK_COMPLETED, _P.COMPLETED),
        (_P.SUBMITTED, _O.HEALTH_CHANGED): Row(_S.SAY_HEALTH, _P.SUBMITTED),
    }
    for phase in Phase:
        table[phase, _O.JOB_ORPHANING] = Ignored("children of an orphaning deletion are left alone")
        table[phase, _O.JOB_DELETING] = Row(_S.DELETE_CHILDREN, phase)
    for phase in _PLANNED:
        table |= _rows_with_a_plan(phase)
    for phase in _RUNNING:
        table[phase, _O.PLAN_REFUSED] = Ignored("what runs goes on; there is nothing to go by")
    for phase in (_P.SUBMITTED, _P.COMPLETED):
        table[phase, _O.SPEC_EDITED] = Row(_S.SAY_EDITED, phase)
        table[phase, _O.IN_PLACE] = Ignored("the world is as it should be")
    return table


def _rows_with_a_plan(phase: Phase) -> dict[tuple[Phase, Observation], Entry]:
    repaired = _P.SUBMITTING if phase is _P.SUBMITTING else _P.RESIZING
    return {
        (phase, _O.PLAN_UNREAD): Row(_S.READ_PLAN, phase),
        (phase, _O.PLAN_LOST): Row(_S.RECORD_AGAIN, phase),
        (phase, _O.UNPLANNED): Row(_S.PLAN, phase),
        (phase, _O.PLANNED): Row(_S.RECORD_PLAN, repaired),
        (phase, _O.WIDTHS_UNPLANNED): Row(_S.PLAN_WIDTHS, phase),
        (phase, _O.WIDTHS_PLANNED): Row(_S.RECORD_WIDTHS, repaired),
        (phase, _O.TEXTS_MISSING): Row(_S.RENDER, phase),
        (phase, _O.CHILDREN_DIFFER): Row(_S.WRITE_CHILDREN, phase),
        (phase, _O.CHILDREN_LEAVING): Row(_S.WAIT, phase),
        (phase, _O.PODS_MISSING): Row(_S.WAIT, repaired),
        (phase, _O.LEFTOVERS): Row(_S.CLEAN_UP, phase),
        (phase, _O.WIDTHS_UNSAID): Row(_S.SAY_WIDTHS, phase),
        (phase, _O.COMPLETE): Row(_S.MARK_SUBMITTED, _P.SUBMITTED),
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
    rows: dict[tuple[Phase, Observation], Entry],
) -> dict[tuple[Phase, Observation], Entry]:
    for phase in Phase:
        for observation in Observation:
            why = _WHY_FORBIDDEN.get(observation)
            if phase is _P.NONE or phase is _P.FAILED:
                why = why or "a plan belongs to a phase after Submitting was recorded"
            if why is not None:
                rows.setdefault((phase, observation), Forbidden(why))
    return rows


TRANSITIONS: Mapping[tuple[Phase, Observation], Entry] = _complete(_rows())
