"""Turns counts into names: which PE is on which node, and the members of each pool in order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from placement.answers import Members, Placed
from placement.job import Pool, bound_nodes
from placement.problem import NONE, Problem, Solution


def settle(problem: Problem, solution: Solution, *, is_as_preferred: bool = True) -> Placed:
    """The placement that a solution means: units in order of PEs, nodes in order of names."""
    assignment = bound_nodes(problem.cluster, problem.job)
    names = problem.cluster.names
    for unit_class, (where, taken) in zip(problem.classes, solution.counts, strict=True):
        order = np.argsort(where, kind="stable")
        places = np.repeat(where[order], taken[order]).tolist()
        for unit, place in zip(unit_class.units, places, strict=True):
            for pe in unit:
                assignment[pe] = names[place]
    return Placed(
        assignment=dict(sorted(assignment.items())),
        pools=tuple(
            Members(pool.index, _in_order(problem, solution, at, pool, assignment))
            for at, pool in enumerate(problem.job.chosen_pools)
        ),
        is_as_preferred=is_as_preferred,
    )


def _in_order(
    problem: Problem, solution: Solution, at: int, pool: Pool, assignment: Mapping[int, str]
) -> tuple[str, ...]:
    """pool[i] is what a PE with that place got, else what it was; others fill the gaps by name.

    Where nobody asks for a place, what is left of a gap is closed, and a host that is named twice
    is one member.
    """
    cluster = problem.cluster
    if pool.hosts:
        return tuple(name for name in cluster.named(pool.hosts) if name)
    members = _members(problem, solution, at)
    left = {cluster.names[node] for node in np.flatnonzero(members).tolist()}
    order: dict[int, str] = {}
    slots = [
        (kind[0].in_pool_index, assignment[pe.id])
        for kind in problem.job.kinds_in(pool)
        for pe in kind
        if kind[0].in_pool_index is not None
    ]
    for place, name in (*slots, *enumerate(pool.members)):
        if name in left and place not in order:
            order[place] = name
            left.discard(name)
    place = 0
    for name in sorted(left):
        while place in order:
            place += 1
        order[place] = name
    if not problem.job.keeps_numbers(pool):
        return tuple(name for _, name in sorted(order.items()))
    return tuple(order.get(each, "") for each in range(max(order, default=NONE) + 1))


def _members(
    problem: Problem, solution: Solution, at: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    choice = problem.pools[at]
    if choice.chooses:
        return solution.members[at]
    members = choice.candidates.copy()
    for other, chosen in zip(problem.pools, solution.members, strict=True):
        if other.is_exclusive:
            members &= ~chosen
    return members
