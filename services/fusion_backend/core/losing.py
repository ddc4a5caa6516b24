"""What a Job says of tuples that were lost: until somebody acknowledges them, or the time is over.

pe-gateway counts them in `status.losses` (contracts/losses.py); here is what Healthy makes of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contracts import labels
from contracts.losses import Unacknowledged, sentence_of, unacknowledged
from contracts.moments import moment_of
from contracts.reasons import Reason
from services.fusion_backend.core.situation import Situation

_ACKNOWLEDGE: Final = " until you acknowledge it: kubectl annotate stj"
"""By these words a condition that names several troubles is known to tell of losses."""


def open_losses(at: Situation) -> Unacknowledged | None:
    """What was lost and is not acknowledged; None if there is nothing."""
    job = at.job
    return unacknowledged(job.status, job.losses_acknowledged, job.loss_retention_s, at.now)


def losses_expire_at(at: Situation) -> float | None:
    """When losses are not shown any more, which no fact says (unix seconds)."""
    found = open_losses(at)
    return found.expires_s if found is not None else None


def lost(at: Situation) -> str | None:
    """What Healthy says of lost tuples; None if there is nothing to say."""
    found = open_losses(at)
    if found is None:
        return None
    pes = at.plan.record.pes if at.snapshot.newest is not None else ()  # its record is damaged
    operators = {pe.id: pe.operators for pe in pes}
    done = f"{labels.LOSSES_ACKNOWLEDGED}={found.total}"
    text = (
        f"{sentence_of(found, operators)}; this is shown until {moment_of(found.expires_s)}, or"
        f"{_ACKNOWLEDGE} {at.job.name} {done} --overwrite"
    )
    return f"{text}; {found.problem}" if found.problem else text


def tells_of_losses(healthy: Mapping[str, Any]) -> bool:
    """Whether the condition Healthy of a status says that tuples were lost."""
    has_words = _ACKNOWLEDGE in str(healthy.get("message") or "")
    return has_words or healthy.get("reason") == Reason.TUPLES_LOST
