"""Pods that are being deleted and do not end: when they hang, and when they count as gone.

1. A pod whose deletion is overdue hangs: at once where its node is away, after the node-loss
   time-out where the node says that it is well.
2. After the time-out it counts as gone if its Node object is gone or tainted out-of-service: then
   people or the cluster have said that nothing runs there. `forceRelaunch` does not ask for that.
3. What counts as gone is deleted by force, and the next launch waits until that is done.

Property: without `forceRelaunch` a PE never runs twice, however long its node is silent.
"""

from __future__ import annotations

from collections.abc import Iterator

from services.pod_state_machine.core.snapshot import Node, Pe, PeSnapshot, Pod, Timing


def is_hanging(snapshot: PeSnapshot, pe: Pe, pod: Pod, now: float, timing: Timing) -> bool:
    """Whether a pod should be gone and is not."""
    if not pod.is_deleting or pod.is_over:
        return False
    return now >= _hangs_at(snapshot.node(pod.node), pe, pod, timing)


def counts_as_gone(snapshot: PeSnapshot, pe: Pe, pod: Pod, now: float) -> bool:
    """Whether a pod that still exists may be launched past."""
    if not pod.is_deleting or now < _gone_at(pe, pod):
        return False
    return pe.policies.force_relaunch or _is_lost_with(snapshot.node(pod.node), pod)


def holds_up(snapshot: PeSnapshot, pe: Pe, pod: Pod, now: float) -> bool:
    """Whether the next launch waits for this pod of an earlier one."""
    if pod.is_over:
        return False
    return not (counts_as_gone(snapshot, pe, pod, now) and pod.is_forced)


def changes_at(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Iterator[float]:
    """When pods that are being deleted begin to hang or count as gone, unless a fact comes."""
    for pod in snapshot.pods:
        if not pod.is_deleting or pod.is_over:
            continue
        node = snapshot.node(pod.node)
        for at in (_hangs_at(node, pe, pod, timing), _gone_at(pe, pod)):
            if at > now:
                yield at


def what_to_do(snapshot: PeSnapshot, pe: Pe, pod: Pod) -> str:
    """For people: which pod hangs, where, and how it goes on."""
    node, seconds = snapshot.node(pod.node), f"{pe.policies.node_loss_s:g} s"
    if not pod.node:
        return f"Pod {pod.name} is being deleted and is on no node; look at its finalizers."
    if node.is_lost:
        gone = "does not exist" if not node.exists else "is out of service"
        return f"Pod {pod.name}: node {node.name} {gone}; {seconds} after its deletion it is gone."
    state = "is ready, so look at the pod there" if node.is_ready else "is not ready"
    return (
        f"Pod {pod.name} does not end on node {node.name}, which {state}. It may still run, so"
        f" nothing is launched in its place. If the node is lost, delete the Node object or taint"
        f" it node.kubernetes.io/out-of-service: {seconds} after its deletion the pod then counts"
        f" as gone. spec.forceRelaunch: true does not wait for that, and may run the PE twice."
    )


def _hangs_at(node: Node, pe: Pe, pod: Pod, timing: Timing) -> float:
    is_away = bool(pod.node) and (node.is_lost or not node.is_ready)
    return pod.deletion_due_at + (timing.stuck_s if is_away else pe.policies.node_loss_s)


def _gone_at(pe: Pe, pod: Pod) -> float:
    return pod.deletion_due_at + pe.policies.node_loss_s


def _is_lost_with(node: Node, pod: Pod) -> bool:
    return bool(pod.node) and node.is_lost
