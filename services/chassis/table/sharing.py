"""Which part of the work is this instance's, where several instances of a service share it.

The instances of a service share the topics that its row names under `shares`: each instance has
some of their partitions, and works on the keys whose facts are published there. A *part* is a
partition number of the shared topics. Every other topic is read whole by every instance.

Who has which part is decided by the log (`Bus.assignment`). Two instances may believe for a while
that a part is theirs; what both write then is fenced at the effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from contracts.facts import KINDS
from contracts.topics import Topic, TopicLayout, partition_of, reader_group
from services.chassis.log.bus import Partition

Part = int | None
"""A partition number of the shared topics; None: the whole, where nothing is shared."""

Subscription = Mapping[str, tuple[Partition, ...]]
"""The partitions of the facts of each kind."""


class Sharing:
    """What the instances of a service share among them."""

    def __init__(
        self, service: str, kinds: Iterable[str], layout: TopicLayout, shares: Collection[Topic]
    ) -> None:
        topics = {kind: KINDS[kind].topic for kind in sorted(kinds)}
        shared = {topic for topic in topics.values() if topic in shares}
        assert all(topic.by_job for topic in shared), "as many partitions as each other"
        self._parts = layout.partitions if shared else 0
        self._everywhere: Subscription = {
            kind: tuple(Partition(layout.name(topic), n) for n in range(layout.count(topic)))
            for kind, topic in topics.items()
        }
        self.topics = tuple(sorted(layout.name(topic) for topic in shared))
        self.group = reader_group(layout.prefix, service)

    def subscription(self, assigned: frozenset[Partition]) -> Subscription:
        """Where this instance hears of each kind, with these partitions of the shared topics."""
        return {
            kind: tuple(each for each in partitions if self._is_subscribed(each, assigned))
            for kind, partitions in self._everywhere.items()
        }

    def is_shared(self, partition: Partition) -> bool:
        """Whether a partition is one of those that the instances share."""
        return partition.topic in self.topics

    def part_of(self, namespace: str, subject: str) -> Part:
        """The part that everything about a subject (`Stage.subject`) belongs to."""
        return partition_of(namespace, subject, self._parts) if self._parts else None

    def _is_subscribed(self, partition: Partition, assigned: frozenset[Partition]) -> bool:
        return partition in assigned or not self.is_shared(partition)
