"""Whether the members of pools are all that they may be, and which of them are lost.

A shared pool that nobody counts or names has every node that qualifies; a node that comes, or gets
its tags, becomes a member, and one that an exclusive pool of another job takes is none any more.
"""

from __future__ import annotations

from collections.abc import Mapping

from placement.cluster import Bools, Cluster
from placement.job import Job, Pool, running
from services.hostpool_manager.core.snapshot import InForce


def follows(pool: Pool) -> bool:
    """Whether every node that qualifies is a member."""
    is_open = not pool.is_exclusive and pool.size is None
    return is_open and not pool.hosts and not pool.is_default


def not_followed(cluster: Cluster, job: Job) -> tuple[str, ...]:
    """What is wrong with pools that follow the nodes, in sentences; `members` are those known."""
    taken = {name for pool in job.pools if pool.is_exclusive for name in pool.members}
    held = cluster.held_by_others(job.name, exclusive_only=True)
    found = []
    for pool in job.pools:
        if not follows(pool):
            continue
        fits = may_be_members(cluster, job, pool)
        names = {cluster.nodes[at].name for at in fits.nonzero()[0].tolist()} - taken
        missing = names - set(pool.members)
        if missing:
            found.append(f"{len(missing)} nodes more qualify for {pool.name}")
        found += [
            f"{name} of {pool.name} is held by another job"
            for name in pool.members
            if name in cluster.index and held[cluster.index[name]]
        ]
    return tuple(found)


def may_be_members(cluster: Cluster, job: Job, pool: Pool) -> Bools:
    """Nodes that have the tags of a pool, take its pods, and are held by no other job."""
    found = cluster.with_tags(pool.tags) & cluster.open_to(job.tolerations_in(pool))
    return found & ~cluster.held_by_others(job.name, exclusive_only=not pool.is_exclusive)


def members_needed(cluster: Cluster, job: Job, pool: Pool) -> int:
    """How many members a pool must have, by its hosts or size; else as many as are used."""
    if pool.hosts:
        return len(cluster.named(pool.hosts))
    return job.least_of(pool) if pool.size is None else pool.size


def without_lost(cluster: Cluster, job: Job, in_force: InForce) -> InForce:
    """What of the placement in force is left where no other was found.

    A place is lost where its node is gone or does not qualify, and no PE of the pool runs there;
    an assignment of a PE without a pod is, where its node is gone or its pool lost it. A lost place
    is empty where numbers matter, else it is none.
    """
    runs = running(cluster, job)
    pools = dict(in_force.pools)
    for pool in job.chosen_pools:
        if pool.index in pools:
            nodes = {runs.get(pe, "") for pe in job.ids_in(pool)}
            pools[pool.index] = _kept(cluster, job, pool, in_force, nodes)
    of_pool = {pe.id: pe.pool for pe in job.pes}
    return InForce(
        in_force.generation,
        pools,
        {
            pe: node
            for pe, node in in_force.assignments.items()
            if pe in runs or _holds(cluster, pools, of_pool.get(pe), node)
        },
        in_force.is_as_preferred,
    )


def _kept(
    cluster: Cluster, job: Job, pool: Pool, in_force: InForce, runs: set[str]
) -> tuple[str, ...]:
    fits = may_be_members(cluster, job, pool)

    def is_kept(name: str) -> bool:
        at = cluster.index.get(name)
        return at is not None and (name in runs or bool(pool.hosts) or bool(fits[at]))

    left = (name if is_kept(name) else "" for name in in_force.pools[pool.index])
    return tuple(name for name in left if name or job.keeps_numbers(pool))


def _holds(
    cluster: Cluster, pools: Mapping[int, tuple[str, ...]], pool: int | None, node: str
) -> bool:
    if node not in cluster.index:
        return False
    return pool is None or pool not in pools or node in pools[pool]
