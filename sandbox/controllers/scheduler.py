"""The scheduler: gives pods a node, or says why none fits, and tries again when that may change.

Keeps the accounts (accounts.py) up to date from what it hears and from its own bindings at once.
The decision is in feasibility.py. One pod at a time, in the order of arrival; no preemption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox.controllers.accounts import Accounts
from sandbox.controllers.conditions import with_condition
from sandbox.controllers.demands import Demand, demand_of
from sandbox.controllers.events import Recorder
from sandbox.controllers.feasibility import Placed, choose
from sandbox.controllers.informers import Informers, Location, Obj, location_of
from sandbox.controllers.kubelet_resizing import is_infeasible, requests_in_resize
from sandbox.controllers.ownership import is_deleting
from sandbox.controllers.pod_statuses import TERMINAL
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.quantities import BadQuantity
from sandbox.store.resources import NAMESPACE, NODE, POD
from sandbox.store.timestamps import rfc3339

NAME = "default-scheduler"
_RETRY: Location = ("", "")  # the key that stands for every pod that found no node


class Scheduler:
    """Works on one pod at a time; `_RETRY` puts back those that found no node."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._now = now
        self._retry_delay_s = settings.reschedule_delay_s
        self._events = Recorder(writes, NAME, now, settings)
        self._accounts = Accounts()
        self._unplaced: dict[Location, Demand | None] = {}  # None: it cannot be read
        self.work = WorkQueue("scheduler", self._schedule, settings)
        informers.of(NAMESPACE).listeners.append(self._notice_namespace)
        informers.of(NODE).listeners.append(self._notice_node)
        informers.of(POD).listeners.append(self._notice_pod)

    def _notice_namespace(self, old: Obj | None, new: Obj | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        labels = {} if new is None else new["metadata"].get("labels") or {}
        if self._accounts.neighbours.set_namespace(name, labels):
            self._retry_soon()

    def _notice_node(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None:
            if old is not None and _same_offer(old, new):
                return
            self._accounts.set_node(new)
        elif old is not None:
            self._accounts.forget_node(old["metadata"]["name"])
        self._retry_soon()

    def _notice_pod(self, old: Obj | None, new: Obj | None) -> None:
        if old is not None and (new is None or _uid(old) != _uid(new)):
            self._forget(old)
        if new is None:
            return
        if _is_terminal(new):
            self._forget(new)
        elif new["spec"].get("nodeName"):
            self._unplaced.pop(location_of(new), None)
            if old is not None and _labels(old) != _labels(new):
                self._forget(new)
            if not self._accounts.holds(_uid(new)):
                self._occupy(new, demand_of(new))
            elif old is not None and _is_resized(old, new):
                self._resize(new)
        elif _is_ours(new) and (old is None or _is_due_again(old, new)):
            self.work.add(location_of(new))

    def _occupy(self, pod: Obj, demand: Demand) -> None:
        self._accounts.occupy(_uid(pod), pod["spec"]["nodeName"], demand)
        namespaces = self._accounts.neighbours.namespaces
        # A pod that is there more helps only those that want to be near it.
        if any(waiting.wants(demand, namespaces) for waiting in self._unplaced.values() if waiting):
            self._retry_soon()

    def _resize(self, pod: Obj) -> None:
        """Count what a resized pod takes up: the more of what it has and what it is to have."""
        if self._accounts.resize(_uid(pod), requests_in_resize(pod)):
            self._retry_soon()

    def _forget(self, pod: Obj) -> None:
        self._unplaced.pop(location_of(pod), None)
        if self._accounts.vacate(_uid(pod)):
            self._retry_soon()

    def _retry_soon(self) -> None:
        if self._unplaced:
            self.work.add_after(_RETRY, self._retry_delay_s)

    def _schedule(self, location: Location) -> None:
        if location == _RETRY:
            unplaced, self._unplaced = self._unplaced, {}
            for waiting in unplaced:
                self.work.add(waiting)
            return
        pod = self._writes.get(POD, location)
        if pod is None or pod["spec"].get("nodeName") or not _is_ours(pod):
            return
        try:
            demand = demand_of(pod)
        except BadQuantity as problem:
            self._leave_pending(pod, None, str(problem))
            return
        chosen = choose(demand, self._accounts)
        if isinstance(chosen, Placed):
            self._bind(pod, chosen.node, demand)
        else:
            self._leave_pending(pod, demand, chosen.message)

    def _bind(self, pod: Obj, node: str, demand: Demand) -> None:
        namespace, name = location_of(pod)
        bound = self._writes.store.bind(namespace, name, node)
        # At once: the next pod of this round must not be promised the same room.
        self._occupy(bound, demand)
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self._events.normal(bound, "Scheduled", message)

    def _leave_pending(self, pod: Obj, demand: Demand | None, message: str) -> None:
        self._unplaced[location_of(pod)] = demand
        status = pod.get("status") or {}
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "observedGeneration": pod["metadata"].get("generation", 1),
        }
        changed = with_condition(status, condition, rfc3339(self._now()))
        if changed is not status:
            self._writes.set_status(POD, pod, changed)
            self._events.warning(pod, "FailedScheduling", message)


def _uid(obj: Obj) -> str:
    return str(obj["metadata"]["uid"])


def _labels(obj: Obj) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _is_terminal(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in TERMINAL


def _is_resized(old: Obj, new: Obj) -> bool:
    """Whether its resources changed, in the spec or as its kubelet reports them."""
    reported = (old.get("status") or {}) != (new.get("status") or {})
    return old["spec"] != new["spec"] or (reported and _reported(old) != _reported(new))


def _reported(pod: Obj) -> list[object]:
    status = pod.get("status") or {}
    shown: list[object] = [each.get("resources") for each in status.get("containerStatuses") or ()]
    return [*shown, is_infeasible(status)]


def _is_ours(pod: Obj) -> bool:
    spec = pod["spec"]
    named = spec.get("schedulerName", NAME) == NAME
    return named and not is_deleting(pod) and not spec.get("schedulingGates")


def _same_offer(old: Obj, new: Obj) -> bool:
    """Whether nothing changed that a pod could ask for; heartbeats must wake nobody."""
    one, other = old.get("status") or {}, new.get("status") or {}
    return bool(
        old.get("spec") == new.get("spec")
        and _labels(old) == _labels(new)
        and one.get("allocatable") == other.get("allocatable")
        and one.get("capacity") == other.get("capacity")
    )


def _is_due_again(old: Obj, new: Obj) -> bool:
    """Whether a waiting pod changed in what it asks; its status is our own writing."""
    return bool(
        _uid(old) != _uid(new) or old.get("spec") != new.get("spec") or _labels(old) != _labels(new)
    )
