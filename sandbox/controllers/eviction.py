"""Pods that cannot stay where they are: taint eviction, and pods of nodes that are gone.

Taint eviction deletes pods that do not tolerate a NoExecute taint, or no longer; they stay
Terminating if nobody on the node listens. Pod garbage collection removes what no kubelet will ever
remove: pods of deleted nodes, pods being deleted that never got a node, and pods being deleted on
nodes that are not ready and tainted out-of-service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Location, Obj, location_of
from sandbox.controllers.node_statuses import is_ready
from sandbox.controllers.ownership import is_deleting
from sandbox.controllers.pod_statuses import TERMINAL, disrupted
from sandbox.controllers.selectors import (
    NO_EXECUTE,
    Taint,
    Toleration,
    taints_of,
    tolerations_of,
)
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.resources import NODE, POD
from sandbox.store.timestamps import rfc3339

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
TAINT_MESSAGE = "Taint manager: deleting due to NoExecute taint"


def stay_s(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> float | None:
    """How long a pod may stay beside NoExecute taints: 0 not at all, None for ever. Pure."""
    allowed: list[float] = []
    for taint in taints:
        matching = [item for item in tolerations if item.tolerates(taint)]
        if not matching:
            return 0.0
        allowed += [float(item.seconds) for item in matching if item.seconds is not None]
    return max(0.0, min(allowed)) if allowed else None


class Eviction:
    """The key of its work is a pod."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._now = now
        self._settings = settings
        self._events = Recorder(writes, "taint-eviction-controller", now, settings)
        self._nodes = informers.of(NODE)
        self._by_node: dict[str, dict[Location, None]] = {}
        self._tainted_s: dict[tuple[str, Taint], float] = {}
        self._lost_s: dict[str, float] = {}
        self.work = WorkQueue("eviction", self._reconcile, settings)
        self._nodes.listeners.append(self._notice_node)
        informers.of(POD).listeners.append(self._notice_pod)

    # Noticing

    def _notice_node(self, old: Obj | None, new: Obj | None) -> None:
        before = set(_evicting(old))
        after = set(_evicting(new))
        name = (new or old or {})["metadata"]["name"]
        same = before == after and _is_out_of_service(old) == _is_out_of_service(new)
        if old is not None and new is not None and same:
            return
        for taint in before - after:
            self._tainted_s.pop((name, taint), None)
        for taint in after - before:
            self._tainted_s[name, taint] = self._now()
        if new is None:
            self._lost_s[name] = self._now()
        else:
            self._lost_s.pop(name, None)
        for location in self._by_node.get(name, ()):
            self.work.add(location)

    def _notice_pod(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._leave(old)
            return
        if old is not None and old["metadata"]["uid"] != new["metadata"]["uid"]:
            self._leave(old)
        node = new["spec"].get("nodeName")
        if not node:
            if is_deleting(new):
                self.work.add(location_of(new))
            return
        self._by_node.setdefault(node, {})[location_of(new)] = None
        known = self._nodes.objects.get(("", node))
        if known is None:
            self._lost_s.setdefault(node, self._now())
        if known is None or _evicting(known) or _is_out_of_service(known):
            self.work.add(location_of(new))

    def _leave(self, pod: Obj) -> None:
        node = pod["spec"].get("nodeName", "")
        on_node = self._by_node.get(node, {})
        on_node.pop(location_of(pod), None)
        if not on_node:
            self._by_node.pop(node, None)
            if ("", node) not in self._nodes.objects:
                self._lost_s.pop(node, None)

    # Deciding and writing

    def _reconcile(self, location: Location) -> None:
        pod = self._writes.get(POD, location)
        if pod is None:
            return
        name = pod["spec"].get("nodeName")
        if not name:
            if is_deleting(pod):
                self._writes.delete(POD, pod, grace_s=0)
            return
        node = self._writes.get(NODE, ("", name))
        if node is None:
            self._collect_lost(pod, name)
        elif is_deleting(pod):
            if _is_out_of_service(node):
                self._collect_stuck(pod)
        elif taints := _evicting(node):
            self._evict_if_due(pod, name, taints)

    def _collect_lost(self, pod: Obj, node: str) -> None:
        if is_deleting(pod) and not pod["metadata"].get("deletionGracePeriodSeconds"):
            return  # removed; only finalizers hold it
        lost_s = self._now() - self._lost_s.setdefault(node, self._now())
        quarantine_s = self._settings.orphan_quarantine_s
        if lost_s < quarantine_s:
            self.work.add_after(location_of(pod), quarantine_s - lost_s)
            return
        status = pod.get("status") or {}
        if status.get("phase") not in TERMINAL:
            message = "PodGC: node no longer exists"
            status = disrupted(status, self._time(), "DeletionByPodGC", message)
            pod = self._writes.set_status(POD, pod, {**status, "phase": "Failed"})
        self._writes.delete(POD, pod, grace_s=0)

    def _collect_stuck(self, pod: Obj) -> None:
        if not pod["metadata"].get("deletionGracePeriodSeconds"):
            return  # removed; only finalizers hold it
        status = pod.get("status") or {}
        if status.get("phase") not in TERMINAL:
            pod = self._writes.set_status(POD, pod, {**status, "phase": "Failed"})
        self._writes.delete(POD, pod, grace_s=0)

    def _evict_if_due(self, pod: Obj, node: str, taints: tuple[Taint, ...]) -> None:
        allowed_s = stay_s(taints, tolerations_of(pod))
        if allowed_s is None:
            return
        since_s = min(self._tainted_s.setdefault((node, item), self._now()) for item in taints)
        left_s = since_s + allowed_s - self._now()
        if left_s > 0.0:
            self.work.add_after(location_of(pod), left_s)
            return
        status = pod.get("status") or {}
        changed = disrupted(status, self._time(), "DeletionByTaintManager", TAINT_MESSAGE)
        pod = self._writes.set_status(POD, pod, changed)
        self._events.normal(
            pod, "TaintManagerEviction", f"Marking for deletion Pod {'/'.join(location_of(pod))}"
        )
        self._writes.delete(POD, pod)

    def _time(self) -> str:
        return rfc3339(self._now())


def _is_out_of_service(node: Obj | None) -> bool:
    """Whether the node is marked as out of service, and its kubelet does not contradict."""
    if node is None or is_ready(node):
        return False
    taints = (node.get("spec") or {}).get("taints") or ()
    return any(taint.get("key") == OUT_OF_SERVICE for taint in taints)


def _evicting(node: Obj | None) -> tuple[Taint, ...]:
    if node is None:
        return ()
    return tuple(taint for taint in taints_of(node) if taint.effect == NO_EXECUTE)
