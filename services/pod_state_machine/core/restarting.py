"""Which ends of a pod lead to a new launch, and when.

Answers for the pod of the newest launch; that it must be replaced because its content changed or a
person asked for it is not decided here.
"""

from __future__ import annotations

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.pod_state_machine.core.snapshot import Pe, Pod, Timing

_DOUBLINGS_MAX = 16


def restart_wanted(pe: Pe, pod: Pod | None) -> Reason | None:
    """Why the restart policies ask for a new launch; None if they do not, or nothing ended.

    `pod` None means that the pod of a launch that was recorded is gone. What ended a pod before it
    was deleted counts as well: the status remembers it.
    """
    policies = pe.policies
    failed = policies.restart_failed
    if pod is None:
        ended_as = pe.status.phase
        if ended_as is PePhase.FAILED and failed:
            return Reason.POD_FAILED
        if ended_as is PePhase.COMPLETED and policies.restart_completed:
            return Reason.POD_COMPLETED
        return Reason.POD_DELETED if policies.restart_deleted else None
    if _was_disrupted(pe, pod):
        return Reason.POD_FAILED if failed else None
    if pod.is_deleting:
        return None
    if pod.phase == "Failed":
        return Reason.POD_FAILED if failed else None
    if pod.phase == "Succeeded":
        return Reason.POD_COMPLETED if policies.restart_completed else None
    return None


def _was_disrupted(pe: Pe, pod: Pod) -> bool:
    """Taken away by the cluster before it ended on its own: even exit code 0 is a failure then."""
    had_completed = pe.status.phase is PePhase.COMPLETED
    return pod.is_disrupted and (pod.is_deleting or pod.is_over) and not had_completed


def restart_due_at(pe: Pe, pod: Pod | None, timing: Timing) -> float:
    """When the next restart may happen, in unix seconds.

    Counted from the creation of the pod that ended, so that a PE that ran for a while is restarted
    at once and one that crashes on start waits twice as long each time.
    """
    if pod is None:
        return 0.0
    doublings = min(pe.status.restarts, _DOUBLINGS_MAX)
    delay_s = min(timing.restart_max_s, timing.restart_first_s * 2.0**doublings)
    return pod.created_at + delay_s


def restarts_in_a_row(pe: Pe, pod: Pod | None, now: float, timing: Timing) -> int:
    """How many restarts in a row there are, with the one that is decided now."""
    lived_s = 0.0 if pod is None else now - pod.created_at
    return 1 if lived_s >= timing.restart_reset_s else pe.status.restarts + 1
