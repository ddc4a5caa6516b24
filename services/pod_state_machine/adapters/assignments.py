"""A cache of the nodes that Placements assign to PEs.

A Placement lists its PEs in runs of ids, and each of thousands of snapshots needs one PE.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contracts.resources.placement import assigned
from services.chassis.table.entries import Entry

PLACEMENTS_KEPT_MAX = 1_000


class Assignments:
    """The nodes of PEs by id, for the Placements that were used last."""

    def __init__(self, kept_max: int = PLACEMENTS_KEPT_MAX) -> None:
        self._kept_max = kept_max
        self._read: OrderedDict[tuple[str, str], tuple[str, int, Mapping[int, str]]] = OrderedDict()

    def node_of(self, placement: Entry, pe_id: int) -> str:
        """The node that a Placement assigns a PE to; empty if it has none."""
        place, version = (placement.namespace, placement.name), placement.resource_version
        known = self._read.get(place)
        if known is None or known[:2] != (placement.uid, version):
            known = (placement.uid, version, dict(assigned(_assignments(placement))))
            self._read[place] = known
        self._read.move_to_end(place)
        if len(self._read) > self._kept_max:
            self._read.popitem(last=False)
        return known[2].get(pe_id, "")


def ids_on(placement: Entry, node: str) -> Iterator[int]:
    """The PEs that a Placement assigns to a node; runs of other nodes are not parsed."""
    on_node = (each for each in _assignments(placement) if each["node"] == node)
    return (pe_id for pe_id, _ in assigned(on_node))


def nodes_of(placement: Entry) -> Iterator[str]:
    """The nodes that a Placement assigns PEs to."""
    return (str(each["node"]) for each in _assignments(placement))


def _assignments(placement: Entry) -> Iterable[Mapping[str, Any]]:
    return placement.data["status"].get("assignments") or ()
