"""When a service knows enough to decide: after a full resync of every kind, part by part.

A part of the work (`sharing.py`) is live once every kind of its partitions was resynced completely
there, and every kind that all instances read was resynced completely everywhere, and what these
partitions held when their reading began was read to its end. The resync may be an hour old. A
service that decided on the cluster as it was then would repeat what was done since. An instance
that slept would, too, and so it also reads to the end first. A service that shares nothing has one
part, the whole.

A later full resync ends the same way: when it is complete for a part, each of its keys is
reconciled once, so that nothing rests on a fact that was lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.facts import SyncCompleted
from services.chassis.log.bus import Partition
from services.chassis.table.sharing import Part, Sharing, Subscription

Awaited = frozenset[tuple[str, Partition]]
"""Kinds, and the partitions in which their completion is waited for."""

_ALL_READ = ""
"""In place of a kind: all that the partition held when its reading began."""


@dataclass(slots=True)
class _Waiting:
    """What a part waits for in this round, and whether it was complete once.

    A part that was live and is read on after a sleep is doubted until then.
    """

    expected: Awaited
    missing: set[tuple[str, Partition]]
    is_live: bool
    is_doubted: bool = False


class Restore:
    """Counts the SyncCompleted records that are still missing."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._parts: dict[Part, _Waiting] = {}
        self._cluster_uid = ""
        self._is_assigned = not sharing.topics
        self._await_whole(sharing.subscription(frozenset()))

    @property
    def is_live(self) -> bool:
        """Whether every part of this instance is live."""
        return self._is_assigned and all(each.is_live for each in self._parts.values())

    @property
    def is_any_live(self) -> bool:
        """Whether at least one part is."""
        return any(each.is_live for each in self._parts.values())

    @property
    def is_doubted(self) -> bool:
        """Whether what was decided may be out of date: we slept, and read on first."""
        return any(each.is_doubted for each in self._parts.values())

    def is_decided(self, part: Part) -> bool:
        """Whether the keys of a part are decided here: it is this instance's and live."""
        waiting = self._parts.get(part)
        return waiting is not None and waiting.is_live

    def assign(self, subscription: Subscription) -> None:
        """Wait for other parts from now on; what was complete of those that stay remains so."""
        self._is_assigned = True
        whole = self._parts[None]
        parts: dict[Part, _Waiting] = {None: whole}
        for part, own in self._by_part(subscription).items():
            known = self._parts.get(part)
            if known is None:
                missing = set(_unread(own))
                if not whole.is_live:
                    missing |= whole.missing
                known = _Waiting(own | whole.expected, missing, is_live=False)
            parts[part] = known
        self._parts = parts

    def doubt(self) -> None:
        """Wait until every partition was read to the end that it has now: we slept."""
        for waiting in self._parts.values():
            unread = {(_ALL_READ, partition) for _, partition in waiting.expected}
            if waiting.is_live and unread:
                waiting.missing = unread
                waiting.is_live, waiting.is_doubted = False, True
            else:
                waiting.missing |= unread

    def follow_cluster(self, cluster_uid: str) -> None:
        """Start again if the table is about another cluster now: it was emptied."""
        if cluster_uid == self._cluster_uid:
            return
        self._cluster_uid = cluster_uid
        for waiting in self._parts.values():
            unread = {each for each in waiting.missing if each[0] == _ALL_READ}
            waiting.missing = set(waiting.expected) | unread
            waiting.is_live = not waiting.expected

    def note_completed(self, sync: SyncCompleted, partition: Partition) -> frozenset[Part]:
        """Note what was completed; the parts for which a full resync is complete now."""
        if not sync.full:
            return frozenset()
        return self._note((sync.kind, partition))

    def note_all_read(self, partition: Partition) -> frozenset[Part]:
        """Note that a partition was read to its first end; the parts that are complete now."""
        return self._note((_ALL_READ, partition))

    def _note(self, resynced: tuple[str, Partition]) -> frozenset[Part]:
        completed = set()
        for part, waiting in self._parts.items():
            if resynced not in waiting.missing:
                continue
            waiting.missing.discard(resynced)
            if not waiting.missing:
                waiting.missing = set(waiting.expected)
                waiting.is_live, waiting.is_doubted = True, False
                completed.add(part)
        return frozenset(completed)

    def _await_whole(self, subscription: Subscription) -> None:
        expected = frozenset(_each(subscription))
        self._parts[None] = _Waiting(expected, set(_unread(expected)), is_live=not expected)

    def _by_part(self, subscription: Subscription) -> dict[int, Awaited]:
        own: dict[int, set[tuple[str, Partition]]] = {}
        for kind, partition in _each(subscription):
            if self._sharing.is_shared(partition):
                own.setdefault(partition.number, set()).add((kind, partition))
        return {part: frozenset(awaited) for part, awaited in own.items()}


def _each(subscription: Subscription) -> Iterable[tuple[str, Partition]]:
    return (
        (kind, partition) for kind, partitions in subscription.items() for partition in partitions
    )


def _unread(awaited: Awaited) -> Awaited:
    """What is awaited of partitions whose reading has not begun."""
    return awaited | {(_ALL_READ, partition) for _, partition in awaited}
