"""Refuses what no cluster could give, and what names nodes or tags that do not exist.

Each refusal names PEs, hosts and pools, and fails at once.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from heapq import nsmallest

from contracts.hosts import normalised
from contracts.labels import HOSTNAME
from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from contracts.showing import counted
from placement.answers import (
    NEAREST_NAMED_MAX,
    Family,
    Nearest,
    Refused,
    closest_nodes,
)
from placement.cluster import Cluster
from placement.gathering import together
from placement.job import Job, Pe, Pool, bound_nodes

Kind = tuple[Pe, ...]
LIKENESS_MIN = 0.5
"""Of a name that a person may have meant."""
POOLS_NAMED_MAX = 10
"""Pools without a node that a message names: it is shown in a status."""


def contradiction(cluster: Cluster, job: Job) -> Refused | None:
    """The first thing that cannot be, whatever else the cluster has."""
    return next(_contradictions(cluster, job), None)


# --------------------------------------------------------------------------- what does not exist


def missing(cluster: Cluster, job: Job) -> Refused | None:
    """The first host that no node has, else all tags. What runs already has found its host."""
    bound = bound_nodes(cluster, job)
    for kind in job.kinds:
        host = kind[0].host
        if host and cluster.node_of(host) is None:
            new = [pe.id for pe in kind if pe.id not in bound]
            if new:
                return _no_host(cluster, host, f"PE {new[0]} asks for")
    for pool in job.chosen_pools:
        for host in pool.hosts:
            if cluster.node_of(host) is None:
                return _no_host(cluster, host, f"the pool {pool.name} names")
    without = [
        pool
        for pool in job.chosen_pools
        if pool.tags and not pool.hosts and not cluster.with_tags(pool.tags).any()
    ]
    return _no_tags(cluster, without) if without else None


def _no_host(cluster: Cluster, host: str, who: str) -> Refused:
    if normalised(host) is None:
        sentence = f"{who} {_quoted(host)}, and no node has that name"
        near = [Nearest(name, (f"is not {_quoted(host)}",)) for name in _like(cluster, host)]
        if not near:
            sentence += _how_many(cluster)
    else:
        sentence = f"{who} {host}, and no node has that address"
        near = [
            Nearest(name, (f"has {has}",)) for name, has in _beside(cluster, host) if name != host
        ]
        if host in cluster.index:
            sentence += "; one has it as its name, but what reads as an address is looked up as one"
    nearest = tuple(near[:NEAREST_NAMED_MAX])
    return Refused(Reason.HOST_MISSING, sentence + closest_nodes(nearest), (Family.HOSTS,), nearest)


def _quoted(host: str) -> str:
    """A name as people wrote it, in quotes where it would not be seen where it ends."""
    return host if host and host.isprintable() and " " not in host else f'"{host}"'


def _like(cluster: Cluster, host: str) -> list[str]:
    """The names of nodes that are like this one: those that differ in case or spaces first."""
    by_folded = {_folded(name): name for name in cluster.names}
    close = difflib.get_close_matches(
        _folded(host), by_folded, n=NEAREST_NAMED_MAX, cutoff=LIKENESS_MIN
    )
    return [by_folded[each] for each in close]


def _folded(name: str) -> str:
    return name.strip().casefold()


def _how_many(cluster: Cluster) -> str:
    """What to do where no name is alike."""
    count = len(cluster.names)
    return f"; the cluster has {counted(count, 'node')}, which `kubectl get nodes` lists"


def _beside(cluster: Cluster, host: str) -> Iterator[tuple[str, str]]:
    """Nodes and their addresses of the same version, those next to this one first."""
    wanted = ipaddress.ip_address(host)
    known = {address: normalised(address) for address in cluster.addresses}
    addresses = [
        ipaddress.ip_address(address) for address, form in known.items() if form is not None
    ]
    near = (each for each in addresses if each.version == wanted.version)
    for each in nsmallest(
        NEAREST_NAMED_MAX + 1, near, key=lambda a: (abs(int(a) - int(wanted)), a)
    ):
        for at in cluster.addresses[str(each)]:
            yield cluster.nodes[at].name, str(each)


def _no_tags(cluster: Cluster, pools: list[Pool]) -> Refused:
    """All pools at once: a person who labels nodes wants to know every tag."""
    wanted = {tag for pool in pools for tag in pool.tags}

    def lacks(node: Node) -> int:
        return len(wanted - node.tags)

    closest = sorted(cluster.nodes, key=lacks)[:NEAREST_NAMED_MAX]
    near = [node for node in closest if lacks(node) < len(wanted)] or closest
    nearest = tuple(
        Nearest(node.name, tuple(f"lacks the tag {tag}" for tag in sorted(wanted - node.tags)))
        for node in near
    )
    sentences = "; ".join(map(_no_node_for, pools[:POOLS_NAMED_MAX]))
    if len(pools) > POOLS_NAMED_MAX:
        sentences += f"; the same holds for {len(pools) - POOLS_NAMED_MAX} more pools"
    return Refused(
        Reason.TAG_MISSING, f"{sentences}{closest_nodes(nearest)}", (Family.TAGS,), nearest
    )


def _no_node_for(pool: Pool) -> str:
    is_one = len(set(pool.tags)) == 1
    has = "no node has it" if is_one else "no node has them all"
    tags = f"{'tag' if is_one else 'tags'} {', '.join(pool.tags)}"
    return f"the pool {pool.name} asks for nodes with the {tags}, and {has}"


# --------------------------------------------------------------------------- what cannot be


def _contradictions(cluster: Cluster, job: Job) -> Iterator[Refused]:
    bound = bound_nodes(cluster, job)
    yield from _twice(job)
    for pool in job.chosen_pools:
        yield from _of_pool(cluster, job, pool)
    yield from _places(cluster, job, bound)
    if not job.is_required:
        return
    chosen = {pool.index for pool in job.chosen_pools}

    def tokens(kind: Kind) -> list[Hashable]:
        pe = kind[0]
        has_place = pe.in_pool_index is not None and pe.pool in chosen
        return [*sorted(pe.colocations), *([(pe.pool, pe.in_pool_index)] if has_place else [])]

    for kinds in together([kind for kind in job.kinds if tokens(kind)], tokens):
        group = [pe for kind in kinds for pe in kind]
        if len(group) > 1:
            yield from _in_group(cluster, job, group, bound)


def _twice(job: Job) -> Iterator[Refused]:
    ids = [pe.id for pe in job.pes]
    if len(set(ids)) < len(ids):
        pe, count = Counter(ids).most_common(1)[0]
        yield _refused(f"PE {pe} is asked about {count} times")
    names: dict[int, str] = {}
    for pool in job.pools:
        if pool.index in names:
            both = f"{names[pool.index]} and {pool.name}"
            yield _refused(f"the pools {both} both have the index {pool.index}")
        names[pool.index] = pool.name


def _of_pool(cluster: Cluster, job: Job, pool: Pool) -> Iterator[Refused]:
    """What a pool asks for that none can be."""
    if pool.hosts and pool.tags:
        yield _refused(f"the pool {pool.name} names hosts and asks for tags: it can do one of both")
    if pool.size is not None and pool.size < 0:
        yield _refused(f"the pool {pool.name} asks for {pool.size} nodes")
    inside = job.kinds_in(pool)
    if pool.size == 0 and not pool.hosts and inside:
        yield _refused(f"the pool {pool.name} asks for 0 nodes, and PE {inside[0][0].id} is in it")
    named: dict[int, str] = {}
    for host in pool.hosts if job.places_in(pool) else ():
        at = cluster.node_of(host)
        if at is not None and at in named:
            name = cluster.nodes[at].name
            spelt = f", as {named[at]} and as {host}" if {named[at], host} != {name} else ""
            asks = next(kind[0] for kind in inside if kind[0].in_pool_index is not None)
            yield _refused(
                f"the pool {pool.name} names {name} twice{spelt}, so that it is not clear which "
                f"node is place {asks.in_pool_index}, which PE {asks.id} asks for: name it once"
            )
        if at is not None:
            named[at] = host
    nodes = {host if (at := cluster.node_of(host)) is None else at for host in pool.hosts}
    if nodes and pool.size is not None and len(nodes) < pool.size:
        sentence = (
            f"the pool {pool.name} asks for {counted(pool.size, 'node')}, and names {len(nodes)}"
        )
        yield Refused(Reason.POOL_TOO_SMALL, sentence, (Family.SIZE,))


def _places(cluster: Cluster, job: Job, bound: dict[int, str]) -> Iterator[Refused]:
    pools = {pool.index: pool for pool in job.pools}
    for kind in job.kinds:
        pe = kind[0]
        if pe.pool is not None and pe.pool not in pools:
            yield _refused(f"PE {pe.id} asks for pool {pe.pool}, which the job does not have")
            continue
        pool = pools[pe.pool] if pe.pool is not None else None
        new = next((each.id for each in kind if each.id not in bound), None)
        if pe.in_pool_index is not None and pe.in_pool_index < 0:
            of = "" if pool is None else f" of the pool {pool.name}"
            yield _refused(f"PE {pe.id} asks for place {pe.in_pool_index}{of}")
        if pool is None or pool.is_default or new is None:
            continue
        most = len(pool.hosts) if pool.hosts else pool.size
        if pe.in_pool_index is not None and most is not None and pe.in_pool_index >= most:
            which = f"place {pe.in_pool_index} of the pool {pool.name}"
            yield _refused(f"PE {new} asks for {which}, which has {most}")
        if pe.host and pool.hosts:
            named = {cluster.node_of(host) for host in pool.hosts} - {None}
            if named and cluster.node_of(pe.host) not in named | {None}:
                yield _refused(f"PE {new} asks for {pe.host} and for {pool.name} without it")


def _in_group(
    cluster: Cluster, job: Job, group: list[Pe], bound: dict[int, str]
) -> Iterator[Refused]:
    """PEs that must be together; those that run are, whatever they ask for."""
    if {pe.id for pe in group} <= bound.keys():
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
    group: list[Pe], trait: Callable[[Pe], Hashable | None], what: str
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
