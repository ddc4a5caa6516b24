"""The frozen values that decisions look at: Placements, HostPools, and the searches for them.

The *spec* of a Placement is a request. The placement *in force* is the last one that was found; a
later refusal leaves it alone. `cluster_view.py` keeps the cluster, `adapters/reading.py` makes
these values of projections, and `statuses.py` makes statuses of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from contracts.reasons import Reason
from contracts.resources.placement import PlacementPhase, assigned
from placement.answers import Family, Members, Nearest, Placed
from placement.job import Job
from placement.taken import Amounts
from services.chassis.process.backoff import doubling_s


class Ref(NamedTuple):
    """Namespace and name of a job, which its Placement shares."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class InForce:
    """The last placement that was found: generation of its plan, members by pool, nodes by PE."""

    plan_generation: int | None = None
    pools: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    assignments: Mapping[int, str] = field(default_factory=dict)
    is_as_preferred: bool = True

    @property
    def nodes(self) -> frozenset[str]:
        """Every node that it names."""
        members = (name for each in self.pools.values() for name in each if name)
        return frozenset((*members, *self.assignments.values()))


@dataclass(frozen=True, slots=True)
class Placement:
    """A Placement: its spec (or `problem`: why it is invalid) and the answer that counts.

    `spec_generation` is metadata.generation, `observed_generation` the one that was answered,
    `plan_generation` that of the requesting plan; `version` orders Placements by their last change.
    `job_uid` is the uid of the Job that owns it, empty if none does. `has_pes`: the PEs exist
    already, with or without a placement.
    """

    ref: Ref
    uid: str
    spec_generation: int
    version: int
    job_uid: str = ""
    is_deleting: bool = False
    plan_generation: int = 0
    has_pes: bool = False
    spec: Job | None = None
    problem: str = ""
    phase: PlacementPhase | None = None
    observed_generation: int | None = None
    waits: bool = False
    message: str = ""
    in_force: InForce = InForce()

    @property
    def is_answered(self) -> bool:
        """Whether the current spec was answered."""
        return self.phase is not None and self.observed_generation == self.spec_generation

    @property
    def is_in_force(self) -> bool:
        """Whether the requested plan generation is the one in force, and not a change of it."""
        return self.in_force.plan_generation == self.plan_generation

    @property
    def is_placed(self) -> bool:
        """Whether the answer to the current spec is the placement in force."""
        return self.is_answered and self.is_in_force and self.phase is PlacementPhase.PLACED

    def answered(
        self, phase: PlacementPhase, *, waits: bool, message: str, in_force: InForce
    ) -> Placement:
        """A copy with an answer to its spec."""
        return replace(
            self,
            phase=phase,
            observed_generation=self.spec_generation,
            waits=waits,
            message=message,
            in_force=in_force,
        )

    @property
    def job(self) -> Job | None:
        """The job in the spec, with the assigned nodes and members that are in force."""
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
        """The placement in force, as an answer."""
        pools = (Members(index, nodes) for index, nodes in self.in_force.pools.items())
        return Placed(dict(self.in_force.assignments), tuple(pools), self.in_force.is_as_preferred)


@dataclass(frozen=True, slots=True)
class HostPool:
    """A HostPool: its job, the index of the pool, and whether its members carry marks.

    `is_default`: it is the pool of PEs without another one, and has no members of its own.
    """

    namespace: str
    name: str
    uid: str
    spec_generation: int
    job: Ref
    job_uid: str = ""
    index: int = 0
    is_exclusive: bool = False
    is_labelled: bool = False
    is_deleting: bool = False
    members: tuple[str, ...] = ()
    is_default: bool = False

    @property
    def is_marked(self) -> bool:
        """Whether node-tainter marks its members."""
        return self.is_exclusive or self.is_labelled


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node; `job` is None for pods that are not of Streams; `is_leaving`: it ends."""

    node: str
    requests: Amounts
    job: Ref | None = None
    job_uid: str = ""
    pe: int = -1
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """Our marks on a node: uids of HostPools in taints, and member indices by uid in labels."""

    taints: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)


def uids_differ(one: str, other: str) -> bool:
    """Whether two uids of Jobs are both known and differ."""
    return bool(one and other and one != other)


# --------------------------------------------------------------------------- desired statuses


@dataclass(frozen=True, slots=True)
class DesiredPlacementStatus:
    """The desired status of a Placement; `plan_generation` and the fields after it are
    in force."""

    phase: PlacementPhase
    reason: Reason
    message: str
    observed_generation: int
    waits: bool | None = None
    families: tuple[Family, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    plan_generation: int | None = None
    as_preferred: bool | None = None
    pools: tuple[tuple[int, tuple[str, ...]], ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    """Pairs of a node and the ids of its PEs as runs."""


@dataclass(frozen=True, slots=True)
class DesiredPoolStatus:
    """The desired status of a HostPool."""

    members: tuple[str, ...]
    claimed: tuple[str, ...]
    plan_generation: int | None
    observed_generation: int
    is_ready: bool
    reason: Reason
    message: str


# --------------------------------------------------------------------------- snapshots

PAUSE_FIRST_S: Final = 1.0
PAUSE_MAX_S: Final = 60.0
PAUSE_PER_SEARCH: Final = 10
"""The pause in multiples of the search time: a waiting job takes a tenth of its lane at most."""
UNKNOWN_PAUSE_S: Final = 30.0


class SearchTarget(NamedTuple):
    """The spec of a Placement for which a placement is searched: its uid and metadata.generation.

    A patient search is for a job that was refused and waits for room.
    """

    ref: Ref
    uid: str
    spec_generation: int
    is_patient: bool = False

    @property
    def subject(self) -> str:
        """The job, as namespace/name."""
        return "/".join(self.ref)

    def is_of(self, placement: Placement) -> bool:
        """Whether it is for the current spec."""
        return (self.uid, self.spec_generation) == (placement.uid, placement.spec_generation)


@dataclass(frozen=True, slots=True)
class LastSearch:
    """The last search for a Placement: its end (unix seconds) and the `misses` in a row.

    `room` is that of the cluster that was searched, as ClusterView says.
    """

    uid: str
    spec_generation: int
    room: int
    at: float
    took_s: float
    misses: int

    def is_of(self, placement: Placement) -> bool:
        """Whether it was for the current spec."""
        return (self.uid, self.spec_generation) == (placement.uid, placement.spec_generation)

    @property
    def retry_at(self) -> float:
        """When the pause after it ends (unix seconds)."""
        growing_s = doubling_s(PAUSE_FIRST_S, self.misses, PAUSE_MAX_S)
        return self.at + max(growing_s, PAUSE_PER_SEARCH * self.took_s)


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search: the desired status.

    It answers the spec of `spec_generation` of the Placement with this uid, and counts until that
    spec changes.
    """

    uid: str
    spec_generation: int
    status: DesiredPlacementStatus

    def is_of(self, placement: Placement) -> bool:
        """Whether it answers the current spec."""
        return (self.uid, self.spec_generation) == (placement.uid, placement.spec_generation)

    @property
    def in_force(self) -> InForce:
        """The placement that is then in force."""
        status = self.status
        if status.plan_generation is None:
            return InForce()
        assignments = ({"node": node, "pes": pes} for node, pes in status.assignments)
        return InForce(
            status.plan_generation,
            dict(status.pools),
            dict(assigned(assignments)),
            status.as_preferred is not False,
        )


@dataclass(frozen=True, slots=True)
class Searched:
    """The last search for a Placement, and its answer until the status records it."""

    last: LastSearch
    found: Found | None


@dataclass(frozen=True, slots=True)
class ObservedPlacement:
    """A Placement, its recorded status, and an answer that is not written yet.

    `is_broken`: the placement in force does not hold any more.
    """

    placement: Placement
    status: Mapping[str, Any] = field(default_factory=dict)
    found: Found | None = None
    is_broken: bool = False
    last_search: LastSearch | None = None


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """What the choice of the next searches looks at; `room` as ClusterView says."""

    placements: tuple[ObservedPlacement, ...]
    searching: tuple[SearchTarget, ...]
    room: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a HostPool; `node` is empty if the index has none. `is_there`: the node exists.

    `is_marked`: it carries the marks of the pool; `runs_others`: Streams pods of other jobs are
    on it.
    """

    node: str
    is_there: bool = False
    is_marked: bool = False
    runs_others: bool = False


@dataclass(frozen=True, slots=True)
class ObservedPool:
    """A HostPool, its recorded status, and its desired members.

    It needs `least` members, and one at each of the indices (`places`) that PEs require.
    """

    pool: HostPool
    status: Mapping[str, Any]
    members: tuple[Member, ...]
    least: int = 0
    places: frozenset[int] = frozenset()

    @property
    def missing(self) -> int:
        """The number of members that it lacks."""
        there = {at for at, each in enumerate(self.members) if each.is_there}
        return max(0, self.least - len(there), len(self.places - there))


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """What the statuses of a job are decided from; a job may have pools and no Placement."""

    placement: ObservedPlacement | None
    pools: tuple[ObservedPool, ...]


Snapshot = ClusterSnapshot | JobSnapshot
