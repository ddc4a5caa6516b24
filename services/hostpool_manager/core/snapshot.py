"""What decisions look at, as frozen values: Placements, HostPools, and what was searched.

The *spec* of a Placement is a request. The placement *in force* is the one that was found last; a
later refusal leaves it alone. `cluster_view.py` keeps the cluster, `adapters/reading.py` reads
objects as values, and `statuses.py` makes statuses of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase
from placement.answers import Family, Members, Nearest, Placed
from placement.job import Job, Pool


class Ref(NamedTuple):
    """The Placement of a job, and the job."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class InForce:
    """The placement that was found last: `generation` of the plan, members, node by PE."""

    generation: int | None = None
    pools: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    assignments: Mapping[int, str] = field(default_factory=dict)
    is_as_preferred: bool = True

    @property
    def nodes(self) -> frozenset[str]:
        """Every node that it speaks of."""
        members = (name for each in self.pools.values() for name in each if name)
        return frozenset((*members, *self.assignments.values()))


@dataclass(frozen=True, slots=True)
class Placement:
    """A Placement: its spec (or `problem`: why it cannot be read) and the answer that counts.

    `generation` is metadata.generation, `observed` the one that the answer speaks of, and
    `plan_generation` that of the plan which asks; `version` orders Placements by their last change.
    `job_uid` is that of the Job which owns it, empty where none does.
    """

    ref: Ref
    uid: str
    generation: int
    version: int
    job_uid: str = ""
    is_deleting: bool = False
    plan_generation: int = 0
    spec: Job | None = None
    problem: str = ""
    phase: PlacementPhase | None = None
    observed: int | None = None
    waits: bool = False
    message: str = ""
    in_force: InForce = InForce()

    @property
    def is_answered(self) -> bool:
        """Whether the answer speaks of the spec as it is."""
        return self.phase is not None and self.observed == self.generation

    @property
    def is_in_force(self) -> bool:
        """Whether what is asked for is what was found last, and not a change of it."""
        return self.in_force.generation == self.plan_generation

    def answered(
        self, phase: PlacementPhase, *, waits: bool, message: str, in_force: InForce
    ) -> Placement:
        """It with an answer to its spec."""
        return replace(
            self,
            phase=phase,
            observed=self.generation,
            waits=waits,
            message=message,
            in_force=in_force,
        )

    @property
    def job(self) -> Job | None:
        """The job that the spec asks about, with what an earlier decision chose."""
        if self.spec is None:
            return None
        nodes, members = self.in_force.assignments, self.in_force.pools
        return replace(
            self.spec,
            pes=tuple(replace(pe, assigned=nodes.get(pe.id, "")) for pe in self.spec.pes),
            pools=tuple(
                replace(pool, members=members.get(pool.index, ())) for pool in self.spec.pools
            ),
        )

    @property
    def placed(self) -> Placed:
        """What is in force as the answer that it once was."""
        pools = (Members(index, nodes) for index, nodes in self.in_force.pools.items())
        return Placed(dict(self.in_force.assignments), tuple(pools), self.in_force.is_as_preferred)


@dataclass(frozen=True, slots=True)
class HostPool:
    """A HostPool: which pool of which job it is, and whether its members carry marks."""

    namespace: str
    name: str
    uid: str
    generation: int
    job: Ref
    job_uid: str = ""
    index: int = 0
    is_exclusive: bool = False
    is_labelled: bool = False
    is_deleting: bool = False
    members: tuple[str, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Whether node-tainter marks its members."""
        return self.is_exclusive or self.is_labelled


@dataclass(frozen=True, slots=True)
class Marks:
    """Our marks on a node: uids of HostPools in taints, and places by uid in labels."""

    taints: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)


def differ(one: str, other: str) -> bool:
    """Whether two uids of Jobs are known, and not the same."""
    return bool(one and other and one != other)


def holds_on(pool: Pool) -> bool:
    """Whether a pool keeps nodes from the exclusive pools of others: see `cluster.Claim`."""
    return pool.is_exclusive or bool(pool.hosts) or pool.size is not None


# --------------------------------------------------------------------------- what is said


@dataclass(frozen=True, slots=True)
class PlacementStatus:
    """What the status of a Placement is to say; `generation` and what follows is in force."""

    phase: PlacementPhase
    reason: Reason
    message: str
    observed_generation: int
    waits: bool | None = None
    families: tuple[Family, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    generation: int | None = None
    as_preferred: bool | None = None
    pools: tuple[tuple[int, tuple[str, ...]], ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    """Nodes and the ids of their PEs in runs."""


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """What the status of a HostPool is to say."""

    members: tuple[str, ...]
    claimed: tuple[str, ...]
    generation: int | None
    observed_generation: int
    is_ready: bool
    reason: Reason
    message: str


# --------------------------------------------------------------------------- snapshots

PAUSE_FIRST_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0
PAUSE_PER_SEARCH: Final = 10
"""A job that waits has at most one tenth of the time of its lane."""
UNKNOWN_PAUSE_S: Final = 30.0


class SearchTarget(NamedTuple):
    """What is searched: a place for the spec of `generation` of the Placement with this uid.

    A patient search looks at a job again that waits.
    """

    ref: Ref
    uid: str
    generation: int
    is_patient: bool = False

    @property
    def subject(self) -> str:
        """What it is about."""
        return "/".join(self.ref)

    def is_of(self, placement: Placement) -> bool:
        """Whether it is the spec as it is."""
        return (self.uid, self.generation) == (placement.uid, placement.generation)


@dataclass(frozen=True, slots=True)
class Tried:
    """The last search for a Placement: when it ended (unix seconds), and how often in a row it
    found nothing."""

    uid: str
    generation: int
    changes: int
    at: float
    took_s: float
    times: int

    def is_of(self, placement: Placement) -> bool:
        """Whether it was for the spec as it is."""
        return (self.uid, self.generation) == (placement.uid, placement.generation)

    @property
    def again_at(self) -> float:
        """When the pause after it ends."""
        growing_s = min(PAUSE_MAX_S, PAUSE_FIRST_S * 2.0 ** min(self.times - 1, 10))
        return self.at + max(growing_s, PAUSE_PER_SEARCH * self.took_s)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: what is to be said, and the placement that is then in force.

    It answers the spec of `generation` of the Placement with this uid, and counts until another
    spec stands there.
    """

    uid: str
    generation: int
    said: PlacementStatus
    in_force: InForce

    def is_of(self, placement: Placement) -> bool:
        """Whether it answers the spec as it is."""
        return (self.uid, self.generation) == (placement.uid, placement.generation)


@dataclass(frozen=True, slots=True)
class PlacementSeen:
    """A Placement, its status as it is, and what was found since.

    `is_broken`: what is in force does not hold any more; `tried`: the last search.
    """

    placement: Placement
    status: Mapping[str, Any] = field(default_factory=dict)
    found: Found | None = None
    is_broken: bool = False
    tried: Tried | None = None


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Everything that the choice may look at; `changes` as the picture counts them."""

    placements: tuple[PlacementSeen, ...]
    searching: tuple[SearchTarget, ...]
    changes: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a HostPool; `node` is empty where a place has none.

    `is_marked`: it carries the marks that the pool gives; `runs_others`: Streams pods of other jobs
    are on it.
    """

    node: str
    is_there: bool = False
    is_marked: bool = False
    runs_others: bool = False


@dataclass(frozen=True, slots=True)
class PoolSeen:
    """A HostPool, its status as it is, and its members as they should be.

    `least` members it needs, and one at each of the `places` that PEs ask for.
    """

    pool: HostPool
    status: Mapping[str, Any]
    members: tuple[Member, ...]
    least: int = 0
    places: frozenset[int] = frozenset()

    @property
    def missing(self) -> int:
        """How many members it lacks."""
        there = {at for at, each in enumerate(self.members) if each.is_there}
        return max(0, self.least - len(there), len(self.places - there))


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """Everything that is looked at for a job."""

    seen: PlacementSeen | None
    pools: tuple[PoolSeen, ...]


Snapshot = ClusterSnapshot | JobSnapshot
