"""Which statuses of ParallelRegions are written: which width is in force, refused, or waits.

A refusal of the planner and one of the placement are reported by the same rule. The first rule
that holds writes all statuses that differ: regions of one job change together.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.rules import NOT_GOING_ON, JobRule, leave
from services.fusion_backend.core.situation import BEGUN, Situation


class RegionObservation(Enum):
    """What the ParallelRegions say of the newest plan; a rule has one each."""

    RECORD_AWAITED = "no plan is read, or a newer one is about to replace it"
    WIDTH_REFUSED = "a refused width is not reported yet"
    STATUSES_DIFFER = "a width in force, or one that waits, is not reported yet"
    STATUSES_CURRENT = "statuses say what is so"


def write_statuses(at: Situation) -> tuple[Effect, ...]:
    """Write the statuses that differ."""
    return at.outdated_statuses


def _is_refusal_unreported(at: Situation) -> bool:
    return any(each.refused is not None for each in at.outdated_statuses)


def _first_of_statuses(at: Situation) -> Reason:
    return at.outdated_statuses[0].reason


_O = RegionObservation
REGION_RULES: Final[tuple[JobRule, ...]] = (
    *NOT_GOING_ON,
    Rule(_O.RECORD_AWAITED, lambda at: at.awaits_record, leave, Reason.WAITING, BEGUN),
    Rule(
        _O.WIDTH_REFUSED,
        _is_refusal_unreported,
        write_statuses,
        Reason.WIDTH_REFUSED,
        BEGUN,
    ),
    Rule(
        _O.STATUSES_DIFFER,
        lambda at: bool(at.outdated_statuses),
        write_statuses,
        _first_of_statuses,
        BEGUN,
    ),
    Rule(_O.STATUSES_CURRENT, always, leave, Reason.NOTHING_TO_CHANGE, BEGUN),
)
