"""What the rules of a job have in common; each decision has its rules in a file of its own.

A decision on a job is the union of nine, made on the same snapshot (`deciding.py`): its status,
the next generation, its children, its regions, what is left over, what former Jobs of its name left
over, what its PEs share, what names it without being its child, and its missing bundle. Of each
exactly one rule decides (services/chassis/running/rules.py).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule
from services.fusion_backend.core.attempts import has_failed, is_failing
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.situation import Situation

Action = Callable[[Situation], tuple[Effect, ...]]
JobRule = Rule[Situation, Action]


def leave(_at: Situation) -> tuple[Effect, ...]:
    """Do nothing: something else is awaited, or nothing is to be done."""
    return ()


class JobObservation(Enum):
    """What stops all decisions on a job but those on its status and on what is left over."""

    JOB_LEAVING = "the Job is gone or is being deleted"
    JOB_FAILED = "the job failed"
    JOB_FAILING = "the attempt fails by this decision"
    NOT_BEGUN = "the job has no id or no phase"


_O = JobObservation
NOT_GOING_ON: Final[tuple[JobRule, ...]] = (
    Rule(_O.JOB_LEAVING, lambda at: at.is_leaving, leave, Reason.OWNER_DELETED),
    Rule(_O.JOB_FAILED, has_failed, leave, Reason.NOTHING_TO_CHANGE),
    Rule(_O.JOB_FAILING, is_failing, leave, Reason.WAITING),
    Rule(_O.NOT_BEGUN, lambda at: not at.has_begun, leave, Reason.WAITING),
)
