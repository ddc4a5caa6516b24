"""Which of two publications is newer: epochs by kind and partition, lists, and the cluster.

Within a partition the writer's order is the log's order, so a lower epoch than the highest seen
there was published by an instance that leads no more. Epochs of different partitions do not order
each other: their records are read independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from contracts.facts import EPOCHS_KEPT, Epoch
from services.chassis.log.bus import Partition


@dataclass(frozen=True, slots=True, order=True)
class Order:
    """The comparable part of an epoch; incarnations rise from cluster to cluster, too."""

    incarnation: int
    list_number: int

    @staticmethod
    @lru_cache(EPOCHS_KEPT)
    def of(epoch: Epoch) -> Order:
        """The order of an epoch."""
        return Order(epoch.incarnation, epoch.list_number)


class Verdict(Enum):
    """What to do with a record."""

    TAKE = auto()
    LATE = auto()
    OTHER_CLUSTER = auto()


class Epochs:
    """The highest epochs seen, and the lists that are complete."""

    def __init__(self) -> None:
        self._cluster_uid = ""
        self._incarnation = -1
        self._highest: dict[tuple[str, Partition], Epoch] = {}
        self._completed: dict[str, dict[Partition, Order]] = {}
        self._expected: dict[str, frozenset[Partition]] = {}

    @property
    def cluster_uid(self) -> str:
        """The cluster whose facts count; empty before the first."""
        return self._cluster_uid

    def is_newest(self, kind: str, partition: Partition, epoch: Epoch) -> bool:
        """Whether no newer record of the kind was read in the partition."""
        newest = self._highest.get((kind, partition))
        return newest is not None and newest == epoch

    def expect(self, partitions_of: Mapping[str, Iterable[Partition]]) -> None:
        """Set the partitions of each kind."""
        self._expected = {kind: frozenset(each) for kind, each in partitions_of.items()}

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Know nothing of partitions that are not read any more."""
        left = frozenset(partitions)
        self._highest = {key: at for key, at in self._highest.items() if key[1] not in left}
        for completed in self._completed.values():
            for partition in left & completed.keys():
                del completed[partition]

    def admit(self, kind: str, partition: Partition, epoch: Epoch) -> Verdict:
        """Whether a record counts; OTHER_CLUSTER: it does, and all that was known is void."""
        highest = self._highest.get((kind, partition))
        if highest is epoch:
            return Verdict.TAKE
        order = Order.of(epoch)
        verdict = Verdict.TAKE
        if epoch.cluster_uid != self._cluster_uid:
            if order.incarnation < self._incarnation:
                return Verdict.LATE
            verdict = Verdict.OTHER_CLUSTER if self._cluster_uid else Verdict.TAKE
            self._cluster_uid = epoch.cluster_uid
            self._highest.clear()
            self._completed.clear()
            highest = None
        self._incarnation = max(self._incarnation, order.incarnation)
        if highest is not None and order < Order.of(highest):
            return Verdict.LATE
        self._highest[(kind, partition)] = epoch
        return verdict

    def complete(self, kind: str, partition: Partition, order: Order) -> Order | None:
        """Note a complete list; the epoch that is now complete in all partitions of the kind."""
        self._completed.setdefault(kind, {})[partition] = order
        return self.completed_everywhere(kind)

    def completed_everywhere(self, kind: str) -> Order | None:
        """The newest epoch that is complete in all partitions of the kind, if there is one."""
        completed = self._completed.get(kind, {})
        if not completed or self._expected.get(kind, frozenset(completed)) - completed.keys():
            return None
        return min(completed.values())
