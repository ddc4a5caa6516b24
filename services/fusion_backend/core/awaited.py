"""Nodes that an attempt lacked, as the status of a Job or of a ParallelRegion records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.hosts import normalised, tags_of
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import CPU, amounts_of


@dataclass(frozen=True, slots=True)
class Awaited:
    """So many nodes with all of the tags, each one of the hosts if any; or so much room on them.

    `free`: amounts by resource, as in `Amounts`.
    """

    tags: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    count: int = 0
    free: tuple[tuple[str, int], ...] = ()

    def is_met_by(self, node: Node) -> bool:
        """Whether a node has the tags, and a name or address."""
        if self.hosts and node.hosts.isdisjoint(normalised(each) or each for each in self.hosts):
            return False
        return tags_of(node.labels).issuperset(self.tags)

    def to_json(self) -> dict[str, Any]:
        """One of `awaitedNodes` of a status."""
        free = {name: f"{each}m" if name == CPU else str(each) for name, each in self.free}
        fields = {
            "tags": list(self.tags),
            "hosts": list(self.hosts),
            "count": self.count,
            "free": free,
        }
        return {name: value for name, value in fields.items() if value}

    @staticmethod
    def of(recorded: Mapping[str, Any]) -> Awaited:
        """One that a status records."""
        return Awaited(
            tuple(recorded.get("tags") or ()),
            tuple(recorded.get("hosts") or ()),
            int(recorded.get("count") or 0),
            tuple(sorted(amounts_of(recorded.get("free") or {}).items())),
        )


def awaited_of(holder: Mapping[str, Any]) -> tuple[Awaited, ...]:
    """What the status of a Job, or the refused width of a region, records."""
    return tuple(map(Awaited.of, holder.get("awaitedNodes") or ()))
