"""Which keys a change wakes, and which of them are this instance's, as partitions come and go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from contracts.topics import Topic, TopicLayout
from contracts.unreadable import ObjectUnreadable
from services.chassis.log.bus import Partition
from services.chassis.running.stage import Stage
from services.chassis.table.entries import Change, Entry
from services.chassis.table.sharing import Part, Sharing, Subscription
from services.chassis.table.table import Table


class OwnPart:
    """The part of the work that is this instance's; `note_crashed` gets what has no keys."""

    def __init__(
        self,
        stage: Stage[Any, Any, Any],
        table: Table,
        topics: TopicLayout,
        shares: Collection[Topic],
        note_crashed: Callable[[Entry], None],
    ) -> None:
        self.sharing = Sharing(stage.name, stage.kinds, topics, shares)
        self._stage = stage
        self._table = table
        self._note_crashed = note_crashed
        self._subscription = self.sharing.subscription(frozenset())
        table.expect(self._subscription)

    @property
    def partitions(self) -> frozenset[Partition]:
        """The partitions that are read."""
        return _all_of(self._subscription)

    def keys_of(self, change: Change) -> Sequence[Hashable]:
        """The keys that a change wakes; none of an object that cannot be read.

        Where its entries cannot be compared, one object goes, and another one comes.
        """
        old, new = change.old, change.new
        try:
            return list(dict.fromkeys(self._stage.keys(change, self._table)))
        except Exception as problem:  # noqa: BLE001 - a bad object must not stop others
            if old is not None and new is not None:
                if not isinstance(problem, ObjectUnreadable):
                    self._note_crashed(new)
                return [*self.keys_of(Change(old, None)), *self.keys_of(Change(None, new))]
            if not isinstance(problem, ObjectUnreadable):
                self._note_crashed(change.entries[0])
            return ()  # nothing can be decided for what only the missing part names

    def part_of(self, key: Hashable) -> Part:
        """The part that a key belongs to."""
        return self.sharing.part_of(*self._stage.subject(key))

    def assign(self, subscription: Subscription) -> frozenset[int]:
        """Take over new partitions and drop the entries of the lost ones; the lost parts."""
        lost = self.partitions - _all_of(subscription)
        self._subscription = subscription
        parts = frozenset(partition.number for partition in lost)
        if lost:
            self._table.leave(lost, lambda entry: self._is_lost(entry, parts))
        self._table.expect(subscription)
        return parts

    def _is_lost(self, entry: Entry, parts: frozenset[int]) -> bool:
        keys = self.keys_of(Change(None, entry))
        return bool(keys) and all(self.part_of(key) in parts for key in keys)


def _all_of(subscription: Subscription) -> frozenset[Partition]:
    return frozenset(each for partitions in subscription.values() for each in partitions)
