"""The request: the PEs of a job, the pools that its application declares, and its topology key.

A `Job` is the whole of it after the change that is being decided on; pods of the job whose PE it
does not name are leaving, and what they take counts as free.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from contracts.labels import HOSTNAME
from contracts.scheduling.node_affinity import NodeAffinity, NodeSelectorTerm
from contracts.scheduling.taints import Toleration
from placement.cluster import Cluster
from placement.taken import Amounts

DEFAULT_POOL: Final = "$default"


@dataclass(frozen=True, slots=True)
class Pe:
    """A processing element: what it requests and where it must be.

    `pool` is the index of a pool, `in_pool_index` which of its members; `assigned` the node that
    an earlier decision chose, which is kept if that can be done.
    """

    id: int
    requests: Amounts = field(default_factory=dict)
    host: str = ""
    pool: int | None = None
    in_pool_index: int | None = None
    colocations: frozenset[str] = frozenset()
    exlocations: frozenset[str] = frozenset()
    is_isolated: bool = False
    tolerations: tuple[Toleration, ...] = ()
    assigned: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    @property
    def selector(self) -> NodeAffinity:
        """What its template asks of the labels of a node."""
        return NodeAffinity(tuple(sorted(self.node_selector.items())), self.node_selector_terms)

    @property
    def selects(self) -> bool:
        """Whether its template asks for anything."""
        return bool(self.node_selector or self.node_selector_terms)

    @property
    def kind(self) -> Hashable:
        """What it asks for, all of it."""
        return (
            self.host,
            self.pool,
            self.in_pool_index,
            self.colocations,
            self.exlocations,
            self.is_isolated,
            self.tolerations,
            self.assigned,
            tuple(self.requests.items()),
            tuple(self.node_selector.items()) if self.node_selector else None,
            self.node_selector_terms,
        )


@dataclass(frozen=True, slots=True)
class Pool:
    """A host pool: hosts by name or address, or as many nodes with all of the tags as `size` says.

    `members` are those of an earlier decision, in their order; "" stands where one is gone.
    """

    index: int
    name: str
    is_exclusive: bool = False
    size: int | None = None
    tags: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether it is the pool of everything that asks for none, which asks for nothing."""
        return self.name == DEFAULT_POOL and not (
            self.hosts or self.tags or self.size or self.is_exclusive
        )


@dataclass(frozen=True)
class Job:
    """A job that asks for places; its name is that with the namespace.

    `topology_key` says of what colocation, exlocation and isolation speak: hosts, zones, racks.
    Where they are not required, a placement without them is taken before none.
    """

    name: str
    pes: tuple[Pe, ...]
    pools: tuple[Pool, ...] = ()
    topology_key: str = HOSTNAME
    is_required: bool = True

    @cached_property
    def by_id(self) -> Mapping[int, Pe]:
        """Its PEs."""
        return {pe.id: pe for pe in self.pes}

    @cached_property
    def kinds(self) -> tuple[tuple[Pe, ...], ...]:
        """Its PEs by what they ask for, in the order of the first of each kind."""
        found: dict[Hashable, list[Pe]] = {}
        for pe in self.pes:
            found.setdefault(pe.kind, []).append(pe)
        return tuple(tuple(each) for each in found.values())

    @cached_property
    def kinds_of_pools(self) -> Mapping[int, tuple[tuple[Pe, ...], ...]]:
        """The kinds of PEs of each pool that some PE asks for, by its index."""
        found: dict[int, list[tuple[Pe, ...]]] = {}
        for kind in self.kinds:
            if kind[0].pool is not None:
                found.setdefault(kind[0].pool, []).append(kind)
        return {index: tuple(each) for index, each in found.items()}

    def kinds_in(self, pool: Pool) -> tuple[tuple[Pe, ...], ...]:
        """The kinds of PEs of a pool."""
        return self.kinds_of_pools.get(pool.index, ())

    def ids_in(self, pool: Pool) -> set[int]:
        """The PEs of a pool."""
        return {pe.id for kind in self.kinds_in(pool) for pe in kind}

    def tolerations_in(self, pool: Pool) -> tuple[Toleration, ...]:
        """All that a PE of a pool tolerates."""
        inside = (kind[0].tolerations for kind in self.kinds_in(pool))
        return tuple(dict.fromkeys(each for tolerations in inside for each in tolerations))

    def places_in(self, pool: Pool) -> set[int]:
        """The places of a pool that PEs ask for."""
        places = (kind[0].in_pool_index for kind in self.kinds_in(pool))
        return {place for place in places if place is not None}

    def keeps_numbers(self, pool: Pool) -> bool:
        """Whether it matters which of its members a node is, so that a lost one leaves a gap."""
        return pool.size is not None or bool(pool.hosts) or bool(self.places_in(pool))

    def least_of(self, pool: Pool) -> int:
        """How many members a pool must have whose hosts or size do not say it."""
        used = max((place + 1 for place in self.places_in(pool)), default=0)
        return max(used, int(bool(pool.tags)))

    @property
    def chosen_pools(self) -> tuple[Pool, ...]:
        """Its pools but for that of everything that asks for none."""
        return tuple(pool for pool in self.pools if not pool.is_default)


def bound_nodes(cluster: Cluster, job: Job) -> dict[int, str]:
    """The node of each PE of the job that has a bound pod, whether that node exists or not."""
    pods = cluster.pods.get(job.name, ())
    return {pod.pe: pod.node for pod in pods if pod.is_bound and pod.pe in job.by_id}
