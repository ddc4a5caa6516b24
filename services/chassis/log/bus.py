"""The bus port: an append-only log of partitioned topics. One contract suite, several adapters.

The embedded log lives in memory (`memory_log.py`) or in one SQLite file (`sqlite_log.py`), the real
one in Apache Kafka (`kafka_log.py`). What records mean is not known here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One partition of a topic (its full name)."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to be appended."""

    partition: Partition
    key: bytes
    value: bytes
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A record as read; offsets of a partition rise by one and start at 0."""

    partition: Partition
    offset: int
    timestamp_s: float
    key: bytes
    value: bytes
    headers: Headers = ()


class Bus(Protocol):
    """Produce, read from offsets, know the ends, keep a group's offsets."""

    @property
    def is_answering(self) -> bool:
        """Whether the log answered the last request; while it is away, everything waits."""
        ...

    async def ensure_topics(self, partitions_of: Mapping[str, int]) -> None:
        """Make sure of topics; TopicDiffers for one that exists with other partitions.

        An embedded log creates what is missing; Kafka's adapter raises TopicDiffers.
        """
        ...

    async def produce(self, records: Sequence[NewRecord]) -> None:
        """Append in order and durably; order holds within a partition."""
        ...

    def read(
        self, start: Mapping[Partition, int], *, batch_max: int = 500
    ) -> AsyncIterator[Sequence[Record]]:
        """Batches of records of the partitions from the offsets on, for ever.

        An offset below the log's start begins at the start; an offset beyond the end means the log
        was emptied and begins at the start as well.
        """
        ...

    def assignment(self, group: str, topics: Sequence[str]) -> AsyncIterator[frozenset[Partition]]:
        """The partitions of the topics that are this member's, each time they change, for ever.

        Every call is one member of the group, whose members share the partitions among them. An
        embedded log has one member: it says all partitions once, and the stream ends.
        """
        ...

    async def end_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset that the next record of each partition will get."""
        ...

    async def start_offsets(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The offset of the oldest record that each partition still keeps."""
        ...

    async def committed(
        self, group: str, partitions: Sequence[Partition]
    ) -> dict[Partition, int | None]:
        """The offsets that a group committed."""
        ...

    async def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets for a group."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
