"""A node as decisions on launches see it, and how it is read from its projection.

Three words say how far a node is gone: `is_lost`, it is certain that nothing runs there; `is_away`,
nobody reports what runs there; `explains_loss`, a pod that vanished did so because of the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts import labels
from contracts.scheduling.taints import NO_EXECUTE, taint_of
from services.chassis.table.entries import Entry


@dataclass(frozen=True, slots=True)
class Node:
    """A node that a pod is or was on, or that an owner is assigned to."""

    name: str
    exists: bool = True
    is_ready: bool = True
    is_out_of_service: bool = False
    is_closed: bool = False
    """Cordoned, or tainted with effect NoExecute."""
    hostname: str = ""
    """Its label `kubernetes.io/hostname`, mostly its name; empty without the label."""

    @property
    def is_lost(self) -> bool:
        """Whether it is certain that nothing runs on it: it is deleted or out of service."""
        return bool(self.name) and (not self.exists or self.is_out_of_service)

    @property
    def is_away(self) -> bool:
        """Whether a pod on it may not end: it is lost, or its kubelet does not report."""
        return bool(self.name) and (self.is_lost or not self.is_ready)

    @property
    def is_drained(self) -> bool:
        """Whether it is well and closed, as before and after a drain."""
        return bool(self.name) and self.is_closed and not self.is_away

    @property
    def explains_loss(self) -> bool:
        """Whether it explains that a pod on it vanished: it is away, drained or being drained."""
        return self.is_away or (bool(self.name) and self.is_closed)


def node_of(entry: Entry) -> Node:
    """A node."""
    taints = [taint_of(each) for each in entry.data["taints"]]
    return Node(
        name=entry.name,
        is_ready=entry.data["ready"],
        is_out_of_service=any(each.key == labels.OUT_OF_SERVICE_TAINT for each in taints),
        is_closed=entry.data["unschedulable"] or any(each.effect == NO_EXECUTE for each in taints),
        hostname=str(entry.data["metadata"]["labels"].get(labels.HOSTNAME, "")),
    )
