"""Whether a pod fits a node, and why not.

Pure functions on a demand and the account of the nodes. The sentences are those of kube-scheduler,
because people and tools search for them. Which of the nodes that fit is best is in scoring.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from sandbox.controllers.accounts import Accounts, Node
from sandbox.controllers.demands import Demand, PodTerm
from sandbox.controllers.neighbours import Place
from sandbox.controllers.scoring import best_of
from sandbox.controllers.selectors import NO_EXECUTE, NO_SCHEDULE, Taint, tolerated

UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)
NO_NODES = "no nodes available to schedule pods"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"
_NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
_CONFLICT = "pod affinity terms conflict. not found"  # the last words come of a look-up of its own
_HOPELESS = "Preemption is not helpful for scheduling"
_NOBODY_TO_EVICT = "No preemption victims found for incoming pod"


@dataclass(frozen=True)
class Neighbourhood:
    """Where a pod may be with respect to other pods, the same for all nodes."""

    attracting: tuple[PodTerm, ...]
    attractors: Mapping[Place, int]
    first_of_its_group: bool
    repelled: Set[Place]  # by its own anti-affinity
    repelling: Set[Place]  # by that of others
    topologies: frozenset[str]  # the keys of what repels


@dataclass(frozen=True)
class Refusal:
    """Why a node does not fit; `hopeless` if fewer pods on it would not help."""

    reasons: tuple[str, ...]
    hopeless: bool = True


@dataclass(frozen=True)
class Placed:
    """The node that was chosen."""

    node: str


@dataclass(frozen=True)
class Unplaced:
    """No node fits; `message` says why."""

    message: str


def choose(demand: Demand, accounts: Accounts) -> Placed | Unplaced:
    """The best of the nodes that fit, or the reasons of all of them."""
    named = demand.node_names()
    if named is None:
        candidates: Iterable[Node] = accounts.nodes
    elif accounts.nodes and not named:
        return Unplaced(f"0/{len(accounts.nodes)} nodes are available: {_CONFLICT}")
    else:
        candidates = filter(None, map(accounts.node, sorted(named)))
    around = neighbourhood(demand, accounts)
    refusals: list[Refusal] = []
    fitting: list[Node] = []
    for node in candidates:
        refused = why_not(demand, node, around)
        if refused is None:
            fitting.append(node)
        else:
            refusals.append(refused)
    if fitting:
        return Placed(best_of(demand, fitting, accounts).name)
    return Unplaced(refusal_message(refusals, len(accounts.nodes)))


def neighbourhood(demand: Demand, accounts: Accounts) -> Neighbourhood:
    """What the filters have to know of other pods.

    One pod has to be selected by all terms of an affinity to count for them, each term at its own
    topology; every term of an anti-affinity counts by itself.
    """
    attractors = accounts.places_selected(demand.affinity) if demand.affinity else {}
    repelled = {
        place for term in demand.anti_affinity for place in accounts.places_selected((term,))
    }
    repelling = accounts.neighbours.repelling(demand)
    # Without the exception, a group whose pods attract each other could never begin.
    is_first = not attractors and demand.wants(demand, accounts.neighbours.namespaces)
    topologies = frozenset(key for places in (repelled, repelling) for key, _ in places)
    return Neighbourhood(demand.affinity, attractors, is_first, repelled, repelling, topologies)


def why_not(demand: Demand, node: Node, around: Neighbourhood) -> Refusal | None:
    """The reasons of the first filter that refuses, in kube-scheduler's order; None if it fits."""
    if node.unschedulable and not tolerated(UNSCHEDULABLE_TAINT, demand.tolerations):
        return Refusal(("node(s) were unschedulable",))
    if repels(node, demand, (NO_SCHEDULE, NO_EXECUTE)):
        return Refusal(("node(s) had untolerated taint(s)",))
    if not is_selected(demand, node):
        return Refusal((NOT_SELECTED,))
    if lacks_ports(demand, node):
        return Refusal((NO_FREE_PORTS,), hopeless=False)
    return _insufficient(demand, node) or _neighbours_refuse(node, around)


def refusal_message(refusals: Sequence[Refusal], count: int) -> str:
    """kube-scheduler's sentence: how many of `count` nodes for which reason, and why none is freed.

    Nodes that nobody looked at are those that the pod's affinity does not name. Nobody is evicted
    here for the sake of a pod, as if all had the same priority.
    """
    if not count:
        return NO_NODES
    reasons = Counter(reason for refusal in refusals for reason in refusal.reasons)
    freeing = Counter(_HOPELESS if refusal.hopeless else _NOBODY_TO_EVICT for refusal in refusals)
    if unnamed := count - len(refusals):
        reasons[_NOT_NAMED] += unnamed
        freeing[_HOPELESS] += unnamed
    head = f"0/{count} nodes are available:"
    return (
        f"{head} {_listed(reasons)}. no new claims to deallocate, "
        f"preemption: {head} {_listed(freeing)}."
    )


def repels(node: Node, demand: Demand, effects: tuple[str, ...]) -> bool:
    """Whether a taint of one of these effects keeps the pod away."""
    return any(
        taint.effect in effects and not tolerated(taint, demand.tolerations)
        for taint in node.taints
    )


def is_selected(demand: Demand, node: Node) -> bool:
    """Whether node selector and required node affinity hold."""
    if not all(item.holds(node.labels) for item in demand.node_selector):
        return False
    terms = demand.node_terms
    return terms is None or any(term.matches(node.name, node.labels) for term in terms)


def lacks_ports(demand: Demand, node: Node) -> bool:
    return any(node.host_ports[port] > 0 for port in demand.host_ports)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def _insufficient(demand: Demand, node: Node) -> Refusal | None:
    reasons = []
    hopeless = False
    pods_max = node.allocatable.get("pods")
    if pods_max is not None and len(node.pods) + 1 > pods_max:
        reasons.append("Too many pods")
    for resource, wanted in demand.requests.items():
        size = node.allocatable.get(resource, 0)
        if wanted > size - node.taken.get(resource, 0) and wanted > 0:
            reasons.append(f"Insufficient {resource}")
            hopeless = hopeless or wanted > size
    return Refusal(tuple(reasons), hopeless) if reasons else None


def _neighbours_refuse(node: Node, around: Neighbourhood) -> Refusal | None:
    places = [(term.topology_key, node.labels.get(term.topology_key)) for term in around.attracting]
    if any(value is None for _, value in places):
        return Refusal(("node(s) didn't match pod affinity rules",))
    if not around.first_of_its_group and any(place not in around.attractors for place in places):
        return Refusal(("node(s) didn't match pod affinity rules",))
    at = {(key, node.labels[key]) for key in around.topologies if key in node.labels}
    if not at.isdisjoint(around.repelled):
        return Refusal(("node(s) didn't match pod anti-affinity rules",), hopeless=False)
    if not at.isdisjoint(around.repelling):
        return Refusal(
            ("node(s) didn't satisfy existing pods anti-affinity rules",), hopeless=False
        )
    return None
