"""Node affinity, pod affinity and tolerations of the pod of a constrained PE.

1. The pod is pinned to the node that its PE is assigned to, by required node affinity, so that
   taints and capacity still count; if the PE requires it, by `spec.nodeName`, without the
   scheduler. An annotation names the node.
2. Every node term also has the requirements of the host pool: the tags, and the index of a
   particular member. A tag has two label forms, so there is a term for each combination.
3. The pod tolerates the taint of its exclusive pool.
4. Colocation, exlocation and isolation are labels of the pod and terms over labels, which count
   within the job only. Pods beside an isolated PE bear its label; the isolated one avoids them.

Properties: label keys contain the SHA-1 of the values that operators give, so they never clash; a
PE without constraints gets none of this. hostpool-manager decides on the node; `awaiting.py`
decides how long a pod waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from contracts import labels
from contracts.names import is_label_value
from contracts.resources.processing_element import PlacementRequest
from contracts.scheduling.node_affinity import NODE_NAME, PREFERRED, REQUIRED
from contracts.scheduling.selectors import Requirement
from contracts.scheduling.taints import NO_SCHEDULE
from services.launching.core.nodes import NodeOfPod
from services.pod_state_machine.core.pod_inputs import Launch
from services.pod_state_machine.core.snapshot import Assignment, HostPool

PREFERENCE: Final = 100
"""The weight of preferred terms: the maximum in Kubernetes."""

Json = dict[str, Any]
Kind = Literal["colocation", "exlocation", "isolation"]


def in_place(body: Json, launch: Launch) -> Json:
    """The manifest of a launch, with affinity, tolerations and labels for its place."""
    place, request = launch.place, launch.spec.placement
    if place is None or request is None:
        return body
    meta, spec = body["metadata"], body["spec"]
    node = {labels.ASSIGNED_NODE: place.node.name}
    meta = meta | {
        "labels": meta["labels"] | _own_labels(request),
        "annotations": meta["annotations"] | node,
    }
    if request.node_name:
        spec = spec | {"nodeName": place.node.name}
    if affinity := _affinity(request, place, launch.pe.job):
        spec = spec | {"affinity": affinity}
    if place.pool is not None and place.pool.is_exclusive:
        spec = spec | {"tolerations": [_toleration(place.pool)]}
    return body | {"metadata": meta, "spec": spec}


def _affinity(request: PlacementRequest, place: Assignment, job: str) -> Json:
    terms = _node_terms(request, place)
    required = {"nodeSelectorTerms": terms} if any(terms) else None
    return {
        **({"nodeAffinity": {REQUIRED: required}} if required else {}),
        **_of_pods("podAffinity", request, job, [_tokens("colocation", request.co_locations)]),
        **_of_pods(
            "podAntiAffinity",
            request,
            job,
            [_tokens("exlocation", request.ex_locations), _tokens("isolation", _isolated(request))],
        ),
    }


# --------------------------------------------------------------------------- nodes


def _node_terms(request: PlacementRequest, place: Assignment) -> list[Json]:
    """Alternative terms: each has the node, and the pool's tags in another form."""
    pool, location = place.pool, request.host_pool_location
    member: list[Json] = []
    if pool is not None and location is not None and location.inpool_index is not None:
        at = str(location.inpool_index)
        member = [_requirement(labels.member_label(pool.uid), "In", at)]
    pin = {} if request.node_name else _pin(place.node)
    pinned = pin.get("matchExpressions", [])
    return [
        {
            **pin,
            **({"matchExpressions": found} if (found := [*tags, *member, *pinned]) else {}),
        }
        for tags in _forms_of(pool.tags if pool else ())
    ]


def _pin(node: NodeOfPod) -> Json:
    if node.hostname:
        return {"matchExpressions": [_requirement(labels.HOSTNAME, "In", node.hostname)]}
    return {"matchFields": [_requirement(NODE_NAME, "In", node.name)]}


def _forms_of(tags: Iterable[str]) -> list[list[Json]]:
    """Alternatives for a node to carry all tags: one of them in the original label, or none.

    A node has the original label once, so the label can carry one tag only.
    """
    ours = {tag: _requirement(f"{labels.TAG_PREFIX}{tag}", "Exists") for tag in tags}
    originals = [
        [
            _requirement(labels.ORIGINAL_TAG, "In", each) if each == tag else form
            for each, form in ours.items()
        ]
        for tag in ours
        if tag and is_label_value(tag)
    ]
    return [*originals, list(ours.values())]


def _toleration(pool: HostPool) -> Json:
    return {
        "key": labels.EXCLUSIVE_TAINT,
        "operator": "Equal",
        "value": pool.uid,
        "effect": NO_SCHEDULE,
    }


# --------------------------------------------------------------------------- other pods


def _isolated(request: PlacementRequest) -> list[str]:
    """The isolated operators of the PE; older releases wrote one instead of a list."""
    return request.isolations or ([request.isolation] if request.isolation is not None else [])


def _own_labels(request: PlacementRequest) -> dict[str, str]:
    """The labels by which other pods of the job find or avoid this one."""
    others = [each for each in request.isolation_labels or () if each not in _isolated(request)]
    return {
        **dict(_tokens("colocation", request.co_locations)),
        **dict(_tokens("exlocation", request.ex_locations)),
        **dict(_tokens("isolation", others)),
    }


def _tokens(kind: Kind, tokens: Iterable[str] | None) -> list[tuple[str, str]]:
    return [labels.host_token_label(kind, each) for each in dict.fromkeys(tokens or ())]


def _of_pods(
    group: str, request: PlacementRequest, job: str, token_labels: Iterable[list[tuple[str, str]]]
) -> Json:
    """The group of terms over pods, required or preferred; empty without terms."""
    topology = request.topology_key or labels.HOSTNAME
    pairs = [pair for each in token_labels for pair in each]
    terms = [_pod_term(*pair, job=job, topology=topology) for pair in pairs]
    if not terms:
        return {}
    if request.required:
        return {group: {REQUIRED: terms}}
    return {group: {PREFERRED: [{"weight": PREFERENCE, "podAffinityTerm": t} for t in terms]}}


def _pod_term(key: str, value: str, *, job: str, topology: str) -> Json:
    return {
        "labelSelector": {
            "matchExpressions": [
                _requirement(key, "In", value),
                _requirement(labels.JOB, "In", job),
            ]
        },
        "topologyKey": topology,
    }


def _requirement(key: str, operator: str, *values: str) -> Json:
    return Requirement(key, operator, values).manifest()
