"""A node as decisions on launches see it: it may not exist.

Three words say how far a node is gone: `is_lost`, it is certain that nothing runs there; `is_away`,
nobody reports what runs there; `explains_loss`, a pod that vanished did so because of the node.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.scheduling.nodes import Node


@dataclass(frozen=True, slots=True)
class NodeOfPod:
    """A node that a pod is or was on, or that an owner is assigned to; without a name: none.

    `node` is None for one that does not exist.
    """

    name: str
    node: Node | None = None

    @property
    def hostname(self) -> str:
        """Its host name, as `Node.hostname`."""
        return self.node.hostname if self.node is not None else ""

    @property
    def is_lost(self) -> bool:
        """Whether it is certain that nothing runs on it: it is deleted or out of service."""
        return bool(self.name) and (self.node is None or self.node.is_out_of_service)

    @property
    def is_away(self) -> bool:
        """Whether a pod on it may not end: it is lost, or its kubelet does not report."""
        return self.is_lost or (self.node is not None and not self.node.ready)

    @property
    def is_drained(self) -> bool:
        """Whether it is well and drives pods away, as before and after a drain."""
        return self._drives_pods_away and not self.is_away

    @property
    def explains_loss(self) -> bool:
        """Whether it explains that a pod on it vanished: it is away, drained or being drained."""
        return self.is_away or self._drives_pods_away

    @property
    def _drives_pods_away(self) -> bool:
        return self.node is not None and self.node.drives_pods_away
