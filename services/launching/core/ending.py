"""What ended a launch: the pod itself, the cluster, or a user who deleted the pod.

1. An end that the status recorded counts first, so that no end is judged twice.
2. A pod that ended before its deletion was requested ended by itself.
3. A pod with condition DisruptionTarget that is deleted or over was evicted by the cluster.
4. A pod whose deletion was observed was deleted by somebody, unless its node is drained: an
   eviction says nothing of a pod that did not run yet, nor does a drain without evictions.
   Of an unobserved end the node decides: evicted if it is lost, drained or not ready, else deleted.
   Of a pod that did not run yet, whose last state and node are unknown, nothing decides: it counts
   as evicted, since it may have come to a node and been drained unobserved.
5. The deletion of a pod that had ended is an end of its own where nothing restarted it before.

restarting.py decides whether a restart follows.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.launching.core.conditions import BACKING_OFF
from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import LaunchStatus, Owner
from services.launching.core.pods import Pod


class End(Enum):
    """How a launch ended."""

    FAILED = auto()
    COMPLETED = auto()
    DISRUPTED = auto()
    DELETED = auto()


def end_of(owner: Owner, *, pod: Pod | None, last: Pod | None, node: NodeOfPod) -> End | None:
    """How the newest launch ended; None if it has not.

    `pod` is its pod, None if that is gone; `last` is the last observed state of a pod that is gone;
    `node` is the node that it was on, without a name if that is unknown.
    """
    recorded = owner.status.phase
    if pod is not None:
        # A drain of its node afterwards changes nothing.
        if pod.is_over and recorded is PePhase.COMPLETED:
            return End.COMPLETED
        if pod.is_over and recorded is PePhase.FAILED:
            end = recorded_end(owner.status)
            return End.FAILED if end is End.DELETED else end  # it is there after all
        return _end_of_pod(pod)
    if recorded is PePhase.COMPLETED:
        return End.COMPLETED
    if recorded is PePhase.FAILED:
        return recorded_end(owner.status)
    if recorded is PePhase.STOPPED:
        return End.DELETED
    return _end_of_gone(recorded, last, node)


def _end_of_pod(pod: Pod) -> End | None:
    if pod.is_disrupted and (pod.is_deleting or pod.is_over):
        return End.DISRUPTED
    if pod.ended_by_itself:
        return End.FAILED if pod.phase == "Failed" else End.COMPLETED
    return None


def _end_of_gone(recorded: PePhase, last: Pod | None, node: NodeOfPod) -> End:
    if last is not None:
        if last.is_disrupted:
            return End.DISRUPTED
        if end := _end_of_pod(last):
            return end
        if last.is_deleting and not node.is_drained:
            return End.DELETED
    is_unseen = last is None and not node.name and recorded is not PePhase.RUNNING
    return End.DISRUPTED if node.explains_loss or is_unseen else End.DELETED


def was_deleted_after_end(owner: Owner, *, pod: Pod | None, node: NodeOfPod) -> bool:
    """Whether somebody deleted the pod of a launch whose end the status records.

    Not if the cluster took it away, now or at its end (then the status names no node), and not if
    it was deleted here after its retention (then the status names no pod).
    """
    status = owner.status
    if pod is not None or status.phase not in (PePhase.COMPLETED, PePhase.FAILED):
        return False
    end = recorded_end(status)
    if end is End.DELETED:
        return True
    was_there = end is not End.DISRUPTED or bool(status.node)
    return bool(status.pod) and was_there and not node.explains_loss


def recorded_end(status: LaunchStatus) -> End:
    """What ended the launch that a status records as failed.

    While its restart backs off the condition says it, also of a pod that was deleted. The reason of
    a condition that is over is that of an earlier launch.
    """
    is_backing_off = status.reason == Reason.BACKING_OFF.value
    backing_off = status.condition(BACKING_OFF) if is_backing_off else None
    reason = backing_off.reason if backing_off else status.reason
    return _RECORDED.get(reason, End.FAILED)


_RECORDED: Final = {
    Reason.DISRUPTED.value: End.DISRUPTED,
    Reason.POD_DELETED.value: End.DELETED,
}
