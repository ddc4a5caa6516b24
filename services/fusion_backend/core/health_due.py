"""When it is due to be reported again how many PEs of a job run."""

from __future__ import annotations

from contracts.moments import past_s, unix_s_of
from contracts.reasons import Reason
from contracts.resources import JobCondition
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.connecting import failing, unconnected
from services.fusion_backend.core.situation import Situation

HEALTH_SETTLES_S = 5.0
"""How long Healthy stays True at least: pods that come and go must not write on every step."""
HEALTH_PAUSE_S_MIN = 15.0
"""How long pods that come up, or complete, are left alone at least: most are up sooner."""
HEALTH_PAUSE_S_MAX = 60.0


def health_due_at(situation: Situation) -> float:
    """When it may be reported again how many PEs run, unless all do (unix seconds).

    The pauses double while Healthy says the same, so that pods that come up one by one cost little.
    The first one begins at the end of a resize, for whatever reason Healthy was False before.
    """
    status = situation.job.status
    healthy = condition(status, JobCondition.HEALTHY.value)
    if not healthy:
        return 0.0
    changed = past_s(unix_s_of(healthy["lastTransitionTime"]), situation.now)
    is_ill = bool(situation.not_running or unconnected(situation) or failing(situation))
    recorded = status.get("healthReportedAt")
    if healthy.get("status") == "True" and is_ill:
        return changed + HEALTH_SETTLES_S
    if recorded and healthy.get("reason") == Reason.TUPLES_LOST and is_ill:
        # All ran then: that they do not is no older news than after True.
        return past_s(unix_s_of(recorded), situation.now) + HEALTH_SETTLES_S
    if not recorded:
        resized = condition(status, JobCondition.SUBMITTED.value).get("lastTransitionTime")
        began = past_s(unix_s_of(resized), situation.now) if resized else changed
        return max(changed, began) + HEALTH_PAUSE_S_MIN
    reported = past_s(unix_s_of(recorded), situation.now)
    return reported + min(HEALTH_PAUSE_S_MAX, max(HEALTH_PAUSE_S_MIN, reported - changed))
