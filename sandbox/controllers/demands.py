"""What a pod asks of a node, read once from its spec into a frozen value.

Pure. The running account of what is taken is in accounts.py, the decision in feasibility.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.controllers.selectors import (
    Labels,
    NodeTerm,
    Requirements,
    Toleration,
    exact_labels,
    label_selector_of,
    node_term_of,
    tolerations_of,
)
from sandbox.store.quantities import units

Obj = Mapping[str, Any]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


Namespaces = Mapping[str, Labels]  # the labels of each
HARD_AFFINITY_WEIGHT = 1  # what a required affinity counts when others choose a node


@dataclass(frozen=True)
class PodTerm:
    """A term of pod (anti-)affinity; `selector` None selects no pod."""

    topology_key: str
    selector: Requirements | None
    namespaces: frozenset[str]
    namespace_selector: Requirements | None  # in addition; None: of no namespace

    def selects(self, pod: Demand, namespaces: Namespaces) -> bool:
        """Whether a pod is one of those that the term is about."""
        if self.selector is None or not all(item.holds(pod.labels) for item in self.selector):
            return False
        if pod.namespace in self.namespaces:
            return True
        if self.namespace_selector is None:
            return False
        labels = namespaces.get(pod.namespace, {})
        return all(item.holds(labels) for item in self.namespace_selector)


@dataclass(frozen=True)
class Demand:
    """Everything the scheduler looks at in a pod."""

    namespace: str
    labels: Labels
    requests: Mapping[str, int]
    node_selector: Requirements
    node_terms: tuple[NodeTerm, ...] | None  # one has to match; None: no affinity
    preferred_nodes: tuple[tuple[int, NodeTerm], ...]
    tolerations: tuple[Toleration, ...]
    affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    leanings: tuple[tuple[int, PodTerm], ...]  # preferred; below 0 away from the pods
    host_ports: frozenset[tuple[str, int]]

    def node_names(self) -> frozenset[str] | None:
        """The nodes that its affinity names in every term; None where one names none."""
        if not self.node_terms:
            return None
        named = [term.names() for term in self.node_terms]
        if any(names is None for names in named):
            return None
        return frozenset().union(*(names for names in named if names is not None))

    def wants(self, pod: Demand, namespaces: Namespaces) -> bool:
        """Whether it has to be near pods such as this one, which all of its terms select."""
        return bool(self.affinity) and all(term.selects(pod, namespaces) for term in self.affinity)


def demand_of(pod: Obj) -> Demand:
    """Read a pod. Raises BadQuantity."""
    spec, meta = pod["spec"], pod["metadata"]
    namespace = meta["namespace"]
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    return Demand(
        namespace=namespace,
        labels=meta.get("labels") or {},
        requests=requests_of_spec(spec),
        node_selector=exact_labels(spec.get("nodeSelector")),
        node_terms=_node_terms(node_affinity.get(_REQUIRED)),
        preferred_nodes=tuple(
            (int(item.get("weight", 0)), node_term_of(item.get("preference") or {}))
            for item in node_affinity.get(_PREFERRED) or ()
        ),
        tolerations=tolerations_of(pod),
        affinity=_required(affinity.get("podAffinity"), namespace),
        anti_affinity=_required(affinity.get("podAntiAffinity"), namespace),
        leanings=(
            *_preferred(affinity.get("podAffinity"), namespace, sign=1),
            *_preferred(affinity.get("podAntiAffinity"), namespace, sign=-1),
        ),
        host_ports=frozenset(_host_ports(spec.get("containers") or ())),
    )


def requests_of_spec(spec: Obj) -> dict[str, int]:
    """Sum of the containers, or the largest init container if that is more; plus overhead."""
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _requests_of(container))
    for container in spec.get("initContainers") or ():
        for resource, count in _requests_of(container).items():
            total[resource] = max(total.get(resource, 0), count)
    _add(total, _counted(spec.get("overhead") or {}))
    return total


def _requests_of(container: Obj) -> dict[str, int]:
    resources = container.get("resources") or {}
    # A limit without a request is a request, as the API server's defaulting has it.
    return _counted({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _counted(resources: Obj) -> dict[str, int]:
    return {resource: units(resource, text) for resource, text in resources.items()}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, count in more.items():
        total[resource] = total.get(resource, 0) + count


def _node_terms(required: Obj | None) -> tuple[NodeTerm, ...] | None:
    if required is None:
        return None
    return tuple(node_term_of(term) for term in required.get("nodeSelectorTerms") or ())


def _required(affinity: Obj | None, namespace: str) -> tuple[PodTerm, ...]:
    return tuple(_pod_term(term, namespace) for term in (affinity or {}).get(_REQUIRED) or ())


def _preferred(affinity: Obj | None, namespace: str, *, sign: int) -> Iterable[tuple[int, PodTerm]]:
    for item in (affinity or {}).get(_PREFERRED) or ():
        term = _pod_term(item.get("podAffinityTerm") or {}, namespace)
        yield sign * int(item.get("weight", 0)), term


def _pod_term(term: Obj, own: str) -> PodTerm:
    """Where neither namespaces nor a selector of them is given, its own namespace is meant."""
    namespaces = frozenset(term.get("namespaces") or ())
    selector = term.get("namespaceSelector")
    return PodTerm(
        str(term.get("topologyKey", "")),
        label_selector_of(term.get("labelSelector")),
        namespaces if namespaces or selector is not None else frozenset({own}),
        label_selector_of(selector),
    )


def _host_ports(containers: Iterable[Obj]) -> Iterable[tuple[str, int]]:
    for container in containers:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield str(port.get("protocol", "TCP")), int(port["hostPort"])
