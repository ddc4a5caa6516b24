"""Places as much as possible of a job in force that lost nodes, and keeps what is not lost.

New jobs and new widths are placed as a whole or refused. A job in force keeps what it can:

1. Pools are reduced to the nodes that qualify: to as many members as there are, and to the hosts
   that are left. PEs that require a lost place of a pool are left out.
2. All other PEs are tried together; if that fails, those that run or may stay where they were
   assigned, and then the others one by one.
3. When the answer counts, what of the placement in force is not lost stays beside it.

The properties: what runs stays, and so does an assignment that still holds; no PE is left out that
fits beside those that are placed; every constraint of the PEs in the placement holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from placement.answers import Answer, Family, Placed
from placement.building import build_problem
from placement.checking import violations
from placement.cluster import Cluster
from placement.deciding import PREFERENCES, Budget, Limits, search
from placement.greedy import Draw, attempt
from placement.job import Job, Pe, Pool, bound_nodes
from placement.problem import PoolChoice, Solution
from placement.settling import settle
from services.hostpool_manager.core.following import qualifying_nodes
from services.hostpool_manager.core.snapshot import InForce, Placement

TRIED_ALONE_MAX: Final = 200
"""PEs that are tried one by one in a search; PEs of a kind that failed are skipped."""


@dataclass(frozen=True, slots=True)
class PartialPlacement:
    """A reduced job (fewer PEs, smaller pools) and its placement."""

    job: Job
    placed: Placed

    def holds(self, cluster: Cluster) -> bool:
        """Whether it violates no constraint on this cluster."""
        return not violations(cluster, self.job, self.placed)


def partial_placement(cluster: Cluster, job: Job, limits: Limits) -> PartialPlacement | None:
    """A placement of as much of a job in force as fits; None if even the running PEs got none."""
    budget, bound = Budget(limits), bound_nodes(cluster, job)
    reduced = _reduced(cluster, job, bound)
    whole = _search_for(cluster, reduced, budget)
    if whole is not None:
        return whole
    holding = _still_admitted(cluster, reduced)
    best = _with_smaller_pools(cluster, _only(reduced, holding | bound.keys()), bound, budget)
    if best is None:
        best = _with_smaller_pools(cluster, _only(reduced, set(bound)), bound, budget)
    if best is None:
        return None
    pools = {pool.index for pool in best.job.pools}
    others = [pe for pe in reduced.pes if pe.id not in best.job.by_id]
    others.sort(key=lambda pe: pe.id not in holding)
    tried, left_out = 0, set()
    for pe in (pe for pe in others if pe.pool is None or pe.pool in pools):
        if pe.kind in left_out:
            continue
        if budget.is_over() or tried == TRIED_ALONE_MAX:
            break
        found, tried = _search_for(cluster, _with_one_more(best, pe), budget), tried + 1
        if found is None:
            left_out.add(pe.kind)
        best = found or best
    return best


# --------------------------------------------------------------------------- what stays in force


def in_force_after(
    cluster: Cluster,
    placement: Placement,
    job: Job,
    answer: Answer,
    partial: PartialPlacement | None,
) -> InForce:
    """The placement in force when `answer` counts, and `partial` if its job is in force already."""
    if isinstance(answer, Placed):
        return InForce(
            placement.plan_generation,
            {each.pool: each.nodes for each in answer.pools},
            answer.assignment,
            answer.is_as_preferred,
        )
    if not placement.is_in_force:
        return placement.in_force
    left = _left_of(cluster, job, placement.in_force)
    if partial is None or not partial.holds(cluster):
        return left
    return _beside(cluster, job, partial, left)


def _left_of(cluster: Cluster, job: Job, in_force: InForce) -> InForce:
    """The placement in force without what is lost.

    A member is lost if its node is gone, or does not qualify and has no pod of the pool. The
    assignment of a PE without a pod is lost if its node is gone or is a member no longer. A lost
    member leaves an empty place in pools that keep numbers; in others it is removed.
    """
    bound = bound_nodes(cluster, job)
    pools = dict(in_force.pools)
    for pool in job.chosen_pools:
        if pool.index in pools:
            nodes = {bound.get(pe, "") for pe in job.ids_in(pool)}
            pools[pool.index] = _members_left(cluster, job, pool, in_force, nodes)
    of_pool = {pe.id: pe.pool for pe in job.pes}
    assignments = {
        pe: node
        for pe, node in in_force.assignments.items()
        if pe in bound or _still_holds(cluster, pools, of_pool.get(pe), node)
    }
    return replace(in_force, pools=pools, assignments=assignments)


def _members_left(
    cluster: Cluster, job: Job, pool: Pool, in_force: InForce, bound: set[str]
) -> tuple[str, ...]:
    fits = qualifying_nodes(cluster, job, pool)

    def is_left(name: str) -> bool:
        at = cluster.index.get(name)
        return at is not None and (name in bound or bool(pool.hosts) or bool(fits[at]))

    left = (name if is_left(name) else "" for name in in_force.pools[pool.index])
    return tuple(name for name in left if name or job.keeps_numbers(pool))


def _still_holds(
    cluster: Cluster, pools: Mapping[int, tuple[str, ...]], pool: int | None, node: str
) -> bool:
    """Whether an assignment without a pod holds."""
    if node not in cluster.index:
        return False
    return pool is None or pool not in pools or node in pools[pool]


def _beside(cluster: Cluster, job: Job, partial: PartialPlacement, left: InForce) -> InForce:
    """The partial placement of a job beside what was left of the placement in force.

    A PE that has no pod and was not placed loses its node: another PE may get the room.
    """
    found = {each.pool: each.nodes for each in partial.placed.pools}
    pools = dict(left.pools)
    for pool in job.chosen_pools:
        if pool.index not in found:
            continue
        nodes, before = found[pool.index], left.pools.get(pool.index, ())
        if pool.hosts:
            named = cluster.named(pool.hosts)
            pools[pool.index] = tuple(name if name in nodes else "" for name in named)
        else:
            pools[pool.index] = _in_order(job, pool, partial.job, nodes, before)
    waits = job.by_id.keys() - bound_nodes(cluster, job).keys()
    stays = {pe: node for pe, node in left.assignments.items() if pe not in waits}
    assignments = {**stays, **partial.placed.assignment}
    return InForce(left.plan_generation, pools, assignments, partial.placed.is_as_preferred)


def _in_order(
    job: Job, pool: Pool, reduced: Job, nodes: tuple[str, ...], before: tuple[str, ...]
) -> tuple[str, ...]:
    """Members at their indices, with gaps where the pool of the reduced job has none."""
    if not job.keeps_numbers(pool):
        return nodes
    smaller = next(each for each in reduced.pools if each.index == pool.index)
    if not reduced.keeps_numbers(smaller):
        new = iter([name for name in nodes if name not in before])
        nodes = tuple(name if name in nodes else next(new, "") for name in before)
        nodes += tuple(new)
    return nodes + ("",) * (len(before) - len(nodes))


# --------------------------------------------------------------------------- reduced jobs


def _reduced(cluster: Cluster, job: Job, bound: dict[int, str]) -> Job:
    """The job with pools reduced to nodes that qualify, without PEs that require a lost place."""
    choices = dict(
        zip(job.chosen_pools, build_problem(cluster, job, keeps=True).pools, strict=True)
    )
    pools = [pool for each in job.pools for pool in _reduced_pool(cluster, each, choices.get(each))]
    pes = (_renumbered(job, pools, choices, pe, is_bound=pe.id in bound) for pe in job.pes)
    return replace(job, pools=tuple(pools), pes=tuple(pe for pe in pes if pe is not None))


def _reduced_pool(cluster: Cluster, pool: Pool, choice: PoolChoice | None) -> Iterator[Pool]:
    """The pool reduced to the nodes that qualify; nothing if none does."""
    if choice is None:
        yield pool
        return
    qualify = int(choice.candidates.sum())
    if pool.hosts:
        at = {host: cluster.node_of(host) for host in pool.hosts}
        hosts = (h for h in pool.hosts if (n := at[h]) is not None and choice.candidates[n])
        if left := tuple(hosts):
            yield replace(pool, hosts=left, size=None)
    elif qualify:
        yield pool if pool.size is None else replace(pool, size=min(pool.size, qualify))


def _renumbered(
    job: Job, pools: list[Pool], choices: dict[Pool, PoolChoice], pe: Pe, *, is_bound: bool
) -> Pe | None:
    """The PE with its index in the reduced pool; None if its place is lost and it does not run."""
    requested = next((pool for pool in job.chosen_pools if pool.index == pe.pool), None)
    if requested is None:
        return pe
    reduced = next((pool for pool in pools if pool.index == pe.pool), None)
    place: int | None = None
    is_lost = reduced is None
    if reduced is not None and pe.in_pool_index is not None:
        place = pe.in_pool_index
        if requested.hosts:
            host = requested.hosts[place] if place < len(requested.hosts) else ""
            place = reduced.hosts.index(host) if host in reduced.hosts else None
        elif requested.size is None and place >= int(choices[requested].candidates.sum()):
            place = None
        is_lost = place is None
    return replace(pe, in_pool_index=place) if is_bound or not is_lost else None


def _still_admitted(cluster: Cluster, job: Job) -> set[int]:
    """The ids of PEs without a pod whose assigned node still admits them."""
    found = set()
    for each in build_problem(cluster, job, _lifted(job), keeps=True).classes:
        nodes = {cluster.names[at] for at in each.nodes.tolist()}
        found |= {pe for unit in each.units for pe in unit if job.by_id[pe].assigned in nodes}
    return found


def _only(job: Job, ids: set[int]) -> Job:
    return replace(job, pes=tuple(pe for pe in job.pes if pe.id in ids))


def _with_one_more(best: PartialPlacement, more: Pe) -> Job:
    """The job of a placement, assigned as it is placed, with one more PE."""
    nodes = best.placed.assignment
    pes = (replace(pe, assigned=nodes[pe.id]) for pe in best.job.pes)
    return replace(best.job, pes=(*pes, more))


# --------------------------------------------------------------------------- searches


def _with_smaller_pools(
    cluster: Cluster, job: Job, bound: Mapping[int, str], budget: Budget
) -> PartialPlacement | None:
    """A placement with pools reduced one by one: two pools may compete for the same nodes."""
    found = _search_for(cluster, job, budget)
    while found is None and not budget.is_over():
        short = attempt(build_problem(cluster, job, _lifted(job), keeps=True), Draw())
        if not isinstance(short, PoolChoice):
            return None
        job = _with_one_member_less(job, job.chosen_pools[short.position], bound)
        found = _search_for(cluster, job, budget)
    return found


def _with_one_member_less(job: Job, pool: Pool, bound: Mapping[int, str]) -> Job:
    """The job with one member less in a pool; if none is left, without pool and idle PEs of it."""
    if pool.size is not None and pool.size > 1:
        smaller = replace(pool, size=pool.size - 1)
        return replace(job, pools=tuple(smaller if each is pool else each for each in job.pools))
    stays = {pe.id for pe in job.pes if pe.pool != pool.index or pe.id in bound}
    return replace(_only(job, stays), pools=tuple(each for each in job.pools if each is not pool))


def _search_for(cluster: Cluster, job: Job, budget: Budget) -> PartialPlacement | None:
    """A placement that keeps what it can; preferences count only if required. None if not found."""
    problem = build_problem(cluster, job, _lifted(job), keeps=True)
    solution = search(problem, budget)
    if not isinstance(solution, Solution):
        return None
    placed = settle(problem, solution, is_as_preferred=not problem.lifted)
    found = PartialPlacement(job, placed)
    return found if found.holds(cluster) else None


def _lifted(job: Job) -> frozenset[Family]:
    return frozenset() if job.is_required else PREFERENCES
