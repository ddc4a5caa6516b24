"""When it is looked for the bundle of a job that failed for want of it.

No fact says that a file came into the bundle root. So the file is looked at while the next attempt
is awaited, which costs a system call and writes nothing. A bundle behind a URL is looked for by the
next attempt.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contracts.reasons import Reason
from contracts.resources import JobSpec
from services.chassis.running.rules import Rule, always
from services.fusion_backend.core.attempts import is_bundle_looked_for
from services.fusion_backend.core.effects import Effect, LookForBundle
from services.fusion_backend.core.rules import JobRule, leave
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.spec.inputs import bundle_source

LOOK_EVERY_S: Final = 2.0


class BundleObservation(Enum):
    """Whether a bundle is missing; a rule has one each."""

    AWAITED = "the job failed since its bundle is missing, and its next attempt is not due yet"
    NOT_AWAITED = "no bundle is awaited"


def look(at: Situation) -> tuple[Effect, ...]:
    """See whether the bundle is there."""
    source = bundle_source(JobSpec.model_validate(at.job.spec))
    return (LookForBundle(at.job.uid, source),)


def next_bundle_look_at(at: Situation) -> float | None:
    """When to look again (unix seconds); None while no bundle is awaited."""
    return at.now + LOOK_EVERY_S if is_bundle_looked_for(at) else None


_O = BundleObservation
BUNDLE_RULES: Final[tuple[JobRule, ...]] = (
    Rule(_O.AWAITED, is_bundle_looked_for, look, Reason.WAITING),
    Rule(_O.NOT_AWAITED, always, leave, Reason.NOTHING_TO_CHANGE),
)
