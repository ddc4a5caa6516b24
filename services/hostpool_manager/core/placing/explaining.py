"""Says why a job has no placement: the family of constraints in the way, and who came closest.

1. One family at a time is lifted; those without which there is a placement are blockers, and the
   first in the order of `Family` is named: what waiting can cure before what it cannot.
2. Where none of those that pass is one, but all of them together are (a node is closed and full),
   these are named: what is asked for would do, as soon as they have passed.
3. Where no single one is, all are lifted, and those that need not be are put back one by one.
4. What found no place (a unit, or a pool) is shown with the nodes that lack least for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from contracts.labels import HOSTNAME
from contracts.reasons import Reason
from services.hostpool_manager.core.placing.answers import (
    NEAREST_TOLD_MAX,
    Family,
    Nearest,
    Refused,
    Unknown,
    told,
)
from services.hostpool_manager.core.placing.cluster import KEEPS_OUT, PODS, Bools, Ints, Node
from services.hostpool_manager.core.placing.greedy import Draw, attempt
from services.hostpool_manager.core.placing.job import Job, Pe, Pool
from services.hostpool_manager.core.placing.problem import PoolChoice, Problem, Solution, UnitClass

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
PASSING = frozenset({Family.CAPACITY, Family.CLOSED, Family.EXCLUSIVITY})
"""What may be otherwise soon, with the same application and the same nodes."""
_BEYOND_CURE = 100
_SAID = {
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

    Whether waiting could help has to be known for one: else the same is asked again.
    """
    culprit, who = _culprit(problem)
    near = _nearest(problem, culprit)
    if not len(problem.cluster):
        said = "the cluster has no node yet"
        return Refused(Reason.INSUFFICIENT_CAPACITY, said, (Family.CAPACITY,))
    relevant = [family for family in Family if _is_relevant(problem, family)]
    without = {family: has_placement(frozenset({family})) for family in relevant}
    blocking = [family for family in relevant if without[family]]
    families = _passing(relevant, blocking, has_placement) or tuple(blocking[:1])
    families = families or _together(relevant, has_placement)
    is_known = families or None not in without.values()
    if not is_known or without.get(Family.CAPACITY, False) is None:
        said = f"{who} finds no place, and it was not found in time which constraint is in the way"
        return Unknown(said + told(near))
    why = _why(families)
    reasons = ", and ".join(_SAID[family] for family in families)
    if not families and _is_short(culprit):
        why, reasons = Reason.POOL_TOO_SMALL, _SAID[Family.SIZE]
    others = [family.value for family in blocking if family not in families]
    also = f" (without {', or '.join(others)} there would be one)" if others else ""
    counts = _counts(problem, culprit) if Family.EXLOCATION in families else ""
    message = f"{who} finds no place: {reasons or 'no node can take it'}{counts}{also}"
    return Refused(why, message + told(near), families, near)


def _is_short(culprit: UnitClass | PoolChoice | None) -> bool:
    """Whether PEs ask for more places by number than there are nodes; no family stands for that."""
    return isinstance(culprit, PoolChoice) and int(culprit.candidates.sum()) < culprit.least


def _counts(problem: Problem, culprit: UnitClass | PoolChoice | None) -> str:
    """Of what must be apart, how many there are and how many places qualify, where that says it."""
    if not isinstance(culprit, UnitClass):
        return ""
    groups = [[each for each in problem.classes if token in each.apart] for token in culprit.apart]
    groups.append([each for each in problem.classes if each.is_isolated])
    for inside in groups:
        asked = sum(len(each.units) for each in inside)
        nodes = np.unique(np.concatenate([np.zeros(0, np.int64), *(c.nodes for c in inside)]))
        places = len(nodes) if problem.is_of_hosts else len(np.unique(problem.domains[nodes]))
        if asked > places:
            of = "nodes" if problem.is_of_hosts else f"values of {problem.job.topology_key}"
            return f" ({asked} ask for one each, and {places} {of} qualify)"
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
    if families and PASSING.issuperset(families):
        return _WHY[next((each for each in families if each is not Family.CAPACITY), families[0])]
    return _WHY[families[0]] if len(families) == 1 else Reason.NO_PLACEMENT


def _passing(
    relevant: list[Family], blocking: list[Family], has_placement: HasPlacement
) -> tuple[Family, ...]:
    """Those that pass and stand in the way together, where none of them does so alone."""
    passing = [family for family in relevant if family in PASSING]
    if len(passing) < 2 or PASSING.intersection(blocking):
        return ()
    return _together(passing, has_placement)


def _together(relevant: list[Family], has_placement: HasPlacement) -> tuple[Family, ...]:
    """Families that have to give way together, none of which could stay."""
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
    asked = ", ".join(said(name, amount) for name, amount in amounts if name != PODS and amount)
    asks = f", which asks for {asked}," if asked else ""
    more = _asked(problem.job, [problem.job.by_id[pe] for pe in found.units[0]])
    return found, f"{' with '.join(names[:4])}{like}{asks}{more}"


def _asked(job: Job, pes: list[Pe]) -> str:
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
    tags = f" with the tags {', '.join(pool.tags)}" if pool.tags else ""
    qualify = int(choice.candidates.sum())
    wants = f"asks for {choice.least} nodes{tags}, of which {qualify} qualify"
    return f"the {mode} pool {pool.name}, which {wants},"


def _pool(problem: Problem, choice: PoolChoice) -> Pool:
    return problem.job.chosen_pools[choice.position]


def said(resource: str, amount: int) -> str:
    """An amount as people write it."""
    if resource == "cpu":
        return f"{amount}m cpu" if amount % 1000 else f"{amount // 1000} cpu"
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if amount >= size and resource in ("memory", "ephemeral-storage"):
            return f"{-(-amount * 10 // size) / 10:g}{unit} {resource}"
    return f"{amount} {resource}"


# --------------------------------------------------------------------------- who came closest


def _nearest(problem: Problem, culprit: UnitClass | PoolChoice | None) -> tuple[Nearest, ...]:
    """The nodes that lack least for what found no place."""
    if culprit is None or not len(problem.cluster):
        return ()
    if isinstance(culprit, PoolChoice):
        return tuple(_near_pool(problem, culprit))
    by_id = problem.job.by_id
    pes = [by_id[pe] for pe in culprit.units[0]]
    short = _shortfall(problem, culprit)
    order = np.lexsort((short, _distance(problem, pes, culprit)))[:NEAREST_TOLD_MAX]
    return tuple(
        Nearest(node.name, tuple(_lacks(problem, pes, culprit, at, node)))
        for at in order.tolist()
        if (node := problem.cluster.nodes[at])
    )


def _distance(problem: Problem, pes: list[Pe], unit_class: UnitClass) -> Ints:
    """How many things each node lacks; not to be the host that is asked for is beyond cure."""
    cluster = problem.cluster
    found = np.zeros(len(cluster), np.int64)
    for claim in cluster.claims:
        if claim.is_exclusive and claim.job != problem.job.name and claim.node in cluster.index:
            found[cluster.index[claim.node]] += 1
    if any(pool.is_exclusive for pool in _pools_of(problem, pes)):
        found += _runs_others(problem)
    for pe in pes:
        found += ~cluster.open_to(pe.tolerations)
        if pe.selects:
            found += ~cluster.selected(pe.selector)
        if pe.host:
            found += np.where(np.arange(len(cluster)) == cluster.node_of(pe.host), 0, _BEYOND_CURE)
        for pool in problem.job.pools:
            if pool.index == pe.pool and pool.hosts:
                named = np.isin(np.arange(len(cluster)), _known(problem, pool))
                found += np.where(named, 0, _BEYOND_CURE)
            elif pool.index == pe.pool:
                found += sum(~cluster.with_tags([tag]) for tag in pool.tags)
    found[unit_class.nodes] = 0
    return found


def _pools_of(problem: Problem, pes: list[Pe]) -> list[Pool]:
    indices = {pe.pool for pe in pes}
    return [pool for pool in problem.job.pools if pool.index in indices]


def _runs_others(problem: Problem) -> Bools:
    """Nodes on which PEs of other jobs run."""
    own = np.zeros(len(problem.cluster), np.int64)
    for pod in problem.cluster.pods.get(problem.job.name, ()):
        if pod.node in problem.cluster.index:
            own[problem.cluster.index[pod.node]] += 1
    return np.asarray(problem.cluster.streams_pods > own)


def _known(problem: Problem, pool: Pool) -> list[int]:
    nodes = (problem.cluster.node_of(host) for host in pool.hosts)
    return [node for node in nodes if node is not None]


def _shortfall(
    problem: Problem, unit_class: UnitClass
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The part of what a unit requests that each node has not free, over all resources."""
    missing = np.zeros(len(problem.cluster))
    for at, amount in enumerate(unit_class.requests.tolist()):
        if amount:
            missing += np.maximum(0, amount - problem.free[:, at]) / amount
    return missing


def _lacks(
    problem: Problem, pes: list[Pe], unit_class: UnitClass, at: int, node: Node
) -> Iterator[str]:
    """Everything that keeps a unit off a node."""
    cluster, count = problem.cluster, 0
    is_exclusive = any(pool.is_exclusive for pool in _pools_of(problem, pes))
    for phrase in dict.fromkeys(
        (
            *_closed(node, pes),
            *_held(problem, node, exclusive_only=not is_exclusive),
            *(["runs PEs of other jobs"] if is_exclusive and _runs_others(problem)[at] else []),
            *(f"is not {pe.host}" for pe in pes if pe.host and cluster.node_of(pe.host) != at),
            *(phrase for pe in pes for phrase in _outside(problem, pe, at, node)),
            *(phrase for pe in pes for phrase in pe.selector.lacks(node.name, node.labels)),
        )
    ):
        count += 1
        yield phrase
    if problem.job.topology_key != HOSTNAME and problem.domains[at] < 0:
        count += 1
        yield f"has no label {problem.job.topology_key}"
    for resource, amount, free in zip(
        problem.resources, unit_class.requests.tolist(), problem.free[at].tolist(), strict=True
    ):
        if amount > free:
            count += 1
            yield f"lacks {said(resource, amount - free)}"
    if not count:
        yield "is taken up by other PEs of the job"


def _outside(problem: Problem, pe: Pe, at: int, node: Node) -> Iterator[str]:
    """Why a node is in no pool of the PE."""
    for pool in problem.job.pools:
        if pool.index == pe.pool and not pool.is_default:
            if pool.hosts and at not in map(problem.cluster.node_of, pool.hosts):
                yield f"is not in the pool {pool.name}"
            for tag in pool.tags:
                if not pool.hosts and tag not in node.tags:
                    yield f"lacks the tag {tag}"


def _closed(node: Node, pes: list[Pe]) -> Iterator[str]:
    if not node.ready:
        yield "is not ready"
    if node.unschedulable:
        yield "is cordoned"
    for taint in node.taints:
        if taint.effect in KEEPS_OUT and not all(
            any(each.tolerates(taint) for each in pe.tolerations) for pe in pes
        ):
            yield f"has the taint {taint.key}"


def _held(problem: Problem, node: Node, *, exclusive_only: bool) -> Iterator[str]:
    for claim in problem.cluster.claims:
        is_held = claim.is_exclusive or not exclusive_only
        if claim.node == node.name and claim.job != problem.job.name and is_held:
            yield f"is held by the pool {claim.pool} of {claim.job}"


def _near_pool(problem: Problem, choice: PoolChoice) -> Iterator[Nearest]:
    """Nodes that are no candidates, those that lack fewest things first."""
    pool, job = _pool(problem, choice), problem.job
    outside = np.flatnonzero(~choice.candidates)
    inside = [kind[0] for kind in job.kinds_in(pool)]
    others = _runs_others(problem)
    tolerations = tuple(dict.fromkeys(each for pe in inside for each in pe.tolerations))
    missing = np.zeros(len(problem.cluster), np.int64) + ~problem.cluster.open_to(tolerations)
    for tag in pool.tags:
        missing += ~problem.cluster.with_tags([tag])
    nodes: Ints = outside[np.argsort(missing[outside], kind="stable")][:NEAREST_TOLD_MAX]
    for at in nodes.tolist():
        node = problem.cluster.nodes[at]
        lacks = [f"lacks the tag {tag}" for tag in pool.tags if tag not in node.tags]
        lacks += _closed(node, inside)
        lacks += _held(problem, node, exclusive_only=not pool.is_exclusive)
        if pool.is_exclusive and not lacks:
            lacks.append("runs PEs of other jobs" if others[at] else "is taken up by the job")
        yield Nearest(node.name, tuple(lacks))
