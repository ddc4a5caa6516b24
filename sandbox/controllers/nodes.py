"""The nodes as their kubelets keep them: registration, status and heartbeats.

A node is every Node object that exists, unless it was stopped: a stopped node says nothing and
does nothing until it is started again; so does one whose annotation
`sandbox.millrace.dev/behavior` is `silent`. What the cluster makes of silence is the business of
node_life_cycle.py; what runs on a node that of kubelet.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sandbox.controllers.behaviors import is_silenced
from sandbox.controllers.informers import Informers, Obj
from sandbox.controllers.node_statuses import (
    alive_status,
    is_ready,
    lease_of,
    node_object,
)
from sandbox.controllers.settings import Settings
from sandbox.controllers.work_queue import WorkQueue
from sandbox.controllers.writes import Writes
from sandbox.store.resources import LEASE, NAMESPACE, NODE
from sandbox.store.timestamps import rfc3339

LEASE_NAMESPACE = "kube-node-lease"
HEARTBEAT_SLACK_S = 0.001  # a timer may be early by less than this


class Nodes:
    """Heartbeats by node; tests let nodes go away with `stop` and come back with `start`."""

    def __init__(
        self, writes: Writes, informers: Informers, now: Callable[[], float], settings: Settings
    ) -> None:
        self._writes = writes
        self._now = now
        self._settings = settings
        self._stopped: set[str] = set()
        self._renewed_s: dict[str, float] = {}
        self._reported_s: dict[str, float] = {}
        self._returns: list[Callable[[str], None]] = []
        self.work = WorkQueue("nodes", self._report, settings)
        informers.of(NODE).listeners.append(self._notice)

    def add(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        capacity: Mapping[str, str] | None = None,
    ) -> Obj:
        """Register a node. Raises AlreadyExists (409)."""
        size = {**self._settings.node_capacity, **(capacity or {})}
        body = node_object(name, labels=labels, capacity=size)
        body["status"] = alive_status(body, size, rfc3339(self._now()))
        return self._writes.create(NODE, None, body)

    def stop(self, name: str) -> None:
        """Let the node go silent: no heartbeats, and its pods stay as they are."""
        self._stopped.add(name)

    def start(self, name: str) -> None:
        """Let a stopped node come back."""
        self._stopped.discard(name)
        self._renewed_s.pop(name, None)
        self.work.add(name)
        for listener in self._returns:
            listener(name)

    def is_alive(self, name: str) -> bool:
        """Whether the node's kubelet works; the node need not exist."""
        return name not in self._stopped

    def on_return(self, listener: Callable[[str], None]) -> None:
        """Tell `listener` of a node that comes back or whose pods have to be looked at again."""
        self._returns.append(listener)

    def _notice(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                name = old["metadata"]["name"]
                self._renewed_s.pop(name, None)
                self._reported_s.pop(name, None)
                if is_silenced(old):
                    self._stopped.discard(name)
            return
        name = new["metadata"]["name"]
        if is_silenced(new):
            self.stop(name)
        elif old is not None and is_silenced(old):
            self.start(name)
        self.work.add(name)
        if old is None:
            for listener in self._returns:
                listener(name)

    def _report(self, name: str) -> None:
        node = self._writes.get(NODE, ("", name))
        if node is None or not self.is_alive(name):
            return
        now_s = self._now()
        status_due_s = self._reported_s.get(name, now_s) + self._settings.node_status_period_s
        if not _is_complete(node) or now_s >= status_due_s:
            status = alive_status(node, self._settings.node_capacity, rfc3339(now_s))
            self._writes.set_status(NODE, node, status)
            self._reported_s[name] = now_s
        self._reported_s.setdefault(name, now_s)
        lease_due_s = self._renewed_s.get(name, 0.0) + self._settings.heartbeat_period_s
        if now_s >= lease_due_s - HEARTBEAT_SLACK_S:
            self._renew(node, now_s)
            lease_due_s = now_s + self._settings.heartbeat_period_s
        self.work.add_after(name, lease_due_s - now_s)

    def _renew(self, node: Obj, now_s: float) -> None:
        name = node["metadata"]["name"]
        micro_time = datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = self._writes.get(LEASE, (LEASE_NAMESPACE, name))
        wanted = lease_of(node, micro_time)
        if lease is None:
            if self._writes.get(NAMESPACE, ("", LEASE_NAMESPACE)) is None:
                body = {"metadata": {"name": LEASE_NAMESPACE}}
                self._writes.create(NAMESPACE, None, body)
            self._writes.create(LEASE, LEASE_NAMESPACE, wanted)
        else:
            patch = {
                "metadata": {"ownerReferences": wanted["metadata"]["ownerReferences"]},
                "spec": wanted["spec"],
            }
            self._writes.merge(LEASE, lease, patch)
        self._renewed_s[name] = now_s


def _is_complete(node: Obj) -> bool:
    status = node.get("status") or {}
    return is_ready(node) and bool(status.get("allocatable")) and bool(status.get("addresses"))
