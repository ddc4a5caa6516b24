"""Which ParallelRegions and HostPools that no Job controls get a condition, or lose it.

What is wrong, and for how long it must have been so, is in references.py.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.references import notes_due, reports_due, settles_at
from services.fusion_backend.core.rules import JobRule, leave
from services.fusion_backend.core.situation import Situation


class ReferenceObservation(Enum):
    """What the objects name that no Job controls; a rule has one each."""

    UNREPORTED = "what an object names has been wrong for some seconds, or is right again"
    UNNOTED = "what an object names is wrong, or right again, and that is not noted"
    SETTLING = "what an object names has been wrong for a moment"
    CURRENT = "conditions say what is so"


def report(at: Situation) -> tuple[Effect, ...]:
    """Write or remove the conditions that differ."""
    return reports_due(at.snapshot, at.now)


def note(at: Situation) -> tuple[Effect, ...]:
    """Remember since when it is so."""
    return notes_due(at.snapshot)


_O = ReferenceObservation
REFERENCE_RULES: Final[tuple[JobRule, ...]] = (
    Rule(
        _O.UNREPORTED,
        lambda at: bool(reports_due(at.snapshot, at.now)),
        report,
        Reason.INVALID_REFERENCE,
    ),
    Rule(_O.UNNOTED, lambda at: bool(notes_due(at.snapshot)), note, Reason.WAITING),
    Rule(_O.SETTLING, lambda at: settles_at(at.snapshot) is not None, leave, Reason.WAITING),
    Rule(_O.CURRENT, always, leave, Reason.NOTHING_TO_CHANGE),
)
