"""Pods that are being deleted and do not end: when they hang, and when they count as gone.

1. A pod whose deletion is overdue hangs: after `stuck_s` if its node is lost or not ready, else
   after the node-loss time-out.
2. After the time-out it counts as gone if its Node object is gone or tainted out-of-service, which
   proves that nothing runs there. With `forceRelaunch` it counts as gone in any case.
3. A pod that counts as gone is deleted by force, and the next launch waits for that.

Property: without `forceRelaunch` an owner never runs twice, however long its node is not ready.
"""

from __future__ import annotations

from collections.abc import Iterator

from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import Owner
from services.launching.core.pods import Pod
from services.launching.core.snapshot import LaunchSnapshot, Timing


def is_hanging(
    snapshot: LaunchSnapshot, owner: Owner, pod: Pod, now: float, timing: Timing
) -> bool:
    """Whether the deletion of a pod is overdue."""
    if not pod.is_deleting or pod.is_over:
        return False
    return now >= _hangs_at(snapshot.node(pod.node), owner, pod, timing)


def counts_as_gone(snapshot: LaunchSnapshot, owner: Owner, pod: Pod, now: float) -> bool:
    """Whether the next launch need not wait for a pod to end."""
    if not pod.is_deleting or now < _gone_at(owner, pod):
        return False
    return owner.policies.force_relaunch or snapshot.node(pod.node).is_lost


def blocks_next_launch(snapshot: LaunchSnapshot, owner: Owner, pod: Pod, now: float) -> bool:
    """Whether the next launch waits for this pod of an earlier launch."""
    if pod.is_over:
        return False
    return not (counts_as_gone(snapshot, owner, pod, now) and pod.is_forced)


def hanging_deadlines(
    snapshot: LaunchSnapshot, owner: Owner, now: float, timing: Timing
) -> Iterator[float]:
    """When pods that are being deleted will hang or count as gone (unix seconds)."""
    for pod in snapshot.pods:
        if not pod.is_deleting or pod.is_over:
            continue
        node = snapshot.node(pod.node)
        for at in (_hangs_at(node, owner, pod, timing), _gone_at(owner, pod)):
            if at > now:
                yield at


def hanging_message(snapshot: LaunchSnapshot, owner: Owner, pod: Pod) -> str:
    """A message for users: which pod hangs, on which node, and the remedy."""
    node, seconds = snapshot.node(pod.node), f"{owner.policies.node_loss_s:g} s"
    if not pod.node:
        return f"Pod {pod.name} is being deleted and is on no node; look at its finalizers."
    if node.is_lost:
        gone = "does not exist" if node.node is None else "is out of service"
        return f"Pod {pod.name}: node {node.name} {gone}; {seconds} after its deletion it is gone."
    state = "is ready, so look at the pod there" if not node.is_away else "is not ready"
    return (
        f"Pod {pod.name} does not end on node {node.name}, which {state}. It may still run, so"
        f" nothing is launched in its place. If the node is lost, delete the Node object or taint"
        f" it node.kubernetes.io/out-of-service: {seconds} after its deletion the pod then counts"
        f" as gone. spec.forceRelaunch: true does not wait for that, and may run the {owner.noun}"
        " twice."
    )


def _hangs_at(node: NodeOfPod, owner: Owner, pod: Pod, timing: Timing) -> float:
    late_s = timing.stuck_s if node.is_away else owner.policies.node_loss_s
    return pod.deletion_due_at + late_s


def _gone_at(owner: Owner, pod: Pod) -> float:
    return pod.deletion_due_at + owner.policies.node_loss_s
