"""Which children of a job are written: those that are missing or differ from the newest plan."""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources import JobPhase
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.effects import CreateChild, Effect, FindResizing, PatchChild
from services.fusion_backend.core.rules import NOT_GOING_ON, JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation


class ChildObservation(Enum):
    """What the children show beside the newest plan; a rule has one each."""

    RECORD_AWAITED = "no plan is read, or a newer one is about to replace it"
    RESIZING_UNKNOWN = (
        "shares of the job's resources change, and it is not known whether the cluster resizes pods"
        " in place"
    )
    DIFFERENT = "children are missing or differ from the plan"
    TEXTS_AWAITED = "a text of the plan has to be rendered again first"
    CHILDREN_LEAVING = "planned children are being deleted"
    AS_PLANNED = "the children are as the plan says"


def write_children(at: Situation) -> tuple[Effect, ...]:
    """Write the difference."""
    found = at.difference
    children: list[CreateChild | PatchChild] = [*found.creates, *found.patches]
    children.sort(key=_place_in_line)
    return (*children, *found.orphans, *found.unmendable)


def find_resizing(at: Situation) -> tuple[Effect, ...]:
    """Ask the API server whether it resizes pods in place."""
    return (FindResizing(at.job.uid, at.plan.record.generation),)


def _place_in_line(effect: CreateChild | PatchChild) -> tuple[int, bool]:
    """What every pod needs, then PE by PE what its pod needs: launches begin with the first."""
    return effect.pe, effect.kind != "ConfigMap"


def _of_phase(at: Situation) -> Reason:
    known = {JobPhase.SUBMITTING: Reason.SUBMITTING, JobPhase.RESIZING: Reason.RESIZING}
    return known.get(at.phase, Reason.REPAIRING) if at.phase else Reason.REPAIRING


_O = ChildObservation
CHILD_RULES: Final[tuple[JobRule, ...]] = (
    *NOT_GOING_ON,
    Rule(_O.RECORD_AWAITED, lambda at: at.awaits_record, leave, Reason.WAITING, BEGUN),
    Rule(
        _O.RESIZING_UNKNOWN,
        lambda at: at.is_resizing_unknown,
        find_resizing,
        Reason.FINDING_RESIZING,
        BEGUN,
    ),
    Rule(_O.DIFFERENT, lambda at: at.difference.is_writable, write_children, _of_phase, BEGUN),
    Rule(_O.TEXTS_AWAITED, lambda at: at.is_text_missing, leave, Reason.WAITING, BEGUN),
    Rule(_O.CHILDREN_LEAVING, lambda at: at.difference.leaving > 0, leave, Reason.WAITING, BEGUN),
    Rule(_O.AS_PLANNED, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)
