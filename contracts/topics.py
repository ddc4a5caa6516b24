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
DEFAULT_PREFIX = "millrace"


@dataclass(frozen=True, slots=True)
class Topic:
    """One row of the catalogue; `partitions` is fixed at creation.

    The instances of a service under `shared_by` have some of its partitions each; every other
    reader reads all of them.
    """

    suffix: str
    key: str
    partitions: int
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    shared_by: tuple[str, ...] = ()

    def name(self, prefix: str = DEFAULT_PREFIX) -> str:
        """The topic's full name under a prefix."""
        return f"{prefix}.{self.suffix}"


RESOURCES = Topic(
    suffix="resources",
    key="kind/namespace/name",
    partitions=PARTITIONS,
    writers=("watch-ingest",),
    readers=("fusion-backend", "pod-state-machine"),
    shared_by=("fusion-backend", "pod-state-machine"),
)
CLUSTER = Topic(
    suffix="cluster",
    key="kind/namespace/name",
    partitions=1,
    writers=("watch-ingest",),
    readers=("fusion-backend", "hostpool-manager", "node-tainter", "pod-state-machine"),
)
DECISIONS = Topic(
    suffix="decisions",
    key="namespace/job",
    partitions=PARTITIONS,
    writers=("fusion-backend", "hostpool-manager", "node-tainter", "pod-state-machine"),
    readers=(),  # people: no service may rest on what another one decided
)
CATALOGUE = (RESOURCES, CLUSTER, DECISIONS)
SERVICES = frozenset(writer for topic in CATALOGUE for writer in topic.writers)
SYNC_GROUP = "sync"


def sync_group(prefix: str = DEFAULT_PREFIX) -> str:
    """The group whose offsets say where the newest complete resync began in each partition."""
    return f"{prefix}.{SYNC_GROUP}"


def reader_group(prefix: str, service: str) -> str:
    """The group in which the instances of a service share partitions."""
    return f"{prefix}.{service}"


def partition_of(namespace: str, job: str, partitions: int) -> int:
    """The partition of everything that belongs to a job: stable over processes and versions."""
    return zlib.crc32(f"{namespace}/{job}".encode()) % partitions
