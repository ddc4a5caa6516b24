"""A job and a cluster as arrays: what the searches work on.

Nothing here is a pod: PEs that must share a node are one unit, and units that ask for the same are
one class, of which only counts are decided. A `Problem` is stated by `stating.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from services.hostpool_manager.core.answers import Family
from services.hostpool_manager.core.cluster import Bools, Cluster, Ints
from services.hostpool_manager.core.job import Job

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class UnitClass:
    """Units that ask for the same. `units`: PE ids; `nodes`: where each may go, ascending.

    `requests` by resource of the problem. `pools`: positions of those that all of a unit is in,
    one but where PEs of several are together; `apart`: exclusions that every unit is in; `group`:
    units of one group must be in one domain.
    """

    units: tuple[tuple[int, ...], ...]
    requests: Ints
    nodes: Ints
    pools: tuple[int, ...]
    apart: tuple[int, ...]
    is_isolated: bool
    group: int

    def of(self, units: tuple[tuple[int, ...], ...]) -> UnitClass:
        """The class with these units."""
        return replace(self, units=units)

    @property
    def is_single(self) -> bool:
        """Whether no place takes two of its units."""
        return bool(self.apart) or self.is_isolated

    @property
    def pool(self) -> int:
        """The one pool that it may have to itself, or NONE; units of several are of shared ones."""
        return self.pools[0] if self.pools else NONE


@dataclass(frozen=True, slots=True, eq=False)
class Exclusion:
    """At most one unit a node, or a domain; `closed` is where one runs already."""

    is_of_nodes: bool
    closed: Bools


@dataclass(frozen=True, slots=True, eq=False)
class PoolChoice:
    """The members of a pool that are to be chosen.

    `forced` ones are in it already. Where it does not `choose`, every candidate is a member; then
    `least` is only how many there must be.
    """

    position: int
    candidates: Bools
    forced: Bools
    least: int
    most: int
    is_exclusive: bool
    chooses: bool


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """All that a search needs. `free` is nodes by resources and never below 0.

    `domains` is each node's topology domain or NONE, `occupied` the nodes in whose domain a PE of
    the job runs, `overfull` whether what runs would ask for more than its node has.
    """

    cluster: Cluster
    job: Job
    lifted: frozenset[Family]
    resources: tuple[str, ...]
    free: Ints
    classes: tuple[UnitClass, ...]
    pools: tuple[PoolChoice, ...]
    exclusions: tuple[Exclusion, ...]
    domains: Ints
    occupied: Bools
    fixed: dict[int, int]
    overfull: bool
    is_of_hosts: bool

    def room(self, unit_class: UnitClass, free: Ints | None = None) -> Ints:
        """How many units of a class fit on each of its nodes by what they request."""
        left = (self.free if free is None else free)[unit_class.nodes]
        most = np.full(len(left), len(unit_class.units), np.int64)
        for at, amount in enumerate(unit_class.requests.tolist()):
            if amount:
                np.minimum(most, left[:, at] // amount, out=most)
        return np.maximum(most, 0)

    def in_domains_of(self, nodes: Ints) -> Bools:
        """Every node of the domains that these nodes are in, and these nodes."""
        found = np.zeros(len(self.cluster), bool)
        found[nodes] = True
        return found if self.is_of_hosts else with_their_domains(found, self.domains)


def with_their_domains(nodes: Bools, domains: Ints) -> Bools:
    """These nodes, and every node of the domains that they are in."""
    near = np.unique(domains[nodes])
    return nodes | np.isin(domains, near[near != NONE])


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """How many units of each class go where, and which nodes are members of each pool."""

    counts: tuple[tuple[Ints, Ints], ...]
    members: tuple[Bools, ...]
