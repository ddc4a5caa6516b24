"""The topic catalogue: the only place where names of topics exist.

A topic's key, partitions, writers and readers are data, and a test compares them with the services.
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
    The instances of a service under `shared_by` have some of its partitions each; every other
    reader reads all of them.
    """

    suffix: str
    key: str
    by_job: bool
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    shared_by: tuple[str, ...] = ()

    def name(self, prefix: str = DEFAULT_PREFIX) -> str:
        """The topic's full name under a prefix."""
        return f"{prefix}.{self.suffix}"


RESOURCES = Topic(
    suffix="resources",
    key="kind/namespace/name",
    by_job=True,
    writers=("watch-ingest",),
    readers=("fusion-backend", "pe-gateway", "pod-state-machine"),
    shared_by=("fusion-backend", "pod-state-machine"),
)
CLUSTER = Topic(
    suffix="cluster",
    key="kind/namespace/name",
    by_job=False,
    writers=("watch-ingest",),
    readers=("fusion-backend", "hostpool-manager", "node-tainter", "pod-state-machine"),
)
DECISIONS = Topic(
    suffix="decisions",
    key="namespace/job",
    by_job=True,
    writers=(
        "fusion-backend",
        "hostpool-manager",
        "node-tainter",
        "pe-gateway",
        "pod-state-machine",
    ),
    readers=(),  # people: no service may rest on what another one decided
)
CATALOGUE = (RESOURCES, CLUSTER, DECISIONS)
SERVICES = frozenset(writer for topic in CATALOGUE for writer in topic.writers)
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
