"""Takes out of a problem what cannot decide whether there is a solution.

Both reductions keep the answer: they count how much of the cluster all units and pools together
could touch at most.
"""

from __future__ import annotations

import numpy as np

from services.hostpool_manager.core.cluster import Ints
from services.hostpool_manager.core.problem import NONE, Problem


def hard_classes(problem: Problem) -> list[int]:
    """The classes that others could leave without a place."""
    touched = sum(len(each.units) for each in problem.classes)
    touched += sum(pool.least for pool in problem.pools if pool.is_exclusive)
    some_isolated = any(each.is_isolated for each in problem.classes)
    found = []
    for at, each in enumerate(problem.classes):
        is_of_hosts = problem.is_of_hosts or not (
            some_isolated
            or each.group != NONE
            or any(not problem.exclusions[token].is_of_nodes for token in each.apart)
        )
        in_choice = each.pool != NONE and problem.pools[each.pool].chooses
        open_ = problem.room(each) > 0
        for token in each.apart:
            open_ &= ~problem.exclusions[token].closed[each.nodes]
        if not is_of_hosts or in_choice or int(open_.sum()) < touched:
            found.append(at)
    return found


def nodes_kept(problem: Problem, hard: list[int]) -> Ints:
    """Nodes of which no more look alike than could be used; where hosts are zones, all."""
    nodes = np.arange(len(problem.cluster))
    if not problem.is_of_hosts or not len(nodes):
        return nodes
    classes = [problem.classes[at] for at in hard]
    demand = sum((len(each.units) * each.requests for each in classes), np.zeros(1, np.int64))
    columns = list(np.minimum(problem.free, demand).T)
    for each in classes:
        column = np.zeros(len(nodes), np.int64)
        column[each.nodes] = problem.room(each)
        for token in each.apart:
            column[problem.exclusions[token].closed] = 0
        columns.append(column)
    columns.extend(pool.candidates + 2 * pool.forced for pool in problem.pools)
    useful = np.any(np.array(columns[problem.free.shape[1] :] or [nodes * 0]) > 0, axis=0)
    nodes = nodes[useful]
    if not len(nodes):
        return nodes
    _, kind = np.unique(np.array(columns).T[nodes], axis=0, return_inverse=True)
    kind = kind.ravel()
    most = sum(len(each.units) for each in classes) + sum(pool.least for pool in problem.pools)
    order = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[order], kind[order])
    return np.sort(nodes[order[np.arange(len(order)) - starts < most]])
