"""Which of the nodes that fit a pod is best, weighed as kube-scheduler weighs. Pure.

1. Every aspect gives each node a number, stretched to 0..100 over the nodes that fit.
2. Their sum decides, by the weights of kube-scheduler: disliked taints 3, preferred node affinity
   2, preferred pod affinity and anti-affinity (also that of the pods that are there) 2, room 1.
3. Among equals, the node with fewer pods, then the first by name: runs are repeatable.

Left out are aspects that nothing here has: images that are there, and the spreading of Services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sandbox.controllers.accounts import Accounts, Node
from sandbox.controllers.demands import Demand
from sandbox.controllers.neighbours import Place
from sandbox.controllers.selectors import tolerated

SCORE_MAX = 100
_TAINTS, _NODE_AFFINITY, _POD_AFFINITY = 3, 2, 2
_DEFAULT_REQUESTS = {"cpu": 100, "memory": 200 * 1024 * 1024}  # of pods that ask for nothing


def best_of(demand: Demand, nodes: Sequence[Node], accounts: Accounts) -> Node:
    """The best of the nodes, which are sorted by name and at least one."""
    if len(nodes) == 1:
        return nodes[0]
    totals = [_free_share(demand, node) for node in nodes]
    disliked = [_disliked(demand, node) for node in nodes]
    if most := max(disliked):
        _add(totals, _TAINTS, [SCORE_MAX - SCORE_MAX * count // most for count in disliked])
    preferred = [_preferred(demand, node) for node in nodes]
    if most := max(preferred):
        _add(totals, _NODE_AFFINITY, [SCORE_MAX * sum_ // most for sum_ in preferred])
    if leanings := _leanings(demand, accounts):
        keys = {key for key, _ in leanings}
        found = [_beside(node, leanings, keys) for node in nodes]
        if width := max(found) - min(found):
            low = min(found)
            _add(totals, _POD_AFFINITY, [SCORE_MAX * (sum_ - low) // width for sum_ in found])
    best = max(range(len(nodes)), key=lambda index: (totals[index], -len(nodes[index].pods)))
    return nodes[best]


def _add(totals: list[int], weight: int, scores: Sequence[int]) -> None:
    for index, score in enumerate(scores):
        totals[index] += weight * score


def _free_share(demand: Demand, node: Node) -> int:
    shares = []
    for resource, default in _DEFAULT_REQUESTS.items():
        size = node.allocatable.get(resource, 0)
        if size > 0:
            wanted = demand.requests.get(resource) or default
            free = size - node.taken.get(resource, 0) - wanted
            shares.append(max(0, free) * SCORE_MAX // size)
    return sum(shares) // len(shares) if shares else 0


def _disliked(demand: Demand, node: Node) -> int:
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerated(taint, demand.tolerations)
        for taint in node.taints
    )


def _preferred(demand: Demand, node: Node) -> int:
    return sum(
        weight for weight, term in demand.preferred_nodes if term.matches(node.name, node.labels)
    )


def _leanings(demand: Demand, accounts: Accounts) -> Mapping[Place, int]:
    """What the pods at a place make of this one there, and it of them."""
    found = accounts.neighbours.inclined(demand)
    for weight, term in demand.leanings:
        for place, count in accounts.places_selected((term,)).items():
            found[place] += weight * count
    return found


def _beside(node: Node, leanings: Mapping[Place, int], keys: Iterable[str]) -> int:
    return sum(leanings.get((key, node.labels[key]), 0) for key in keys if key in node.labels)
