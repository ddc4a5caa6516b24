"""What the cluster makes of its nodes: taints, silence, and the readiness of pods on lost nodes.

Listens to heartbeats by its own clock (never compares clocks). The content of what it writes is in
node_statuses.py. Evictions that follow from taints are the business of eviction.py.
"""

from __future__ import annotations

from collections.abc import Callable

from sandbox.controllers.conditions import holds, with_condition
from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Obj
from sandbox.controllers.node_statuses import ready_status, silent_status, wanted_taints
from sandbox.controllers.nodes import LEASE_NAMESPACE
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.resources import LEASE, NODE, POD
from sandbox.store.timestamps import rfc3339


class NodeLifeCycle:
    """The key of its work is a node."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._now = now
        self._settings = settings
        self._heard_s: dict[str, float] = {}
        self._events = Recorder(writes, "node-controller", now, settings)
        self.work = WorkQueue("node life cycle", self._reconcile, settings)
        informers.of(NODE).listeners.append(self._notice_node)
        informers.of(LEASE).listeners.append(self._notice_lease)

    def _notice_node(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._heard_s.pop(old["metadata"]["name"], None)
            return
        name = new["metadata"]["name"]
        self._heard_s.setdefault(name, self._now())
        self.work.add(name)

    def _notice_lease(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or new["metadata"]["namespace"] != LEASE_NAMESPACE:
            return
        name = new["metadata"]["name"]
        if name in self._heard_s:
            # No work: the timer that watches over silence looks at this when it fires.
            self._heard_s[name] = self._now()

    def _reconcile(self, name: str) -> None:
        node = self._writes.get(NODE, ("", name))
        if node is None:
            return
        if ready_status(node) in {"True", None}:
            node = self._call_silent_if_due(node)
        taints = wanted_taints(node, rfc3339(self._now()))
        if taints != list((node.get("spec") or {}).get("taints") or ()):
            version = {"resourceVersion": node["metadata"]["resourceVersion"]}
            self._writes.merge(
                NODE, node, {"metadata": version, "spec": {"taints": taints or None}}
            )
        if ready_status(node) == "Unknown":
            self._call_pods_unready(name)

    def _call_silent_if_due(self, node: Obj) -> Obj:
        name = node["metadata"]["name"]
        grace_s = self._settings.node_grace_s
        silent_s = self._now() - self._heard_s.get(name, self._now())
        if silent_s < grace_s:
            self.work.add_after(name, grace_s - silent_s)
            return node
        message = f"Node {name} status is now: NodeNotReady"
        self._events.normal(node, "NodeNotReady", message)
        return self._writes.set_status(NODE, node, silent_status(node, rfc3339(self._now())))

    def _call_pods_unready(self, name: str) -> None:
        unready = {"type": "Ready", "status": "False", "reason": "NodeNotReady"}
        for pod in self._writes.store.list(POD, None, fields=f"spec.nodeName={name}").items:
            status = pod.get("status") or {}
            if holds(status, "Ready"):
                changed = with_condition(status, unready, rfc3339(self._now()))
                self._writes.set_status(POD, pod, changed)
