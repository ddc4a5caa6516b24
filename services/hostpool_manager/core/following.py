"""Pools that follow the nodes: which nodes qualify, and how many a pool must have.

A shared pool without size and hosts has every node that qualifies as a member: a new node, or one
that gets the tags, joins it, and a node that an exclusive pool of another job takes leaves it.
"""

from __future__ import annotations

from contracts.showing import agreeing, counted
from placement.cluster import Bools, Cluster
from placement.job import Job, Pool


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
        more = len(names - set(pool.members))
        if more:
            found.append(
                f"{counted(more, 'node')} more {agreeing(more, 'qualify')} for {pool.name}"
            )
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
