"""Restart policies: which ends of a launch lead to a new one, when, and how many in a row.

rules.py decides on launches by request, and because of changed content.
"""

from __future__ import annotations

from contracts.moments import unix_s_of
from contracts.reasons import Reason
from services.chassis.process.backoff import doubling_s
from services.launching.core.ending import End
from services.launching.core.owners import Owner
from services.launching.core.pods import DISRUPTED_BY_ITSELF, Pod
from services.launching.core.snapshot import Timing

_REASONS = {
    End.FAILED: Reason.POD_FAILED,
    End.COMPLETED: Reason.POD_COMPLETED,
    End.DISRUPTED: Reason.DISRUPTED,
    End.DELETED: Reason.POD_DELETED,
}


def restart_wanted(owner: Owner, end: End) -> Reason | None:
    """Why the restart policies demand a new launch; None if they do not."""
    policies = owner.policies
    restarts = {
        End.FAILED: policies.restart_failed,
        End.COMPLETED: policies.restart_completed,
        End.DISRUPTED: policies.restart_failed,
        End.DELETED: policies.restart_deleted,
    }
    return _REASONS[end] if restarts[end] else None


def restart_due_at(owner: Owner, pod: Pod | None, timing: Timing) -> float:
    """When the next restart is due (unix seconds).

    Counted from the creation of the pod that ended, so that an owner that ran for a while is
    restarted at once and one that crashes on start waits twice as long each time.
    """
    if pod is None:
        return unix_s_of(owner.status.next_restart) if owner.status.next_restart else 0.0
    return pod.created_at + restart_delay_s(owner, timing)


def restart_delay_s(owner: Owner, timing: Timing) -> float:
    """The minimum time between the launch that ended and the next."""
    return doubling_s(timing.restart_first_s, owner.status.restarts + 1, timing.restart_max_s)


def is_exhausted(owner: Owner, end: End, pod: Pod | None, now: float, timing: Timing) -> bool:
    """Whether a failed owner has reached its maximum of restarts in a row."""
    limit = owner.policies.restarts_max
    if limit is None or not _is_its_own_failure(end, pod):
        return False
    return _restarts_before(owner, pod, now, timing) >= limit


def restarts_in_a_row(owner: Owner, end: End, pod: Pod | None, now: float, timing: Timing) -> int:
    """The number of restarts in a row, with the one that is decided now.

    A disruption by the cluster is no fault of the owner and does not count.
    """
    counts = end is not End.DISRUPTED or _is_its_own_failure(end, pod)
    return _restarts_before(owner, pod, now, timing) + int(counts)


def _restarts_before(owner: Owner, pod: Pod | None, now: float, timing: Timing) -> int:
    """Restarts in a row up to now; 0 after a pod that lived for `restart_reset_s`."""
    if pod is None:
        return owner.status.restarts
    # One that a kubelet refuses ends without a time: it did not live at all.
    ended_at = pod.finished_at or (pod.created_at if pod.is_over else now)
    lived_s = ended_at - pod.created_at
    return 0 if lived_s >= timing.restart_reset_s else owner.status.restarts


def _is_its_own_failure(end: End, pod: Pod | None) -> bool:
    by_itself = pod is not None and pod.disruption == DISRUPTED_BY_ITSELF
    return end is End.FAILED or (end is End.DISRUPTED and by_itself)
