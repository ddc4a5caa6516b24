"""A job and a cluster as arrays: what the searches work on.

Nothing here is a pod: PEs that must share a node are one unit, and units that ask for the same are
one class, and only counts are decided. A `Problem` is built by `building.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from placement.answers import Family
from placement.cluster import Bools, Cluster
from placement.columns import Ints
from placement.job import Job

NONE = -1

KEPT_MAX: Final = 4_000_000
"""Numbers, one for each class and node, that are kept with a problem: 32 MB."""

SAMPLED_MIN: Final = 512
"""Of a class's nodes that are looked at, where its room is only guessed."""

T = TypeVar("T")


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
    remembered: dict[Hashable, Any] = field(default_factory=dict)

    def remember(self, what: Hashable, make: Callable[[], T]) -> T:
        """What was made of the problem under this name; nobody writes into it."""
        if what not in self.remembered:
            self.remembered[what] = make()
        found: T = self.remembered[what]
        return found

    def room(self, unit_class: UnitClass) -> Ints:
        """How many units of a class each of its nodes takes as long as nothing else is placed.

        Nobody writes into it.
        """

        def made() -> Ints:
            return self._room_on(unit_class, unit_class.nodes)

        return self.remember(("room", id(unit_class)), made) if self._is_small else made()

    def room_in_all(self, unit_class: UnitClass) -> float:
        """How many units its nodes take together; of many nodes it is guessed from some."""
        nodes = unit_class.nodes
        every = len(nodes) // SAMPLED_MIN
        if every <= 1:
            return float(self.room(unit_class).sum())
        some = self.remember(("some", id(nodes)), lambda: nodes[::every])
        return every * float(self._room_on(unit_class, some).sum())

    def _room_on(self, unit_class: UnitClass, nodes: Ints) -> Ints:
        room = self._fitting(unit_class, nodes)
        for token in unit_class.apart:
            room[self.exclusions[token].closed[nodes]] = 0
        return room

    @property
    def _is_small(self) -> bool:
        """Whether numbers of all classes and nodes may be kept."""
        return len(self.classes) * len(self.cluster) <= KEPT_MAX

    def _fitting(self, unit_class: UnitClass, nodes: Ints) -> Ints:
        columns = self._columns(nodes)
        if not self._is_small:
            return fitting(unit_class, columns)
        most = np.full(columns.shape[1], most_of(unit_class), np.int64)
        for at, amount in enumerate(unit_class.requests.tolist()):
            if amount:
                key = "times", id(nodes), at, amount
                times = self.remember(key, partial(np.floor_divide, columns[at], amount))
                np.minimum(most, times, out=most)
        return most

    def _columns(self, nodes: Ints) -> Ints:
        """What is free on some nodes, by resource: most classes share theirs."""
        key = "columns", id(nodes)
        return self.remember(key, lambda: np.ascontiguousarray(self.free.take(nodes, axis=0).T))

    def in_domains_of(self, nodes: Ints) -> Bools:
        """Every node of the domains that these nodes are in, and these nodes."""
        found = np.zeros(len(self.cluster), bool)
        found[nodes] = True
        return found if self.is_of_hosts else with_their_domains(found, self.domains)


def fitting(unit_class: UnitClass, columns: Ints) -> Ints:
    """How many units of a class fit by what they request into what is free, by resource."""
    most = np.full(columns.shape[1], most_of(unit_class), np.int64)
    for free, amount in zip(columns, unit_class.requests.tolist(), strict=True):
        if amount:
            np.minimum(most, free // amount, out=most)
    return most


def most_of(unit_class: UnitClass) -> int:
    """How many units of a class a node could take at most, whatever it has free."""
    return 1 if unit_class.is_single else len(unit_class.units)


def with_their_domains(nodes: Bools, domains: Ints) -> Bools:
    """These nodes, and every node of the domains that they are in."""
    near = np.unique(domains[nodes])
    return nodes | np.isin(domains, near[near != NONE])


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """How many units of each class go where, and which nodes are members of each pool."""

    counts: tuple[tuple[Ints, Ints], ...]
    members: tuple[Bools, ...]
