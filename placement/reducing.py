"""Takes out of a problem what cannot decide whether there is a solution.

Both reductions keep the answer: they count how much of the cluster all units and pools together
could touch at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contracts.scheduling.requests import AMOUNT_MAX
from placement.columns import Ints
from placement.problem import NONE, Problem, UnitClass


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
        in_choice = any(problem.pools[at].chooses for at in each.pools)
        open_nodes = int((problem.room(each) > 0).sum())
        if not is_of_hosts or in_choice or open_nodes < touched:
            found.append(at)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Nodes, ascending, and the kind of each: nodes of one kind look alike to hard classes."""

    nodes: Ints
    kinds: Ints


def alike(problem: Problem, hard: list[int]) -> Kept:
    """At most n of each group of interchangeable nodes; all nodes if domains are not hosts."""
    nodes = np.arange(len(problem.cluster))
    if not problem.is_of_hosts or not len(nodes):
        return Kept(nodes, nodes)
    classes = [problem.classes[at] for at in hard]
    requested = [
        min(sum(len(each.units) * int(each.requests[at]) for each in classes), AMOUNT_MAX)
        for at in range(len(problem.resources))
    ]
    traits = [_trait(problem, each) for each in classes]
    traits += [pool.candidates + 2 * pool.forced for pool in problem.pools]
    useful = np.any(np.array(traits or [nodes * 0]) > 0, axis=0)
    nodes = nodes[useful]
    if not len(nodes):
        return Kept(nodes, nodes)
    columns = [*np.minimum(problem.free, np.array(requested, np.int64)).T, *traits]
    _, kind = np.unique(np.array(columns).T[nodes], axis=0, return_inverse=True)
    kind = kind.ravel()
    most = sum(len(each.units) for each in classes) + sum(pool.least for pool in problem.pools)
    order = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[order], kind[order])
    some = np.sort(order[np.arange(len(order)) - starts < most])
    return Kept(nodes[some], kind[some])


def _trait(problem: Problem, unit_class: UnitClass) -> Ints:
    """How many units of a class each node takes."""
    found = np.zeros(len(problem.cluster), np.int64)
    found[unit_class.nodes] = problem.room(unit_class)
    return found
