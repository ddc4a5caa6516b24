"""Folds nodes and bound pods of the table into the room of nodes (core/rooms.py)."""

from __future__ import annotations

from typing import Final

from contracts.scheduling.nodes import node_of
from services.chassis.table.entries import Entry
from services.chassis.table.tombstones import Ref
from services.chassis.table.viewing import View
from services.fusion_backend.core.rooms import Rooms

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
            self.rooms.update_node(name, node_of(name, entry.data) if entry is not None else None)
        elif entry is None:
            self.rooms.update_pod((namespace, name), "", {})
        else:
            data = entry.data
            self.rooms.update_pod((namespace, name), data["node"], data["requests"])

    def fold_unreadable(self, ref: Ref) -> None:
        """A node takes no pods, a pod does not count."""
        self.fold(ref, None)
