"""Finds the possible members of each pool of a job, its current ones, and what others hold.

Members keep their places: `pool[i]` keeps its node while a PE that asks for place i runs there. If
an earlier decision is kept, it also does so while the node may be a member. Named hosts keep their
order. In other pools, the search gives the remaining places to new nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from placement.answers import Family
from placement.cluster import Bools, Cluster
from placement.columns import Ints
from placement.job import Job, Pe, Pool
from placement.problem import NONE, PoolChoice


@dataclass(frozen=True, slots=True, eq=False)
class Pooling:
    """Pools as choices. Others hold `claimed` exclusively. `places`: known nodes of pool[i]."""

    choices: tuple[PoolChoice, ...]
    positions: Mapping[int, int]
    claimed: Bools
    places: tuple[Mapping[int, int], ...]
    named: frozenset[int]

    def at(self, pe: Pe) -> int:
        """The position of the PE's pool among the choices, or NONE."""
        return NONE if pe.pool is None else self.positions.get(pe.pool, NONE)

    def place(self, pe: Pe) -> int | None:
        """The place that a PE asks for, where it is not one of named hosts."""
        at = self.at(pe)
        return None if at == NONE or at in self.named else pe.in_pool_index

    def known_place(self, pe: Pe) -> int | None:
        """The place that a PE asks for, or NONE if its node is unknown: such places are alike."""
        at = self.at(pe)
        if at == NONE or pe.in_pool_index is None:
            return None
        return pe.in_pool_index if pe.in_pool_index in self.places[at] else NONE

    def slot(self, at: int, place: int) -> Bools:
        """Nodes that may be pool[place]: its known node, or all that no other place has."""
        known = self.places[at]
        found = np.zeros(len(self.claimed), bool)
        if place in known:
            found[known[place]] = True
            return found
        found[list(known.values())] = True
        return found if at in self.named else ~found


def chosen_pools(
    cluster: Cluster,
    job: Job,
    fixed: Mapping[int, int],
    lifted: frozenset[Family],
    *,
    keeps: bool,
) -> Pooling:
    """The pools of a job as choices."""
    view = _View(cluster, job, fixed, lifted, keeps)
    choices, places = [], []
    for at, pool in enumerate(job.chosen_pools):
        candidates = view.candidates(pool)
        known = view.places(pool, candidates)
        places.append(known)
        choices.append(view.choice(at, pool, candidates, known))
    return Pooling(
        choices=tuple(choices),
        positions={pool.index: at for at, pool in enumerate(job.chosen_pools)},
        claimed=view.held[True],
        places=tuple(places),
        named=frozenset(at for at, pool in enumerate(job.chosen_pools) if view.is_named(pool)),
    )


@dataclass(slots=True)
class _View:
    """Values that pools share. `held`: by other jobs, exclusively (True) or at all (False);
    `running`: PEs of pools on each node; `naming`: pools that name it."""

    cluster: Cluster
    job: Job
    fixed: Mapping[int, int]
    lifted: frozenset[Family]
    keeps: bool
    held: dict[bool, Bools] = field(init=False)
    foreign: Bools = field(init=False)
    running: Ints = field(init=False)
    naming: Ints = field(init=False)

    def __post_init__(self) -> None:
        none = np.zeros(len(self.cluster), bool)
        lifts = Family.EXCLUSIVITY in self.lifted
        self.held = {
            only: none if lifts else self.cluster.held_by_others(self.job.name, exclusive_only=only)
            for only in (False, True)
        }
        self.foreign = self.cluster.used_by_others(self.job.name)
        in_pools = (self._inside(pool).values() for pool in self.job.chosen_pools)
        self.running = self._counted(node for nodes in in_pools for node in nodes)
        self.naming = np.zeros(len(self.cluster), np.int64)
        for pool in self.job.chosen_pools:
            if self.is_named(pool):
                self.naming += self.cluster.among(pool.hosts)

    def _counted(self, nodes: Iterable[int]) -> Ints:
        where = np.array([node for node in nodes if node != NONE], np.int64)
        return np.bincount(where, minlength=len(self.cluster))

    def choice(
        self, at: int, pool: Pool, candidates: Bools, known: Mapping[int, int]
    ) -> PoolChoice:
        forced = self._runs(pool)
        is_exclusive = self._is_exclusive(pool)
        least, most = self._size(pool)
        if self.is_named(pool) and is_exclusive:
            forced = self.cluster.among(pool.hosts)
        chooses = is_exclusive or (most < len(self.cluster) and not self.is_named(pool))
        if chooses:
            for node in list(known.values())[: max(0, most - int(forced.sum()))]:
                forced[node] = True
        return PoolChoice(
            position=at,
            candidates=candidates | forced if not self.is_named(pool) else candidates,
            forced=forced,
            least=least,
            most=max(most, int(forced.sum())),
            is_exclusive=is_exclusive,
            chooses=chooses,
        )

    def _is_exclusive(self, pool: Pool) -> bool:
        return pool.is_exclusive and Family.EXCLUSIVITY not in self.lifted

    def is_named(self, pool: Pool) -> bool:
        return bool(pool.hosts) and Family.HOSTS not in self.lifted

    def _size(self, pool: Pool) -> tuple[int, int]:
        """The least and the most members."""
        if self.is_named(pool):
            named = int(self.cluster.among(pool.hosts).sum())
            return named, named
        if pool.size is not None and Family.SIZE not in self.lifted:
            return pool.size, pool.size
        return self.job.least_of(pool), len(self.cluster)

    def candidates(self, pool: Pool) -> Bools:
        """Nodes that may be members. Those that are named need not be open to pods."""
        if self.is_named(pool):
            found = self.cluster.among(pool.hosts)
        else:
            lifts_tags = Family.TAGS in self.lifted
            found = self.cluster.with_tags(() if lifts_tags else pool.tags)
            found &= self.cluster.open_to(
                self.job.tolerations_in(pool),
                cordons=Family.CLOSED not in self.lifted,
                readiness=Family.CAPACITY not in self.lifted,
            )
        found &= ~self.held[not self._is_exclusive(pool)]
        if self._is_exclusive(pool):
            found &= ~self._used_by_others(pool)
        return found

    def _used_by_others(self, pool: Pool) -> Bools:
        """Nodes with pods of other jobs, with PEs of another pool of this one, and those that
        another pool names.

        Running PEs without a pool may stay: they belong to the claiming job. The taint keeps new
        ones out.
        """
        used = self.foreign | (self.running > self._counted(self._inside(pool).values()))
        return used | (self.naming > (self.cluster.among(pool.hosts) if self.is_named(pool) else 0))

    def _inside(self, pool: Pool) -> dict[int, int]:
        """The node of each PE of the pool that runs."""
        if not self.fixed:
            return {}
        ids = self.job.ids_in(pool)
        return {pe: node for pe, node in self.fixed.items() if pe in ids and node != NONE}

    def _runs(self, pool: Pool) -> Bools:
        """Nodes where PEs of the pool run, except nodes that other jobs hold now."""
        found = np.zeros(len(self.cluster), bool)
        found[list(self._inside(pool).values())] = True
        return found & ~self.held[not self._is_exclusive(pool)]

    def places(self, pool: Pool, candidates: Bools) -> dict[int, int]:
        """The node of pool[i], where it is known."""
        if self.is_named(pool):
            named = ((at, self.cluster.node_of(host)) for at, host in enumerate(pool.hosts))
            return {at: node for at, node in named if node is not None}
        runs, found = self._runs(pool), {}
        for pe, node in self._inside(pool).items():
            place = self.job.by_id[pe].in_pool_index
            if place is not None and runs[node]:
                found[place] = node
        for at, name in enumerate(pool.members):
            node = self.cluster.index.get(name, NONE)
            if node != NONE and self.keeps and (runs[node] or candidates[node]):
                found.setdefault(at, node)
        return found
