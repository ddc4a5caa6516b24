"""What of a placement in force can be had where all of it cannot: nodes went under a running job.

New jobs and new widths get all that they ask for, or nothing. Of what is in force already, pools
take as many members as there are, and PEs without a pod are placed one by one:

1. Pools ask for no more than qualifies: as many members as there are, of named hosts those that
   can be had. PEs that ask for a place that is lost are left out.
2. All others are tried at once; then what runs and what may stay where it was assigned, and the
   rest one by one.

The properties: what runs stays, and so does an assignment that still holds; nobody is left out who
fits beside those that are placed; what is found holds every constraint of those that are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from placement.answers import Family, Placed
from placement.building import build_problem
from placement.checking import violations
from placement.cluster import Cluster
from placement.deciding import PREFERENCES, Budget, Limits, search
from placement.greedy import Draw, attempt
from placement.job import Job, Pe, Pool, running
from placement.problem import PoolChoice, Solution
from placement.settling import settle
from services.hostpool_manager.core.snapshot import InForce

TRIED_ALONE_MAX: Final = 200
"""How often one more PE is tried in one search. Of those that ask for the same, none is after one
that fitted nowhere."""


@dataclass(frozen=True, slots=True)
class PartialPlacement:
    """What can be had of a job (fewer PEs, smaller pools), and a placement of it."""

    job: Job
    placed: Placed

    def holds(self, cluster: Cluster) -> bool:
        """Whether it does on a cluster as it is by now."""
        return not violations(cluster, self.job, self.placed)

    def beside(self, cluster: Cluster, left: InForce, job: Job) -> InForce:
        """What is then in force: `left` is what is left of what was, `job` all that is asked.

        Who has no pod and was not placed has no node: another may have been promised its room.
        """
        found = {each.pool: each.nodes for each in self.placed.pools}
        had = {pool.index: pool for pool in self.job.pools}
        pools = dict(left.pools)
        for pool in job.chosen_pools:
            if pool.index not in found:
                continue
            nodes, before = found[pool.index], left.pools.get(pool.index, ())
            if pool.hosts:
                named = cluster.named(pool.hosts)
                pools[pool.index] = tuple(name if name in nodes else "" for name in named)
            else:
                pools[pool.index] = self._in_order(job, pool, had[pool.index], nodes, before)
        waits = job.by_id.keys() - running(cluster, job).keys()
        stays = {pe: node for pe, node in left.assignments.items() if pe not in waits}
        assignments = {**stays, **self.placed.assignment}
        return InForce(left.generation, pools, assignments, self.placed.is_as_preferred)

    def _in_order(
        self, job: Job, pool: Pool, had: Pool, nodes: tuple[str, ...], before: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Members in their places, with gaps where the smaller pool needed none."""
        if not job.keeps_numbers(pool):
            return nodes
        if not self.job.keeps_numbers(had):
            new = iter([name for name in nodes if name not in before])
            nodes = tuple(name if name in nodes else next(new, "") for name in before)
            nodes += tuple(new)
        return nodes + ("",) * (len(before) - len(nodes))


def partial_placement(cluster: Cluster, job: Job, limits: Limits) -> PartialPlacement | None:
    """What can be had of a job that is in force; None where not even what runs was settled."""
    budget, runs = Budget(limits), running(cluster, job)
    rest = _what_there_is(cluster, job, runs)
    whole = _found(cluster, rest, budget)
    if whole is not None:
        return whole
    holding = _holding(cluster, rest)
    best = _smaller(cluster, _only(rest, holding | runs.keys()), runs, budget)
    if best is None:
        best = _smaller(cluster, _only(rest, set(runs)), runs, budget)
    if best is None:
        return None
    pools = {pool.index for pool in best.job.pools}
    others = [pe for pe in rest.pes if pe.id not in best.job.by_id]
    others.sort(key=lambda pe: pe.id not in holding)
    tried, left_out = 0, set()
    for pe in (pe for pe in others if pe.pool is None or pe.pool in pools):
        if pe.kind in left_out:
            continue
        if budget.is_over() or tried == TRIED_ALONE_MAX:
            break
        found, tried = _found(cluster, _with(best, pe), budget), tried + 1
        if found is None:
            left_out.add(pe.kind)
        best = found or best
    return best


# --------------------------------------------------------------------------- what is asked for


def _what_there_is(cluster: Cluster, job: Job, runs: dict[int, str]) -> Job:
    """The job with pools that ask for what qualifies, without PEs that ask for what is lost."""
    choices = dict(
        zip(job.chosen_pools, build_problem(cluster, job, keeps=True).pools, strict=True)
    )
    pools = [pool for each in job.pools for pool in _less(cluster, each, choices.get(each))]
    pes = (_numbered(job, pools, choices, pe, is_bound=pe.id in runs) for pe in job.pes)
    return replace(job, pools=tuple(pools), pes=tuple(pe for pe in pes if pe is not None))


def _less(cluster: Cluster, pool: Pool, choice: PoolChoice | None) -> Iterator[Pool]:
    """The pool as it can be had, if it can."""
    if choice is None:
        yield pool
        return
    qualify = int(choice.candidates.sum())
    if pool.hosts:
        at = {host: cluster.node_of(host) for host in pool.hosts}
        hosts = (h for h in pool.hosts if (n := at[h]) is not None and choice.candidates[n])
        if had := tuple(hosts):
            yield replace(pool, hosts=had, size=None)
    elif qualify:
        yield pool if pool.size is None else replace(pool, size=min(pool.size, qualify))


def _numbered(
    job: Job, pools: list[Pool], choices: dict[Pool, PoolChoice], pe: Pe, *, is_bound: bool
) -> Pe | None:
    """The PE as it asks of the smaller pool; None where its place is lost and it does not run."""
    asked = next((pool for pool in job.chosen_pools if pool.index == pe.pool), None)
    if asked is None:
        return pe
    less = next((pool for pool in pools if pool.index == pe.pool), None)
    place: int | None = None
    is_lost = less is None
    if less is not None and pe.in_pool_index is not None:
        place = pe.in_pool_index
        if asked.hosts:
            host = asked.hosts[place] if place < len(asked.hosts) else ""
            place = less.hosts.index(host) if host in less.hosts else None
        elif asked.size is None and place >= int(choices[asked].candidates.sum()):
            place = None
        is_lost = place is None
    return replace(pe, in_pool_index=place) if is_bound or not is_lost else None


def _holding(cluster: Cluster, job: Job) -> set[int]:
    """PEs without a pod that may go where they were assigned to."""
    found = set()
    for each in build_problem(cluster, job, _lifted(job), keeps=True).classes:
        nodes = {cluster.names[at] for at in each.nodes.tolist()}
        found |= {pe for unit in each.units for pe in unit if job.by_id[pe].assigned in nodes}
    return found


def _only(job: Job, ids: set[int]) -> Job:
    return replace(job, pes=tuple(pe for pe in job.pes if pe.id in ids))


def _with(best: PartialPlacement, more: Pe) -> Job:
    """What is placed stays where it is, and one more is asked for."""
    nodes = best.placed.assignment
    pes = (replace(pe, assigned=nodes[pe.id]) for pe in best.job.pes)
    return replace(best.job, pes=(*pes, more))


# --------------------------------------------------------------------------- what is found


def _smaller(
    cluster: Cluster, job: Job, runs: Mapping[int, str], budget: Budget
) -> PartialPlacement | None:
    """A placement with pools made smaller one by one: two may want the same nodes."""
    found = _found(cluster, job, budget)
    while found is None and not budget.is_over():
        short = attempt(build_problem(cluster, job, _lifted(job), keeps=True), Draw())
        if not isinstance(short, PoolChoice):
            return None
        job = _with_less(job, job.chosen_pools[short.position], runs)
        found = _found(cluster, job, budget)
    return found


def _with_less(job: Job, pool: Pool, runs: Mapping[int, str]) -> Job:
    """With one member less of a pool; without it, and its PEs that do not run, where none is."""
    if pool.size is not None and pool.size > 1:
        less = replace(pool, size=pool.size - 1)
        return replace(job, pools=tuple(less if each is pool else each for each in job.pools))
    stays = {pe.id for pe in job.pes if pe.pool != pool.index or pe.id in runs}
    return replace(_only(job, stays), pools=tuple(each for each in job.pools if each is not pool))


def _found(cluster: Cluster, job: Job, budget: Budget) -> PartialPlacement | None:
    """A placement that keeps what it can; what is only preferred is not looked for."""
    problem = build_problem(cluster, job, _lifted(job), keeps=True)
    solution = search(problem, budget)
    if not isinstance(solution, Solution):
        return None
    placed = settle(problem, solution, is_as_preferred=not problem.lifted)
    found = PartialPlacement(job, placed)
    return found if found.holds(cluster) else None


def _lifted(job: Job) -> frozenset[Family]:
    return frozenset() if job.is_required else PREFERENCES
