"""The running account of nodes: what they have, what is taken, and which pods attract or repel.

Plain state without I/O, changed by scheduler.py as pods and nodes come and go, so that a decision
never sums up all pods again. What an account means for a pod is decided in feasibility.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.controllers.demands import Demand, PodTerm
from sandbox.controllers.selectors import Labels, Taint, taints_of
from sandbox.store.quantities import units

Obj = Mapping[str, Any]
TERMS_REMEMBERED_MAX = 4096


@dataclass
class Node:
    """One node as the scheduler sees it."""

    name: str
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
    exists: bool = False  # pods may name a node that is not there
    pod_count: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    host_ports: Counter[tuple[str, int]] = field(default_factory=Counter)


class Accounts:
    """All nodes, and the pods bound to them."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._bound: dict[str, tuple[str, Demand]] = {}
        # Where pods are that a term selects, and where pods are whose anti-affinity it is.
        self._selected: dict[PodTerm, Counter[str]] = {}
        self._repelling: dict[PodTerm, Counter[str]] = {}

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes that exist, by name."""
        return (self._nodes[name] for name in sorted(self._nodes) if self._nodes[name].exists)

    def set_node(self, obj: Obj) -> None:
        """Take over labels, taints and size of a node. Raises BadQuantity."""
        name = obj["metadata"]["name"]
        status, spec = obj.get("status") or {}, obj.get("spec") or {}
        sizes = status.get("allocatable") or status.get("capacity") or {}
        node = self._nodes.setdefault(name, Node(name))
        node.allocatable = {resource: units(resource, text) for resource, text in sizes.items()}
        node.labels = obj["metadata"].get("labels") or {}
        node.taints = taints_of(obj)
        node.unschedulable = bool(spec.get("unschedulable"))
        node.exists = True

    def forget_node(self, name: str) -> None:
        """The node's object is gone; its pods stay on the account until they are gone, too."""
        if name in self._nodes:
            self._nodes[name].exists = False
            self._drop_if_unused(name)

    def occupy(self, uid: str, node_name: str, demand: Demand) -> None:
        """Count a bound pod; counting it twice is the same as once."""
        if uid in self._bound:
            return
        self._bound[uid] = (node_name, demand)
        self._count(node_name, demand, 1)

    def vacate(self, uid: str) -> bool:
        """Stop counting a pod; whether it was counted."""
        if uid not in self._bound:
            return False
        node_name, demand = self._bound.pop(uid)
        self._count(node_name, demand, -1)
        self._drop_if_unused(node_name)
        return True

    def holds(self, uid: str) -> bool:
        return uid in self._bound

    def places_selected(self, term: PodTerm) -> set[str]:
        """Values of the term's topology key where a pod is that the term selects."""
        counts = self._selected.get(term)
        if counts is None:
            counts = self._count_selected(term)
        return self._places(term.topology_key, counts)

    def places_repelling(self, demand: Demand) -> list[tuple[str, set[str]]]:
        """Topology keys and the values where a bound pod's anti-affinity selects this one."""
        return [
            (term.topology_key, self._places(term.topology_key, counts))
            for term, counts in self._repelling.items()
            if term.matches(demand.namespace, demand.labels)
        ]

    def _drop_if_unused(self, name: str) -> None:
        node = self._nodes[name]
        if not node.exists and not node.pod_count:
            del self._nodes[name]

    def _places(self, topology_key: str, counts: Counter[str]) -> set[str]:
        known = (self._nodes.get(name) for name, count in counts.items() if count > 0)
        labels = (node.labels for node in known if node is not None)
        return {found[topology_key] for found in labels if topology_key in found}

    def _count_selected(self, term: PodTerm) -> Counter[str]:
        if len(self._selected) >= TERMS_REMEMBERED_MAX:
            self._selected.clear()
        counts = self._selected[term] = Counter()
        for node_name, demand in self._bound.values():
            if term.matches(demand.namespace, demand.labels):
                counts[node_name] += 1
        return counts

    def _count(self, node_name: str, demand: Demand, sign: int) -> None:
        node = self._nodes.setdefault(node_name, Node(node_name))
        node.pod_count += sign
        for resource, count in demand.requests.items():
            node.taken[resource] = node.taken.get(resource, 0) + sign * count
        for port in demand.host_ports:
            node.host_ports[port] += sign
        for term, counts in self._selected.items():
            if term.matches(demand.namespace, demand.labels):
                counts[node_name] += sign
        for term in demand.anti_affinity:
            carriers = self._repelling.setdefault(term, Counter())
            carriers[node_name] += sign
            if not carriers[node_name]:
                del carriers[node_name]
            if not carriers:
                del self._repelling[term]
