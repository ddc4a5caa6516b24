"""The nodes that come closest to taking what found no place, and all that each of them lacks.

First those that lack only what the refusal names: a job that waits for them can be placed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from contracts.labels import HOSTNAME
from contracts.scheduling.nodes import Node
from placement.answers import NEAREST_NAMED_MAX, Family, Nearest
from placement.cluster import Bools, Floats
from placement.columns import Ints
from placement.job import Pe, Pool
from placement.problem import PoolChoice, Problem, UnitClass

_BEYOND_CURE = 100
_JOBS_NAMED_MAX = 2

Lacking = tuple[Family, Ints | Bools]
"""A family, and how many things of it each node lacks."""


def nearest(
    problem: Problem, culprit: UnitClass | PoolChoice | None, families: tuple[Family, ...]
) -> tuple[Nearest, ...]:
    """The nodes that lack least for what found no place; `families` are what stands in the way."""
    if culprit is None or not len(problem.cluster):
        return ()
    if isinstance(culprit, PoolChoice):
        return tuple(_near_pool(problem, culprit, families))
    pes = [problem.job.by_id[pe] for pe in culprit.units[0]]
    short = _shortfall(problem, culprit)
    lacking = [*_lacking(problem, pes), (Family.CAPACITY, short > 0)]
    order = _ordered(len(problem.cluster), lacking, families, short)
    return tuple(
        Nearest(node.name, tuple(_lacks(problem, pes, culprit, at, node)))
        for at in order[:NEAREST_NAMED_MAX].tolist()
        if (node := problem.cluster.nodes[at])
    )


def _ordered(
    nodes: int, lacking: list[Lacking], families: tuple[Family, ...], short: Floats
) -> Ints:
    """Nodes by what else they lack, then those first that lack something of these families.

    A host that a PE names stays required, whatever else stands in the way.
    """
    cured, others = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    for family, count in lacking:
        if family in families and family is not Family.HOSTS:
            cured += count
        else:
            others += count
    return np.lexsort((short, cured, cured == 0, others))


def _lacking(problem: Problem, pes: list[Pe]) -> Iterator[Lacking]:
    """What each node lacks for PEs, but for room; to be another host is beyond cure."""
    cluster, here = problem.cluster, np.arange(len(problem.cluster))
    pools = _pools_of(problem, pes)
    is_exclusive = any(pool.is_exclusive for pool in pools)
    held = cluster.held_by_others(problem.job.name, exclusive_only=not is_exclusive)
    yield Family.EXCLUSIVITY, held
    if is_exclusive:
        yield Family.EXCLUSIVITY, problem.cluster.used_by_others(problem.job.name)
    for pe in pes:
        yield Family.CLOSED, ~cluster.open_to(pe.tolerations, readiness=False)
        yield Family.CAPACITY, ~cluster.open_to(pe.tolerations, cordons=False)
        if pe.selects:
            yield Family.SELECTORS, ~cluster.selected(pe.selector)
        if pe.host:
            yield Family.HOSTS, np.where(here == cluster.node_of(pe.host), 0, _BEYOND_CURE)
    if problem.job.topology_key != HOSTNAME:
        yield Family.SELECTORS, problem.domains < 0
    for pool in pools:
        yield from _outside_pool(problem, pool)


def _outside_pool(problem: Problem, pool: Pool) -> Iterator[Lacking]:
    if pool.hosts:
        named = problem.cluster.among(pool.hosts)
        yield Family.HOSTS, np.where(named, 0, _BEYOND_CURE)
        return
    for tag in pool.tags:
        yield Family.TAGS, ~problem.cluster.with_tags([tag])


def _pools_of(problem: Problem, pes: list[Pe]) -> list[Pool]:
    indices = {pe.pool for pe in pes}
    return [pool for pool in problem.job.pools if pool.index in indices]


def _shortfall(problem: Problem, unit_class: UnitClass) -> Floats:
    """The part of what a unit requests that each node has not free, over all resources."""
    missing = np.zeros(len(problem.cluster))
    for at, amount in enumerate(unit_class.requests.tolist()):
        if amount:
            missing += np.maximum(0, amount - problem.free[:, at]) / amount
    return missing


# --------------------------------------------------------------------------- what a node lacks


def written_amount(resource: str, amount: int) -> str:
    """An amount as people write it."""
    if resource == "cpu":
        whole, milli = divmod(amount, 1000)
        if milli and not whole:
            return f"{milli}m cpu"
        return f"{whole}.{milli:03}".rstrip("0").rstrip(".") + " cpu"
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if amount >= size and resource in ("memory", "ephemeral-storage"):
            return f"{-(-amount * 10 // size) / 10:g}{unit} {resource}"
    return f"{amount} {resource}"


def _lacks(
    problem: Problem, pes: list[Pe], unit_class: UnitClass, at: int, node: Node
) -> Iterator[str]:
    """Everything that keeps a unit off a node."""
    cluster = problem.cluster
    is_exclusive = any(pool.is_exclusive for pool in _pools_of(problem, pes))
    found = [
        *_closed(node, pes),
        *_taken(problem, at, is_exclusive=is_exclusive),
        *(f"is not {pe.host}" for pe in pes if pe.host and cluster.node_of(pe.host) != at),
        *(phrase for pe in pes for phrase in _outside(problem, pe, at, node)),
        *(phrase for pe in pes for phrase in pe.selector.lacks(node.name, node.labels)),
    ]
    if problem.job.topology_key != HOSTNAME and problem.domains[at] < 0:
        found.append(f"has no label {problem.job.topology_key}")
    for resource, amount, free in zip(
        problem.resources, unit_class.requests.tolist(), problem.free[at].tolist(), strict=True
    ):
        if amount > free:
            found.append(f"lacks {written_amount(resource, amount - free)}")
    yield from dict.fromkeys(found or [_room(problem, unit_class, at)])


def _room(problem: Problem, unit_class: UnitClass, at: int) -> str:
    """The sentence on a node that takes one of the units, but has others of the job to take."""
    where, count = np.flatnonzero(unit_class.nodes == at), len(unit_class.units)
    room = int(problem.room(unit_class)[where[0]]) if len(where) else 0
    if 0 < room < count:
        return f"has room for {room} of the {count}"
    return "is taken up by other PEs of the job"


def _outside(problem: Problem, pe: Pe, at: int, node: Node) -> Iterator[str]:
    """Why a node is in no pool of the PE."""
    for pool in problem.job.pools:
        if pool.index == pe.pool and not pool.is_default:
            if pool.hosts and not problem.cluster.among(pool.hosts)[at]:
                yield f"is not in the pool {pool.name}"
            for tag in pool.tags:
                if not pool.hosts and tag not in node.tags:
                    yield f"lacks the tag {tag}"


def _closed(node: Node, pes: list[Pe]) -> Iterator[str]:
    for closing in node.closings:
        if not all(closing.is_tolerated(pe.tolerations) for pe in pes):
            yield closing.text


def _taken(problem: Problem, at: int, *, is_exclusive: bool) -> Iterator[str]:
    """Who holds a node, and whose PEs keep an exclusive pool off it; each job is named once.

    Jobs and pools of other namespaces have no names: a user who may not list them must not learn
    them here.
    """
    name, own = problem.cluster.nodes[at].name, problem.job.name
    holding = [
        claim
        for claim in problem.cluster.claims
        if claim.node == name and claim.job != own and (claim.is_exclusive or is_exclusive)
    ]
    near = [claim for claim in holding if _may_be_named(claim.job, own)]
    yield from (f"is held by the pool {claim.pool} of {claim.job}" for claim in near)
    if len(near) < len(holding):
        yield "is held by a pool of another namespace"
    if is_exclusive and problem.cluster.used_by_others(own)[at]:
        known = {own, *(claim.job for claim in holding)}
        yield from _running(problem, name, known)


def _running(problem: Problem, node: str, known: set[str]) -> Iterator[str]:
    """The jobs with PEs on a node, but for those that are known already."""
    pods = problem.cluster.pods.items()
    jobs = sorted(job for job, of in pods if job not in known and any(p.node == node for p in of))
    named = [job for job in jobs if _may_be_named(job, problem.job.name)][:_JOBS_NAMED_MAX]
    more = f" and {len(jobs) - len(named)} more" if len(jobs) > len(named) else ""
    if named:
        yield f"runs PEs of {', '.join(named)}{more}"
    elif jobs:
        yield "runs PEs of another namespace"


def _may_be_named(job: str, to: str) -> bool:
    """Whether two jobs (namespace/name) are of one namespace."""
    return job.partition("/")[0] == to.partition("/")[0]


def _near_pool(
    problem: Problem, choice: PoolChoice, families: tuple[Family, ...]
) -> Iterator[Nearest]:
    """Nodes that are no candidates; of a pool that names its hosts these alone."""
    pool, cluster = problem.job.chosen_pools[choice.position], problem.cluster
    tolerations = problem.job.tolerations_in(pool)
    held = cluster.held_by_others(problem.job.name, exclusive_only=not pool.is_exclusive)
    lacking: list[Lacking] = [
        (Family.CLOSED, ~cluster.open_to(tolerations, readiness=False)),
        (Family.CAPACITY, ~cluster.open_to(tolerations, cordons=False)),
        (Family.EXCLUSIVITY, held),
        *(
            [(Family.EXCLUSIVITY, problem.cluster.used_by_others(problem.job.name))]
            if pool.is_exclusive
            else []
        ),
        *_outside_pool(problem, pool),
    ]
    order = _ordered(len(cluster), lacking, families, np.zeros(len(cluster)))
    outside = order[~choice.candidates[order]]
    if pool.hosts:
        outside = outside[cluster.among(pool.hosts)[outside]]
    inside = [kind[0] for kind in problem.job.kinds_in(pool)]
    for at in outside[:NEAREST_NAMED_MAX].tolist():
        node = cluster.nodes[at]
        tags = () if pool.hosts else pool.tags
        lacks = [f"lacks the tag {tag}" for tag in tags if tag not in node.tags]
        lacks += _closed(node, inside)
        lacks += _taken(problem, at, is_exclusive=pool.is_exclusive)
        yield Nearest(node.name, tuple(lacks or [_kept(problem, pool, at)]))


def _kept(problem: Problem, pool: Pool, at: int) -> str:
    """The sentence on a node that the job itself uses for something else."""
    for other in problem.job.chosen_pools:
        if other.index != pool.index and problem.cluster.among(other.hosts)[at]:
            return f"is named by the pool {other.name} of the same job"
    return "is taken up by the job"
