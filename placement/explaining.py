"""Says why a job has no placement: the family of constraints in the way, and who came closest.

1. One family at a time is lifted; those without which there is a placement are blockers, and the
   first in the order of `Family` is named: what waiting can cure before what it cannot.
2. Where none of those that pass is one, but all of them together are (a node is closed and full),
   these are named: the request fits as soon as they have passed.
3. Where no single one is, all are lifted, and those that need not be are put back one by one.
4. What found no place (a unit, or a pool) is shown with the nodes that lack least for it
   (nearing.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from contracts.reasons import Reason
from contracts.scheduling.requests import PODS
from contracts.showing import agreeing, counted
from placement.answers import (
    Family,
    Refused,
    Unknown,
    closest_nodes,
)
from placement.greedy import Draw, attempt
from placement.job import Job, Pe, Pool
from placement.nearing import nearest, written_amount
from placement.problem import PoolChoice, Problem, Solution, UnitClass

HasPlacement = Callable[[frozenset[Family]], bool | None]
"""Whether there is a placement without some families; None where that is not known in time."""

_WHY = {
    Family.CAPACITY: Reason.INSUFFICIENT_CAPACITY,
    Family.CLOSED: Reason.NODES_CLOSED,
    Family.HOSTS: Reason.HOST_UNFIT,
    Family.TAGS: Reason.TAG_MISSING,
    Family.SIZE: Reason.POOL_TOO_SMALL,
    Family.EXCLUSIVITY: Reason.NODES_CLAIMED,
    Family.EXLOCATION: Reason.EXLOCATION_IMPOSSIBLE,
    Family.COLOCATION: Reason.COLOCATION_IMPOSSIBLE,
    Family.SELECTORS: Reason.LABELS_MISSING,
}
_TEMPORARY = frozenset({Family.CAPACITY, Family.CLOSED, Family.EXCLUSIVITY})
"""What may be otherwise soon, with the same application and the same nodes."""
_SENTENCES = {
    Family.CAPACITY: "nodes that qualify have too little free, or are not ready yet",
    Family.CLOSED: "nodes that qualify are cordoned or tainted",
    Family.HOSTS: "the hosts that are named cannot take it",
    Family.TAGS: "too few nodes carry the tags",
    Family.SIZE: "fewer nodes qualify than the pools need",
    Family.EXCLUSIVITY: "nodes that qualify are held by others, or used by them",
    Family.EXLOCATION: "there are not enough places for what must be apart",
    Family.COLOCATION: "what must be together fits on no place together",
    Family.SELECTORS: "nodes that qualify lack labels that the template of the pods asks for",
}


def explain(problem: Problem, has_placement: HasPlacement) -> Refused | Unknown:
    """The refusal of a problem that has no solution.

    Whether waiting could help has to be known for one: else the same job is tried again.
    """
    culprit, who = _culprit(problem)
    if not len(problem.cluster):
        sentence = "the cluster has no node yet"
        return Refused(Reason.INSUFFICIENT_CAPACITY, sentence, (Family.CAPACITY,))
    relevant = [family for family in Family if _is_relevant(problem, family)]
    without = {family: has_placement(frozenset({family})) for family in relevant}
    blocking = [family for family in relevant if without[family]]
    families = _passing(relevant, blocking, has_placement) or tuple(blocking[:1])
    families = families or _together(relevant, has_placement)
    near = nearest(problem, culprit, families)
    is_known = families or None not in without.values()
    if not is_known or without.get(Family.CAPACITY, False) is None:
        sentence = (
            f"{who} finds no place, and it was not found in time which constraint is in the way"
        )
        return Unknown(sentence + closest_nodes(near))
    why = _why(families)
    reasons = ", and ".join(_SENTENCES[family] for family in families)
    if not families and _is_short(culprit):
        why, reasons = Reason.POOL_TOO_SMALL, _SENTENCES[Family.SIZE]
    if families == (Family.EXCLUSIVITY,) and not _is_others(problem):
        why, reasons = _own_exclusivity(problem, culprit)
    others = [family.value for family in blocking if family not in families]
    also = f" (without {', or '.join(others)} there would be one)" if others else ""
    counts = _counts(problem, culprit) if Family.EXLOCATION in families else ""
    message = f"{who} finds no place: {reasons or 'no node can take it'}{counts}{also}"
    return Refused(why, message + closest_nodes(near), families, near)


def _is_short(culprit: UnitClass | PoolChoice | None) -> bool:
    """Whether PEs ask for more places by number than there are nodes; no family stands for that."""
    return isinstance(culprit, PoolChoice) and int(culprit.candidates.sum()) < culprit.least


def _is_others(problem: Problem) -> bool:
    """Whether other jobs hold or use any node that the job's pools and hosts could be on."""
    job, cluster = problem.job, problem.cluster
    held = cluster.held_by_others(job.name, exclusive_only=False) | cluster.used_by_others(job.name)
    wanted = np.zeros(len(cluster), bool)
    for pool in job.chosen_pools:
        if pool.hosts:
            wanted |= cluster.among(pool.hosts)
        else:
            wanted |= cluster.with_tags(pool.tags)
    for kind in job.kinds:
        pe = kind[0]
        if pe.host:
            wanted |= np.arange(len(cluster)) == cluster.node_of(pe.host)
        elif pe.pool is None:
            wanted[:] = True
    return bool((held & wanted).any())


def _own_exclusivity(
    problem: Problem, culprit: UnitClass | PoolChoice | None
) -> tuple[Reason, str]:
    """The refusal where exclusive pools of the job itself leave too little for the rest of it."""
    exclusive = {pool.index: pool.name for pool in problem.job.chosen_pools if pool.is_exclusive}
    if isinstance(culprit, UnitClass):
        inside = {problem.job.by_id[pe].pool for pe in culprit.units[0]}
        for index in exclusive.keys() & inside if len(inside) > 1 else ():
            pool = f"the exclusive pool {exclusive[index]}"
            sentence = f"it must be together, and not all of it is in {pool}"
            return Reason.CONSTRAINTS_CONTRADICT, sentence
    own = _pool(problem, culprit).index if isinstance(culprit, PoolChoice) else None
    names = [name for index, name in exclusive.items() if index != own]
    if not names:
        return (
            Reason.POOL_TOO_SMALL,
            "the rest of the job needs nodes beside it, and too few are left",
        )
    of = f"the exclusive pool{'s' * (len(names) > 1)} {' and '.join(names[:3])}"
    sentence = f"{of} of the same job needs nodes of its own, and too few are left"
    return Reason.POOL_TOO_SMALL, sentence


def _counts(problem: Problem, culprit: UnitClass | PoolChoice | None) -> str:
    """Of what must be apart, how many there are and how many places qualify, where that says it."""
    if not isinstance(culprit, UnitClass):
        return ""
    groups = [[each for each in problem.classes if token in each.apart] for token in culprit.apart]
    groups.append([each for each in problem.classes if each.is_isolated])
    for inside in groups:
        count = sum(len(each.units) for each in inside)
        nodes = np.unique(np.concatenate([np.zeros(0, np.int64), *(c.nodes for c in inside)]))
        places = len(nodes) if problem.is_of_hosts else len(np.unique(problem.domains[nodes]))
        if count > places:
            of = "nodes" if problem.is_of_hosts else f"values of {problem.job.topology_key}"
            return f" ({count} ask for one each, and {places} {of} qualify)"
    return ""


def _is_relevant(problem: Problem, family: Family) -> bool:
    """Whether lifting a family changes anything."""
    job, cluster = problem.job, problem.cluster
    if family in problem.lifted:
        return False
    match family:
        case Family.CAPACITY:
            return True
        case Family.CLOSED:
            return bool(cluster.cordoned.any() or cluster.tainted)
        case Family.HOSTS:
            return any(pe.host for pe in job.pes) or any(pool.hosts for pool in job.pools)
        case Family.TAGS:
            return any(pool.tags for pool in job.pools)
        case Family.SIZE:
            return any(pool.size is not None for pool in job.pools)
        case Family.EXCLUSIVITY:
            return bool(cluster.claims) or any(pool.is_exclusive for pool in job.pools)
        case Family.EXLOCATION:
            return any(pe.exlocations or pe.is_isolated for pe in job.pes)
        case Family.COLOCATION:
            return any(pe.colocations for pe in job.pes)
        case Family.SELECTORS:
            return any(pe.selects for pe in job.pes)


def _why(families: tuple[Family, ...]) -> Reason:
    """Of families that all pass, what missing room alone is not; of others, that they are many."""
    if families and _TEMPORARY.issuperset(families):
        return _WHY[next((each for each in families if each is not Family.CAPACITY), families[0])]
    return _WHY[families[0]] if len(families) == 1 else Reason.NO_PLACEMENT


def _passing(
    relevant: list[Family], blocking: list[Family], has_placement: HasPlacement
) -> tuple[Family, ...]:
    """Those that pass and stand in the way together, where none of them does so alone."""
    passing = [family for family in relevant if family in _TEMPORARY]
    if len(passing) < 2 or _TEMPORARY.intersection(blocking):
        return ()
    return _together(passing, has_placement)


def _together(relevant: list[Family], has_placement: HasPlacement) -> tuple[Family, ...]:
    """Families that have to give way together; each of them has to."""
    needed = set(relevant)
    if not has_placement(frozenset(needed)):
        return ()
    for family in reversed(relevant):
        if has_placement(frozenset(needed - {family})):
            needed.discard(family)
    return tuple(family for family in relevant if family in needed)


def _culprit(problem: Problem) -> tuple[UnitClass | PoolChoice | None, str]:
    """What found no place, most constrained first, and how it is called."""
    found = attempt(problem, Draw())
    if isinstance(found, Solution):
        return None, f"what runs of {problem.job.name} and asks for more"
    if isinstance(found, PoolChoice):
        return found, _called(_pool(problem, found), found)
    names = [f"PE {pe}" for pe in found.units[0]]
    others = len(found.units) - 1
    like = f" (and {others} like it)" if others else ""
    amounts = zip(problem.resources, found.requests.tolist(), strict=True)
    requests = ", ".join(
        written_amount(name, amount) for name, amount in amounts if name != PODS and amount
    )
    asks = f", which asks for {requests}," if requests else ""
    more = _demands(problem.job, [problem.job.by_id[pe] for pe in found.units[0]])
    return found, f"{' with '.join(names[:4])}{like}{asks}{more}"


def _demands(job: Job, pes: list[Pe]) -> str:
    """What PEs ask of their place, but for amounts."""
    names = {pool.index: pool.name for pool in job.chosen_pools}
    found: dict[str, None] = {}
    for pe in pes:
        if pe.host:
            found[f"on {pe.host}"] = None
        if pe.pool in names:
            place = "" if pe.in_pool_index is None else f"place {pe.in_pool_index} of "
            found[f"in {place}the pool {names[pe.pool]}"] = None
        for token in sorted(pe.exlocations):
            found[f"apart from others of exlocation {token}"] = None
        if pe.is_isolated:
            found["alone"] = None
    return f" to be {' and '.join(found)}," if found else ""


def _called(pool: Pool, choice: PoolChoice) -> str:
    mode = "exclusive" if pool.is_exclusive else "shared"
    tags = f" with the tag{'s' * (len(pool.tags) > 1)} {', '.join(pool.tags)}" if pool.tags else ""
    qualify = int(choice.candidates.sum())
    nodes = f"{counted(choice.least, 'node')}{tags}"
    return (
        f"the {mode} pool {pool.name}, which asks for {nodes}, "
        f"of which {qualify} {agreeing(qualify, 'qualify')},"
    )


def _pool(problem: Problem, choice: PoolChoice) -> Pool:
    return problem.job.chosen_pools[choice.position]
