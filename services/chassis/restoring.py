"""When a service knows enough to decide: after a full resync of every kind in every partition.

A later full resync ends the same way: when it is complete everywhere, every key is reconciled once,
so that nothing rests on a fact that was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contracts.facts import SyncCompleted
from services.chassis.bus import Partition


class Restore:
    """Counts the SyncCompleted records that are still missing."""

    def __init__(self, told: Mapping[str, Sequence[Partition]]) -> None:
        self._expected = frozenset(
            (kind, partition) for kind, partitions in told.items() for partition in partitions
        )
        self._missing = set(self._expected)
        self._cluster_uid = ""
        self.is_live = False

    def follow_cluster(self, cluster_uid: str) -> None:
        """Begin anew where the table is about another cluster now: it was emptied."""
        if cluster_uid != self._cluster_uid:
            self._cluster_uid = cluster_uid
            self._missing = set(self._expected)
            self.is_live = False

    def note_completed(self, sync: SyncCompleted, partition: Partition) -> bool:
        """Note what was completed; True when a full resync is now complete everywhere."""
        if not sync.full:
            return False
        self._missing.discard((sync.kind, partition))
        if self._missing:
            return False
        self._missing = set(self._expected)
        self.is_live = True
        return True
