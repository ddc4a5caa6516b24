"""Everything that a decision about a node or a host pool may look at, as frozen values.

How they are read from facts is `adapters/reading.py`; what follows from them is decided elsewhere
in this folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from contracts.labels import EXCLUSIVE_TAINT
from contracts.scheduling.taints import NO_SCHEDULE, Taint


@dataclass(frozen=True, slots=True)
class NodeKey:
    """A node, and the marks of ours that it carries."""

    kind: ClassVar[str] = "Node"
    name: str

    def __str__(self) -> str:
        return f"Node/{self.name}"


@dataclass(frozen=True, slots=True)
class PoolKey:
    """A host pool, and the finalizer that keeps it until no node carries its marks."""

    kind: ClassVar[str] = "HostPool"
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"HostPool/{self.namespace}/{self.name}"


Key = NodeKey | PoolKey


def exclusive_taint(owner: str, *, effect: str = NO_SCHEDULE) -> Taint:
    """The taint under our key; `owner` is the uid of a HostPool."""
    return Taint(EXCLUSIVE_TAINT, owner, effect)


@dataclass(frozen=True, slots=True)
class Marks:
    """What of ours a node carries, or should: taints in their order, places by the pool's uid.

    A node should carry one taint at most; people can make it carry others under our key.
    """

    taints: tuple[Taint, ...] = ()
    places: tuple[tuple[str, str], ...] = ()

    @property
    def owners(self) -> frozenset[str]:
        """The uids of all pools that the marks name."""
        taints = (taint.value for taint in self.taints)
        return frozenset((*taints, *(owner for owner, _ in self.places)))

    def place_of(self, owner: str) -> str | None:
        """The place that the label of a pool says; None without one."""
        return dict(self.places).get(owner)


@dataclass(frozen=True, slots=True)
class Node:
    """A node that exists."""

    name: str
    uid: str
    carried: Marks = Marks()


@dataclass(frozen=True, slots=True)
class Pool:
    """A host pool; `created` is an RFC 3339 time, which sorts as text."""

    namespace: str
    name: str
    uid: str
    created: str
    is_exclusive: bool
    labels_members: bool
    is_deleting: bool = False
    has_finalizer: bool = True

    @property
    def is_marking(self) -> bool:
        """Whether its members are to carry its marks as long as they are its members."""
        return not self.is_deleting and (self.is_exclusive or self.labels_members)


@dataclass(frozen=True, slots=True)
class Listing:
    """A pool as one node sees it: `place` is the node's number among its members, or None."""

    pool: Pool
    place: int | None


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """A node, and every known pool that lists it or whose uid it carries, in order of their uids.

    Marks of a uid that no listing has are of a pool that no fact shows, or that is gone.
    """

    key: NodeKey
    node: Node | None
    listings: tuple[Listing, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """A host pool, and whether any known node carries its uid."""

    key: PoolKey
    pool: Pool | None
    is_carried: bool = False


Snapshot = NodeSnapshot | PoolSnapshot
