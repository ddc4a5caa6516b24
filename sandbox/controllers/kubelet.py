"""The kubelets of all nodes: run the pods that are bound to them, by their behaviour.

Reacts to pods, to the objects they mount and to nodes that come back. Whether a pod is let in is
decided in admission.py, what happens to it then in kubelet_states.py, or in kubelet_processes.py if
it is processes; tests steer pods through
`fail`, `complete`, `evict`, `hang` and `release`. Whether a node is alive is known to nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sandbox.controllers import pod_statuses
from sandbox.controllers.admission import Admission, Rejection
from sandbox.controllers.behaviors import RUN, Behavior, Directive, directive_of
from sandbox.controllers.conditions import Status
from sandbox.controllers.events import Recorder
from sandbox.controllers.informers import Informers, Location, Obj, location_of
from sandbox.controllers.kubelet_processes import PodProcesses, Running
from sandbox.controllers.kubelet_resizing import is_pending
from sandbox.controllers.kubelet_states import Memory, Sight, Step, next_step
from sandbox.controllers.node_statuses import address_of
from sandbox.controllers.nodes import Nodes
from sandbox.controllers.ownership import is_deleting
from sandbox.controllers.pod_addresses import PodAddresses
from sandbox.controllers.pod_statuses import TERMINAL, Place
from sandbox.controllers.settings import Settings
from sandbox.controllers.volumes import mounted_by
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.errors import not_found
from sandbox.store.resources import CONFIG_MAP, NODE, POD, SECRET, ResourceType
from sandbox.store.timestamps import rfc3339

_MOUNTABLE = {"configmap": CONFIG_MAP, "secret": SECRET}


class Kubelet:
    """All kubelets; the key of their work is a pod."""

    def __init__(
        self,
        writes: Writes,
        informers: Informers,
        nodes: Nodes,
        now: Callable[[], float],
        settings: Settings,
        running: Running | None = None,
    ) -> None:
        self._writes = writes
        self._nodes = nodes
        self._now = now
        self._settings = settings
        self._events = Recorder(writes, "kubelet", now, settings)
        self._addresses = PodAddresses()
        self._admission = Admission()
        self._memories: dict[str, Memory] = {}  # by uid
        self._waiting: dict[tuple[str, Location], set[Location]] = {}  # object → pods
        self._by_node: dict[str, dict[Location, None]] = {}
        self.work = WorkQueue("kubelet", self._reconcile, settings)
        self._processes = (
            PodProcesses(running, writes, informers, self._events, now, settings, self.work.add)
            if running is not None
            else None
        )
        informers.of(POD).listeners.append(self._notice_pod)
        for kind, rt in _MOUNTABLE.items():
            informers.of(rt).listeners.append(self._mountable_listener(kind))
        nodes.on_return(self._notice_return)

    # Steering, for tests

    def fail(self, namespace: str, name: str, exit_code: int = 1) -> None:
        """Let the containers of a pod end with `exit_code` as soon as it runs."""
        self._order(namespace, name, Directive(Behavior.FAIL, exit_code=exit_code))

    def complete(self, namespace: str, name: str) -> None:
        """Let the containers of a pod end with 0 as soon as it runs."""
        self._order(namespace, name, Directive(Behavior.COMPLETE))

    def evict(self, namespace: str, name: str, message: str = "") -> None:
        """Throw a pod out: Failed, with reason Evicted."""
        self._order(namespace, name, Directive(Behavior.EVICT, message=message))

    def hang(self, namespace: str, name: str) -> None:
        """Let a pod ignore its deletion until it is released."""
        self._order(namespace, name, Directive(Behavior.HANG))

    def release(self, namespace: str, name: str) -> None:
        """Let a pod run and stop like any other, whatever its behaviour was."""
        self._order(namespace, name, RUN)

    def _order(self, namespace: str, name: str, directive: Directive) -> None:
        pod = self._writes.get(POD, (namespace, name))
        if pod is None:
            raise not_found(POD, name)
        uid = pod["metadata"]["uid"]
        memory = self._memories.get(uid) or Memory(bound_s=self._now())
        self._memories[uid] = replace(memory, order=directive)
        self.work.add((namespace, name))

    # Noticing

    def _notice_pod(self, old: Obj | None, new: Obj | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._forget(old)
        if new is not None and _has_ended(new):
            self._admission.leave(new["metadata"]["uid"])
            self._retry_resizes(new["spec"].get("nodeName", ""), but=location_of(new))
        node = None if new is None else new["spec"].get("nodeName")
        if new is not None and node:
            self._by_node.setdefault(node, {})[location_of(new)] = None
            self.work.add(location_of(new))

    def _forget(self, pod: Obj) -> None:
        location, uid = location_of(pod), pod["metadata"]["uid"]
        self._memories.pop(uid, None)
        self._addresses.release(uid)
        self._admission.leave(uid)
        node = pod["spec"].get("nodeName")
        on_node = self._by_node.get(node, {})
        on_node.pop(location, None)
        if not on_node:
            self._by_node.pop(node, None)
        elif node:
            self._retry_resizes(node, but=location)
        self._stop_waiting(pod)
        if self._processes is not None:
            self._processes.forget(pod, is_away=self._is_away(node))

    def _is_away(self, node: str) -> bool:
        """Whether a node is there and silent."""
        is_there = self._writes.get(NODE, ("", node)) is not None
        return is_there and not self._nodes.is_alive(node)

    def _stop_waiting(self, pod: Obj) -> None:
        location = location_of(pod)
        for mounted in mounted_by(pod):
            key = (mounted.kind, (location[0], mounted.name))
            if (pods := self._waiting.get(key)) is not None:
                pods.discard(location)
                if not pods:
                    del self._waiting[key]

    def _mountable_listener(self, kind: str) -> Callable[[Obj | None, Obj | None], None]:
        def notice(old: Obj | None, new: Obj | None) -> None:
            if old is None and new is not None:
                for location in sorted(self._waiting.pop((kind, location_of(new)), ())):
                    self.work.add(location)

        return notice

    def _notice_return(self, node: str) -> None:
        if self._processes is not None:
            self._processes.notice_return(node)
        for location in self._by_node.get(node, ()):
            self.work.add(location)

    # Deciding and writing

    def _reconcile(self, location: Location) -> None:
        pod = self._writes.get(POD, location)
        if pod is None or not pod["spec"].get("nodeName"):
            return
        node = self._writes.get(NODE, ("", pod["spec"]["nodeName"]))
        if node is None or not self._nodes.is_alive(pod["spec"]["nodeName"]):
            return
        if not is_deleting(pod) and not _has_ended(pod):
            rejected = self._admission.judge(pod, node)
            if rejected is not None:
                self._reject(pod, rejected)
                return
            resized = self._admission.resized(pod, node, rfc3339(self._now()))
            if resized is not None:
                self._resize(pod, resized)
                return
        uid = pod["metadata"]["uid"]
        memory = self._memories.get(uid)
        if memory is None:
            memory = self._memories[uid] = Memory(bound_s=self._now())
        directive = memory.order or directive_of(pod)
        if self._processes is not None and self._processes.takes(pod, directive):
            self._wake(location, self._processes.reconcile(pod, node))
            return
        step = next_step(pod, memory, self._sight(pod, node), self._settings)
        self._carry_out(pod, step)
        self._memories[uid] = step.memory

    def _reject(self, pod: Obj, rejected: Rejection) -> None:
        status = pod_statuses.rejected(pod, rfc3339(self._now()), rejected.reason, rejected.message)
        self._writes.set_status(POD, pod, status)
        self._events.warning(pod, rejected.reason, rejected.message)

    def _resize(self, pod: Obj, status: Status) -> None:
        """Write what becomes of changed resources; pods that wait for room are looked at again."""
        location, before = location_of(pod), pod.get("status") or {}
        if status is not before:
            self._writes.set_status(POD, pod, status)
        self.work.add(location)
        self._retry_resizes(pod["spec"]["nodeName"], but=location)

    def _retry_resizes(self, node: str, *, but: Location) -> None:
        for location in self._by_node.get(node, ()):
            pod = None if location == but else self._writes.get(POD, location)
            if pod is not None and is_pending(pod):
                self.work.add(location)

    def _sight(self, pod: Obj, node: Obj) -> Sight:
        host_ip = address_of(node)
        on_host = pod["spec"].get("hostNetwork")
        known_ip = (pod.get("status") or {}).get("podIP")
        pod_ip = host_ip if on_host else known_ip or self._addresses.of(pod["metadata"]["uid"])
        return Sight(Place(host_ip, pod_ip), self._now(), self._unmountable(pod))

    def _unmountable(self, pod: Obj) -> tuple[str, ...]:
        if (pod.get("status") or {}).get("phase") != "Pending":
            return ()
        location = location_of(pod)
        complaints = []
        for mounted in mounted_by(pod):
            rt: ResourceType = _MOUNTABLE[mounted.kind]
            if self._writes.get(rt, (location[0], mounted.name)) is None:
                key = (mounted.kind, (location[0], mounted.name))
                self._waiting.setdefault(key, set()).add(location)
                complaints.append(mounted.complaint)
        return tuple(complaints)

    def _carry_out(self, pod: Obj, step: Step) -> None:
        location = location_of(pod)
        if step.status is not None:
            self._writes.set_status(POD, pod, step.status)
        if step.remove:
            self._writes.delete(POD, pod, grace_s=0)
        for warned in step.warnings:
            self._events.warning(pod, warned.reason, warned.message)
        self._wake(location, step.wake_at_s)

    def _wake(self, location: Location, at_s: float | None) -> None:
        if at_s is not None:
            self.work.add_after(location, at_s - self._now())


def _has_ended(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in TERMINAL
