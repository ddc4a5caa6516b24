"""The room of nodes: what bound pods leave of them, and whether pods fit in there.

`Rooms` is updated one node or pod at a time; it is a function of these objects, whatever the order
in which they came. A change costs the resources of one node.

`fits` counts as the scheduler of Kubernetes filters. Pods that require the same fit in any order;
of pods that differ, the largest are placed first. So it may find no room where a search would, but
never room that is not there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from contracts.scheduling.node_affinity import NodeAffinity
from contracts.scheduling.requests import Amounts
from contracts.scheduling.taints import Taint, Toleration

PODS: Final = "pods"
"""The resource that each pod takes one piece from."""
_NOTHING: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class Node:
    """A node that takes pods; `taints` are those that repel. Amounts as in `Amounts`.

    `hosts`: its name, and its addresses in their canonical form.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Mapping[str, int]
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """A node, and what its bound pods leave of it; less than nothing where they take too much."""

    node: Node
    free: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod requires of its node; the pod itself counts in `requests`."""

    requests: Mapping[str, int]
    affinity: NodeAffinity = NodeAffinity()  # noqa: RUF009 - a frozen value
    tolerations: tuple[Toleration, ...] = ()

    def may_be_on(self, node: Node) -> bool:
        """Whether a node is selected and every taint of it is tolerated."""
        return self.affinity.selects(node.name, node.labels) and all(
            any(each.tolerates(taint) for each in self.tolerations) for taint in node.taints
        )


class Rooms:
    """The nodes that take pods and what is bound to them; pods count on unknown nodes, too."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._pods: dict[Hashable, tuple[str, Mapping[str, int]]] = {}
        self._taken: dict[str, dict[str, int]] = {}
        self._rooms: dict[str, NodeRoom] = {}
        self._in_order: tuple[NodeRoom, ...] | None = None

    def update_node(self, name: str, node: Node | None) -> None:
        """Store the newest state of a node; None: it does not exist, or takes no pods."""
        if node == self._nodes.get(name):
            return
        if node is None:
            del self._nodes[name]
        else:
            self._nodes[name] = node
        self._count(name)

    def update_pod(self, key: Hashable, node: str, requests: Mapping[str, int]) -> None:
        """Store the node and the requests of a bound pod; without a node: it is bound no more."""
        before = self._pods.pop(key, None)
        if before is not None:
            self._take(*before, sign=-1)
        if node:
            self._pods[key] = (node, requests)
            self._take(node, requests, sign=1)
        for name in {node, before[0] if before else ""} - {""}:
            self._count(name)

    def all(self) -> tuple[NodeRoom, ...]:
        """The nodes that take pods, in order of their names."""
        if self._in_order is None:
            self._in_order = tuple(self._rooms[name] for name in sorted(self._rooms))
        return self._in_order

    def _take(self, node: str, requests: Mapping[str, int], *, sign: int) -> None:
        taken = self._taken.setdefault(node, {PODS: 0})
        taken[PODS] += sign
        for name, amount in requests.items():
            taken[name] = taken.get(name, 0) + sign * amount
        if not taken[PODS]:
            del self._taken[node]

    def _count(self, name: str) -> None:
        self._in_order = None
        node = self._nodes.get(name)
        if node is None:
            self._rooms.pop(name, None)
            return
        taken = self._taken.get(name, _NOTHING)
        free = {each: amount - taken.get(each, 0) for each, amount in node.allocatable.items()}
        self._rooms[name] = NodeRoom(node, free)


def fits(rooms: Iterable[NodeRoom], wanted: Iterable[tuple[Demand, int]]) -> bool:
    """Whether so many pods of each demand fit beside what is bound.

    1. Demands are taken in order, the largest request of a pod first.
    2. Each node in turn takes as many pods of a demand as it has room for.
    """
    rooms, taken = tuple(rooms), dict[tuple[str, str], int]()
    for demand, count in sorted(wanted, key=lambda each: _size(each[0]), reverse=True):
        left = count
        for room in rooms:
            if left <= 0:
                break
            if demand.may_be_on(room.node):
                left -= _placed(demand, left, room, taken)
        if left > 0:
            return False
    return True


def _placed(demand: Demand, count: int, room: NodeRoom, taken: dict[tuple[str, str], int]) -> int:
    """How many of the pods a node takes, at most `count`; they are added to `taken`."""
    node, requests = room.node.name, demand.requests.items()
    slots = min(
        (room.free.get(name, 0) - taken.get((node, name), 0)) // amount for name, amount in requests
    )
    placed = max(0, min(slots, count))
    for name, amount in requests if placed else ():
        taken[node, name] = taken.get((node, name), 0) + placed * amount
    return placed


def _size(demand: Demand) -> tuple[tuple[str, int], ...]:
    """In the order of names of resources: the CPU decides first, then the memory."""
    return tuple(sorted(demand.requests.items()))


def demand_of(
    requests: Amounts, affinity: NodeAffinity, tolerations: tuple[Toleration, ...]
) -> Demand:
    """The demand of a pod with these requests."""
    return Demand({PODS: 1, **requests}, affinity, tolerations)
