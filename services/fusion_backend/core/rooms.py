"""The room of nodes: what bound pods leave of them, and whether pods fit in there.

`Rooms` is updated one node or pod at a time; it is a function of these objects, whatever the order
in which they came. What is taken on nodes is counted in `placement/taken.py`.

`fits` counts as the scheduler of Kubernetes filters. Pods that require the same fit in any order;
of pods that differ, the largest are placed first. So it may find no room where a search would, but
never room that is not there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from contracts.scheduling.node_affinity import NodeAffinity
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import PODS, Amounts
from contracts.scheduling.taints import Toleration
from placement.taken import Pod, Taken


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
        selects = self.affinity.selects(node.name, node.labels)
        return selects and not node.untolerated(self.tolerations)


class Rooms:
    """The nodes that are open and what is bound to them; pods count on unknown nodes, too."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._taken = Taken()
        self._rooms: dict[str, NodeRoom] = {}
        self._in_order: tuple[NodeRoom, ...] | None = None

    def update_node(self, name: str, node: Node | None) -> None:
        """Store the newest state of a node; None: it does not exist."""
        found = node if node is not None and node.is_open else None
        if found == self._nodes.get(name):
            return
        if found is None:
            del self._nodes[name]
        else:
            self._nodes[name] = found
        self._forget(name)

    def update_pod(self, key: Hashable, node: str, requests: Mapping[str, int]) -> None:
        """Store the node and the requests of a bound pod; without a node: it is bound no more."""
        for each in self._taken.put(key, Pod(node, requests) if node else None):
            self._forget(each)

    def all(self) -> tuple[NodeRoom, ...]:
        """The nodes that are open, in order of their names."""
        if self._in_order is None:
            self._in_order = tuple(self._room(name) for name in sorted(self._nodes))
        return self._in_order

    def _forget(self, name: str) -> None:
        self._in_order = None
        self._rooms.pop(name, None)

    def _room(self, name: str) -> NodeRoom:
        room = self._rooms.get(name)
        if room is None:
            node = self._nodes[name]
            room = self._rooms[name] = NodeRoom(node, self._taken.free_on(node))
        return room


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
