"""Refuses what no cluster could give, and what names nodes or tags that do not exist.

Each refusal names PEs, hosts and pools, and fails at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterator

from contracts.reasons import Reason
from services.hostpool_manager.core.answers import Family, Nearest, Refused
from services.hostpool_manager.core.cluster import HOSTNAME, Cluster, Node
from services.hostpool_manager.core.gathering import together
from services.hostpool_manager.core.job import Job, Pe, Pool

NEAREST_MAX = 3


def contradiction(cluster: Cluster, job: Job) -> Refused | None:
    """The first thing that cannot be, whatever else the cluster has."""
    return next(_contradictions(cluster, job), None)


def missing(cluster: Cluster, job: Job) -> Refused | None:
    """The first host or tag that no node has. What runs already has found its host."""
    running = _running(cluster, job)
    for pe in job.pes:
        if pe.host and pe.id not in running and cluster.node_of(pe.host) is None:
            return _no_host(cluster, pe.host, f"PE {pe.id} asks for")
    for pool in _pools(job):
        for host in pool.hosts:
            if cluster.node_of(host) is None:
                return _no_host(cluster, host, f"the pool {pool.name} names")
        if pool.tags and not pool.hosts and not cluster.with_tags(pool.tags).any():
            return _no_tags(cluster, pool)
    return None


def _pools(job: Job) -> list[Pool]:
    return [pool for pool in job.pools if not pool.is_default]


def _no_host(cluster: Cluster, host: str, who: str) -> Refused:
    names = difflib.get_close_matches(host, cluster.index, n=NEAREST_MAX, cutoff=0.6)
    return Refused(
        Reason.HOST_MISSING,
        f"{who} {host}, and no node has that name or address",
        (Family.HOSTS,),
        tuple(Nearest(name, (f"is not {host}",)) for name in names),
    )


def _no_tags(cluster: Cluster, pool: Pool) -> Refused:
    asked = set(pool.tags)

    def lacks(node: Node) -> int:
        return len(asked - node.tags)

    closest = sorted(cluster.nodes, key=lacks)[:NEAREST_MAX]
    near = [node for node in closest if lacks(node) < len(asked)]
    listed = ", ".join(pool.tags)
    return Refused(
        Reason.TAG_MISSING,
        f"the pool {pool.name} asks for nodes with the tags {listed}, and no node has them all",
        (Family.TAGS,),
        tuple(
            Nearest(node.name, (f"lacks the tag {tag}",))
            for node in near
            for tag in sorted(asked - node.tags)[:1]
        ),
    )


def _running(cluster: Cluster, job: Job) -> set[int]:
    return {pod.pe for pod in cluster.pods.get(job.name, ()) if pod.is_bound}


def _contradictions(cluster: Cluster, job: Job) -> Iterator[Refused]:
    running = _running(cluster, job)
    yield from _places(cluster, job, running)
    if not job.is_required:
        return
    chosen = {pool.index for pool in _pools(job)}

    def tokens(pe: Pe) -> list[Hashable]:
        has_place = pe.in_pool_index is not None and pe.pool in chosen
        return [*sorted(pe.colocations), *([(pe.pool, pe.in_pool_index)] if has_place else [])]

    for group in together(job.pes, tokens):
        if len(group) > 1:
            yield from _in_group(cluster, job, group, running)


def _places(cluster: Cluster, job: Job, running: set[int]) -> Iterator[Refused]:
    pools = {pool.index: pool for pool in job.pools}
    for pe in job.pes:
        if pe.pool is not None and pe.pool not in pools:
            yield _refused(f"PE {pe.id} asks for pool {pe.pool}, which the job does not have")
            continue
        pool = pools[pe.pool] if pe.pool is not None else None
        if pool is None or pool.is_default or pe.id in running:
            continue
        most = len(pool.hosts) if pool.hosts else pool.size
        if pe.in_pool_index is not None and most is not None and pe.in_pool_index >= most:
            which = f"place {pe.in_pool_index} of the pool {pool.name}"
            yield _refused(f"PE {pe.id} asks for {which}, which has {most}")
        if pe.host and pool.hosts:
            named = {cluster.node_of(host) for host in pool.hosts} - {None}
            if named and cluster.node_of(pe.host) not in named | {None}:
                yield _refused(f"PE {pe.id} asks for {pe.host} and for {pool.name} without it")


def _in_group(
    cluster: Cluster, job: Job, group: tuple[Pe, ...], running: set[int]
) -> Iterator[Refused]:
    """PEs that must be together; those that run are, whatever they ask for."""
    if {pe.id for pe in group} <= running:
        return
    tokens: dict[str, Pe] = {}
    for pe in group:
        for token in sorted(pe.exlocations):
            other = tokens.setdefault(token, pe)
            if other is not pe:
                yield _clash(other, pe, f"must not be (exlocation {token})")
        if pe.is_isolated:
            other = next(each for each in group if each is not pe)
            yield _clash(pe, other, f"PE {pe.id} asks for a place of its own")
    if job.topology_key == HOSTNAME:
        yield from _differing(
            group, lambda pe: cluster.node_of(pe.host) if pe.host else None, "host"
        )
        yield from _differing(
            group,
            lambda pe: None if pe.in_pool_index is None else (pe.pool, pe.in_pool_index),
            "place in a pool",
        )


def _differing(
    group: tuple[Pe, ...], trait: Callable[[Pe], Hashable | None], what: str
) -> Iterator[Refused]:
    first: Pe | None = None
    for pe in group:
        if trait(pe) is None:
            continue
        if first is not None and trait(first) != trait(pe) and _same_pool(first, pe, what):
            yield _clash(first, pe, f"each asks for another {what}")
        first = first or pe


def _same_pool(one: Pe, other: Pe, what: str) -> bool:
    """Places of two pools may be one node."""
    return what == "host" or one.pool == other.pool


def _clash(one: Pe, other: Pe, why: str) -> Refused:
    return _refused(f"PE {one.id} and PE {other.id} must be together, and {why}")


def _refused(message: str) -> Refused:
    return Refused(Reason.CONSTRAINTS_CONTRADICT, message)
