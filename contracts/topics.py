"""The topic catalogue: the only place where names of topics exist.

A topic's key and partitions are data. Which services read and write it is in their rows.
The prefix is a setting, so that clusters can share a broker. `partition_of` says where an object's
facts go.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

RETENTION_S = 7 * 24 * 3600
"""How long the log keeps a record; what exists is published again long before."""
PARTITIONS = 8
"""Of the topics that are partitioned by job, unless a layout says otherwise."""
PARTITIONS_MAX = 256
DEFAULT_PREFIX = "millrace"


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the catalogue; how many partitions it has is in the layout (`TopicLayout`).

    `by_job`: what belongs to a job is in the job's partition; otherwise there is one partition.
    """

    suffix: str
    key: str
    by_job: bool

    def name(self, prefix: str = DEFAULT_PREFIX) -> str:
        """The topic's full name under a prefix."""
        return f"{prefix}.{self.suffix}"


RESOURCES = Topic(suffix="resources", key="kind/namespace/name", by_job=True)
CLUSTER = Topic(suffix="cluster", key="kind/namespace/name", by_job=False)
DECISIONS = Topic(suffix="decisions", key="namespace/job", by_job=True)
"""People read it: no service may rest on what another one decided."""
CATALOGUE = (RESOURCES, CLUSTER, DECISIONS)
SYNC_GROUP = "sync"


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """The names and sizes of the topics of one system; all of its services have the same.

    The number of partitions is fixed when the topics are created: the partition of a job depends
    on it, so a service that finds another number stops.
    """

    prefix: str = DEFAULT_PREFIX
    partitions: int = PARTITIONS

    def name(self, topic: Topic) -> str:
        """The full name of a topic."""
        return topic.name(self.prefix)

    def count(self, topic: Topic) -> int:
        """The number of partitions of a topic."""
        return self.partitions if topic.by_job else 1

    def counts(self) -> dict[str, int]:
        """The number of partitions of each topic of the catalogue, by its full name."""
        return {self.name(topic): self.count(topic) for topic in CATALOGUE}


def sync_group(prefix: str = DEFAULT_PREFIX) -> str:
    """The group whose offsets say where the newest complete resync began in each partition."""
    return f"{prefix}.{SYNC_GROUP}"


def reader_group(prefix: str, service: str) -> str:
    """The group in which the instances of a service share partitions."""
    return f"{prefix}.{service}"


def partition_of(namespace: str, job: str, partitions: int) -> int:
    """The partition of everything that belongs to a job: stable over processes and versions."""
    return zlib.crc32(f"{namespace}/{job}".encode()) % partitions
