"""What settles most refusals before any search: counts that no placement could get around.

Each is a proof; that all hold proves nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from placement.cluster import Bools
from placement.problem import NONE, Problem, UnitClass
from placement.room import total

_SIZES_MAX: Final = 32
"""Of one resource that are looked at; each takes a pass over the nodes."""


def is_impossible(problem: Problem) -> bool:
    """Whether a count alone says that there is no placement."""
    return (
        problem.overfull
        or _some_pool_is_short(problem)
        or _some_class_is_short(problem)
        or _some_exclusion_is_short(problem)
        or _isolation_is_short(problem)
        or _exclusive_pools_are_short(problem)
        or _large_units_are_too_many(problem)
        or _all_is_too_much(problem)
    )


def _some_pool_is_short(problem: Problem) -> bool:
    """Fewer candidates than members, or a named host that an exclusive pool cannot have."""
    return any(
        int(pool.candidates.sum()) < pool.least
        or (pool.chooses and bool((pool.forced & ~pool.candidates).any()))
        for pool in problem.pools
    )


def _some_class_is_short(problem: Problem) -> bool:
    """Its units alone find no place: a unit larger than any node, or too few nodes."""
    for each in problem.classes:
        room = problem.room(each)
        if int(room.sum()) < len(each.units):
            return True
    return False


def _some_exclusion_is_short(problem: Problem) -> bool:
    """Fewer nodes, or domains, than units that must be apart."""
    for token, exclusion in enumerate(problem.exclusions):
        inside = [each for each in problem.classes if token in each.apart]
        if _are_too_many(problem, inside, exclusion.closed, is_of_nodes=exclusion.is_of_nodes):
            return True
    return False


def _isolation_is_short(problem: Problem) -> bool:
    """Fewer nodes, or domains, than units that each need one alone."""
    inside = [each for each in problem.classes if each.is_isolated]
    closed = np.zeros(len(problem.cluster), bool)
    return _are_too_many(problem, inside, closed, is_of_nodes=problem.is_of_hosts)


def _exclusive_pools_are_short(problem: Problem) -> bool:
    """Fewer nodes than members of pools that share none: exclusive ones, and the largest other."""
    exclusive = [pool for pool in problem.pools if pool.is_exclusive]
    if not exclusive:
        return False
    others = [pool for pool in problem.pools if not pool.is_exclusive]
    least = sum(pool.least for pool in exclusive)
    taken = np.logical_or.reduce([pool.candidates for pool in exclusive])
    return int(taken.sum()) < least or any(
        int((taken | pool.candidates).sum()) < least + pool.least for pool in others
    )


def _large_units_are_too_many(problem: Problem) -> bool:
    """More units of some size or larger than all nodes take of that size, by one resource."""
    if not problem.classes:
        return False
    nodes = np.unique(np.concatenate([each.nodes for each in problem.classes]))
    counts = np.array([len(each.units) for each in problem.classes])
    for at in range(len(problem.resources)):
        sizes = np.array([int(each.requests[at]) for each in problem.classes])
        free = problem.free[nodes, at]
        some = np.unique(sizes[sizes > 0])
        for size in some[:: max(1, len(some) // _SIZES_MAX)].tolist():
            if int((free // size).sum()) < int(counts[sizes >= size].sum()):
                return True
    return False


def _are_too_many(
    problem: Problem, inside: list[UnitClass], closed: Bools, *, is_of_nodes: bool
) -> bool:
    open_ = np.zeros(len(problem.cluster), bool)
    for each in inside:
        open_[each.nodes[problem.room(each) > 0]] = True
    nodes = np.flatnonzero(open_ & ~closed)
    places = nodes if is_of_nodes else np.unique(problem.domains[nodes])
    return len(places[places != NONE]) < sum(len(each.units) for each in inside)


def _all_is_too_much(problem: Problem) -> bool:
    """More requested than is free on all nodes where anything may run."""
    if not problem.classes:
        return False
    nodes = np.unique(np.concatenate([each.nodes for each in problem.classes]))
    return any(
        sum(len(each.units) * int(each.requests[at]) for each in problem.classes)
        > total(problem.free[nodes, at])
        for at in range(len(problem.resources))
    )
