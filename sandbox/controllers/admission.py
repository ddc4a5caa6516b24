"""Whether the kubelet of a node lets in a pod that is bound to it, by the scheduler or past it.

The rules and the sentences are those of the kubelet: room, node selector and required affinity,
host ports, NoExecute taints. Other pods' affinity and NoSchedule taints are the scheduler's alone.
A pod that was let in stays, whatever becomes of the node. kubelet.py writes what is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.controllers.accounts import Node
from sandbox.controllers.conditions import Status
from sandbox.controllers.demands import Demand, demand_of
from sandbox.controllers.feasibility import (
    NO_FREE_PORTS,
    NOT_SELECTED,
    is_selected,
    lacks_ports,
    repels,
)
from sandbox.controllers.kubelet_resizing import resized_status
from sandbox.controllers.selectors import NO_EXECUTE

Obj = Mapping[str, Any]
_FIRST = ("cpu", "memory", "ephemeral-storage")
_NOT_TOLERATED = "node(s) had taints that the pod didn't tolerate"


@dataclass(frozen=True)
class Rejection:
    """Why a pod is not let in, as its status and an Event say."""

    reason: str
    message: str


class Admission:
    """What the pods take up that the kubelets let in."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._admitted: dict[str, Node] = {}  # by uid of the pod

    def judge(self, pod: Obj, node: Obj) -> Rejection | None:
        """Let a pod in, once and for all, or say why not. One that has begun is in."""
        uid, name = pod["metadata"]["uid"], node["metadata"]["name"]
        if uid in self._admitted:
            return None
        known = self._nodes.setdefault(name, Node(name))
        known.learn(node)
        demand = demand_of(pod)
        if (pod.get("status") or {}).get("phase") != "Running":
            for rejected in rejections(demand, known):
                return rejected
        known.take_in(uid, demand)
        self._admitted[uid] = known
        return None

    def resized(self, pod: Obj, node: Obj, time: str) -> Status | None:
        """The status of a running pod whose resources changed; None where nothing changes."""
        uid = pod["metadata"]["uid"]
        known = self._admitted.get(uid)
        if known is None or (pod.get("status") or {}).get("phase") != "Running":
            return None
        known.learn(node)
        found = resized_status(pod, known.pods[uid], known, time)
        if found is None:
            return None
        known.resize(uid, found[1])
        return found[0]

    def leave(self, uid: str) -> None:
        """A pod has ended or is gone."""
        node = self._admitted.pop(uid, None)
        if node is not None:
            node.let_go(uid)
            if not node.pods:
                self._nodes.pop(node.name, None)


def rejections(demand: Demand, node: Node) -> Iterator[Rejection]:
    """Why the node does not let the pod in, the first of them first."""
    pods_max = node.allocatable.get("pods")
    if pods_max is not None and len(node.pods) + 1 > pods_max:
        yield _out_of("pods", 1, len(node.pods), pods_max)
    for resource in sorted(demand.requests, key=_rank):
        wanted = demand.requests[resource]
        size, used = node.allocatable.get(resource, 0), node.taken.get(resource, 0)
        if resource not in node.allocatable and "/" in resource:
            continue  # what a node does not know of is not its business
        if 0 < wanted > size - used:
            yield _out_of(resource, wanted, used, size)
    if not is_selected(demand, node):
        yield _predicate("NodeAffinity", NOT_SELECTED)
    if lacks_ports(demand, node):
        yield _predicate("NodePorts", NO_FREE_PORTS)
    if repels(node, demand, (NO_EXECUTE,)):
        yield _predicate("TaintToleration", _NOT_TOLERATED)


def _rank(resource: str) -> tuple[int, str]:
    return _FIRST.index(resource) if resource in _FIRST else len(_FIRST), resource


def _out_of(resource: str, wanted: int, used: int, size: int) -> Rejection:
    return Rejection(
        f"OutOf{resource}",
        f"Node didn't have enough resource: {resource}, requested: {wanted}, used: {used}, "
        f"capacity: {size}",
    )


def _predicate(name: str, text: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {text}")
