"""Pools that follow the nodes, and members that are lost.

A shared pool without size and hosts has every node that qualifies as a member: a new node, or one
that gets the tags, joins it, and a node that an exclusive pool of another job takes leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping

from placement.cluster import Bools, Cluster
from placement.job import Job, Pool, bound_nodes
from services.hostpool_manager.core.snapshot import InForce


def follows_nodes(pool: Pool) -> bool:
    """Whether every node that qualifies is a member."""
    is_open = not pool.is_exclusive and pool.size is None
    return is_open and not pool.hosts and not pool.is_default


def membership_problems(cluster: Cluster, job: Job) -> tuple[str, ...]:
    """Sentences on nodes that must join or leave the `members` of pools that follow nodes."""
    taken = {name for pool in job.pools if pool.is_exclusive for name in pool.members}
    held = cluster.held_by_others(job.name, exclusive_only=True)
    found = []
    for pool in job.pools:
        if not follows_nodes(pool):
            continue
        fits = qualifying_nodes(cluster, job, pool)
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


def qualifying_nodes(cluster: Cluster, job: Job, pool: Pool) -> Bools:
    """Mask of the nodes that have the tags of a pool, admit its pods, and no other job holds."""
    found = cluster.with_tags(pool.tags) & cluster.open_to(job.tolerations_in(pool))
    return found & ~cluster.held_by_others(job.name, exclusive_only=not pool.is_exclusive)


def members_needed(cluster: Cluster, job: Job, pool: Pool) -> int:
    """How many members a pool must have: by its hosts or size, else as many as its PEs use."""
    if pool.hosts:
        return len(cluster.named(pool.hosts))
    return job.least_of(pool) if pool.size is None else pool.size


def without_lost(cluster: Cluster, job: Job, in_force: InForce) -> InForce:
    """The placement in force without what is lost.

    A member is lost if its node is gone, or does not qualify and runs no PE of the pool. The
    assignment of a PE without a pod is lost if its node is gone or is a member no longer. A lost
    member leaves an empty place in pools that keep numbers; in others it is removed.
    """
    bound = bound_nodes(cluster, job)
    pools = dict(in_force.pools)
    for pool in job.chosen_pools:
        if pool.index in pools:
            nodes = {bound.get(pe, "") for pe in job.ids_in(pool)}
            pools[pool.index] = _kept(cluster, job, pool, in_force, nodes)
    of_pool = {pe.id: pe.pool for pe in job.pes}
    return InForce(
        in_force.generation,
        pools,
        {
            pe: node
            for pe, node in in_force.assignments.items()
            if pe in bound or _holds(cluster, pools, of_pool.get(pe), node)
        },
        in_force.is_as_preferred,
    )


def _kept(
    cluster: Cluster, job: Job, pool: Pool, in_force: InForce, bound: set[str]
) -> tuple[str, ...]:
    fits = qualifying_nodes(cluster, job, pool)

    def is_kept(name: str) -> bool:
        at = cluster.index.get(name)
        return at is not None and (name in bound or bool(pool.hosts) or bool(fits[at]))

    left = (name if is_kept(name) else "" for name in in_force.pools[pool.index])
    return tuple(name for name in left if name or job.keeps_numbers(pool))


def _holds(
    cluster: Cluster, pools: Mapping[int, tuple[str, ...]], pool: int | None, node: str
) -> bool:
    if node not in cluster.index:
        return False
    return pool is None or pool not in pools or node in pools[pool]
