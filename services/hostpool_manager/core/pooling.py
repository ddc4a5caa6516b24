"""Which nodes may be members of each pool of a job, which are already, and which others hold.

Members keep their places: `pool[i]` is the node that it was as long as a PE that asks for place i
runs there or, where an earlier decision is kept, as long as it may be a member. A pool of named
hosts has them in their order; of others, places go to new nodes as the search chooses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from services.hostpool_manager.core.answers import Family
from services.hostpool_manager.core.cluster import Bools, Cluster, Toleration
from services.hostpool_manager.core.job import Job, Pe, Pool
from services.hostpool_manager.core.problem import NONE, PoolChoice


@dataclass(frozen=True, slots=True, eq=False)
class Pooling:
    """Pools as choices; `claimed` by others exclusively; `places`: node by pool[i], where known."""

    choices: tuple[PoolChoice, ...]
    positions: Mapping[int, int]
    claimed: Bools
    places: tuple[Mapping[int, int], ...]

    def at(self, pe: Pe) -> int:
        """The position of the PE's pool among the choices, or NONE."""
        return NONE if pe.pool is None else self.positions.get(pe.pool, NONE)

    def slot(self, at: int, place: int) -> Bools:
        """Nodes that may be pool[place]: the one that is, or all that are no other place's."""
        known = self.places[at]
        found = np.zeros(len(self.claimed), bool)
        if place in known:
            found[known[place]] = True
            return found
        found[list(known.values())] = True
        return ~found


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
    pools = [pool for pool in job.pools if not pool.is_default]
    choices, places = [], []
    for at, pool in enumerate(pools):
        known = view.places(pool)
        places.append(known)
        choices.append(view.choice(at, pool, known))
    return Pooling(
        choices=tuple(choices),
        positions={pool.index: at for at, pool in enumerate(pools)},
        claimed=view.claims(exclusive_only=True),
        places=tuple(places),
    )


@dataclass(frozen=True, slots=True)
class _View:
    cluster: Cluster
    job: Job
    fixed: Mapping[int, int]
    lifted: frozenset[Family]
    keeps: bool

    def choice(self, at: int, pool: Pool, known: Mapping[int, int]) -> PoolChoice:
        candidates = self._candidates(pool)
        forced = self._runs(pool)
        is_exclusive = self._is_exclusive(pool)
        least, most = self._size(pool)
        if self._is_named(pool) and is_exclusive:
            forced = self._named(pool)
        chooses = is_exclusive or (most < len(self.cluster) and not self._is_named(pool))
        if chooses:
            for node in list(known.values())[: max(0, most - int(forced.sum()))]:
                forced[node] = True
        return PoolChoice(
            position=at,
            candidates=candidates | forced if not self._is_named(pool) else candidates,
            forced=forced,
            least=least,
            most=max(most, int(forced.sum())),
            is_exclusive=is_exclusive,
            chooses=chooses,
        )

    def _is_exclusive(self, pool: Pool) -> bool:
        return pool.is_exclusive and Family.EXCLUSIVITY not in self.lifted

    def _is_named(self, pool: Pool) -> bool:
        return bool(pool.hosts) and Family.HOSTS not in self.lifted

    def _size(self, pool: Pool) -> tuple[int, int]:
        """The least and the most members."""
        places = [pe.in_pool_index for pe in self.job.pes if pe.pool == pool.index]
        places_least = max((place + 1 for place in places if place is not None), default=0)
        if self._is_named(pool):
            named = int(self._named(pool).sum())
            return named, named
        if pool.size is not None and Family.SIZE not in self.lifted:
            return pool.size, pool.size
        return max(places_least, int(bool(pool.tags))), len(self.cluster)

    def _named(self, pool: Pool) -> Bools:
        found = np.zeros(len(self.cluster), bool)
        found[[at for host in pool.hosts if (at := self.cluster.node_of(host)) is not None]] = True
        return found

    def _candidates(self, pool: Pool) -> Bools:
        """Nodes that may be members. Those that are named need not be open to pods."""
        if self._is_named(pool):
            found = self._named(pool)
        else:
            lifts_tags = Family.TAGS in self.lifted
            found = self.cluster.with_tags(() if lifts_tags else pool.tags)
            if Family.CLOSED not in self.lifted:
                found &= self.cluster.open_to(self._tolerations(pool))
        found &= ~self.claims(exclusive_only=not self._is_exclusive(pool))
        if self._is_exclusive(pool):
            found &= ~self._used_by_others(pool)
        return found

    def _tolerations(self, pool: Pool) -> list[Toleration]:
        """All that a PE of the pool tolerates."""
        inside = [pe.tolerations for pe in self.job.pes if pe.pool == pool.index]
        return list(dict.fromkeys(each for tolerations in inside for each in tolerations))

    def claims(self, *, exclusive_only: bool) -> Bools:
        """Nodes that pools of other jobs hold."""
        found = np.zeros(len(self.cluster), bool)
        if Family.EXCLUSIVITY not in self.lifted:
            for claim in self.cluster.claims:
                counts = claim.job != self.job.name and (claim.is_exclusive or not exclusive_only)
                if counts and claim.node in self.cluster.index:
                    found[self.cluster.index[claim.node]] = True
        return found

    def _used_by_others(self, pool: Pool) -> Bools:
        """Nodes with pods of other jobs, or with PEs of this one that are not in the pool."""
        foreign = self.cluster.streams_pods.copy()
        for pod in self.cluster.pods.get(self.job.name, ()):
            if pod.node in self.cluster.index:
                foreign[self.cluster.index[pod.node]] -= 1
        used = foreign > 0
        inside = {pe.id for pe in self.job.pes if pe.pool == pool.index}
        used[[node for pe, node in self.fixed.items() if pe not in inside and node != NONE]] = True
        for other in self.job.pools:
            if other is not pool and self._is_named(other):
                used |= self._named(other)
        return used

    def _runs(self, pool: Pool) -> Bools:
        """Nodes where PEs of the pool run, but for those that somebody else has by now."""
        inside = {pe.id for pe in self.job.pes if pe.pool == pool.index}
        found = np.zeros(len(self.cluster), bool)
        found[[node for pe, node in self.fixed.items() if pe in inside and node != NONE]] = True
        return found & ~self.claims(exclusive_only=not self._is_exclusive(pool))

    def places(self, pool: Pool) -> dict[int, int]:
        """The node of pool[i], where it is known."""
        if self._is_named(pool):
            named = ((at, self.cluster.node_of(host)) for at, host in enumerate(pool.hosts))
            return {at: node for at, node in named if node is not None}
        candidates, runs = self._candidates(pool), self._runs(pool)
        found = {
            pe.in_pool_index: node
            for pe in self.job.pes
            if pe.pool == pool.index and pe.in_pool_index is not None
            if (node := self.fixed.get(pe.id, NONE)) != NONE and runs[node]
        }
        for at, name in enumerate(pool.members):
            node = self.cluster.index.get(name, NONE)
            if node != NONE and self.keeps and (runs[node] or candidates[node]):
                found.setdefault(at, node)
        return found
