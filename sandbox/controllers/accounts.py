"""The running account of nodes: what they have, what is taken, and which pods are on them.

Plain state without I/O, changed by scheduler.py as pods and nodes come and go, so that a decision
never sums up all pods again. What pods want of each other is counted in neighbours.py; what an
account means for a pod is decided in feasibility.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox.controllers.demands import Demand
from sandbox.controllers.neighbours import Neighbours, Place, Terms
from sandbox.controllers.selectors import Labels, Taint, taints_of
from sandbox.store.quantities import units

Obj = Mapping[str, Any]


@dataclass
class Node:
    """One node as those see it who let pods onto it."""

    name: str
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    exists: bool = False  # pods may name a node that is not there
    pods: dict[str, Demand] = field(default_factory=dict)  # by uid
    taken: dict[str, int] = field(default_factory=dict)
    host_ports: Counter[tuple[str, int]] = field(default_factory=Counter)

    def learn(self, obj: Obj) -> None:
        """Take over labels, taints and size. Raises BadQuantity."""
        status, spec = obj.get("status") or {}, obj.get("spec") or {}
        sizes = status.get("allocatable") or status.get("capacity") or {}
        self.allocatable = {resource: units(resource, text) for resource, text in sizes.items()}
        self.labels = obj["metadata"].get("labels") or {}
        self.taints = taints_of(obj)
        self.unschedulable = bool(spec.get("unschedulable"))
        self.exists = True

    def take_in(self, uid: str, demand: Demand) -> None:
        self.pods[uid] = demand
        self._count(demand, 1)

    def resize(self, uid: str, demand: Demand) -> None:
        """Count another demand of a pod that is there."""
        self.let_go(uid)
        self.take_in(uid, demand)

    def let_go(self, uid: str) -> Demand:
        demand = self.pods.pop(uid)
        self._count(demand, -1)
        return demand

    def _count(self, demand: Demand, sign: int) -> None:
        for resource, count in demand.requests.items():
            self.taken[resource] = self.taken.get(resource, 0) + sign * count
        for port in demand.host_ports:
            self.host_ports[port] += sign


class Accounts:
    """All nodes, and the pods bound to them."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._sorted: tuple[Node, ...] | None = None
        self._bound: dict[str, Node] = {}  # by uid of the pod
        self.neighbours = Neighbours()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that exist, by name."""
        if self._sorted is None:
            there = (node for node in self._nodes.values() if node.exists)
            self._sorted = tuple(sorted(there, key=lambda node: node.name))
        return self._sorted

    def node(self, name: str) -> Node | None:
        """A node that exists."""
        found = self._nodes.get(name)
        return found if found is not None and found.exists else None

    def set_node(self, obj: Obj) -> None:
        """Take over labels, taints and size of a node. Raises BadQuantity."""
        name = obj["metadata"]["name"]
        node = self._nodes.setdefault(name, Node(name))
        self._count_neighbours(node, -1)
        try:
            node.learn(obj)
        finally:
            self._count_neighbours(node, 1)
            self._sorted = None

    def forget_node(self, name: str) -> None:
        """The node's object is gone; its pods stay on the account until they are gone, too."""
        if name in self._nodes:
            self._count_neighbours(self._nodes[name], -1)
            self._nodes[name].exists = False
            self._sorted = None
            self._drop_if_unused(self._nodes[name])

    def occupy(self, uid: str, node_name: str, demand: Demand) -> None:
        """Count a bound pod; counting it twice is the same as once."""
        if uid in self._bound:
            return
        node = self._bound[uid] = self._nodes.setdefault(node_name, Node(node_name))
        node.take_in(uid, demand)
        if node.exists:
            self.neighbours.count(demand, node.labels, 1)

    def vacate(self, uid: str) -> bool:
        """Stop counting a pod; whether it was counted."""
        if uid not in self._bound:
            return False
        node = self._bound.pop(uid)
        demand = node.let_go(uid)
        if node.exists:
            self.neighbours.count(demand, node.labels, -1)
        self._drop_if_unused(node)
        return True

    def resize(self, uid: str, requests: Mapping[str, int]) -> bool:
        """Count other requests of a bound pod; whether they are other ones."""
        node = self._bound.get(uid)
        if node is None or node.pods[uid].requests == requests:
            return False
        node.resize(uid, replace(node.pods[uid], requests=requests))
        return True

    def holds(self, uid: str) -> bool:
        return uid in self._bound

    def places_selected(self, terms: Terms) -> Counter[Place]:
        """How often a bound pod that all of the terms select is at a place of them."""
        return self.neighbours.selected(terms, self._pods())

    def _pods(self) -> Iterator[tuple[Demand, Labels]]:
        for node in self._nodes.values():
            if node.exists:
                for demand in node.pods.values():
                    yield demand, node.labels

    def _count_neighbours(self, node: Node, sign: int) -> None:
        if node.exists:
            for demand in node.pods.values():
                self.neighbours.count(demand, node.labels, sign)

    def _drop_if_unused(self, node: Node) -> None:
        if not node.exists and not node.pods:
            del self._nodes[node.name]
