"""What a job asks of hostpool-manager: the spec of its Placement, made of a plan and its pods.

1. A job has constraints where some PE has one, or a pool beside `$default` is declared. Which other
   jobs have a Placement is decided in `admission.py`.
2. PEs that ask for the same are one class: what their pods request, where the plan says that they
   must be, and what their template asks of a node.
3. A PE that has its planned content counts as it is, whatever the template says since; every other
   one as it will be made.

Properties: the same plan of the same PEs gives the same spec, so that it is written once. How the
question stands is `placement_states.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from contracts import labels
from contracts.id_runs import runs_of
from contracts.reasons import Reason
from contracts.resources.job import Admission
from contracts.resources.placement import (
    CLASSES_MAX,
    POOLS_MAX,
    NodeSelectorTerm,
    TolerationOfPods,
)
from contracts.scheduling.node_affinity import REQUIRED, NodeAffinity, term_of
from contracts.scheduling.requests import CPU, amounts_of, pod_requests
from contracts.scheduling.taints import toleration_of
from planner.numbering.records import PeRecord, PlanRecord
from planner.refusals import PlanRefused
from services.fusion_backend.core.children import DEFAULT_POOL, Body, declaration, resources_of
from services.fusion_backend.core.rooms import Demand, demand_of
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import (
    PlanInputs,
    admission_of,
    spec_in_force,
)

PLACEMENT_BYTES_MAX: Final = 900 * 1024
"""Of the spec in JSON: an object has 1.5 MiB, and the answer stands beside it."""
PES_CHARS_MAX: Final = 4_096
"""Of the ids of a class: what needs more is written as several classes."""


class PodDemand(NamedTuple):
    """What the pod of a PE asks of its node, as the Placement's spec says it."""

    requests: Body
    node_selector: Body
    node_selector_terms: list[Body]
    tolerations: list[Body]


class _Where(NamedTuple):
    """Where a PE must run; `pool` is None for PEs without a host pool."""

    host: str | None
    pool: int | None
    in_pool_index: int | None
    colocations: tuple[str, ...]
    exlocations: tuple[str, ...]
    is_isolated: bool


def is_placed_first(snapshot: Snapshot, inputs: PlanInputs, record: PlanRecord) -> bool:
    """Whether a plan of these inputs is recorded only if there is a placement for it."""
    assert snapshot.job is not None, "a plan belongs to a Job"
    if has_constraints(record):
        return True
    return admission_of(inputs, snapshot.job.spec) is Admission.REQUIRE


def has_constraints(record: PlanRecord) -> bool:
    """Whether a plan has host constraints."""
    if any(pool.name != DEFAULT_POOL for pool in record.pools):
        return True
    return any(
        pe.host is not None or pe.colocations or pe.exlocations or pe.isolation or pe.isolated
        for pe in record.pes
    )


def placement_spec(snapshot: Snapshot, plan: KnownPlan, *, is_in_force: bool) -> Body:
    """The spec of the job's Placement for a plan. Raises PlanRefused (PLAN_TOO_LARGE).

    `is_in_force`: the plan has its record. Where that is so of a job without constraints, its PEs
    may exist without a placement.
    """
    assert snapshot.job is not None, "a Placement belongs to a Job"
    record, given = plan.record, spec_in_force(plan.inputs, snapshot.job.spec)
    given_placement = given.get("placement") or {}
    spec: Body = {
        "generation": record.generation,
        "topologyKey": given_placement.get("topologyKey") or labels.HOSTNAME,
        "required": given_placement.get("required") is not False,
        "inForce": is_in_force and not has_constraints(record),
        "pools": [declaration(pool) for pool in record.pools],
        "classes": list(_classes(record, Demands(snapshot, plan, given))),
    }
    _require_size(snapshot.name, spec)
    return spec


def _require_size(job: str, spec: Body) -> None:
    size = len(orjson.dumps(spec))
    classes, pools = len(spec["classes"]), len(spec["pools"])
    if size <= PLACEMENT_BYTES_MAX and classes <= CLASSES_MAX and pools <= POOLS_MAX:
        return
    raise PlanRefused(
        Reason.PLAN_TOO_LARGE,
        field=f"Placement {job}",
        value=f"{size} bytes",
        message=f"Placement {job} would have {size} bytes with {classes} classes of PEs and {pools}"
        f" host pools; the most are {PLACEMENT_BYTES_MAX} bytes, {CLASSES_MAX} classes and"
        f" {POOLS_MAX} pools: PEs that ask for the same are one class",
    )


def _classes(record: PlanRecord, demands: Demands) -> Iterator[Body]:
    pools = {pool.index for pool in record.pools if pool.name != DEFAULT_POOL}
    members: dict[tuple[_Where, int], list[int]] = {}
    for pe in record.pes:
        where = _Where(
            pe.host,
            pe.host_pool if pe.host_pool in pools else None,
            pe.in_pool_index,
            pe.colocations,
            pe.exlocations,
            pe.id in record.isolated,
        )
        members.setdefault((where, demands.number_of(pe)), []).append(pe.id)
    for (where, number), ids in members.items():
        request = _of_class(where, demands.found[number])
        for pes in _pieces(runs_of(ids)):
            yield {"pes": pes, **request}


def _pieces(runs: str) -> Iterator[str]:
    while len(runs) > PES_CHARS_MAX:
        end = runs.rindex(",", 0, PES_CHARS_MAX + 1)
        yield runs[:end]
        runs = runs[end + 1 :]
    yield runs


def _of_class(where: _Where, demand: PodDemand) -> Body:
    """Every field that has a default is written, so that the object says what was sent."""
    request: Body = {
        "requests": demand.requests,
        "coLocations": list(where.colocations),
        "exLocations": list(where.exlocations),
        "isolation": where.is_isolated,
        "nodeSelector": demand.node_selector,
        "nodeSelectorTerms": demand.node_selector_terms,
        "tolerations": demand.tolerations,
    }
    if where.host is not None:
        request["host"] = where.host
    if where.pool is not None:
        request["hostPoolLocation"] = {"poolIndex": where.pool}
        if where.in_pool_index is not None:
            request["hostPoolLocation"]["inpoolIndex"] = where.in_pool_index
    return request


# --------------------------------------------------------------------------- pods


class Demands:
    """What the pods of PEs ask for, each different demand once, by number."""

    def __init__(self, snapshot: Snapshot, plan: KnownPlan, given: Mapping[str, Any]) -> None:
        template = given.get("processingElement") or {}
        self._seen = snapshot.of("ProcessingElement")
        self._made = (resources_of(given, len(plan.record.pes)), template.get("podTemplate"))
        self._numbers: dict[bytes, int] = {}
        self.found: list[PodDemand] = []
        self._number_of_made = self._number(*self._made)

    def number_of(self, pe: PeRecord) -> int:
        """The demand of a PE; nearly all are made of the newest template."""
        entry = self._seen.get(pe.name)
        seen = PeSeen(entry) if entry is not None else None
        if seen is None or seen.is_deleting or seen.content_id != pe.content_id:
            return self._number_of_made
        made_of = seen.demand
        return self._number_of_made if made_of == self._made else self._number(*made_of)

    def _number(self, resources: Mapping[str, Any] | None, template: Body | None) -> int:
        key = orjson.dumps((resources, template), option=orjson.OPT_SORT_KEYS)
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            self.found.append(pod_demand(resources, template))
        return self._numbers[key]


def pod_demand(
    resources: Mapping[str, Any] | None, template: Mapping[str, Any] | None
) -> PodDemand:
    """What a pod asks for that is made of these resources with this template laid over it."""
    spec = (template or {}).get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED) or {}
    return PodDemand(
        requests=_requests(resources or {}, spec),
        node_selector=dict(spec.get("nodeSelector") or {}),
        node_selector_terms=[
            NodeSelectorTerm.model_validate(each).model_dump(by_alias=True, exclude_none=True)
            for each in required.get("nodeSelectorTerms") or ()
        ],
        tolerations=[
            TolerationOfPods.model_validate(each).model_dump(by_alias=True, exclude_none=True)
            for each in spec.get("tolerations") or ()
        ],
    )


def demand_of_pod(demand: PodDemand) -> Demand:
    """The same as the room of nodes counts it."""
    return demand_of(
        amounts_of(demand.requests),
        NodeAffinity(
            tuple(sorted(demand.node_selector.items())),
            tuple(map(term_of, demand.node_selector_terms)),
        ),
        tuple(map(toleration_of, demand.tolerations)),
    )


def _requests(resources: Mapping[str, Any], spec: Mapping[str, Any]) -> Body:
    """The PE's container has no resources in the template: they are millrace's to say."""
    others = [
        each for each in spec.get("containers") or () if each.get("name") != labels.PE_CONTAINER
    ]
    pod = {**spec, "containers": [{"resources": resources}, *others]}
    return {
        name: f"{amount}m" if name == CPU else str(amount)
        for name, amount in pod_requests(pod).items()
    }
