"""What is asked: the PEs of a job, the pools that its application declares, and its topology key.

A `Job` is the whole of it after the change that is being decided on; pods of the job whose PE it
does not name are leaving, and what they take counts as free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.hostpool_manager.core.cluster import HOSTNAME, Amounts, Toleration

DEFAULT_POOL = "$default"


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


@dataclass(frozen=True, slots=True)
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

    @property
    def by_id(self) -> Mapping[int, Pe]:
        """Its PEs."""
        return {pe.id: pe for pe in self.pes}
