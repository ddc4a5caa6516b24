"""Folds nodes and bound pods of the table into the room of nodes (core/rooms.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contracts.hosts import normalised
from contracts.scheduling.requests import amounts_of
from contracts.scheduling.taints import taint_of
from services.chassis.table.entries import Entry
from services.chassis.table.tombstones import Ref
from services.chassis.table.viewing import View
from services.fusion_backend.core.rooms import Node, Rooms

NODE: Final = "Node"
BOUND_POD: Final = "BoundPod"


class RoomFold(View):
    """The room of nodes, as folded from the table."""

    kinds = frozenset((NODE, BOUND_POD))

    def __init__(self) -> None:
        self.rooms = Rooms()

    def fold(self, ref: Ref, entry: Entry | None) -> None:
        """Let the newest entry of an object count. Raises ObjectUnreadable."""
        kind, namespace, name = ref
        if kind == NODE:
            self.rooms.update_node(name, node_of(entry) if entry is not None else None)
        elif entry is None:
            self.rooms.update_pod((namespace, name), "", {})
        else:
            data = entry.data
            self.rooms.update_pod((namespace, name), data["node"], data["requests"])

    def fold_unreadable(self, ref: Ref) -> None:
        """A node takes no pods, a pod does not count."""
        self.fold(ref, None)


def _host(address: Mapping[str, Any]) -> str:
    named = str(address.get("address") or "")
    return normalised(named) or named


def node_of(entry: Entry) -> Node | None:
    """A node; None for one that takes no pods. Raises ObjectUnreadable."""
    data = entry.data
    if data["unschedulable"] or not data["ready"]:
        return None
    taints = tuple(map(taint_of, data["taints"]))
    return Node(
        name=entry.name,
        labels=data["metadata"]["labels"],
        taints=tuple(each for each in taints if each.repels),
        allocatable=amounts_of(data["allocatable"]),
        hosts=frozenset((entry.name, *map(_host, data["addresses"]))),
    )
