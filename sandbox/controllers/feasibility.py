"""Whether a pod fits a node, why not, and which node is best.

Pure functions on a demand and the account of the nodes. The sentences are those of kube-scheduler,
because people and tools search for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.controllers.accounts import Accounts, Node
from sandbox.controllers.demands import Demand
from sandbox.controllers.selectors import NO_EXECUTE, NO_SCHEDULE, Taint, tolerated

UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)
NO_NODES = "no nodes available to schedule pods"
_DEFAULT_REQUESTS = {"cpu": 100, "memory": 200 * 1024 * 1024}  # of pods that ask for nothing
_PREFERENCE_WEIGHT = 100


@dataclass(frozen=True)
class Neighbourhood:
    """Where a pod may be with respect to other pods, the same for all nodes."""

    attracting: tuple[tuple[str, frozenset[str]], ...]  # topology key, values: one is needed
    repelled: tuple[tuple[str, frozenset[str]], ...]  # by its own anti-affinity
    repelling: tuple[tuple[str, frozenset[str]], ...]  # by that of others
    first_of_its_group: bool


@dataclass(frozen=True)
class Placed:
    """The node that was chosen."""

    node: str


@dataclass(frozen=True)
class Unplaced:
    """No node fits; `message` says why."""

    message: str


def choose(demand: Demand, accounts: Accounts) -> Placed | Unplaced:
    """The feasible node with the highest score; the first by name among equals."""
    around = neighbourhood(demand, accounts)
    refusals: list[tuple[str, ...]] = []
    best: tuple[int, int] | None = None
    chosen = ""
    for node in accounts.nodes:
        if refused := why_not(demand, node, around):
            refusals.append(refused)
            continue
        rank = (score(demand, node), -node.pod_count)
        if best is None or rank > best:
            best, chosen = rank, node.name
    return Placed(chosen) if best is not None else Unplaced(refusal_message(refusals))


def neighbourhood(demand: Demand, accounts: Accounts) -> Neighbourhood:
    attracting = tuple(
        (term.topology_key, frozenset(accounts.places_selected(term))) for term in demand.affinity
    )
    repelled = tuple(
        (term.topology_key, frozenset(accounts.places_selected(term)))
        for term in demand.anti_affinity
    )
    repelling = tuple((key, frozenset(values)) for key, values in accounts.places_repelling(demand))
    # Without this, a group whose pods attract each other could never begin.
    alone = not any(values for _, values in attracting)
    own = all(term.matches(demand.namespace, demand.labels) for term in demand.affinity)
    return Neighbourhood(attracting, repelled, repelling, first_of_its_group=alone and own)


def why_not(demand: Demand, node: Node, around: Neighbourhood) -> tuple[str, ...]:
    """The reasons of the first filter that refuses, in kube-scheduler's order; () if it fits."""
    if node.unschedulable and not tolerated(UNSCHEDULABLE_TAINT, demand.tolerations):
        return ("node(s) were unschedulable",)
    for taint in node.taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, demand.tolerations):
            return (f"node(s) had untolerated taint {taint}",)
    if not _node_selected(demand, node):
        return ("node(s) didn't match Pod's node affinity/selector",)
    if any(node.host_ports[port] > 0 for port in demand.host_ports):
        return ("node(s) didn't have free ports for the requested pod ports",)
    return _insufficient(demand, node) or _neighbours_refuse(node, around)


def refusal_message(refusals: Sequence[tuple[str, ...]]) -> str:
    """kube-scheduler's sentence: how many nodes, and how many of them for which reason."""
    if not refusals:
        return NO_NODES
    counts = Counter(reason for reasons in refusals for reason in reasons)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(refusals)} nodes are available: {listed}."


def score(demand: Demand, node: Node) -> int:
    """Free share after placing (0..100), plus preferred affinity, minus disliked taints."""
    preferred = sum(
        weight for weight, term in demand.preferred_nodes if term.matches(node.name, node.labels)
    )
    disliked = sum(
        1
        for taint in node.taints
        if taint.effect == "PreferNoSchedule" and not tolerated(taint, demand.tolerations)
    )
    return _free_share(demand, node) + preferred - _PREFERENCE_WEIGHT * disliked


def _free_share(demand: Demand, node: Node) -> int:
    shares = []
    for resource, default in _DEFAULT_REQUESTS.items():
        size = node.allocatable.get(resource, 0)
        if size > 0:
            wanted = demand.requests.get(resource) or default
            shares.append(max(0, size - node.taken.get(resource, 0) - wanted) * 100 // size)
    return sum(shares) // len(shares) if shares else 0


def _node_selected(demand: Demand, node: Node) -> bool:
    if not all(item.holds(node.labels) for item in demand.node_selector):
        return False
    terms = demand.node_terms
    return terms is None or any(term.matches(node.name, node.labels) for term in terms)


def _insufficient(demand: Demand, node: Node) -> tuple[str, ...]:
    reasons = []
    pods_max = node.allocatable.get("pods")
    if pods_max is not None and node.pod_count + 1 > pods_max:
        reasons.append("Too many pods")
    for resource, wanted in demand.requests.items():
        free = node.allocatable.get(resource, 0) - node.taken.get(resource, 0)
        if wanted > free and wanted > 0:
            reasons.append(f"Insufficient {resource}")
    return tuple(reasons)


def _neighbours_refuse(node: Node, around: Neighbourhood) -> tuple[str, ...]:
    for key, values in around.attracting:
        value = node.labels.get(key)
        if value is None or (value not in values and not around.first_of_its_group):
            return ("node(s) didn't match pod affinity rules",)
    if _inside(node, around.repelled):
        return ("node(s) didn't match pod anti-affinity rules",)
    if _inside(node, around.repelling):
        return ("node(s) didn't satisfy existing pods anti-affinity rules",)
    return ()


def _inside(node: Node, places: Iterable[tuple[str, frozenset[str]]]) -> bool:
    return any(node.labels.get(key) in values for key, values in places)
